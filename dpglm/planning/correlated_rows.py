"""Expected rows whose columns go together as a profile released, drawn one column after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.special import expit

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.planning.expected_rows import FEWEST, POINTS, SEED, expected_quantiles, expected_shares
from dpglm.postprocessing.correlations import ColumnProducts, ProfiledColumn, indicators, places
from dpglm.typing import FloatMatrix, FloatVector

# What is left of a noisy covariance is pulled to that of independent columns: the weight of the prior is this
# times the number of coordinates and the variance of the noise. Of .03 to 4 it errs least on fair, GUSTO,
# diabetes130 and Adult.
PULL: Final = 0.03
# Where covariances have more noise than this share of a typical variance they are left aside: on fair, plans
# are then no better with them than without.
NOISIEST: Final = 0.5
# Shares of the response's variance that predictors may explain, equally likely before any was seen.
SHARES: Final = np.geomspace(0.005, 0.9, 40)
# Log-odds per standard deviation of the best predictor, at most.
STEEPEST: Final = 6.0
# A level has at least this part of its share in every row, before rows add up to shares again.
_LEAST_CHANCE: Final = 1e-3
_SHARE_ROUNDS: Final = 10
_JITTER: Final = 1e-9  # of a variance; keeps what has none invertible
_NEWTON_STEPS: Final = 30


@dataclass(frozen=True, eq=False)
class CorrelatedRows:
    """Rows to expect of a model, and what they explain of its response.

    Parameters
    ----------
    X : ndarray, shape (p, points)
        Coded rows.
    weights : ndarray, shape (points,)
        They add up to 1.
    explained : float or None
        Share of the response's variance; None where the profile does not know the response.
    direction : ndarray, shape (points,)
        The best linear predictor of the response, with mean 0 and variance 1.
    variance : (float, float) or None
        Of a response that is a number, as its products tell it, and the noise of that; None where unknown.
    complete : bool
        Whether the profile knows all columns; those that it does not know go together with none.
    """

    X: FloatMatrix
    weights: FloatVector
    explained: float | None
    direction: FloatVector
    variance: tuple[float, float] | None = None
    complete: bool = True

    @property
    def moments(self) -> FloatMatrix:
        """Mean of x x', shape (p, p)."""
        return self._weighted(self.weights)

    def logistic_curvature(self, rate: float) -> FloatMatrix:
        """Mean of q (1 - q) x x', shape (p, p), of probabilities q with this mean that explain as much.

        Their log-odds are linear in the direction.
        """
        assert self.explained is not None, "asked where the response is known"
        q = probabilities(self.direction, self.weights, rate, self.explained)
        return self._weighted(self.weights * q * (1.0 - q))

    def _weighted(self, weights: FloatVector) -> FloatMatrix:
        found = (self.X * weights) @ self.X.T
        return np.asarray(0.5 * (found + found.T))

    @classmethod
    def of(cls, model: CodedModel, products: ColumnProducts) -> Self | None:
        """None where rows of the table become several, or the profile tells too little of the columns."""
        coding, variables = model.coding, model.schema.variables
        known = dict(zip(products.columns, places(products.columns), strict=True))
        at = {column.name: place for column, place in known.items() if _same(column, variables)}
        names = sorted(coding.columns, key=lambda name: name not in at)  # the known ones first
        if sum(name in at for name in names) < 2 or model.periods is not None:
            return None
        complete = all(name in at for name in names)
        margins = [Margin.of(name, variables[name]) for name in names]
        spreads = [float(np.mean(np.diag(m.covariance))) for m in margins if m.column.name in at]
        if products.noise > NOISIEST * float(np.median(spreads)):
            return None
        own = block_diag(*(each.covariance for each in margins))
        means = np.concatenate([each.means for each in margins])
        inside = np.concatenate([np.arange(products.size)[at[name]] for name in names if name in at])
        found = own.copy()
        found[: len(inside), : len(inside)] = products.covariance[np.ix_(inside, inside)]
        covariance = smoothed(found, margins, products.noise)
        columns, coordinates, weights = drawn(margins, covariance)
        centre = coordinates @ weights
        centred = coordinates - centre[:, None]
        moved = _moved((centred * weights) @ centred.T, covariance) @ centred
        # What is linear in the columns gets their covariance; products and curves keep what they add.
        X, linear = coding.lying(columns), np.vstack([np.ones(len(weights)), centred])
        slopes = _solved((linear * weights) @ linear.T, (linear * weights) @ X.T)[1:].T
        X = X + slopes @ (moved - centred + (means - centre)[:, None])
        response = coding.model.response
        if response not in at:
            return cls(X, weights, None, np.zeros(len(weights)), complete=complete)
        along, variance, noise = _of_response(products, at[response], variables[response])
        inner = covariance[: len(inside), : len(inside)]
        effects, explained = likely_effects(inner, along[inside], noise, variance)
        direction = effects @ moved[: len(inside)]
        length = math.sqrt(float(weights @ direction**2))
        variance_of = products.variance(response)
        return cls(X, weights, explained, direction / (length or 1.0), variance_of, complete)


