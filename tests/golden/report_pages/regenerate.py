"""Write the golden pages anew, then read the difference before committing it."""

from __future__ import annotations

from pathlib import Path

from tests.rooms.report.specimen import PAGES, render

GOLDEN = ("pure", "approximate", "plain", "intervals", "profile")


def pages() -> dict[str, str]:
    """What each golden page must hold, by file name."""
    return {f"{name}.html": render(PAGES[name][0](), choices=PAGES[name][1]) for name in GOLDEN}


if __name__ == "__main__":
    for name, text in pages().items():
        path = Path(__file__).with_name(name)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.name)
