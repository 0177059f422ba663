r"""One linear model of several sites, each of which released a score and an information matrix of its own.

Site j says :math:`z_j = D_j B_j \theta + e_j`, see `LinearModel`, with B_j the public map from the pool's
coded coefficients to its own. Their plain sum wastes what the less noisy sites say. Least squares with
weights :math:`D_j' \Omega_j^{-1}` is drawn towards the sites' shrunken estimates: the noise of a matrix is
then in weight and residual (ten sites of 2,000 rows at (1, 1e-6): a slope of 1 lost .026, and coverage was
.92). So a site has the weight :math:`\hat D_j \hat\Omega_j^{-1}`, of what is believed of its information
together with all others, see `SharedInformation`. Without noise that is its own, every weight is the
identity, and the sites' normal equations add up: the pooled estimate is that of all rows.

Scores of logistic models and of counts bend on the way from t_j to the pooled coefficients, which are known
well. So each site's equation is a step of Newton's method from there: the mean information on the way, in
place of that at the end, made standard errors 5 % too small (coverage .93, not .95). How far information
changes on the way is that of what is believed: from a matrix that is mostly noise it would come out wrong
alike at all sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import ndtri, stdtrit

from dpglm.inference.interval_model import interval_model, secant_design
from dpglm.inference.linear_model import LinearModel, Spread, positive_inverse, positive_part
from dpglm.inference.score_and_information import ScoreAndInformation, grown
from dpglm.inference.shared_information import SharedInformation
from dpglm.typing import FloatMatrix, FloatVector

# The pooled mean, the sites' distances from it and their designs are found again so many times at most, until
# the mean changes by no more than this share of itself.
_ROUNDS: Final = 8
_STAYS: Final = 1e-3
# How clear the information of one site must be, on average, see `ScoreAndInformation.clarity`; in a logistic
# model with coefficients of the sites' own; for counts. ``docs/methods.md`` has what they were set on.
LEAST_CLEAR, LEAST_CLEAR_APART, LEAST_CLEAR_COUNTS = 0.25, 2.0, 2.5
# Relative size below which a direction of the pooled weights counts as empty.
_EMPTY: Final = 1e-13


@dataclass(frozen=True, eq=False)
class SiteRelease:
    """What one site released, and the map from its coded coefficients to the user's."""

    released: ScoreAndInformation
    user_from_coded: FloatMatrix  # (p, p)


@dataclass(frozen=True, eq=False)
class SiteEquation:
    """The linear model of one site at its distance from the pooled coefficients, with its weight."""

    model: LinearModel  # with its own design and gap
    link: FloatMatrix  # (p, p), B: its coded coefficients from the pool's
    centre: FloatVector  # (p,), t, less what is known of the pool's coefficients
    response: FloatVector  # (p,), z, likewise
    believed: FloatMatrix  # (p, p), its information at the end of the way, with little of its noise
    spread: FloatMatrix  # (p, p), covariance that its own coefficients add to its error
    weight: FloatMatrix  # (p, p), how its error enters the pooled model


