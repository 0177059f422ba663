"""The plan behind a saved fit or a study, from public facts alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from dpglm.curator.priced_releases import PricedReleases
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.coding.response import response_of
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties import Penalty, penalised_terms, penalties
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Method, Problem, methods
from dpglm.planning.study_plan import StudyPlan
from dpglm.postprocessing.record import plain
from dpglm.postprocessing.store import read
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import with_options
from dpglm.results.fit_result import FitResult

# Facts of the mechanism that a fit writes over with released numbers or words about them.
_RELEASED = ("strength_sum", "penalty_applied")


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Attributes
    ----------
    formula : str
    plan : PricedReleases
        The releases and what they promise.
    problem : Problem
    method : Method
    schema : Schema
    encoder : RowEncoder
        Coded rows of what the schema declares.
    """

    formula: str
    plan: PricedReleases
    problem: Problem
    method: Method
    schema: Schema
    encoder: RowEncoder


def subject_of(what: object) -> Subject:
    """The plan of a fit or of a study.

    Raises
    ------
    MethodError
        Something else, a fit without a promise, or a fit whose file lacks a public fact of its plan.
    """
    if isinstance(what, StudyPlan):
        study = what.study
        encoder = RowEncoder(study.model, study.coding)
        return Subject(study.formula, study.plan, study.problem, study.method, study.schema, encoder)
    if not isinstance(what, FitResult):
        raise MethodError(
            f"audit of {type(what).__name__}",
            expected="what dpglm.fit, dpglm.load or dpglm.plan gave back",
            remedy="Use dpglm.audit(fit), or dpglm.audit(dpglm.plan(...)).",
        )
    return _of_fit(what)


def _of_fit(result: FitResult) -> Subject:
    if result.guarantee.epsilon == math.inf:
        raise MethodError(
            "a fit that promises no privacy",
            expected="a fit with a budget: an audit compares draws with what is promised",
            remedy="Fit with privacy=1.0, say.",
        )
    schema = Schema.from_dict(result.schema)
    model = parse(result.formula, schema)
    privacy = _budget(result.guarantee)
    for method in _methods(result):
        coding = Coding.of(model, kind=method.coding)
        family = _family(result, schema, model.response, coding)
        terms = penalised_terms(coding.terms, coding.penalised)
        public = privacy.relation == "replace-one"
        for strength in dict.fromkeys((None, result.strength)):
            problem = Problem(
                geometry=coding,
                family=family,
                penalty=_penalty(result).for_terms(terms),
                strength=strength,
                rows=None if public else schema.rows,
                goal=result.goal,
                known_rows=schema.rows,
                count_rows=(lambda: int(result.n_rows or 0)) if public else None,
                offset=bool(model.offsets),
            )
            try:
                plan = method.plan(problem, privacy)
            except MethodError:
                continue  # a candidate that the fit was not
            if _agrees(method.card(problem, plan), result.mechanism):
                if "penalty_options" not in result.mechanism:
                    _require_known_penalty(problem.penalty, plan.releases[0])
                encoder = RowEncoder(model, coding)
                return Subject(result.formula, plan, problem, method, schema, encoder)
    raise MethodError(
        f"a fit whose plan does not follow from what it keeps: method {result.method!r} had options",
        expected="the public numbers of the mechanism that the fit was run with",
        remedy="Audit dpglm.plan(...) with the same arguments, method object included.",
    )


def _methods(result: FitResult) -> Iterator[Method]:
    """The method with the options that the fit keeps; of an older file, with those its facts tell."""
    kind = methods[result.method]
    kept = result.mechanism.get("method_options")
    if isinstance(kept, str):
        yield with_options(kind, kept).opened(read)
        return
    options: dict[str, list[Any]] = {"coding": [result.mechanism.get("coding", "centred")]}
    ridge = result.mechanism.get("ridge")
    options["ridge"] = [None, ridge] if isinstance(ridge, float) else [None]
    options["learn_scale"] = [result.mechanism.get("prior_scale") != "declared"]
    found: list[dict[str, Any]] = [{}]
    own: list[str] = [field.name for field in fields(kind)] if dataclasses.is_dataclass(kind) else []
    for name in own:
        found = [{**chosen, name: value} for value in options.get(name, []) for chosen in found] or found
    for chosen in found:
        yield kind(**chosen)


def _family(result: FitResult, schema: Schema, response: str, coding: Coding) -> Family:
    family = families[result.family]().with_facts(result.mechanism)
    declared = response_of(schema, response, family, centred=not coding.penalised.all())
    return family.with_bound(declared.high)


def _penalty(result: FitResult) -> Penalty:
    kept = result.mechanism.get("penalty_options", "{}")
    return with_options(
        penalties[result.penalty], kept if isinstance(kept, str) else "", without=["strength"]
    )


def _budget(guarantee: Guarantee) -> Privacy:
    """The budget that was asked for, as the guarantee tells it."""
    asked = Privacy(guarantee.epsilon, guarantee.delta, guarantee.relation, guarantee.unit)
    if guarantee.definition in ("gdp", "zcdp"):
        asked = replace(asked, definition=guarantee.definition, mu=guarantee.mu)
    return asked


def _agrees(card: Mapping[str, Any], mechanism: Mapping[str, Any]) -> bool:
    """Whether public facts are those of the fit, to rounding."""
    for name, value in plain(card, "mechanism").items():
        kept = mechanism.get(name)
        if name in _RELEASED and card.get("released_too"):
            continue
        if name == "penalty_applied":
            continue
        if isinstance(value, float) and isinstance(kept, int | float):
            if not math.isclose(value, kept, rel_tol=1e-9):
                return False
        elif value != kept:
            return False
    return True


def _require_known_penalty(penalty: Penalty, release: Release) -> None:
    """Refuse a penalty inside the objective whose options the fit does not keep."""
    inside = release.minimiser if isinstance(release, NormClippedMinimiser) else release
    if not isinstance(inside, PerturbedMinimiser) or type(inside.penalty) is not type(penalty):
        return
    options = [field.name for field in fields(penalty) if field.name != "strength"]
    if options:
        raise MethodError(
            f"a fit with penalty {penalty.name!r} inside its objective, whose options are not kept: "
            + ", ".join(options),
            expected="a penalty that its name and strength tell, such as 'l1' or 'l2'",
            remedy="Audit dpglm.plan(...) with the same penalty object.",
        )
