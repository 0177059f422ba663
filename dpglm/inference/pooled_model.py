r"""One linear model of several sites, each of which released a score and an information matrix of its own.

Site j says :math:`z_j = D_j B_j \theta + e_j`, see `LinearModel`, with B_j the public map from the pool's
coded coefficients to its own. Their plain sum wastes what the less noisy sites say. Least squares with
weights :math:`D_j' \Omega_j^{-1}` is drawn towards the sites' shrunken estimates: the noise of a matrix is
then in weight and residual (ten sites of 2,000 rows at (1, 1e-6): a slope of 1 lost .026, and coverage was
.92). So the weight of a site is made of a design of which little is its own noise,

.. math:: W_j = \hat D_j \hat\Omega_j^{-1}, \qquad
          \hat D_j = s_j D + \Lambda_j \circ (D_j - s_j D), \qquad D = \sum_k D_k,

with s_j its share of the trace. The entries of :math:`\Lambda_j` are the shares of its squared distance from
the pooled shape that noise does not explain, cell by cell. Without noise they are 1, every weight is the
identity, and the sites' normal equations add up: the pooled estimate is that of all rows.

Scores of logistic models and of counts bend on the way from t_j to the pooled coefficients, which are known
well. So each site's equation is a step of Newton's method from there: the mean information on the way, in
place of that at the end, made standard errors 5 % too small (coverage .93, not .95).
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
from dpglm.inference.score_and_information import Cells, ScoreAndInformation, grown
from dpglm.typing import FloatMatrix, FloatVector

# The pooled mean, the sites' distances from it and their designs are found again so many times at most, until
# the mean changes by no more than this share of itself.
_ROUNDS: Final = 8
_STAYS: Final = 1e-3
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
        """How clear the information of one site is, on average, see `ScoreAndInformation.clarity`."""
        return float(np.mean([site.model.released.clarity for site in self.sites]))

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
    models = [LinearModel(site.released.without_products) for site in sites]
    at_centre, own, mean = models, reference, np.zeros(size)
    models = [_at(model, model.design, _first_gap(model.released)) for model in at_centre]
    bends = [np.zeros(size)] * len(sites)
    pooled = _weighted(own, models, links, shifts, bends, apart)
    for _ in range(_ROUNDS):
        before, (mean, covariance) = mean, pooled.posterior
        if not np.abs(mean - before).max() > _STAYS * np.abs(mean).max():
            break
        own = grown(reference, mean**2)
        models, bends = [], []
        for model, shift, site in zip(at_centre, shifts, pooled.sites, strict=True):
            deviation, left = _own_deviation(site, mean, site.link @ apart @ site.link.T)
            step = site.link @ mean + shift + deviation - model.released.centre
            gap = site.link @ covariance @ site.link.T + left + np.outer(step, step)
            moves = model.released.logistic or model.released.exponential
            design = secant_design(model, step, at_end=True) if moves else model.design
            models.append(_at(model, design, gap))
            # A step of Newton's method: the score falls by the mean information on the way, and an error of
            # the pooled coefficients moves it by that at the end.
            bend = (secant_design(model, step) - design) @ step if moves else np.zeros(size)
            if moves and between is not None:
                bend = bend + _bend(model, step, left)
            bends.append(bend)
        pooled = _weighted(own, models, links, shifts, bends, apart)
    return pooled


def _first_gap(released: ScoreAndInformation) -> FloatMatrix:
    return np.diag(np.minimum(released.prior_variance, released.initial_variance))


def _own_deviation(
    site: SiteEquation, mean: FloatVector, between: FloatMatrix
) -> tuple[FloatVector, FloatMatrix]:
    """How far a site's coefficients are from the pool's: posterior mean and covariance."""
    design = site.model.design
    pull = between @ design @ positive_inverse(site.model.omega + site.spread)
    left = between - pull @ design @ between
    return pull @ (site.response - design @ site.link @ mean), 0.5 * (left + left.T)


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


def _at(model: LinearModel, design: FloatMatrix, gap: FloatMatrix) -> LinearModel:
    """The model of a site with another design and a known gap."""
    return model.with_design(design).like(model.released, gap)


def _weighted(
    own: ScoreAndInformation,
    models: Sequence[LinearModel],
    links: Sequence[FloatMatrix],
    shifts: Sequence[FloatVector],
    bends: Sequence[FloatVector],
    apart: FloatMatrix,
) -> PooledModel:
    """The sites' equations with their weights; see the head of this file."""
    designs = [link.T @ model.design @ link for model, link in zip(models, links, strict=True)]
    shares = _shares(designs, models, links)
    believed = _believed(Cells(own.term_columns), designs, shares, models, links)
    # Sites count by their information, and not by their residual variances: without noise this is least
    # squares on all rows.
    dispersion = float(shares @ [model.released.dispersion for model in models])
    # A site's own distance would tell its error: those whose noise pulls the right way would count more.
    back = [np.linalg.inv(link) for link in links]
    typical = np.mean(
        [each @ model.products @ each.T for each, model in zip(back, models, strict=True)], axis=0
    )
    equations = []
    for model, link, shift, bend, design in zip(models, links, shifts, bends, believed, strict=True):
        released, inverse, covariance = model.released, np.linalg.inv(link), link @ apart @ link.T
        shrunken = inverse.T @ design @ inverse
        noise = model.information_noise(link @ typical @ link.T)
        omega = dispersion * positive_part(shrunken) + noise + shrunken @ covariance @ shrunken
        omega += released.score_scale**2 * np.eye(released.size)
        equation = SiteEquation(
            model=model,
            link=link,
            centre=released.centre - shift,
            response=released.score - bend + model.design @ (released.centre - shift),
            spread=model.design @ covariance @ model.design,
            weight=link.T @ shrunken @ positive_inverse(omega),
        )
        equations.append(equation)
    # Weights are free up to a common factor: with this one the pooled design is the sum of the designs.
    slopes = np.sum([each.weight @ each.model.design @ each.link for each in equations], axis=0)
    left = _summed(designs) @ np.linalg.pinv(slopes, rcond=_EMPTY)
    weighted = tuple(replace(each, weight=left @ each.weight) for each in equations)
    return PooledModel(own, sites=weighted, caution=_caution(len(weighted)))