@dataclass(frozen=True, eq=False)
class PooledModel(LinearModel):
    """The sites' equations, weighted and added up, as one linear model; ``released`` has the pool's priors.

    The design is the sum of the sites', and so is each part of the covariance: sites are independent.
    """

    sites: tuple[SiteEquation, ...] = ()
    # By this the sites' own variances, estimated from few sites, are multiplied.
    caution: float = 1.0

    @cached_property
    def design(self) -> FloatMatrix:
        """Sum of the sites' designs in the pool's coefficients, shape (p, p)."""
        return _summed([site.link.T @ site.model.design @ site.link for site in self.sites])

    @cached_property
    def response(self) -> FloatVector:
        """z, shape (p,)."""
        return np.asarray(np.sum([site.weight @ site.response for site in self.sites], axis=0))

    @cached_property
    def spread(self) -> FloatMatrix:
        """What the sites' own coefficients add to the covariance of the error, shape (p, p)."""
        return self.caution * _summed([site.weight @ site.spread @ site.weight.T for site in self.sites])

    @cached_property
    def sampling(self) -> FloatMatrix:
        """Covariance of the sampling score and of the sites' own coefficients, shape (p, p)."""
        own = _summed([site.weight @ site.model.sampling @ site.weight.T for site in self.sites])
        return own + self.spread

    @property
    def masking(self) -> tuple[Spread, ...]:
        """Numbers that mask others at every site."""
        first, *others = (site.model.masking for site in self.sites)
        return tuple(one for one in first if all(one.label in {s.label for s in o} for o in others))

    @property
    def clarity(self) -> float:
        """How clear the information of one site is, on average, in units of what a pool needs."""
        least = LEAST_CLEAR_APART if self.released.logistic and self.spread.any() else LEAST_CLEAR
        if self.released.exponential:
            least = LEAST_CLEAR_COUNTS
        return float(np.mean([site.model.released.clarity for site in self.sites])) / least

    @cached_property
    def score_noise(self) -> FloatMatrix:
        """Covariance of the noise of the sites' estimates, shape (p, p)."""
        scaled = (site.model.released.score_scale * site.weight for site in self.sites)
        return _summed([weight @ weight.T for weight in scaled])

    @cached_property
    def noise(self) -> FloatMatrix:
        """Covariance that the noise of the information matrices makes, shape (p, p)."""
        return _summed([site.weight @ site.model.noise @ site.weight.T for site in self.sites])

    @cached_property
    def omega(self) -> FloatMatrix:
        """Covariance of the error, shape (p, p)."""
        return self.sampling + self.score_noise + self.noise

    def omega_at(self, coded: FloatVector) -> FloatMatrix:
        """The same where the coefficients are known, shape (p, p)."""
        parts = []
        for site in self.sites:
            away = site.centre - site.link @ coded
            parts.append(site.weight @ site.model.information_noise(np.outer(away, away)) @ site.weight.T)
        return self.omega - self.noise + _summed(parts)

    @cached_property
    def posterior(self) -> tuple[FloatVector, FloatMatrix]:
        """Mean and covariance of the coefficients under the declared prior, shapes (p,) and (p, p)."""
        weighted = positive_inverse(self.omega) @ self.design
        precision = np.diag(1.0 / self.released.prior_variance) + self.design @ weighted
        covariance = positive_inverse(precision)
        return covariance @ (weighted.T @ self.response), covariance

    @property
    def mean(self) -> FloatVector:
        """Coefficients shrunk towards 0 by the declared prior, shape (p,)."""
        return self.posterior[0]

    def score_variances(self, weights: FloatMatrix) -> FloatVector:
        """Variance of each column of weights times the noise of the estimates, shape (k,)."""
        return np.asarray(np.einsum("ij,ij->j", weights, self.score_noise @ weights))

    def noise_information(
        self, units: FloatMatrix, inverse: FloatMatrix, solved: FloatMatrix, factor: FloatVector
    ) -> FloatVector:
        """Information that pure noise in the sum of the sites' matrices would show, shape (k,)."""
        found = []
        for site in self.sites:
            inside, along = site.weight.T @ inverse @ site.weight, site.weight.T @ solved
            found.append(site.model.noise_information(site.link @ units, inside, along, factor))
        return np.asarray(np.sum(found, axis=0))

    def rescaled(self, factor: float, *, rows: bool) -> PooledModel:
        """See `LinearModel.rescaled`; the differences between sites stay."""
        other = PooledModel(self.released, self.gap, self.sites, self.caution)
        sampling = self.sampling - self.spread
        other.__dict__.update(
            design=self.design,
            response=self.response,
            sampling=self.spread + (sampling / factor if rows else sampling),
            score_noise=self.score_noise / factor**2,
            noise=self.noise / factor**2,
            common=self.common,
        )
        return other


