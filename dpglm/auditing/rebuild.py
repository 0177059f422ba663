"""The plan behind a saved fit or a study, from public facts alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
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
from dpglm.methods.base import Method, Problem, methods
from dpglm.planning.study_plan import StudyPlan
from dpglm.postprocessing.store import read
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import with_options
from dpglm.results.fit_result import FitResult


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
            if _agree(method.describe(problem, plan).releases, result.description.releases):
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


def _agree(described: object, saved: object) -> bool:
    """Whether two descriptions are equal, numbers to rounding."""
    if isinstance(described, float) and isinstance(saved, int | float):
        return described == saved or math.isclose(described, saved, rel_tol=1e-9)
    if isinstance(described, tuple) and isinstance(saved, tuple):
        return len(described) == len(saved) and all(map(_agree, described, saved))
    if dataclasses.is_dataclass(described) and type(described) is type(saved):
        names = [field.name for field in fields(described)]
        return all(_agree(getattr(described, name), getattr(saved, name)) for name in names)
    return described == saved