def _caution(count: int) -> float:
    """How much wider a 95 % interval of a mean of so many sites is with their own variance, squared.

    Student's quantile over the normal one: the variance between sites has count - 1 degrees of freedom.
    """
    return float(stdtrit(max(count - 1, 1), 0.975) / ndtri(0.975)) ** 2


def _shares(
    designs: Sequence[FloatMatrix], models: Sequence[LinearModel], links: Sequence[FloatMatrix]
) -> FloatVector:
    """Shares of the sites in the trace of all designs, > 0, shape (sites,)."""
    pairs = zip(models, links, strict=True)
    least = [model.released.information_scale * np.trace(link.T @ link) for model, link in pairs]
    traces = np.maximum([np.trace(design) for design in designs], least)
    return np.asarray(traces / traces.sum())


def _believed(
    cells: Cells,
    designs: Sequence[FloatMatrix],
    shares: FloatVector,
    models: Sequence[LinearModel],
    links: Sequence[FloatMatrix],
) -> list[FloatMatrix]:
    """The sites' designs, cell by cell between the pooled shape and their own, shape (p, p) each.

    Distances from the pooled shape have a variance of noise and one proportional to the squared share, which
    is found by their mean over the sites.
    """
    inside = np.array([cells.from_coded.T @ design @ cells.from_coded for design in designs])
    shapes = shares[:, None, None] * inside.sum(axis=0)
    distances = inside - shapes
    noises = []
    for model, link in zip(models, links, strict=True):
        across = (model.cells.to_coded @ link @ cells.from_coded) ** 2
        noises.append(across.T @ model.cell_variances @ across)
    noise = np.array(noises)
    squares = shares[:, None, None] ** 2
    own = squares * np.maximum((distances**2 - noise).sum(axis=0) / squares.sum(axis=0), 0.0)
    weights = np.divide(own, own + noise, out=np.ones_like(own), where=own + noise > 0.0)
    return [cells.to_coded.T @ blended @ cells.to_coded for blended in shapes + weights * distances]


def _summed(matrices: Sequence[FloatMatrix]) -> FloatMatrix:
    total = np.sum(matrices, axis=0)
    return np.asarray(0.5 * (total + total.T))
