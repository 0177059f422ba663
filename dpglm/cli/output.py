"""What commands print: text for people, or one JSON object with keys that stay."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import dpglm
from dpglm.cli.failures import Failure
from dpglm.errors import StoreError
from dpglm.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from dpglm.results.result import Result

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/command_line.md has its keys.")
Document = dict[str, Any]


def say(
    as_json: bool, document: Callable[[], Document], text: Callable[[], str], *wrote: Path | str | None
) -> None:
    """Print one of both, with the files that were written."""
    paths = [str(path) for path in wrote if path is not None]
    if as_json:
        found = {**document(), "wrote": paths}
        click.echo(json.dumps(plain(found), indent=1, allow_nan=False, ensure_ascii=False))
        return
    for line in (text(), *(f"wrote {path}" for path in paths)):
        if line:
            click.echo(line, nl=not line.endswith("\n"))


def give(
    result: Result[Any] | dpglm.LevelFits,
    as_json: bool,
    report: Path | None,
    save: Path | None,
    facts: object = None,
) -> None:
    """Write and print a result, which is paid for: it is shown even where a disk is full."""
    written: list[Path] = []
    try:
        if save is not None:
            written.append(result.save(save))
        if report is not None:
            written.append(result.report(report, facts=facts))
    except StoreError as error:
        raise Failure(error) from None  # not the status of a command that did nothing
    finally:
        say(as_json, lambda: result_document(result), lambda: str(result.summary()), *written)


def result_document(result: Result[Any] | dpglm.LevelFits) -> Document:
    """A fit, a profile, a ranking, or the equations of a multinomial fit."""
    if isinstance(result, dpglm.LevelFits):
        return {
            "kind": "equations",
            "private": not result.alarm,
            "alarm": result.alarm,
            "guarantee": promise(result.privacy),
            "rows": result.tidy(),
            "notes": result.summary().notes,
            "equations": {level: result_document(fit) for level, fit in result.items()},
        }
    known = ((dpglm.FitResult, "fit"), (dpglm.Profile, "profile"), (dpglm.FeatureRanking, "ranking"))
    kind = next(name for one, name in known if isinstance(result, one))
    promised = result.privacy if result.private else None
    alarm = result.summary().alarm
    head = {"kind": kind, "private": result.private, "alarm": alarm, "guarantee": promise(promised)}
    if isinstance(result, dpglm.FitResult):
        head |= {"formula": result.formula, "model": result.glance().iloc[0].to_dict()}
    tidy: Any = result
    return head | {
        "rows": tidy.tidy(),
        "notes": result.summary().notes,
        "spend": result.spend if result.private else [],
        "ledger": None if result.ledger is None else asdict(result.ledger),
        "plan": result.plan_fingerprint,
        "version": result.version,
    }


def plan_document(plan: dpglm.Plan | dpglm.LevelPlan) -> Document:
    """A plan, or the plans of all equations of a multinomial fit."""
    if isinstance(plan, dpglm.LevelPlan):
        equations = {level: plan_document(one) for level, one in plan.equations.items()}
        head = {"kind": "plans", "guarantee": promise(plan.guarantee), "plan": plan.fingerprint}
        return {**head, "equations": equations}
    return {
        "kind": "plan",
        "formula": plan.specification.formula,
        "guarantee": promise(plan.guarantee),
        "n": plan.n,
        "releases": [asdict(release) for release in plan.description.releases],
        "plan": plan.fingerprint,
    }


def promise(guarantee: Guarantee | None) -> Document | None:
    """A guarantee as numbers and in a sentence; None where there is none."""
    if guarantee is None or not guarantee.private:
        return None
    return {**guarantee.to_dict(), "statement": guarantee.statement()}


def plain(value: Any) -> Any:
    """Values of JSON: frames are lists of rows, an absent number is null, an infinite one a text."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return [plain(row) for row in value.to_dict("records")]
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "Infinity" if value > 0.0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
