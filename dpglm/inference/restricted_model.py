r"""A linear restriction of a released linear model: submodels, from released numbers alone.

With coded coefficients :math:`\theta = R\gamma` of a submodel, its score is :math:`R'` times that of the
whole model. From where the information was taken, t, it falls to zero at the submodel's estimate:

.. math:: R' \{ score + \bar H (t - R\gamma) \} = 0.

The mean information on the way is the matrix itself for a linear regression, so that the estimate is exact.
In other models it is found by the first two moments of the rows, within the levels that move, and so is the
information at the end of the way. How far to trust that was measured: see `Restricted.limit`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.interval_model import end_ratio, interval_model, mixture, secant_design
from dpglm.inference.linear_model import ROUNDS, LinearModel, positive_inverse, positive_part
from dpglm.inference.score_and_information import ScoreAndInformation, grown
from dpglm.typing import FloatMatrix, FloatVector

# The way to the submodel's estimate is found so many times at most, until it changes by this share of itself.
_STEPS: Final = 12
_STAYS: Final = 1e-6
# What interactions move counts so many times.
_PRODUCTS: Final = 2.0
# Of rows whose coefficient has a larger sampling error, and moves so far, the information knows nothing.
_UNKNOWN: Final = 100.0
_FAR_OUT: Final = 2.0
LOGISTIC_LIMIT: Final = 0.14
OTHER_LIMIT: Final = 0.08


@dataclass(frozen=True, eq=False)
class RestrictedModel(LinearModel):
    """What the releases of a whole model say about the coded coefficients of a submodel.

    ``released`` has the submodel's term columns, with its own estimate as the centre; its scales of noise are
    those of the whole model, whose noise is mapped here. ``whole`` has the information at the end of the way.
    """

    whole: LinearModel = None  # type: ignore[assignment]
    matrix: FloatMatrix = None  # type: ignore[assignment]  # (p, q)
    start: FloatVector = None  # type: ignore[assignment]  # (p,), t
    excess: FloatVector = None  # type: ignore[assignment]  # (q,), the score at the centre

    @cached_property
    def _shrunk(self) -> tuple[FloatMatrix, FloatMatrix]:
        coded = self.matrix.T @ self.whole.design @ self.matrix
        return 0.5 * (coded + coded.T), np.zeros((0, 0))

    @cached_property
    def response(self) -> FloatVector:
        return self.excess + self.design @ self.released.centre

    @cached_property
    def _score_noise(self) -> FloatMatrix:
        return np.asarray(self.released.score_scale**2 * self.matrix.T @ self.matrix)

    def _information_noise(self, products: FloatMatrix) -> FloatMatrix:
        """Of the mean of (t - theta)(t - theta)', shape (p, p)."""
        return np.asarray(self.matrix.T @ self.whole.information_noise(products) @ self.matrix)

    @cached_property
    def _settled(self) -> tuple[FloatVector, FloatMatrix]:
        released, fixed = self.released, self.sampling + self._score_noise
        precision = np.diag(1.0 / released.prior_variance)
        away = self.start - self.matrix @ released.centre
        products = np.outer(away, away)
        mean = released.centre
        for _ in range(ROUNDS):
            weighted = positive_inverse(fixed + self._information_noise(products)) @ self.design
            covariance = positive_inverse(precision + self.design @ weighted)
            mean = covariance @ (weighted.T @ self.response)
            away = self.start - self.matrix @ mean
            products = self.matrix @ covariance @ self.matrix.T + np.outer(away, away)
        return mean, products

    @cached_property
    def noise(self) -> FloatMatrix:
        return self._information_noise(self.products)

    @cached_property
    def omega(self) -> FloatMatrix:
        return self.sampling + self._score_noise + self.noise

    def score_variances(self, weights: FloatMatrix) -> FloatVector:
        return np.asarray(self.released.score_scale**2 * ((self.matrix @ weights) ** 2).sum(axis=0))

    def noise_information(
        self, units: FloatMatrix, inverse: FloatMatrix, solved: FloatMatrix, factor: FloatVector
    ) -> FloatVector:
        across = self.matrix
        return self.whole.noise_information(
            across @ units, across @ inverse @ across.T, across @ solved, factor
        )

    def omega_at(self, coded: FloatVector) -> FloatMatrix:
        away = self.start - self.matrix @ coded
        return self.omega - self.noise + self._information_noise(np.outer(away, away))

    def rescaled(self, factor: float, *, rows: bool) -> LinearModel:
        scale = self.released.score_scale / factor
        other = replace(self, released=replace(self.released, score_scale=scale))
        sampling = self.sampling / (factor if rows else 1.0)
        other.__dict__.update(
            sampling=sampling, noise=self.noise / factor**2, _shrunk=self._shrunk, cells=self.cells
        )
        return other