@dataclass(frozen=True, eq=False)
class Margin:
    """A column by itself, in the coordinates of `ColumnProducts`: their means and covariance."""

    column: ProfiledColumn
    variable: Variable
    means: FloatVector
    covariance: FloatMatrix

    @classmethod
    def of(cls, name: str, variable: Variable) -> Self:
        """As it is declared."""
        if isinstance(variable, Categorical):
            column = ProfiledColumn(name, False, levels=variable.labels)
            shares, corners = expected_shares(variable), indicators((column,))
            means = corners.T @ shares
            return cls(column, variable, means, (corners.T * shares) @ corners - np.outer(means, means))
        column = ProfiledColumn(name, False, variable.low, variable.high)
        values = (expected_quantiles(variable) - column.middle) / column.half
        return cls(
            column, variable, values.mean(keepdims=True), np.array([[max(float(values.var()), _JITTER)]])
        )

    def drawn(
        self, mean: FloatMatrix, left: float, weights: FloatVector, draw: np.random.Generator
    ) -> tuple[NDArray[Any], FloatVector]:
        """Values of points, and their new weights.

        ``mean`` are the expected coordinates of each point, less the means, and ``left`` is the variance of a
        number about that. A number has its quantiles and a level its share; rare levels are drawn more often.
        """
        points = len(weights)
        if isinstance(self.variable, Numeric):
            order = np.argsort(mean[0] + math.sqrt(max(left, 0.0)) * draw.standard_normal(points))
            quantiles, ends = expected_quantiles(self.variable), np.cumsum(weights[order])
            rank = (ends - 0.5 * weights[order]) / ends[-1] * len(quantiles)
            values = np.empty(points)
            values[order] = quantiles[np.minimum(rank.astype(np.intp), len(quantiles) - 1)]
            return values, weights
        shares = expected_shares(self.variable)[:, None]
        chances = np.maximum(shares + indicators((self.column,)) @ mean, _LEAST_CHANCE * shares)
        for _ in range(_SHARE_ROUNDS):
            chances /= chances.sum(axis=0)
            chances *= shares / (chances @ weights)[:, None]
        chances /= chances.sum(axis=0)
        often = chances * np.maximum(FEWEST / points / shares, 1.0)
        often /= often.sum(axis=0)
        codes = np.minimum((np.cumsum(often, axis=0) < draw.random(points)).sum(axis=0), len(shares) - 1)
        each = np.arange(points)
        weights = weights * chances[codes, each] / often[codes, each]
        return codes.astype(np.int32), weights / weights.sum()

    def coordinates(self, values: NDArray[Any]) -> FloatMatrix:
        """Of values or codes, less the means, shape (k, points)."""
        if isinstance(self.variable, Categorical):
            return np.asarray(indicators((self.column,))[values].T - self.means[:, None])
        return ((values - self.column.middle) / self.column.half - self.means)[None]


def _same(column: ProfiledColumn, variables: Any) -> bool:
    """Whether a profile knows a column as it is declared."""
    variable = variables.get(column.name)
    if isinstance(variable, Categorical):
        return column.levels == variable.labels
    return isinstance(variable, Numeric) and (column.low, column.high) == (variable.low, variable.high)


