"""The plan behind a saved fit or a study, from public facts alone."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, fields

from dpglm.curator.priced_releases import PricedReleases
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.coding.response import response_of
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties import penalised_terms, penalties
from dpglm.methods.base import Method, Problem, methods
from dpglm.planning.study_plan import StudyPlan
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.specification import Choice
from dpglm.postprocessing.store import read
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
    return _of_fit(what._record)


def _of_fit(record: FitRecord) -> Subject:
    guarantee, asked = record.guarantee, record.specification
    if asked.privacy is None or guarantee.epsilon == math.inf:
        raise MethodError(
            "a fit that promises no privacy",
            expected="a fit with a budget: an audit compares draws with what is promised",
            remedy="Fit with privacy=1.0, say.",
        )
    schema = Schema.from_dict(asked.schema)
    model = parse(asked.formula, schema)
    method = with_options(methods[asked.method.name], json.dumps(asked.method.options)).opened(read)
    coding = Coding.of(model, kind=method.coding)
    penalty = with_options(
        penalties[asked.penalty.name], json.dumps(asked.penalty.options), without=["strength"]
    )
    inside = method.inside(penalty, asked.strength)
    public = asked.privacy.relation == "replace-one"
    problem = Problem(
        geometry=coding,
        family=_family(asked.family, schema, model.response, coding),
        penalty=inside.for_terms(penalised_terms(coding.terms, coding.penalised)),
        strength=asked.strength,
        rows=None if public else schema.rows,
        goal=asked.goal,
        known_rows=schema.rows,
        count_rows=(lambda: int(record.n_rows or 0)) if public else None,
        offset=bool(model.offsets),
    )
    plan = method.plan(problem, asked.privacy)
    if not _agree(method.describe(problem, plan).releases, record.description.releases):
        raise MethodError(
            f"a fit whose plan does not follow from its specification: method {asked.method.name!r}",
            expected="the releases that the fit was run with",
            remedy="Audit dpglm.plan(...) with the same arguments, method object included.",
        )
    return Subject(asked.formula, plan, problem, method, schema, RowEncoder(model, coding))


def _family(asked: Choice, schema: Schema, response: str, coding: Coding) -> Family:
    family = with_options(families[asked.name], json.dumps(asked.options))
    declared = response_of(schema, response, family, centred=not coding.penalised.all())
    return family.with_bound(declared.high)


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
