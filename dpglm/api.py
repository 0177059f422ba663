"""The verbs a statistician types; each parses its arguments and calls rooms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from dpglm.arguments import (
    REQUIRED,
    Required,
    family_of,
    ledger_of,
    method_of,
    naming_unit,
    noise_of,
    penalty_of,
    privacy_of,
    require_choice,
    strength_of,
)
from dpglm.auditing import audit
from dpglm.curator import Curator
from dpglm.data import (
    BinaryResponse,
    Coding,
    CountResponse,
    Design,
    NumericResponse,
    RowEncoder,
    Schema,
    find_schema,
    load_table,
    open_source,
    parse,
)
from dpglm.errors import StoreError
from dpglm.fitted import Fitted
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty, penalised_terms
from dpglm.methods import Method, Problem
from dpglm.methods.units import in_units
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.privacy.ledger import Ledger
from dpglm.registry import options_text
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult, LedgerState
from dpglm.results.spending import spend_lines
from dpglm.results.store import read
from dpglm.version import __version__

if TYPE_CHECKING:
    import pandas as pd

Goal = Literal["explain", "predict", "select"]
STEPS = ("plan", "charge", "read and solve", "write up")

__all__ = ["audit", "compare", "fit", "load", "load_data"]


def fit(
    formula: str,
    data: object,
    *,
    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
    family: str | Family = "binomial",
    penalty: str | Penalty = "l1",
    strength: float | Literal["cv"] | None = None,
    privacy: float | tuple[float, float] | Privacy | Required | None = REQUIRED,
    goal: Goal = "explain",
    method: str | Method = "auto",
    ledger: Ledger | str | PathLike[str] | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> Fitted:
    """Fit a generalized linear model with differential privacy.

    Parameters
    ----------
    formula : str
        A patsy formula of row-wise terms: ``"y ~ age + C(job) + age:sex + I(x ** 2)"``.
    data : DataFrame, Arrow table, or path to a CSV or Parquet file
        Private rows. Files are read in row blocks.
    schema : Schema, dict or path, optional
        Public bounds and levels. Looked for here, then on the frame (:func:`dpglm.declare`), then in a file
        ``name.schema.yaml`` beside a data file.
    family : str or Family
        ``"binomial"``, ``"gaussian"`` for a numeric response with declared bounds, or ``"poisson"`` for
        counts with declared bounds ``[0, LARGEST]``: larger ones are read as the bound. ``"huber_svm"`` and
        ``"softplus_hinge"`` are linear support vector machines with a smooth hinge for a response with two
        levels: they give classes, no probabilities, standard errors or odds ratios.
    penalty : str or Penalty
        ``"none"``, ``"l2"`` ("ridge"), ``"l1"`` ("lasso"), ``"elastic_net"``, ``"l1/2"``, ``"lq"``,
        ``"scad"``, ``"mcp"``, ``"group"`` (terms of the formula), or an object of ``dpglm.penalties``. Where
        a curvature is released any penalty is applied to the released numbers afterwards, and another one
        costs nothing: see `FitResult.refit`. Otherwise a convex one goes inside the objective, and the lasso
        in place of one that is not convex. Without privacy a penalty that is not convex is minimised by ADMM,
        to a stationary point.
    strength : float, "cv" or None
        Penalty strength per row on the scaled coefficients. None: BIC on released numbers, or, inside an
        objective, a default from the noise level that does not look at the data (l2: no more than the ridge
        that privacy needs anyway). ``"cv"``, which is also the default without privacy: 5 folds and the
        one-standard-error rule; only with ``privacy=None``, where the path is kept: see `FitResult.path`.
    privacy : float, (epsilon, delta), Privacy or None
        Required. A number asks for pure epsilon-DP. None fits without privacy and says so everywhere.
    goal : {"explain", "predict", "select"}
        ``"explain"``: half of the budget goes to the curvature at the estimate, which pays for standard
        errors, intervals, tests, paths and refits, wherever a public rule expects it to pay (see
        ``dpglm.methods.look.pays``); the summary says which way it went. The other two spend all of it on the
        estimate.
    method : str or Method
        ``"auto"``, a name, or an object of ``dpglm.methods`` with its options. ``"lla"`` and ``"lha"`` name
        fits without privacy, the latter with ``penalty="l1/2"`` only.
    ledger : Ledger or path, optional
        Charged before any row is read; a path opens an existing ledger.
    seed : int, optional
        Repeatable noise for tests and simulations; the result is marked NOT PRIVATE.
    progress : bool, optional
        A bar over a public number of steps; by default in a terminal only.

    Returns
    -------
    Fitted
        Coefficients on the original scale, with the privacy spend. It holds no data.

    Raises
    ------
    PrivacyError, FormulaError, SchemaError, MethodError
        Told from public facts, before any row is read or charged.
    BudgetExceeded
        The ledger does not cover the fit; nothing was read.

    Examples
    --------
    >>> import dpglm
    >>> data = dpglm.load_data("simulated")
    >>> result = dpglm.fit("y ~ x1 + x2", data, penalty="l1", privacy=1.0, seed=7)
    >>> result.names
    ('Intercept', 'x1', 'x2')
    """
    with _steps(progress) as step:
        step(0)
        budget = privacy_of(privacy)
        noise = noise_of(seed)
        book = ledger_of(ledger)
        chosen_penalty = penalty_of(penalty, strength)
        penalty_options = options_text(chosen_penalty, without=["strength"])
        require_choice("goal", goal, get_args(Goal))
        declared = find_schema(data, schema)
        chosen_family = family_of(family)
        chosen = method_of(method, budget, chosen_family)
        model = parse(formula, declared)
        coding = Coding.of(model, kind=chosen.coding)
        encoder = RowEncoder(model, coding)
        response = _response(declared, model.response, chosen_family, coding)
        if isinstance(response, CountResponse):
            chosen_family = chosen_family.with_bound(response.high)
        source = open_source(data)
        source.require((model.response, *encoder.columns))
        design = Design(source, declared, encoder, response)
        public = budget is None or budget.relation == "replace-one"
        chosen_penalty = chosen_penalty.for_terms(penalised_terms(coding.terms, coding.penalised))
        chosen_penalty.require_size(int(coding.penalised.sum()))
        problem = Problem(
            geometry=coding,
            family=chosen_family,
            penalty=chosen_penalty,
            strength=strength_of(strength, chosen_penalty),
            rows=None if public else declared.rows,
            goal=goal,
            known_rows=declared.rows,
            count_rows=design.row_count if public else None,
            offset=bool(model.offsets),
        )
        budget = naming_unit(budget, declared)
        plan = chosen.plan(problem, budget)
        guarantee = plan.guarantee if noise.private or budget is None else plan.guarantee.seeded()
        step(1)
        # Charge before reading: an interrupt from here on loses budget, never privacy.
        state = _charge(book, guarantee, f"{formula}  [{chosen.name}, {problem.penalty.name}]")
        step(2)
        estimate = in_units(
            chosen.solve(problem, plan, Curator(design, plan, noise).ask),
            coding,
            unit=response.unit,
            shift=response.shift,
        )
        step(3)
        public_rows = design.row_count() if public else None
        card = {**chosen.card(problem, plan), **estimate.facts}
        return Fitted(
            formula=formula,
            family=problem.family.name,
            link=problem.family.link,
            penalty=problem.penalty.name,
            strength=estimate.facts.get("strength", _per_row(problem, card, public_rows)),
            method=chosen.name,
            goal=goal,
            names=coding.names,
            estimates=estimate.estimates,
            selected_mask=estimate.selected,
            coded=estimate.coded,
            user_from_coded=coding.user_from_coded,
            terms=coding.terms,
            guarantee=guarantee,
            spend_lines=spend_lines(plan.costs(), guarantee),
            schema=declared.to_dict(),
            mechanism={
                **card,
                "method_options": options_text(chosen),
                "penalty_options": penalty_options,
                "row_norm": coding.row_norm,
                "coding": coding.kind,
                "rows_clipped": coding.clipping,
                "random_source": "operating system" if noise.private else "seeded generator: NOT PRIVATE",
                "response": model.response,
                **_response_facts(response),
                **chosen_family.facts,
            },
            n_rows=public_rows,
            ledger=state,
            version=__version__,
            released=estimate.released,
            exact_path=estimate.exact_path,
            row_map=_RowMap(declared, encoder),
        )


def load(path: str | PathLike[str]) -> Fitted:
    """Read a result written by ``save``; it predicts again, from its own schema and formula.

    Raises
    ------
    StoreError
        Not a saved result, or one of another version.
    SchemaError, FormulaError
        A file whose schema or formula was tampered with.
    """
    result = read(path)
    declared = Schema.from_dict(result.schema)
    model = parse(result.formula, declared)
    coding = Coding.of(model, kind=result.mechanism.get("coding", "centred"))
    if coding.names != result.names:
        raise StoreError(
            "coefficients that do not belong to the saved formula and schema",
            expected="a file as written by save()",
            remedy="Save the result again from the fit itself.",
        )
    return _fitted(replace(result, row_map=_RowMap(declared, RowEncoder(model, coding))))


def load_data(name: str) -> pd.DataFrame:
    """A data set that comes with its public schema: "fair", "randhie" or "simulated".

    Examples
    --------
    >>> import dpglm
    >>> dpglm.load_data("fair").shape[0]
    6366
    """
    return load_table(name)


class _RowMap:
    """The public map from new rows to coded ones, for predictions."""

    def __init__(self, schema: Schema, encoder: RowEncoder) -> None:
        self._schema, self._encoder = schema, encoder

    def coded(self, frame: object) -> tuple[Any, Any]:
        source = open_source(frame)
        columns = self._encoder.columns
        source.require(columns)
        if not columns:  # an intercept alone: a row needs no value, only to be there
            chunks = source.chunks(source.column_names[:1])
            return self._encoder.coded_chunks({"": np.empty(len(chunk))} for chunk in chunks)
        return self._encoder.coded_chunks(
            self._schema.clean(chunk, columns) for chunk in source.chunks(columns)
        )


def _response(
    declared: Schema, name: str, family: Family, coding: Coding
) -> BinaryResponse | NumericResponse | CountResponse:
    """The response that the family asks for; without an intercept nothing gives back a shift."""
    if family.counts:
        return CountResponse.of(declared, name)
    if family.binary:
        return BinaryResponse.of(declared, name)
    return NumericResponse.of(declared, name, centred=not coding.penalised.all())


def _response_facts(response: BinaryResponse | NumericResponse | CountResponse) -> dict[str, Any]:
    """What the report says of the response."""
    if isinstance(response, BinaryResponse):
        return {"response_levels": list(response.levels)}
    return {"response_bounds": [response.low, response.high]}


def _fitted(result: FitResult) -> Fitted:
    return Fitted(**{one.name: getattr(result, one.name) for one in fields(result)})


def _per_row(problem: Problem, card: Mapping[str, Any], rows: int | None) -> float | None:
    """The strength per row: as given, or the default's, which is set in sum units, where rows are public."""
    if isinstance(problem.strength, float):
        return problem.strength
    total = card.get("strength_sum")
    return None if total is None or not rows else total / rows


def _charge(ledger: Ledger | None, guarantee: Guarantee, what: str) -> LedgerState | None:
    if ledger is None:
        return None
    entry = ledger.charge(guarantee, what=what)
    state = ledger.state(at=entry)
    return LedgerState(**{**state, "entries": tuple(state["entries"])})


@contextmanager
def _steps(progress: bool | None) -> Iterator[Any]:
    """A bar over public steps; no times, since they depend on the data."""
    if progress is False:
        yield lambda index: None
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=len(STEPS),
        disable=None if progress is None else not progress,
        bar_format="{desc}: {n_fmt}/{total_fmt} |{bar}|",
        leave=False,
    ) as bar:

        def step(index: int) -> None:
            bar.set_description_str(STEPS[index])
            bar.update(index + 1 - bar.n)

        yield step
