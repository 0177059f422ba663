"""The verbs a statistician types; each parses its arguments and calls rooms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import find_schema, schema_of
from dpglm.errors import PrivacyError, StoreError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.methods.base import Method
from dpglm.planning.advice import advised
from dpglm.postprocessing import store
from dpglm.postprocessing.record import FitRecord, Goal
from dpglm.privacy.budget import REMEDY, Privacy
from dpglm.results import level_fits
from dpglm.results.fit_result import FitResult
from dpglm.spec import arguments, joint, levels, planned_again, sites
from dpglm.spec.charging import with_row_map
from dpglm.spec.defaults import DEFAULT_FAMILY, DEFAULT_GOAL, DEFAULT_METHOD, MULTINOMIAL
from dpglm.spec.model_spec import ModelSpec, no_formula
from dpglm.spec.plan import Plan
from dpglm.spec.profiled import informed, products_of
from dpglm.threads import ONE_THREAD_EACH

if TYPE_CHECKING:
    from dpglm.auditing.result import Audit
    from dpglm.results.compare import SiteFits
    from dpglm.results.level_fits import LevelFits
    from dpglm.results.profile import Profile
    from dpglm.spec.levels import LevelPlan


@overload
def fit(  # type: ignore[overload-overlap]  # a name is told from other families
    formula: str, data: object, *, family: Literal["multinomial"], **options: Unpack[arguments.LevelOptions]
) -> LevelFits: ...
@overload
def fit(  # type: ignore[overload-overlap]  # a mapping is told from tables
    formula: str | Plan, data: Mapping[str, object], **options: Unpack[arguments.FitOptions]
) -> FitResult | SiteFits: ...
@overload
def fit(formula: str | Plan, data: object, **options: Unpack[arguments.FitOptions]) -> FitResult: ...
def fit(
    formula: str | Plan,
    data: object,
    *,
    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
    family: str | Family = DEFAULT_FAMILY,
    penalty: str | Penalty | None = None,
    strength: float | Literal["cv"] | None = None,
    privacy: float | tuple[float, float] | Privacy | arguments.Required | None = arguments.REQUIRED,
    goal: Goal = DEFAULT_GOAL,
    method: str | Method = DEFAULT_METHOD,
    weights: str | None = None,
    profile: Profile | None = None,
    ledger: arguments.LedgerOption = None,
    key: str | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> FitResult | SiteFits | LevelFits:
    """Fit a generalized linear model with differential privacy.

    Parameters
    ----------
    formula : str or Plan
        A patsy formula of row-wise terms: ``"y ~ age + C(job) + age:sex + I(x ** 2)"``. Or a plan, which says
        all but what ``plan.fit`` takes.
    data : DataFrame, Arrow table, path to CSV or Parquet, dataset or query; or a dict of them by site
        Private rows, read in chunks. A folder, a pattern (``"visits/*.csv"``) or a list of paths is a table;
        queries of polars (lazy), DuckDB and dask run at each pass; frames of Spark, and of dask with a
        client, stay on their cluster. ``{"north": frame, "south": "south.csv"}`` fits the model at each site
        or, by a joint method (``"dlvp"``), once to all; each spends the whole budget. The ledger is charged
        for each, unless all are at one site only (``sites: disjoint``).
    schema : Schema, dict or path, optional
        Public bounds and levels. Looked for here, on the frame (:func:`dpglm.declare`), and in a file
        ``name.schema.yaml`` beside the data. Sites must agree on the columns, the unit and ``sites``.
    family : str or Family
        ``"binomial"``; ``"gaussian"`` for a number with bounds; ``"poisson"`` for a count with bounds
        ``[0, LARGEST]``; ``"ordinal"`` for ordered levels, ``"multinomial"`` for others, the baseline first;
        ``"huber_svm"`` and ``"softplus_hinge"``, linear support vector machines without probabilities.
    penalty : str, Penalty or None
        None follows the goal: ``"none"`` to explain, ``"l1/2"`` to select, and to predict ``"l1"`` where a
        response has two levels, else ``"l2"``. So it does without privacy: maximum likelihood, as in R's glm.
        Or ``"none"``, ``"l2"`` ("ridge"), ``"l1"`` ("lasso"), ``"elastic_net"``, ``"l1/2"``, ``"lq"``,
        ``"scad"``, ``"mcp"``, ``"group"``, or an object of ``dpglm.penalties``. Where the information matrix
        is released, any penalty is applied afterwards and another one is free (`FitResult.refit`). Otherwise
        it goes inside the objective, the lasso in place of a penalty that is not convex.
    strength : float, "cv" or None
        Per row, on scaled coefficients. None: BIC on released numbers or, inside an objective, what follows
        from the noise level. ``"cv"``, the default without privacy: 5 folds and the one-standard-error rule.
    privacy : float, (epsilon, delta), Privacy or None
        Required. A number asks for pure epsilon-DP. None fits without privacy and says so everywhere.
    goal : {"explain", "predict", "select"}
        ``"explain"``: half of the budget or more is spent on the information matrix, which pays for standard
        errors, intervals, tests, paths and refits, wherever a public rule expects that to be worth it
        (`releases_information`). The others spend all on the estimate; ``"select"`` is one sparse linear
        model; `FitResult.select` is free beside intervals; `dpglm.rank_features` sees other shapes, too.
    method : str or Method
        ``"auto"``, a name, or an object of ``dpglm.methods`` with its options.
    weights : str, optional
        Column of sampling weights, or of counts of equal rows: a declared number with bounds (LOW, HIGH), LOW
        >= 0. A row counts as the share weight / HIGH, at most 1, rounded to one part in 4,096, and without a
        weight not at all. Guarantee and noise are those of rows that count in full.
    profile : Profile, optional
        What `dpglm.describe` released of the same columns: its means and standard deviations are the scales
        of the fit, which then spends nothing on its own.
    ledger : Ledger or path, optional
        Charged before any row is read, at all sites or at none; a path opens an existing one. A joint method
        takes one for each site, too: ``{"north": ledger, "south": ledger}``.
    key : str, optional
        A name of the run, as ``"monday-run"``. The ledger keeps its answer: the same plan under the same key
        is charged and drawn once. Later calls read no row and give it back.
    seed : int, optional
        Repeatable noise for tests and simulations; the result is marked NOT PRIVATE.
    progress : bool, optional
        A bar over public steps; by default in a terminal only.

    Returns
    -------
    FitResult, SiteFits or LevelFits
        Coefficients on the original scale, with the privacy spend, and no data; of sites one each, or one;
        of a multinomial response one for each level but the first.

    Raises
    ------
    PrivacyError, FormulaError, SchemaError, MethodError
        From public facts alone, before anything is charged or read.
    BudgetExceeded, LedgerError
        A ledger does not cover the fit or cannot be used; ``key`` is that of another plan, or of a run that
        gave no answer. Nothing was read.

    Warns
    -----
    PlanningAdvice
        What would give more, where public facts say that few coefficients will have a standard error.

    Examples
    --------
    >>> import dpglm
    >>> data = dpglm.load_data("simulated")
    >>> dpglm.fit("y ~ x1 + x2", data, penalty="l1", privacy=1.0, seed=7).names
    ('Intercept', 'x1', 'x2')
    """
    if not isinstance(formula, str | Plan):
        raise no_formula(formula)
    if isinstance(formula, Plan):
        arguments.refuse_beside_plan(
            schema, family, penalty, strength, goal, method, privacy, weights, profile
        )
        return formula.fit(data, ledger=ledger, key=key, seed=seed, progress=progress)
    asked_of = partial(ModelSpec.of, family=family, penalty=penalty, strength=strength, goal=goal)
    told = products_of(profile)
    asked_of = partial(asked_of, privacy=privacy, method=method, weights=weights, products=told)
    budget = arguments.privacy_of(privacy)  # refused before a table is looked for
    _, opened = arguments.noise_of(seed), arguments.ledgers_of(ledger, key)
    with ONE_THREAD_EACH:
        if family == MULTINOMIAL:
            declared = informed(find_schema(levels.one_table(data), schema, formula), profile)
            several = levels.LevelPlan.of(asked_of, formula, declared, budget)
            return several.fit(data, ledger=opened, key=key, seed=seed, progress=progress)
        if not arguments.is_sites(data):
            spec = asked_of(formula, informed(find_schema(data, schema, formula), profile))
            counted = spec.method.planned_by_row_count and spec.rows_are_public
            n = spec.coded_model.design(data).row_count() if counted else None
            asked = advised(spec.plan(n=n), opened, seeded=seed is not None)
            return asked.fit(data, ledger=opened, key=key, seed=seed, progress=progress)
        tables = sites.site_tables(data)
        one = None if schema is None else Schema.of(schema)
        schemas = sites.site_schemas(tables, formula) if one is None else dict.fromkeys(tables, one)
        schemas = {site: informed(declared, profile) for site, declared in schemas.items()}
        spec = asked_of(formula, next(iter(schemas.values()))).among(tuple(schemas.values()))
        asked = advised(spec.plan(), opened, seeded=seed is not None)
        return joint.run_at_sites(
            asked, tables, ledger=opened, key=key, seed=seed, progress=progress, schemas=schemas
        )


def plan(
    formula: str,
    schema: Schema | Mapping[str, Any] | str | PathLike[str],
    *,
    n: int | None = None,
    family: str | Family = DEFAULT_FAMILY,
    penalty: str | Penalty | None = None,
    strength: float | None = None,
    privacy: float | tuple[float, float] | Privacy | arguments.Required = arguments.REQUIRED,
    goal: Goal = DEFAULT_GOAL,
    method: str | Method = DEFAULT_METHOD,
    weights: str | None = None,
    profile: Profile | None = None,
) -> Plan | LevelPlan:
    """The plan of a fit, before any data are touched: its releases, their price and expected precision.

    ``plan.fit(data)`` runs it: the plan that was approved is the plan that is charged. Planning costs no
    privacy.

    Parameters
    ----------
    formula : str
        As for `dpglm.fit`.
    schema : Schema, dict, path, or a table that carries one or has one beside its file
        Public bounds and levels. ``shares`` of levels, and ``mean`` and ``sd`` of numbers, make what is
        expected better; without them levels are taken to be equally frequent, and numbers to lie in the
        middle of their bounds with a sixth of their range as standard deviation.
    n : int, optional
        Expected number of rows, or of persons as in ``Schema(rows=...)``; None is what the schema declares.
    family, penalty, strength, goal, method, weights
        As for `dpglm.fit`.
    privacy : float, (epsilon, delta) or Privacy
        The budget, required.
    profile : Profile, optional
        As for `dpglm.fit`. What it tells of columns and of their correlations is expected, too.

    Returns
    -------
    Plan or LevelPlan
        With ``fit(data)``, ``audit()``, ``expected(n=...)``, ``summary()`` and ``fingerprint``.

    Raises
    ------
    PrivacyError, FormulaError, SchemaError, MethodError
        As `dpglm.fit`; also for a number of rows out of range.

    Notes
    -----
    Without correlations columns are taken to overlap like normal scores with correlation .5, and to explain a
    fifth of the response. The schema's rows, not ``n``, decide if a selecting penalty is worth a matrix.

    Examples
    --------
    >>> import dpglm
    >>> jobs = {"levels": ["office", "care", "mine", "sea"], "shares": [0.6, 0.38, 0.016, 0.004]}
    >>> schema = {"ill": ["no", "yes"], "age": {"bounds": (18, 90), "mean": 50, "sd": 15}, "job": jobs}
    >>> plan = dpglm.plan("ill ~ age + job", schema, n=4000, privacy=(1.0, 1e-6), penalty="none")
    >>> plan.expected().printed
    (True, True, False, False, True)
    >>> [merger.levels for merger in plan.expected().mergers]
    [('sea', 'mine')]
    """
    if privacy is None:
        raise PrivacyError("privacy=None for a plan", expected="the budget of the fit", remedy=REMEDY)
    if not isinstance(formula, str):
        raise no_formula(formula)
    declared = informed(schema_of(schema, formula), profile)
    asked_of = partial(ModelSpec.of, family=family, penalty=penalty, strength=strength, goal=goal)
    told = products_of(profile)
    asked_of = partial(asked_of, privacy=privacy, method=method, weights=weights, products=told)
    with ONE_THREAD_EACH:
        if family == MULTINOMIAL:
            return levels.LevelPlan.of(asked_of, formula, declared, arguments.privacy_of(privacy), n)
        return asked_of(formula, declared).plan(n=n)


def audit(
    what: FitResult | Plan,
    *,
    trials: int | Literal["quick"] = 10_000,
    confidence: float = 0.9999,
    progress: bool | None = True,
    seed: int | None = None,
) -> Audit:
    """A lower bound on what a fit gives away, from draws on neighbouring tables made of its schema.

    Draws are as in a fit, on raw tables that differ in one row or person; no private table is read.
    Half of them choose a pair, a statistic and events; the other half counts these, with binomial bounds.

    Parameters
    ----------
    what : FitResult or Plan
        What `dpglm.fit`, `dpglm.load` or `dpglm.plan` gave back.
    trials : int or "quick"
        Draws on each table, for each release and for the whole method; ``"quick"``: for half a minute.
    confidence : float
        All bounds hold together with at least this probability, between 0 and 1.
    progress : bool or None
        A bar over the draws, with the time they take; None shows it in a terminal only.
    seed : int, optional
        Repeatable draws; by default noise comes from the operating system, as in a fit.

    Returns
    -------
    Audit
        With ``summary()``, ``tidy()``, ``plot()`` and ``passed``.

    Raises
    ------
    MethodError
        Neither a fit nor a plan, no promise, another plan today, or numbers out of range.

    Notes
    -----
    A bound below the claim does not prove it; a bound above it refutes it. Verdicts use its curve and mu too.

    References
    ----------
    Ding et al. (2018), "Detecting violations of differential privacy", CCS; Jagielski, Ullman and Oprea
    (2020), "Auditing differentially private machine learning", NeurIPS.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"y": (0, 1), "x": (0, 9)}
    >>> plan = dpglm.plan("y ~ x", schema, n=99, privacy=1.0, family="gaussian")
    >>> found = dpglm.audit(plan, trials=1000, seed=1, progress=False)
    >>> found.passed, found.rows[-1].epsilon < 1.0
    (True, True)
    """
    plan = what if isinstance(what, Plan) else planned_again.plan_of(what)
    return plan.audit(trials=trials, confidence=confidence, progress=progress, seed=seed)


def load(path: str | PathLike[str]) -> FitResult | LevelFits:
    """Read a result written by ``save``; it predicts again, from its own specification.

    A file holds a fit, and a folder the equations of a multinomial fit. A StoreError says that it is no saved
    result, or one of another version; that, a SchemaError, a FormulaError or a MethodError, that the
    specification was tampered with.

    >>> import dpglm, tempfile
    >>> fit = dpglm.fit("affair ~ age", dpglm.load_data("fair"), privacy=1.0, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dpglm.load(fit.save(f"{folder}/fit.json")).names
    ('Intercept', 'age')
    """
    if store.is_folder(path):
        return level_fits.LevelFits.of_folder(path, load)
    record: FitRecord = store.read(path)
    model = ModelSpec.of_document(record.specification).coded_model
    if model.coding.names != record.names:
        raise StoreError(
            "coefficients that do not belong to the saved formula and schema",
            expected="a file as written by save()",
            remedy="Save the result again from the fit itself.",
        )
    return FitResult(with_row_map(record, model))
