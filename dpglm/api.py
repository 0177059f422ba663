"""The verbs a statistician types; each parses its arguments and calls rooms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

from dpglm.auditing.verb import audit
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.formula.parse import parse
from dpglm.data.schema.declaration import find_schema
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.datasets import load_table
from dpglm.errors import StoreError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.ledger.ledger import Ledger
from dpglm.methods.base import Method, methods
from dpglm.postprocessing.specification import Goal
from dpglm.postprocessing.store import read
from dpglm.privacy.budget import Privacy
from dpglm.registry import with_options
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult
from dpglm.results.site_fits import SiteFits
from dpglm.spec.arguments import REQUIRED, Required, ledger_of, noise_of, privacy_of
from dpglm.spec.fitting import STEPS, Asked, Modelled, RowMap, charge, steps
from dpglm.spec.sites import fit_sites, is_sites

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["audit", "compare", "fit", "load", "load_data"]


@overload
def fit(  # type: ignore[overload-overlap]  # a mapping is told from tables
    formula: str,
    data: Mapping[str, object],
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
) -> SiteFits: ...
@overload
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
) -> FitResult: ...
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
) -> FitResult | SiteFits:
    """Fit a generalized linear model with differential privacy.

    Parameters
    ----------
    formula : str
        A patsy formula of row-wise terms: ``"y ~ age + C(job) + age:sex + I(x ** 2)"``.
    data : DataFrame, Arrow table, or path to a CSV or Parquet file; or a dict of them by site
        Private rows. Files are read in row blocks. ``{"north": frame, "south": "south.csv"}`` fits the same
        model once a site, each under the whole budget. Unless the schema says ``sites: disjoint``, that is,
        that everybody is at one site only, a person may be at all of them and the budgets add up: the ledger
        is charged once a site. Otherwise it is charged once.
    schema : Schema, dict or path, optional
        Public bounds and levels. Looked for here, then on the frame (:func:`dpglm.declare`), then in a file
        ``name.schema.yaml`` beside a data file. Sites must agree on the columns, the unit and ``sites``.
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
        ``dpglm.methods.estimate_and_information.pays``); the summary says which way it went. The other two
        spend all of it on the
        estimate.
    method : str or Method
        ``"auto"``, a name, or an object of ``dpglm.methods`` with its options. ``"lla"`` and ``"lha"`` name
        fits without privacy, the latter with ``penalty="l1/2"`` only.
    ledger : Ledger or path, optional
        Charged before any row is read, at all sites or at none; a path opens an existing ledger.
    seed : int, optional
        Repeatable noise for tests and simulations, another one at each site; the result is marked
        NOT PRIVATE.
    progress : bool, optional
        A bar over a public number of steps; by default in a terminal only.

    Returns
    -------
    FitResult or SiteFits
        Coefficients on the original scale, with the privacy spend. It holds no data. Of several sites: one
        fit a site, and what they promise together.

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
    budget = privacy_of(privacy)
    noise = noise_of(seed)
    book = ledger_of(ledger)
    asked = Asked.of(
        formula, family=family, penalty=penalty, strength=strength, goal=goal, method=method, budget=budget
    )
    if is_sites(data):
        return fit_sites(asked, data, schema=schema, ledger=book, seed=seed, progress=progress)
    with steps(STEPS, progress) as step:
        step(0)
        modelled = Modelled.of(asked, find_schema(data, schema))
        planned = modelled.plan(modelled.design(data), seeded=not noise.private)
        step(1)
        # Charge before reading: an interrupt from here on loses budget, never privacy.
        state = charge(book, planned.guarantee, planned.what)
        step(2)
        estimate = planned.solve(noise)
        step(3)
        return planned.write_up(estimate, noise, state)


def load(path: str | PathLike[str]) -> FitResult:
    """Read a result written by ``save``; it predicts again, from its own schema and formula.

    Raises
    ------
    StoreError
        Not a saved result, or one of another version.
    SchemaError, FormulaError
        A file whose schema or formula was tampered with.
    """
    record = read(path)
    asked = record.specification
    declared = Schema.from_dict(asked.schema)
    model = parse(asked.formula, declared)
    method = with_options(methods[asked.method.name], json.dumps(asked.method.options))
    coding = Coding.of(model, kind=method.coding)
    if coding.names != record.names:
        raise StoreError(
            "coefficients that do not belong to the saved formula and schema",
            expected="a file as written by save()",
            remedy="Save the result again from the fit itself.",
        )
    return FitResult(replace(record, row_map=RowMap(declared, RowEncoder(model, coding))))


def load_data(name: str) -> pd.DataFrame:
    """A data set that comes with its public schema: "fair", "randhie", "simulated" or "cohort".

    Examples
    --------
    >>> import dpglm
    >>> dpglm.load_data("fair").shape[0]
    6366
    """
    return load_table(name)
