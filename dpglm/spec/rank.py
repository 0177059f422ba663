"""`dpglm.rank_features`: features by how well they tell two classes apart, charged and then run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from dpglm import __version__
from dpglm.curator.curator import Curator
from dpglm.data.coding.unit_box import UnitBox
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import find_schema, require_rows, rows_in_memory
from dpglm.errors import MethodError, PlanningAdvice
from dpglm.ledger.ledger import Ledger
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.noise import NoiseSource
from dpglm.planning.advice import admitted
from dpglm.postprocessing.codec import decode
from dpglm.postprocessing.ranking import RankingRecord
from dpglm.postprocessing.record import LedgerState
from dpglm.postprocessing.spending import RANKED, parallel_lines
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.profile import Profile
from dpglm.results.ranking import FeatureRanking
from dpglm.spec.arguments import (
    REQUIRED,
    Required,
    for_unit,
    is_sites,
    ledger_of,
    noise_of,
    number_of,
    privacy_of,
)
from dpglm.spec.linear_ranking import Coefficients as Coefficients  # registers itself
from dpglm.spec.profiled import informed
from dpglm.spec.ranking import RankingPlan, RankingProblem, Weights, rankings
from dpglm.typing import FloatMatrix

RankingName: TypeAlias = Literal["fwell", "fwell-kmeans", "fwell-block", "objective", "marginal"]
# Columns for each row and unit of epsilon above which no method finds more than chance.
MOST_COLUMNS: Final = 0.1


def rank_features(
    formula: str,
    data: object,
    *,
    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
    k: int | None = None,
    method: RankingName = "fwell",
    privacy: float | tuple[float, float] | Privacy | Required | None = REQUIRED,
    strength: float | None = None,
    reference: object = None,
    single_pass: bool = False,
    paper_exact: bool = False,
    profile: Profile | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    seed: int | None = None,
) -> FeatureRanking:
    """Rank features by how well they tell the two levels of a response apart, with differential privacy.

    Use it before a fit, where there are many columns or effects that a linear model does not see. Two others
    select as well: ``dpglm.fit(goal="select")`` spends the budget on one sparse linear model, which is then
    the result; `FitResult.select` makes a list of the coefficients of a fit that has an information matrix,
    at no price. Take these where effects are linear. A ranking is no model: the fit after it costs its own.

    Parameters
    ----------
    formula : str
        ``"y ~ x1 + job"``: declared columns joined by +, or ``"y ~ ."`` for all others. The response has two
        levels.
    data : DataFrame, Arrow table, path to CSV or Parquet, dataset or query
        Private rows, as for `dpglm.fit`.
    schema : Schema, dict or path, optional
        Public bounds and levels; looked for as `dpglm.fit` does.
    k : int, optional
        How many features are selected; None: those whose weight is above the noise level. It can be chosen
        afterwards, too: the ranking is of all features.
    method : {"fwell", "fwell-kmeans", "fwell-block", "objective", "marginal"}
        ``"fwell"``: margins between two points of either class in each column, which are released first. It
        sees shifts, thresholds and U shapes of single features, and no interactions. ``"fwell-kmeans"``: near
        hits and misses among centres of clusters, found by private k-means; it sees interactions such as XOR,
        where columns are few or epsilon is large. ``"fwell-block"``: near hits and misses inside of blocks of
        ten rows; it sees interactions, too, and needs many rows and replace-one neighbours. ``"objective"``:
        coefficients of the linear model of ``goal="select"``, of as many features as a formula names.
        ``"marginal"``: differences of class means, the plain baseline.
    privacy : float, (epsilon, delta), Privacy or None
        Required. None is the original FWELL on exact near hits and misses, without privacy, and says so.
    strength : float, optional
        Of the regularisation per row, ``strength * |w|^2``, in both FWELLs; by default .1. A small one ranks
        features high that hardly differ.
    reference : DataFrame or path, optional
        A *public* labelled table with the same columns, for ``"fwell"``: near hits and misses are then among
        its rows, which sees interactions, too, and the whole budget goes to the weights.
    single_pass : bool
        The paper's Algorithm 1, one pass of normalised steps, in place of the minimiser; without privacy.
    paper_exact : bool
        Private FWELL as printed, whose privacy claim is false: NOT PRIVATE.
    profile : Profile, optional
        What `dpglm.describe` released of the same columns: a number's box is then its mean and two standard
        deviations on either side, in place of its declared bounds. Worth a tenth of the budget (in squares)
        where bounds are wide: with five of 40 columns to find in 5,000 rows, ``"fwell"`` found .67 of them
        at (1, 1e-6) with bounds of three standard deviations, .93 with a profile; none at (4, 1e-6) with
        bounds of 30, .93 with a profile.
    ledger : Ledger or path, optional
        Charged before any row is read; a path opens an existing ledger. Fits on it say that the ranking was
        paid for.
    seed : int, optional
        Repeatable noise for tests and simulations; the result is marked NOT PRIVATE.

    Returns
    -------
    FeatureRanking
        With ``weights``, ``ranks``, ``selected``, ``formula``, ``noise_level``, ``summary()``, ``plot()``,
        ``report(path)`` and ``save(path)``.

    Raises
    ------
    PrivacyError, FormulaError, SchemaError, MethodError
        From public facts alone, before anything is charged or read.
    BudgetExceeded
        The ledger does not cover the ranking; nothing was read.

    Warns
    -----
    PlanningAdvice
        More columns than a tenth of the rows times epsilon: no method can then rank them. Before the charge
        where the schema or a frame in memory tells the number of rows, else with the ranking.

    References
    ----------
    Yang and Li (2014), "Differentially private feature selection", IJCNN: the original and the printed
    algorithm. Its proof is false: one row may be the near miss of all others. ``papers/fwell/margins.md`` and
    ``blocks.md`` have the corrected ones.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> ranking = dpglm.rank_features("affair ~ .", women, k=3, privacy=(1.0, 1e-6), seed=1)
    >>> "rate_marriage" in ranking.selected
    True
    >>> fit = dpglm.fit(ranking.formula, women, privacy=(1.0, 1e-6), seed=2)
    >>> "rate_marriage" in fit.names
    True
    """
    budget, noise, opened = privacy_of(privacy), noise_of(seed), ledger_of(ledger)
    if is_sites(data):
        raise MethodError(
            "tables by site",
            expected="one table to rank the features of",
            remedy="Rank at one site, and fit the formula at the others.",
        )
    if reference is not None and reference is data:
        raise MethodError(
            "the private table itself as reference",
            expected="a public labelled table: its rows are used without noise",
            remedy="Leave reference out; prototypes are then released.",
        )
    box = UnitBox.of(formula, informed(find_schema(data, schema), profile))
    if budget is not None:
        budget = for_unit(budget, box.schema)
    problem = RankingProblem(
        formula=formula,
        box=box,
        privacy=budget,
        strength=_strength_of(strength),
        reference=None if reference is None else _reference(box, reference),
        single_pass=_flag("single_pass", single_pass),
        paper_exact=_flag("paper_exact", paper_exact),
    )
    kind = rankings[method if isinstance(method, str) else type(method).__name__]
    plan = RankingPlan(kind(problem))
    run = _Run(plan, k if k is None else _k_of(k, len(box.features)), plan.method.table(data), noise)
    public = budget is None or budget.rows_are_public
    if public:
        require_rows(data)
    rows = rows_in_memory(data) if public and box.schema.rows is None else box.schema.rows
    charge = run.guarantee, run.what, plan.fingerprint
    if admitted(opened, charge):
        _advise(problem, rows)
    state = None
    if opened is not None:
        (entry,) = opened.charge_all([charge])
        state = decode(LedgerState, opened.state(at=entry))
    ask = Curator(run.table, plan.priced, noise).ask
    record = run.record(plan.method.weights(plan.priced, ask), state)
    if rows is None:  # of a file they are known when it was read
        _advise(problem, record.n_rows)
    return FeatureRanking(record)


@dataclass(frozen=True, eq=False)
class _Run:
    """A plan on a table, which is opened and not read."""

    plan: RankingPlan
    k: int | None
    table: Rows
    noise: NoiseSource

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of the table."""
        guarantee = self.plan.guarantee
        return guarantee if self.noise.private or not guarantee.private else guarantee.seeded()

    @property
    def what(self) -> str:
        """The words of the ledger's line."""
        problem = self.plan.problem
        features = problem.box.features
        right = problem.formula.partition("~")[2].strip()
        right = f"{len(features)} columns" if right == "." or len(right) > 1000 else right
        return f"{RANKED}{problem.box.response} ~ {right} [{self.plan.method.name}]"

    def record(self, weights: Weights, state: LedgerState | None) -> RankingRecord:
        """What was released, with public facts."""
        plan, box, privacy = self.plan, self.plan.problem.box, self.plan.problem.privacy
        public = privacy is None or privacy.rows_are_public
        return RankingRecord(
            names=box.features,
            schema=box.schema.to_dict(),
            formula=plan.problem.formula,
            response=box.response,
            method=plan.method.name,
            k=self.k,
            weights=weights.values,
            deviation=weights.deviation,
            columns=box.size,
            n_rows=self.table.row_count() if public else None,
            guarantee=self.guarantee,
            spend_lines=parallel_lines(plan.priced.parallel(), self.guarantee),
            description=plan.description,
            random_source="operating system" if self.noise.private else "seeded generator: NOT PRIVATE",
            ledger=state,
            version=__version__,
            plan_fingerprint=plan.fingerprint,
        )