def pooled_model(
    reference: ScoreAndInformation,
    user_from_coded: FloatMatrix,
    sites: Sequence[SiteRelease],
    between: FloatMatrix | None = None,
) -> LinearModel:
    """The linear model of all sites; that of a single one is its own.

    ``reference`` has the terms, the priors and the known part of the pool's coded coefficients, of which
    ``user_from_coded``, shape (p, p), makes the user's. ``between``, shape (p, p), is the covariance of the
    sites' coefficients around the pool's, in the pool's coded ones; None is zero.
    """
    alone = len(sites) == 1 and np.array_equal(sites[0].user_from_coded, user_from_coded)
    if alone and between is None:
        return interval_model(sites[0].released)
    size = reference.size
    apart = np.zeros((size, size)) if between is None else between
    links = [np.asarray(np.linalg.solve(site.user_from_coded, user_from_coded)) for site in sites]
    # The pool's coefficients at each site are B theta and this much.
    shifts: list[FloatVector] = [
        np.asarray(link @ reference.known_part - site.released.known_part)
        for link, site in zip(links, sites, strict=True)
    ]
    at_centre = [as_released(site.released) for site in sites]
    centres = [
        np.asarray(np.linalg.solve(link, model.released.centre - shift))
        for link, model, shift in zip(links, at_centre, shifts, strict=True)
    ]
    shared = SharedInformation(reference, at_centre, links, centres)
    own, mean = reference, np.zeros(size)
    ways = [
        _way(model, likely, np.zeros(size), _first_gap(model.released), np.zeros((size, size)))
        for model, likely in zip(at_centre, shared.believed, strict=True)
    ]
    pooled = _weighted(own, ways, links, shifts, shared.shares, apart)
    for _ in range(_ROUNDS):
        before, (mean, covariance) = mean, pooled.posterior
        if not np.abs(mean - before).max() > _STAYS * np.abs(mean).max():
            break
        own, ways = grown(reference, mean**2), []
        parts = zip(at_centre, shared.believed, shifts, pooled.sites, strict=True)
        for model, likely, shift, site in parts:
            deviation, left = _own_deviation(site, mean, site.link @ apart @ site.link.T)
            step = site.link @ mean + shift + deviation - model.released.centre
            gap = site.link @ covariance @ site.link.T + left + np.outer(step, step)
            ways.append(_way(model, likely, step, gap, left))
        pooled = _weighted(own, ways, links, shifts, shared.shares, apart)
    pooled.__dict__.update(common=pooled.common_seen)
    return pooled


def as_released(released: ScoreAndInformation) -> LinearModel:
    """The model of a site among many: what its cells are pulled to would be wrong alike at all of them."""
    model = LinearModel(released)
    return model.with_design(released.information, model.cells.variances(released.information_scale))


@dataclass(frozen=True, eq=False)
class _Way:
    """A site on the way from t to its coefficients."""

    model: LinearModel  # with its own design at the end
    believed: FloatMatrix  # (p, p), what is believed of that
    bend: FloatVector  # (p,), how much lower the score is than a straight line


def _way(
    model: LinearModel, likely: LinearModel, step: FloatVector, gap: FloatMatrix, left: FloatMatrix
) -> _Way:
    """The way of a site that released ``model`` and is believed to be ``likely`` at t.

    A step of Newton's method: the score falls by the mean information on the way, and an error of the pooled
    coefficients moves it by that at the end. ``left`` is what is not known of its own coefficients.
    """
    if not (model.released.logistic or model.released.exponential):
        return _Way(_at(model, model.design, likely.design, gap), likely.design, np.zeros(len(step)))
    end = secant_design(likely, step, at_end=True)
    bend = (secant_design(likely, step) - end) @ step
    if left.any():
        bend = bend + _bend(likely, step, left)
    return _Way(_at(model, model.design + (end - likely.design), end, gap), end, bend)


def _first_gap(released: ScoreAndInformation) -> FloatMatrix:
    return np.diag(np.minimum(released.prior_variance, released.initial_variance))