@dataclass(frozen=True, eq=False)
class Restricted:
    """A submodel's linear model, and how far it is from the whole one."""

    model: RestrictedModel
    plain: FloatVector  # (q,), the estimate with the information as it was taken
    away: FloatVector  # (p,), the submodel's estimate minus that of the whole model

    def distance(self, user_from_coded: FloatMatrix) -> float:
        r"""How far the submodel is from where the information was taken; 0 where it does not change.

        Predictors of rows move by :math:`\delta_i`. What is left out of the score is of the order of
        :math:`w_i \delta_i^2`, which moves a coefficient by at most
        :math:`\frac12 (\sum_i w_i \delta_i^4)^{1/2}` of its standard errors, whatever the rows are: about the
        squared distance of Wald over the root of the total weight. Movements of whole levels are known, and
        count a tenth, but for a rare level that moves far: its fourth powers are counted, too. Products of
        columns have longer tails than columns, and may be of one level only: what interactions move counts
        twice. To it is added .3 of what the change of the information moves the estimate, in sampling
        standard errors of the submodel. Rows of a coefficient without a finite maximum are not seen in the
        information: a submodel without it is infinitely far.
        """
        model, released = self.model, self.model.whole.released
        intercept = model.whole.cells.intercept
        if released.third_derivative_bound == 0.0:
            return 0.0
        if intercept is None:
            return np.inf
        at_start, step = LinearModel(released), self.away
        weights, centres, spread = mixture(at_start, step)
        scale, means = float(np.sqrt(weights.sum() / released.dispersion)), centres @ step
        whole = float(step @ spread @ step + (weights / weights.sum()) @ means**2)
        moves = released.logistic or released.exponential
        within = float(step @ spread @ step) if moves else whole
        unknown = np.diag(positive_inverse(at_start.design)) > _UNKNOWN**2
        if moves and (np.abs(step[unknown]) > _FAR_OUT).any():
            return np.inf
        products = _of_interactions(released, step)
        more = (_PRODUCTS - 1.0) * min(within, float(products @ spread @ products))
        with np.errstate(all="ignore"):
            errors = np.sqrt(Contrasts(model, user_from_coded).parts[:, 0])
            moved = np.abs(user_from_coded @ (model.released.centre - self.plain)) / errors
            heavier = np.ones(len(means))
            if moves:
                eta = None if released.exponential else centres @ released.centre
                heavier = np.maximum(end_ratio(eta, means), 1.0)
        levels = 0.02 * float(np.sqrt((weights * heavier) @ means**4 / released.dispersion))
        away = scale * (within + more + 0.1 * whole) + levels
        return away + 0.3 * float(np.nanmax(moved, initial=0.0))

    @property
    def limit(self) -> float:
        """The largest distance with errors of at most .1 standard errors.

        Set on designs 0 to 249 of `studies/submodels`; on 250 to 449, which nothing was set on, the largest
        error of 509 accepted submodels is .072.
        """
        return LOGISTIC_LIMIT if self.model.released.logistic else OTHER_LIMIT