def smoothed(found: FloatMatrix, margins: Sequence[Margin], noise: float) -> FloatMatrix:
    """A likely covariance, shape (d, d): positive definite, with each column's own as it is known.

    ``found`` has noise of this standard deviation. Covariances of two columns are shrunk by `shrunk`. What is
    left is met by a prior that has its mode at D, of independent columns, and falls with
    w (tr D^-1 C - log det C). Together with the sum of squares of found - C the mode has the eigenvectors of
    A = found - w D^-1, and for each eigenvalue a of it (a + sqrt(a^2 + 4 w)) / 2.

    Examples
    --------
    >>> columns = [Margin.of(name, Numeric(-3.0, 3.0, mean=0.0, sd=1.0)) for name in "ab"]
    >>> found = np.array([[0.1, 0.05], [0.05, 0.1]])
    >>> smoothed(found, columns, 0.02).round(3).tolist()
    [[0.111, 0.042], [0.042, 0.111]]
    """
    covariance, inverse = shrunk(found, margins, noise), np.zeros_like(found)
    own = list(zip(margins, places([each.column for each in margins]), strict=True))
    for margin, place in own:
        covariance[place, place] = margin.covariance
        inverse[place, place] = np.linalg.inv(margin.covariance + _JITTER * np.eye(len(margin.means)))
    weight = PULL * len(found) * noise**2
    values, vectors = np.linalg.eigh(covariance - weight * inverse)
    length = np.sqrt(values**2 + 4.0 * weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(values > 0.0, 0.5 * (values + length), 2.0 * weight / (length - values))
    covariance = (vectors * np.nan_to_num(values)) @ vectors.T
    stretch = np.zeros_like(found)
    for margin, place in own:
        stretch[place, place] = _moved(covariance[place, place], margin.covariance)
    return np.asarray(stretch @ covariance @ stretch.T)


def shrunk(found: FloatMatrix, margins: Sequence[Margin], noise: float) -> FloatMatrix:
    """Covariances of two columns as empirical Bayes expects them, shape (d, d), and 0 within a column.

    Those of two numbers, of a number and a level, and of two levels have a prior each: with mean 0 and a
    variance in proportion to the product of both variances, as large as what was found beside its noise.
    """
    columns = [each.column for each in margins]
    to_values = indicators(columns)
    sizes = [max(len(column.levels), 1) for column in columns]
    column_of, number = np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.array(sizes) == 1, sizes)
    values = to_values @ found @ to_values.T
    own = np.diag(to_values @ block_diag(*(each.covariance for each in margins)) @ to_values.T)
    size, kept = np.outer(own, own), np.zeros_like(values)
    for kind in range(3):
        chosen = (column_of[:, None] != column_of) & (number[:, None].astype(int) + number == kind)
        if chosen.any():
            beside = max(float((values[chosen] ** 2 - noise**2).sum() / size[chosen].sum()), 0.0)
            kept[chosen] = beside * size[chosen] / (beside * size[chosen] + noise**2)
    return np.asarray(to_values.T @ (values * kept) @ to_values)


def drawn(
    margins: Sequence[Margin], covariance: FloatMatrix
) -> tuple[dict[str, NDArray[Any]], FloatMatrix, FloatVector]:
    """Values of each column, their coordinates (d, points) and weights, each column linear in those before.

    Roughly with this covariance: chances are no less than 0.
    """
    draw, weights = np.random.default_rng(SEED), np.full(POINTS, 1.0 / POINTS)
    columns: dict[str, NDArray[Any]] = {}
    rows = np.zeros((len(covariance), POINTS))
    for margin, place in zip(margins, places([each.column for each in margins]), strict=True):
        before = slice(0, place.start)
        slopes = _solved(covariance[before, before], covariance[before, place]).T
        left = covariance[place, place] - slopes @ covariance[before, place]
        values, weights = margin.drawn(slopes @ rows[before], float(left[0, 0]), weights, draw)
        columns[margin.column.name], rows[place] = values, margin.coordinates(values)
    means = np.concatenate([each.means for each in margins])
    return columns, rows + means[:, None], weights


