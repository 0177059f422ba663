"""Write the golden files anew: ``make golden``, then read the difference before committing it."""

from __future__ import annotations

from pathlib import Path

from tests.golden import prices
from tests.golden.examples import outputs

if __name__ == "__main__":
    for name, text in {**outputs(), **{name: prices.written(name) for name in prices.FILES}}.items():
        path = Path(__file__).with_name(name)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.name)
