"""Laws of a response given its linear predictor: what is drawn, and the mean of what is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from scipy import stats
from scipy.special import expit, ndtr

from dpglm.typing import FloatVector

# Points of the quadratures over cluster effects and over errors.
NODES, QUANTILES = 40, 500


class Law(Protocol):
    """How responses come about."""

    family: ClassVar[str]

    def declared(self) -> Any:
        """Levels or bounds of the response, as `dpglm.Schema.of` reads them."""
        ...

    def mean(self, predictor: FloatVector) -> FloatVector:
        """Expected response of each row, as its bounds leave it, shape (n,)."""
        ...

    def draw(self, random: np.random.Generator, predictor: FloatVector) -> FloatVector:
        """A response of each row, within its bounds, shape (n,)."""
        ...


@dataclass(frozen=True)
class Binary:
    """Zeros and ones.

    Parameters
    ----------
    link : str
        ``"logit"``, ``"probit"`` or ``"cloglog"``; the model that is fitted has the logit.
    cluster : int
        Rows that follow each other and share a normal effect; 0 for none.
    spread : float
        Standard deviation of these effects.
    """

    family: ClassVar[str] = "binomial"
    link: Literal["logit", "probit", "cloglog"] = "logit"
    cluster: int = 0
    spread: float = 0.0

    def declared(self) -> Any:
        """The levels 0 and 1."""
        return [0, 1]

    def mean(self, predictor: FloatVector) -> FloatVector:
        """The rate of ones, over clusters."""
        if not self.cluster:
            return self._rate(predictor)
        points, weights = np.polynomial.hermite_e.hermegauss(NODES)
        parts = (
            weight * self._rate(predictor + self.spread * point)
            for point, weight in zip(points, weights / weights.sum(), strict=True)
        )
        return np.asarray(sum(parts))

    def draw(self, random: np.random.Generator, predictor: FloatVector) -> FloatVector:
        """Ones with the rate of their row."""
        n = len(predictor)
        if self.cluster:
            effects = self.spread * random.standard_normal(-(-n // self.cluster))
            predictor = predictor + np.repeat(effects, self.cluster)[:n]
        return (random.random(n) < self._rate(predictor)).astype(np.float64)

    def _rate(self, predictor: FloatVector) -> FloatVector:
        if self.link == "probit":
            return np.asarray(ndtr(predictor))
        if self.link == "cloglog":
            return np.asarray(-np.expm1(-np.exp(predictor)))
        return np.asarray(expit(predictor))


@dataclass(frozen=True)
class Count:
    """Counts up to a declared largest one, which all larger ones become.

    Parameters
    ----------
    largest : int
    dispersion : float
        The variance is ``mean + dispersion * mean ** 2``; 0 is Poisson.
    """

    family: ClassVar[str] = "poisson"
    largest: int
    dispersion: float = 0.0

    def declared(self) -> Any:
        """The bounds."""
        return (0, self.largest)

    def mean(self, predictor: FloatVector) -> FloatVector:
        """Sum of the probabilities to exceed 0, 1 and so on, up to the largest."""
        rate = np.exp(predictor)
        if self.dispersion:
            law = stats.nbinom(1.0 / self.dispersion, 1.0 / (1.0 + self.dispersion * rate))
        else:
            law = stats.poisson(rate)
        return np.asarray(sum(law.sf(count) for count in range(self.largest)))

    def draw(self, random: np.random.Generator, predictor: FloatVector) -> FloatVector:
        """Poisson counts, their rates gamma distributed where there is dispersion."""
        rate = np.exp(predictor)
        if self.dispersion:
            rate = rate * random.gamma(1.0 / self.dispersion, self.dispersion, len(rate))
        return np.minimum(random.poisson(rate), self.largest).astype(np.float64)


@dataclass(frozen=True)
class Number:
    """The predictor plus an error, clipped to declared bounds.

    Parameters
    ----------
    bounds : (float, float)
    scale : float
        Of the error.
    freedom : float
        Degrees of freedom of its t distribution; infinite is normal.
    """

    family: ClassVar[str] = "gaussian"
    bounds: tuple[float, float]
    scale: float = 1.0
    freedom: float = float("inf")

    def declared(self) -> Any:
        """The bounds."""
        return self.bounds

    def mean(self, predictor: FloatVector) -> FloatVector:
        """The mean over equally likely quantiles of the error."""
        places = (np.arange(QUANTILES) + 0.5) / QUANTILES
        errors = self.scale * stats.t(self.freedom).ppf(places)
        return np.asarray(sum(np.clip(predictor + error, *self.bounds) for error in errors) / QUANTILES)

    def draw(self, random: np.random.Generator, predictor: FloatVector) -> FloatVector:
        """Clipped sums."""
        if np.isinf(self.freedom):
            errors = random.standard_normal(len(predictor))
        else:
            errors = random.standard_t(self.freedom, len(predictor))
        return np.clip(predictor + self.scale * errors, *self.bounds)
