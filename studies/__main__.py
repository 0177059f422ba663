"""Run studies and benchmarks, and write their pages.

python -m studies                                       list the studies
python -m studies run dpsc [--quick] [--jobs 2]         run what is missing, then write the page
python -m studies page dpsc [--quick]                   write the page of what has been run
python -m studies keep dpsc                             write what has been run to studies/results, where
                                                        later runs, elsewhere too, go on from it
python -m studies run coverage_designs --only slopes_strong,level_99 --epsilon 1 --reps 40
                                                        run a part and print it, a line per cell
python -m studies index                                 write reports/papers.html and reports/index.html
python -m studies run speed --only fit,plan --reps 1    rows of the benchmark of speed, printed
python -m studies selection|features|submodels benchmarks, printed
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from studies import index
from studies.study import PAGES, RUNS, Part, Study

BENCHMARKS = {
    "selection": "studies.selection.support",
    "features": "studies.selection.features",
    "submodels": "studies.submodels.judge",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 1 if a job failed, 2 if there is no such part, 130 if stopped by Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in BENCHMARKS:
        benchmark: Callable[[Sequence[str]], int] = importlib.import_module(BENCHMARKS[words[0]]).main
        return benchmark(words[1:])
    options = _parser().parse_args(words)
    if options.command == "index":
        papers = importlib.import_module("studies.papers.page")  # known by its name alone, as studies are
        print(f"wrote {papers.write_page(PAGES)}")
        print(f"wrote {index.write(PAGES)}")
    elif options.command is None:
        for name in index.STUDIES:
            print(f"{name:16}  {index.study(name).about}")
    elif options.command == "keep":
        print(f"kept {index.study(options.study).keep():,} results")
    else:
        return _study(index.study(options.study), options)
    return 0


def _study(study: Study[Any], options: argparse.Namespace) -> int:
    quick: bool = options.quick
    folder: Path = options.out or RUNS / ("quick" if quick else "full")
    page: Path | None = options.page or (folder if quick else PAGES) / f"{study.name}.html"
    failures: list[str] = []
    asked = Part(options.only, options.epsilon, options.relation, options.definition, options.reps)
    if asked != Part():
        try:
            study = study.narrowed(asked, quick=quick)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
        page = options.page
    if options.command == "run":
        try:
            failures = study.run(folder, quick=quick, processes=options.jobs)
        except KeyboardInterrupt:
            print("stopped: the same command goes on from here", file=sys.stderr)
            return 130
    findings = study.findings(folder, quick=quick)
    for line in study.lines(findings) if study.lines else ():
        print(line)
    if page is not None:
        study.write(page, findings)
        print(f"wrote {page}")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return int(bool(failures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m studies", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("index", help="write the pages of the papers and of all pages")
    keep = commands.add_parser("keep", help="write what has been run to studies/results")
    keep.add_argument("study", choices=index.STUDIES)
    for name, about in (("run", "run what is missing, then write the page"), ("page", "write the page")):
        command = commands.add_parser(name, help=about)
        command.add_argument("study", choices=index.STUDIES)
        command.add_argument("--quick", action="store_true", help="a small design, in seconds")
        command.add_argument(
            "--out",
            type=Path,
            help="folder of the results, by default in studies/runs; in another one all is run anew",
        )
        command.add_argument("--page", type=Path, help="file to write, by default in reports")
        part = command.add_argument_group("a part of the study, which is printed", "lists have commas")
        part.add_argument("--only", type=_words, default=(), help="tables or designs, or kinds of them")
        part.add_argument("--epsilon", type=_numbers, default=(), help="privacy budgets")
        part.add_argument("--relation", type=_words, default=(), help="add-remove, replace-one")
        part.add_argument("--definition", type=_words, default=(), help="approximate, pure")
        part.add_argument("--reps", type=int, help="replications of each cell")
        if name == "run":
            command.add_argument("--jobs", type=int, default=1, help="worker processes")
    for name in BENCHMARKS:  # listed here, parsed by the benchmark itself
        commands.add_parser(name, help=f"the benchmark of {name}", add_help=False)
    return parser


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
