"""``python -m studies.dpsc [--quick] [--jobs N] [--out DIR] [--page FILE] [--so-far]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.dpsc.grid import FULL, QUICK
from studies.dpsc.page import render
from studies.dpsc.study import run, so_far

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "studies" / "dpsc" / "runs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and write the page; 130 if stopped by Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m studies.dpsc", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small design, in seconds")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--out", type=Path, help="folder of the results, by default in reports/dpsc/runs")
    parser.add_argument(
        "--page", type=Path, help="file to write, by default reports/dpsc.html, or beside quick results"
    )
    parser.add_argument("--so-far", action="store_true", help="run nothing: a page of what is there")
    options = parser.parse_args(arguments)
    study, name = (QUICK, "quick") if options.quick else (FULL, "full")
    out = (options.out or OUT / name).resolve()
    page = options.page or (out if options.quick else ROOT / "reports") / "dpsc.html"
    try:
        found = so_far(study, out) if options.so_far else run(study, out, processes=options.jobs)
    except KeyboardInterrupt:
        print("stopped: the same command goes on from here", file=sys.stderr)
        return 130
    page.parent.mkdir(parents=True, exist_ok=True)
    render(page, study, found, quick=options.quick)
    print(f"wrote {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
