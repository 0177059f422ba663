"""``python -m studies.radmm [--quick] [--jobs N] [--out DIR] [--page FILE]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.jobs import run
from studies.radmm import page
from studies.radmm.fits import work
from studies.radmm.grid import QUICK, WHOLE, jobs
from studies.radmm.tables import TITLES, missing

ROOT = Path(__file__).resolve().parents[2]
OUT, PAGE = ROOT / "studies" / "radmm" / "runs", ROOT / "reports" / "radmm.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what has not been run and write the page; 130 if stopped by Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m studies.radmm", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, one epsilon, one repetition")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--out", type=Path, help="folder of the results, by default in reports/radmm/runs")
    parser.add_argument(
        "--page", type=Path, help="file to write, by default reports/radmm.html, or beside quick results"
    )
    options = parser.parse_args(arguments)
    plan, folder = (QUICK, "quick") if options.quick else (WHOLE, "whole")
    out = options.out or OUT / folder
    absent = {name: text for name in TITLES if (text := missing(name)) is not None}
    for text in absent.values():
        print(text, file=sys.stderr)
    tables = [name for name in TITLES if name not in absent]
    target = options.page or (out / PAGE.name if options.quick else PAGE)
    try:
        found = run(jobs(plan, tables), work, out / "results.jsonl", processes=options.jobs, title="RADMM")
    except KeyboardInterrupt:
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    page.write_page(target, found, plan, absent)
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
