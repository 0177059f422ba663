"""Exports of a fit, by kind: each holds what its record holds, says what is absent, and approves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias, get_args

from dpglm.errors import MethodError
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.site_pool import PooledSites
from dpglm.postprocessing.store import write_atomically
from dpglm.report.exports import ExportKind
from dpglm.report.exports.crate import crate
from dpglm.report.exports.paragraphs import dpia, methods
from dpglm.report.exports.registry import registry
from dpglm.report.facts import ReportFacts
from dpglm.report.result_sections import fit_subject
from dpglm.report.section import Subject

Writer: TypeAlias = Callable[[Sequence[FitRecord], Subject, ReportFacts], str | bytes]
WRITERS: Final[Mapping[ExportKind, Writer]] = {
    "registry": registry,
    "ro-crate": lambda records, subject, facts: crate(records[0], subject, facts),
    "dpia": dpia,
    "methods": methods,
}


def export(records: Sequence[FitRecord], kind: ExportKind, path: str | PathLike[str], facts: object) -> Path:
    """Write an export of a fit, or of all its equations. The same fit and facts give the same bytes."""
    record = records[0]
    if kind not in get_args(ExportKind):
        raise MethodError(
            f"an export of kind {kind!r}" if isinstance(kind, str) else f"kind of type {type(kind).__name__}",
            expected=f"one of {', '.join(map(repr, WRITERS))}",
            remedy='Use fit.export("methods", "methods.txt").',
        )
    if record.alarm:
        raise MethodError(
            f"an export of a result that is {record.alarm}",
            expected="a fit with a promise: what is filed would be read as one",
            remedy="Fit with a privacy budget and without a seed; the report of this result says what it is.",
        )
    if isinstance(record.part, PooledSites):
        raise MethodError(
            "an export of a pooled fit, which released nothing itself",
            expected="the fit of a site, with its own releases, ledger and promise",
            remedy="Export the fit of each site; the report of the pool tells of all of them.",
        )
    if len(records) > 1 and kind == "ro-crate":
        raise MethodError(
            "a crate of several equations",
            expected="one fit, its plan and its result",
            remedy="Use fits[level].export('ro-crate', 'fit.zip'), or name the file of one equation.",
        )
    return write_atomically(path, WRITERS[kind](records, fit_subject(record), ReportFacts.of(facts)))