def _own_deviation(
    site: SiteEquation, mean: FloatVector, between: FloatMatrix
) -> tuple[FloatVector, FloatMatrix]:
    """How far a site's coefficients are from the pool's: posterior mean and covariance."""
    pull = between @ site.believed @ positive_inverse(site.model.omega + site.spread)
    left = between - pull @ site.believed @ between
    return pull @ (site.response - site.model.design @ site.link @ mean), 0.5 * (left + left.T)


def _bend(model: LinearModel, step: FloatVector, left: FloatMatrix) -> FloatVector:
    """What a site's score is lower, on average, than at the mean of its coefficients, shape (p,).

    The score bends: its mean over coefficients that spread by ``left`` is not its value at the step. Second
    differences along the principal axes.
    """
    values, vectors = np.linalg.eigh(left)
    middle = secant_design(model, step) @ step
    bend = np.zeros(len(step))
    for axis in (vectors * np.sqrt(np.maximum(values, 0.0))).T:
        for end in (step + axis, step - axis):
            bend += 0.5 * (secant_design(model, end) @ end - middle)
    return bend


def _at(model: LinearModel, design: FloatMatrix, believed: FloatMatrix, gap: FloatMatrix) -> LinearModel:
    """The model of a site with another design, the sampling of what is believed, and a known gap."""
    sampling = model.with_design(believed).sampling
    return model.with_design(design).like(model.released, gap, sampling=sampling)


def _weighted(
    own: ScoreAndInformation,
    ways: Sequence[_Way],
    links: Sequence[FloatMatrix],
    shifts: Sequence[FloatVector],
    shares: FloatVector,
    apart: FloatMatrix,
) -> PooledModel:
    """The sites' equations with their weights; see the head of this file."""
    models = [way.model for way in ways]
    # Sites count by their information, and not by their residual variances: without noise this is least
    # squares on all rows.
    dispersion = float(shares @ [model.released.dispersion for model in models] / shares.sum())
    # A site's own distance would tell its error: those whose noise pulls the right way would count more.
    back = [np.linalg.inv(link) for link in links]
    typical = np.mean(
        [each @ model.products @ each.T for each, model in zip(back, models, strict=True)], axis=0
    )
    equations = []
    for way, link, shift in zip(ways, links, shifts, strict=True):
        model, released, believed = way.model, way.model.released, way.believed
        covariance = link @ apart @ link.T
        spread = believed @ covariance @ believed
        omega = dispersion * positive_part(believed) + model.information_noise(link @ typical @ link.T)
        omega += spread + released.score_scale**2 * np.eye(released.size)
        equation = SiteEquation(
            model=model,
            link=link,
            centre=released.centre - shift,
            response=released.score - way.bend + model.design @ (released.centre - shift),
            believed=believed,
            spread=spread,
            weight=link.T @ believed @ positive_inverse(omega),
        )
        equations.append(equation)
    # Weights are free up to a common factor: with this one the pooled design is the sum of the designs.
    slopes = np.sum([each.weight @ each.model.design @ each.link for each in equations], axis=0)
    designs = [each.link.T @ each.model.design @ each.link for each in equations]
    left = _summed(designs) @ np.linalg.pinv(slopes, rcond=_EMPTY)
    weighted = tuple(replace(each, weight=left @ each.weight) for each in equations)
    return PooledModel(own, sites=weighted, caution=_caution(len(weighted)))


def _caution(count: int) -> float:
    """How much wider a 95 % interval of a mean of so many sites is with their own variance, squared.

    Student's quantile over the normal one: the variance between sites has count - 1 degrees of freedom.
    """
    return float(stdtrit(max(count - 1, 1), 0.975) / ndtri(0.975)) ** 2


def _summed(matrices: Sequence[FloatMatrix]) -> FloatMatrix:
    total = np.sum(matrices, axis=0)
    return np.asarray(0.5 * (total + total.T))