def _advise(problem: RankingProblem, rows: int | None) -> None:
    """Warn where public facts say that no method can rank so many columns."""
    privacy = problem.privacy
    if privacy is None or problem.paper_exact or rows is None:
        return
    if problem.box.size > MOST_COLUMNS * rows * privacy.epsilon:
        warnings.warn(
            f"{problem.box.size:,} columns with {rows:,} rows and epsilon {privacy.epsilon:g}: ranks will be "
            f"chance, since there are more columns than {MOST_COLUMNS:g} times rows times epsilon. Name fewer"
            " columns, chosen by public knowledge, or spend more.",
            PlanningAdvice,
            stacklevel=3,
        )


def _reference(box: UnitBox, table: object) -> tuple[FloatMatrix, FloatMatrix]:
    """Public rows of the first class and of the second in the unit box, missing values in the middle."""
    chunks = list(box.table(table).chunks())
    X = np.concatenate([chunk.X.T for chunk in chunks]).astype(np.float64) if chunks else np.empty((0, 1))
    y = np.concatenate([chunk.y for chunk in chunks]) if chunks else np.empty(0)
    X = np.where(np.isnan(X), 0.5, X)
    first, second = X[y == 0.0], X[y == 1.0]
    if not (len(first) and len(second)):
        raise MethodError(
            "a reference table without rows of either level",
            expected="public rows with both levels of the response",
            remedy="Leave reference out: prototypes are then released.",
        )
    return first, second


def _strength_of(strength: object) -> float | None:
    if strength is None:
        return None
    number = isinstance(strength, int | float | np.number) and not isinstance(strength, bool)
    if number and 1e-12 <= float(strength) <= 1e12:  # type: ignore[arg-type]
        return float(strength)  # type: ignore[arg-type]
    raise MethodError(
        "strength out of range", expected="a number above 0, per row", remedy="Leave it out, or use .1."
    )


def _k_of(k: object, most: int) -> int:
    expected = f"how many features to select, 1 to {most}"
    return int(number_of("k", k, low=1, high=most, whole=True, expected=expected, remedy="Leave k out."))


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise MethodError(f"{name} of type {type(value).__name__}", expected="True or False", remedy="Use True.")
