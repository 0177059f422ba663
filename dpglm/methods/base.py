"""What a method is: a plan of releases, and what it makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np

from dpglm.curator.curator import PricedReleases, releases_profile
from dpglm.errors import MethodError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.coefficients import Geometry as ScaledGeometry
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.mechanisms.base import CHOSEN, DECLARED, Release, require_public_rows
from dpglm.postprocessing.parts import ExactPath, MeasuredScales, ResultPart
from dpglm.privacy.budget import Privacy, pure_curve
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import Registry
from dpglm.typing import BoolVector, FloatMatrix, FloatVector
from dpglm.wide_maps import MOST_DENSE, too_wide


class Geometry(ScaledGeometry, Protocol):
    """The public coding of rows; lives in the data room."""

    @property
    def names(self) -> tuple[str, ...]:
        """The user's coefficients."""

    @property
    def user_from_coded(self) -> FloatMatrix:
        """User's coefficients from coded ones, shape (p, p)."""

    @property
    def term_columns(self) -> tuple[TermColumns, ...]:
        """The coded columns as tables of cells."""

    @property
    def standardisable(self) -> tuple[str, ...]:
        """Labels of the numbers that can be standardised."""

    def moments_at(self, places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        """Means and standard deviations from shares of the declared ranges around their middles."""

    def standardised(self, moments: Mapping[str, tuple[float, float]], longer: float) -> Geometry:
        """The coding in these means and standard deviations, rows divided by ``longer`` typical lengths."""

    @property
    def terms(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Name and user's columns of each term."""

    def row_matrix(self, moments: Mapping[str, tuple[float, float]], longer: float) -> FloatMatrix:
        """Rows of that coding from rows of this one, shape (p, p)."""


class Ask(Protocol):
    """How a method gets at rows: through releases only."""

    def __call__(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """Run a planned release."""


@dataclass(frozen=True, repr=False)
class Problem:
    """What is to be fitted, from public facts only.

    ``strength`` is what the user gave: a number per row, "cv" or None. ``rows`` is a declared number of rows,
    for a strength per row where the table's own is private. ``known_rows`` is a declared number of rows, for
    rules that plan. ``count_rows`` counts the table's own where that is public. ``offset`` is the declared
    range of a row's offset, None where there is none. ``moments`` are known means and standard deviations of
    numbers, by label. ``weighted`` says that rows have weights, whose sum is private under both relations.

    >>> import dpglm
    >>> dpglm.plan("y ~ x", {"y": ["no", "yes"], "x": (0, 9)}, privacy=1.0).problem
    <Problem: 2 coefficients, binomial, none, explain>
    """

    geometry: Geometry
    family: Family
    penalty: Penalty
    strength: float | str | None = None
    rows: int | None = None
    goal: str = "predict"
    known_rows: int | None = None
    count_rows: Callable[[], int] | None = None
    offset: tuple[float, float] | None = (0.0, 0.0)
    moments: Mapping[str, tuple[float, float]] | None = None
    weighted: bool = False

    def __repr__(self) -> str:
        pieces = (self.family.name, self.penalty.name, self.goal)
        return f"<Problem: {len(self.geometry.names)} coefficients, {', '.join(pieces)}>"

    def public_size(self) -> float | None:
        """Number of rows where it is public, counted or declared, for BIC."""
        if self.count_rows is not None:
            return float(self.count_rows())
        return None if self.known_rows is None else float(self.known_rows)

    def require_budget(self, privacy: Privacy | None, name: str, *, releases_rows: bool = False) -> Privacy:
        """The budget of a private method; ``releases_rows`` where it releases a noisy number of rows.

        Without a budget, with cross-validation, or with a strength per row of a private number of rows, a
        MethodError.
        """
        if privacy is None:
            raise MethodError(
                f"method={name!r} with privacy=None",
                expected="a privacy budget",
                remedy="Use method='nonprivate', or say privacy=(1.0, 1e-6).",
            )
        if self.strength == "cv":
            raise MethodError(
                "strength='cv' with a privacy budget",
                expected="a strength that does not look at the data",
                remedy="Leave strength out, or give a number that was chosen without these data.",
            )
        if self.strength is not None and self.count_rows is None and not releases_rows:
            require_public_rows("add-remove", self.rows)
        return privacy

    def total_strength(self) -> float | None:
        """The strength that the user gave, sum units; None if it is to be chosen."""
        if self.strength is None:
            return None
        rows = self.rows if self.rows is not None else self.public_size()
        assert rows is not None
        return float(self.strength) * rows


@dataclass(frozen=True)
class Estimate:
    """What a method found: coded and user's coefficients, and which were selected.

    ``strength`` is the penalty's per row, ``strength_sum`` in sum units; ``residual`` what a solver
    without noise left over. ``released`` is what intervals are made of, where there is an information matrix;
    ``exact_path`` what a fit without privacy found at other strengths. ``part`` is what a paper adds.
    ``scales`` are those of the coded coefficients where rows were standardised. ``problem`` is what was
    solved in the end, by a method that chooses among several.

    >>> Estimate(np.zeros(2), np.zeros(2), np.array([True, False])).strength is None
    True
    """

    coded: FloatVector
    estimates: FloatVector
    selected: BoolVector
    strength: float | None = None
    strength_sum: float | None = None
    residual: float | None = None
    released: ScoreAndInformation | None = None
    exact_path: ExactPath | None = None
    part: ResultPart | None = None
    scales: MeasuredScales | None = None
    problem: Problem | None = None


def to_response_scale(estimate: Estimate, geometry: Geometry, *, unit: float, shift: float) -> Estimate:
    """The estimate of a model of ``y = shift + unit * coded response``.

    ``unit`` and ``shift`` are public, from the declared bounds; a shift needs an intercept among the user's
    coefficients, which takes it up. Zeros stay exact.
    """
    if unit == 1.0 and shift == 0.0:
        return estimate
    free = ~np.asarray(geometry.penalised)
    origin = shift * np.asarray(geometry.coded_from_user)[:, free].sum(axis=1)
    released = estimate.released
    if released is not None:
        known = 0.0 if released.origin is None else released.origin
        released = replace(
            released,
            term_columns=tuple(replace(block, prior=unit * block.prior) for block in released.term_columns),
            centre=unit * released.centre,
            score=unit * released.score,
            score_scale=unit * released.score_scale,
            dispersion=unit**2 * released.dispersion,
            initial_variance=unit**2 * released.initial_variance,
            level_error=unit * released.level_error,
            score_covariance=None if (known_by := released.score_covariance) is None else unit**2 * known_by,
            origin=origin + unit * known,
        )
    scales = estimate.scales
    if scales is not None and scales.residual_cut is not None:
        scales = replace(scales, residual_cut=unit * scales.residual_cut)
    path = estimate.exact_path
    if path is not None:
        users = np.where(free, shift + unit * path.coefficients, unit * path.coefficients)
        path = replace(path, coefficients=users)
    return replace(
        estimate,
        coded=unit * estimate.coded + origin,
        estimates=np.where(free, shift + unit * estimate.estimates, unit * estimate.estimates),
        released=released,
        exact_path=path,
        scales=scales,
    )


def require_positive(value: float | None, name: str) -> None:
    """Refuse an option that is not a positive finite number, None aside."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and 1e-100 < value < 1e100):
        raise MethodError(f"{name} out of range", expected="a number above 0", remedy=f"Leave {name} out.")


def require_scales(scales: object) -> None:
    """Refuse an option that says neither that scales are measured nor that they are declared."""
    if scales not in ("measured", "declared"):
        raise MethodError(
            "scales that are neither measured nor declared",
            expected="scales='measured' or scales='declared'",
            remedy="Leave scales out.",
        )


class Method(ABC):
    """An algorithm that plans releases and turns them into coefficients.

    Its options are fields; its name in ``fit(method=...)`` is the object with its defaults.

    >>> import dpglm
    >>> isinstance(dpglm.methods.Objective(coding="clipped"), Method)
    True
    """

    name: ClassVar[str]

    # How rows are coded: "centred", so that no row exceeds its bound, unless a method makes this a field.
    coding: Literal["centred", "clipped"] = "centred"
    # Whether `dpglm.tune` may choose it: one linear predictor, and nothing read from a file.
    tunable: ClassVar[bool] = True

    @property
    def planned_by_row_count(self) -> bool:
        """Whether the plan follows from the table's number of rows: a reproduction without a promise only."""
        return False

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        """The penalty inside the objective; a method whose models have their own says so."""
        return penalty

    def default_penalty(self, goal: str, family: Family) -> str:
        """The penalty where none is given: unbiased estimates, stable predictions, or a short list."""
        return {"explain": "none", "predict": family.prediction_penalty, "select": "l1/2"}[goal]

    def require_columns(self, problem: Problem) -> None:
        """Refuse a design for which the method would need matrices that are too large, by a MethodError."""
        if len(problem.geometry.names) > MOST_DENSE:
            raise too_wide(f"method={self.name!r}", len(problem.geometry.names))

    def prepared(self, problem: Problem) -> Problem:
        """The problem as this method takes it, with another loss where it minimises one."""
        return problem

    def opened(self, load: Callable[[str | PathLike[str]], Any]) -> Self:
        """The method with the files that its options name read, by ``load``; most name none."""
        return self

    @abstractmethod
    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        """The releases and their guarantee, before any row is read, or a MethodError from public facts."""

    @abstractmethod
    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        """Ask for the planned releases and make an estimate of them."""

    def expected(
        self, problem: Problem, plan: PricedReleases, rows: ExpectedRows
    ) -> Contrasts | EstimateNoise | None:
        """What the releases are expected to tell of the coefficients, before any row is read.

        The user's coefficients in the linear model that they make on average, where standard errors follow;
        the noise of the estimate otherwise; None where neither is known.
        """
        return None

    @abstractmethod
    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        """How it works, from public facts only."""


methods: Registry[Method] = Registry("method", "dpglm.methods", "dpglm.papers")


POINTS = 41


def budgeted_plan(
    releases: tuple[Release, ...],
    privacy: Privacy,
    *,
    mu: float | None,
    curve: bool = False,
    more: tuple[str, ...] = (),
) -> PricedReleases:
    """The budget as a guarantee, with the theorems and assumptions of all releases.

    ``mu`` says that all of it is Gaussian private, which the plan checks; ``curve`` asks for what holds at
    other epsilons, too; ``more`` is what the method takes for granted beside its releases. Releases that cost
    more than the budget are a PrivacyError.
    """
    theorems = (release.describe(privacy.relation).theorem for release in releases)
    assumed = [text for release in releases for text in release.assumptions]
    if CHOSEN in assumed:  # which says more
        assumed = [CHOSEN if text == DECLARED else text for text in assumed]
    guarantee = Guarantee(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        definition=privacy.definition,
        relation=privacy.relation,
        unit=str(privacy.unit),
        persons=privacy.persons,
        mu=mu,
        rho=privacy.rho,
        theorem="; ".join(dict.fromkeys(theorems)),
        assumptions=(*dict.fromkeys(assumed), *more),
        curve=_curve(releases, privacy) if curve else (),
    )
    return PricedReleases(releases, guarantee, privacy)


def _curve(releases: tuple[Release, ...], privacy: Privacy) -> tuple[tuple[float, float], ...]:
    """Points (epsilon, delta) that hold all at once, up to 1.5 epsilon; a GDP guarantee is its own curve."""
    if privacy.mu is not None:
        return ()
    grid = np.linspace(0.0, 1.5 * privacy.epsilon, POINTS)
    if privacy.delta == 0.0:
        deltas = pure_curve(grid, privacy.epsilon)
    else:
        alone = len(releases) == 1 and releases[0].profile(grid, privacy.relation) is not None
        grid = grid if alone else grid[::2]  # each of these may be an integral
        deltas = releases_profile(releases, privacy.relation, grid.tolist())
    return tuple((float(e), float(d)) for e, d in zip(grid, deltas, strict=True) if d > 0.0)