def _solved(matrix: FloatMatrix, right: FloatMatrix) -> FloatMatrix:
    """Least squares by normal equations of columns that may be redundant; shape of ``right``."""
    scale = np.sqrt(np.maximum(np.diag(matrix), _JITTER))
    unit = matrix / np.outer(scale, scale) + _JITTER * np.eye(len(matrix))
    return np.asarray(np.linalg.solve(unit, right / scale[:, None]) / scale[:, None])


def _moved(first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
    """The map that gives normal rows of the first covariance the second one, and moves them least, (d, d)."""
    scale = np.sqrt(np.maximum(np.diag(second), _JITTER))
    least = _JITTER * np.eye(len(first))
    root = _root(second / np.outer(scale, scale) + least)
    between = _root(root @ (first / np.outer(scale, scale) + least) @ root)
    return np.asarray(
        scale[:, None] * (root @ np.linalg.solve(between + _JITTER**2 * np.eye(len(first)), root)) / scale
    )


def _root(matrix: FloatMatrix) -> FloatMatrix:
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _of_response(
    products: ColumnProducts, place: slice, variable: Variable
) -> tuple[FloatVector, float, float]:
    """Covariances of all coordinates with the response, (d,), its variance, and the noise of each covariance.

    The response is a number, or whether the last level is reached.
    """
    margin = Margin.of("", variable)
    along = indicators((margin.column,))[-1]
    variance = float(along @ margin.covariance @ along)
    return products.covariance[:, place] @ along, variance, products.noise * float(np.linalg.norm(along))


def likely_effects(
    covariance: FloatMatrix, along: FloatVector, noise: float, variance: float
) -> tuple[FloatVector, float]:
    """Slopes b of ``along`` = C b + noise, shape (d,), and the share of the ``variance`` that they explain.

    Slopes have a normal prior of one variance: it makes them explain one of `SHARES`, with equal chances
    before ``along`` is seen. What is told are means over what is likely then.
    """
    values, vectors = np.linalg.eigh(covariance)
    values, found = np.maximum(values, 0.0), vectors.T @ along
    prior = SHARES[:, None] * variance / max(float(values.sum()), np.finfo(np.float64).tiny)
    spread = prior * values**2 + noise**2
    likelihood = -0.5 * (np.log(spread) + found**2 / spread).sum(axis=1)
    chances = np.exp(likelihood - likelihood.max())
    chances /= chances.sum()
    effects, left = prior * values * found / spread, prior * noise**2 / spread
    explained = (values * (effects**2 + left)).sum(axis=1) / variance
    return vectors @ (chances @ effects), float(chances @ np.minimum(explained, SHARES[-1]))


def probabilities(direction: FloatVector, weights: FloatVector, rate: float, explained: float) -> FloatVector:
    """Logistic in a direction of mean 0 and variance 1, with this mean and share of the variance explained.

    Where a steep curve explains less the share is that of the steepest one.

    Examples
    --------
    >>> direction = np.array([-1.0, 1.0])
    >>> probabilities(direction, np.array([0.5, 0.5]), 0.5, 0.16).round(6).tolist()
    [0.3, 0.7]
    """
    design = np.vstack([np.ones(len(direction)), direction])
    aim = np.array([rate, math.sqrt(explained * rate * (1.0 - rate))])
    found = np.array([math.log(rate / (1.0 - rate)), 0.0])
    for both in (2,) * _NEWTON_STEPS + (
        1,
    ) * _NEWTON_STEPS:  # both, and then the constant for the slope found
        q = expit(found @ design)
        curvature = (design * (weights * q * (1.0 - q))) @ design.T + _JITTER * np.eye(2)
        step = np.linalg.solve(curvature[:both, :both], (aim - design @ (weights * q))[:both])
        found[:both] += step * min(1.0, 1.0 / max(float(np.abs(step).max()), _JITTER))
        found[1] = min(max(found[1], 0.0), STEEPEST)
    return np.asarray(expit(found @ design))