def restricted(
    released: ScoreAndInformation,
    matrix: FloatMatrix,
    term_columns: tuple[TermColumns, ...],
    rows: float | None = None,
) -> Restricted:
    """The linear model of a submodel.

    Parameters
    ----------
    released : ScoreAndInformation
        Of the whole model.
    matrix : ndarray, shape (p, q)
        Its coded coefficients from those of the submodel.
    term_columns : tuple of TermColumns
        Of the submodel, with prior scales in the units of ``released``.
    rows : float, optional
        Usable rows of a fit without noise, for the residual variance.
    """
    at_start = LinearModel(released)
    start, scale = released.centre, released.score_scale
    origin = None
    if released.origin is not None:
        origin = np.asarray(np.linalg.lstsq(matrix, released.origin, rcond=None)[0], dtype=np.float64)
    own = replace(
        released,
        term_columns=term_columns,
        centre=np.zeros(matrix.shape[1]),
        score=np.zeros(matrix.shape[1]),
        information=np.eye(matrix.shape[1]),
        initial_variance=np.ones(matrix.shape[1]),
        origin=origin,
        ridge=None,
        score_covariance=None if (known := released.score_covariance) is None else matrix.T @ known @ matrix,
    )
    moves = released.logistic or released.exponential
    design, centre, plain = at_start.design, np.zeros(matrix.shape[1]), None
    step = np.zeros(len(start))
    for _ in range(_STEPS if moves else 2):
        model = _model(own, matrix, at_start, design, start, centre)
        if released.exact:
            centre = centre + positive_inverse(model.design) @ (model.response - model.design @ centre)
        else:
            centre = model.mean
            own = grown(own, centre**2)
        plain = centre if plain is None else plain
        before, step = step, matrix @ centre - start
        if not np.abs(step - before).max() > _STAYS * np.abs(step).max():
            break
        if moves:
            design = secant_design(at_start, step)
    assert plain is not None
    excess = matrix.T @ (released.score + design @ (start - matrix @ centre))
    end = at_start.with_design(secant_design(at_start, step, at_end=True) if moves else design)
    dispersion = released.dispersion
    if not released.logistic and released.third_derivative_bound == 0.0:
        dispersion = _dispersion(at_start, matrix @ centre, matrix.shape[1], rows)
    information = matrix.T @ end.design @ matrix
    own = replace(
        own,
        centre=centre,
        information=0.5 * (information + information.T),
        dispersion=dispersion,
        score_scale=scale,
    )
    gap = np.zeros((len(centre), len(centre)))
    best = start if released.exact else interval_model(released).mean
    model = RestrictedModel(own, gap, end, matrix, start, excess)
    return Restricted(model, plain, matrix @ centre - best)


def _model(
    own: ScoreAndInformation,
    matrix: FloatMatrix,
    at_start: LinearModel,
    design: FloatMatrix,
    start: FloatVector,
    centre: FloatVector,
) -> RestrictedModel:
    excess = matrix.T @ (at_start.released.score + design @ (start - matrix @ centre))
    whole = at_start if design is at_start.design else at_start.with_design(design)
    gap = np.zeros((len(centre), len(centre)))
    return RestrictedModel(replace(own, centre=centre), gap, whole, matrix, start, excess)


def _of_interactions(released: ScoreAndInformation, step: FloatVector) -> FloatVector:
    """The part of a step that is in the columns of interactions, shape (p,)."""
    part = np.zeros_like(step)
    for term in released.term_columns:
        if term.kind == "other":
            part[term.columns] = step[term.columns]
    return part


def _dispersion(model: LinearModel, end: FloatVector, size: int, rows: float | None) -> float:
    """Residual variance of a submodel of a linear regression: what the restriction leaves is added."""
    released = model.released
    best = model.mean
    if released.exact:
        best = positive_inverse(model.design) @ model.response
    lost = max(float((best - end) @ positive_part(model.design) @ (best - end)), 0.0)
    lost *= released.weighting
    intercept = model.cells.intercept
    if rows is None and intercept is not None:
        constant = float(intercept.table[0, 0]) ** 2
        at = intercept.start
        rows = max(float(model.design[at, at]), released.information_scale) / constant
        return released.dispersion + lost / max(rows, 1.0)
    if rows is None:
        return released.dispersion
    return (released.dispersion * (rows - released.size) + lost) / max(rows - size, 1.0)
