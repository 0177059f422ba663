"""Columns of a simulated design: blocks that draw rows and declare what is public of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpglm.typing import FloatVector

Column = NDArray[Any]


class Block(Protocol):
    """Columns that belong together."""

    def draw(self, random: np.random.Generator, n: int, before: Mapping[str, Column]) -> dict[str, Column]:
        """The columns, shape (n,) each; ``before`` has those of earlier blocks."""
        ...

    def declared(self) -> dict[str, Any]:
        """Bounds or levels by column, as `dpglm.Schema.of` reads them."""
        ...


@dataclass(frozen=True)
class Numbers:
    """Numbers of one shape, correlated like an autoregression, clipped to their bounds.

    Parameters
    ----------
    prefix : str
        Name of a single column; of several, they are ``prefix1``, ``prefix2`` and so on.
    count : int
        Number of columns.
    ar : float
        Correlation of neighbours, before the shape is given.
    bounds : (float, float)
        Declared and kept.
    shape : str
        ``"normal"``, ``"t3"``, ``"lognormal"`` (standard deviation 2.16), ``"exponential"``.
    centre, scale : float
        Columns are ``centre + scale * shape``.
    """

    prefix: str
    count: int = 1
    ar: float = 0.0
    bounds: tuple[float, float] = (-3.0, 3.0)
    shape: Literal["normal", "t3", "lognormal", "exponential"] = "normal"
    centre: float = 0.0
    scale: float = 1.0

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [self.prefix] if self.count == 1 else [f"{self.prefix}{j + 1}" for j in range(self.count)]

    def draw(self, random: np.random.Generator, n: int, before: Mapping[str, Column]) -> dict[str, Column]:
        """The columns, one after the other."""
        found: dict[str, Column] = {}
        latent = random.standard_normal(n)
        for name in self.names:
            if found:
                latent = self.ar * latent + np.sqrt(1.0 - self.ar**2) * random.standard_normal(n)
            found[name] = np.clip(self.centre + self.scale * self._shaped(latent), *self.bounds)
        return found

    def declared(self) -> dict[str, Any]:
        """The bounds."""
        return dict.fromkeys(self.names, self.bounds)

    def _shaped(self, latent: FloatVector) -> FloatVector:
        if self.shape == "t3":
            return np.asarray(stats.t(3).ppf(stats.norm.cdf(latent)))
        if self.shape == "exponential":
            return np.asarray(-stats.norm.logsf(latent))
        return np.exp(latent) if self.shape == "lognormal" else latent


@dataclass(frozen=True)
class Neighbour:
    """A number of standard deviation 1 that is correlated with a column of an earlier block."""

    name: str
    of: str
    correlation: float
    bounds: tuple[float, float]

    def draw(self, random: np.random.Generator, n: int, before: Mapping[str, Column]) -> dict[str, Column]:
        """The column."""
        own = np.sqrt(1.0 - self.correlation**2) * random.standard_normal(n)
        return {self.name: np.clip(self.correlation * before[self.of] + own, *self.bounds)}

    def declared(self) -> dict[str, Any]:
        """The bounds."""
        return {self.name: self.bounds}


@dataclass(frozen=True)
class Spread:
    """A number with a standard deviation of its own at each level of an earlier factor."""

    name: str
    of: str
    deviations: tuple[float, ...]
    bounds: tuple[float, float] = (-6.0, 6.0)

    def draw(self, random: np.random.Generator, n: int, before: Mapping[str, Column]) -> dict[str, Column]:
        """The column."""
        codes = np.unique(before[self.of], return_inverse=True)[1]
        own = random.standard_normal(n) * np.array(self.deviations)[codes]
        return {self.name: np.clip(own, *self.bounds)}

    def declared(self) -> dict[str, Any]:
        """The bounds."""
        return {self.name: self.bounds}


@dataclass(frozen=True)
class Binaries:
    """Columns of zeros and ones that are declared as numbers between 0 and 1, with these shares of ones."""

    prefix: str
    shares: tuple[float, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [f"{self.prefix}{j + 1}" for j in range(len(self.shares))]

    def draw(self, random: np.random.Generator, n: int, before: Mapping[str, Column]) -> dict[str, Column]:
        """The columns."""
        pairs = zip(self.names, self.shares, strict=True)
        return {name: (random.random(n) < share).astype(np.int64) for name, share in pairs}

    def declared(self) -> dict[str, Any]:
        """The bounds (0, 1)."""
        return dict.fromkeys(self.names, (0.0, 1.0))


@dataclass(frozen=True)
class Factor:
    """Levels ``name00``, ``name01`` and so on with given shares; the first is the reference.

    Parameters
    ----------
    name : str
    shares : tuple of float
        Sum to 1.
    rows : int
        Rows that follow each other and have the same level.
    """

    name: str
    shares: tuple[float, ...]
    rows: int = 1

    @property
    def levels(self) -> list[str]:
        """The declared levels."""
        digits = 2 if len(self.shares) <= 100 else 3
        return [f"{self.name}{place:0{digits}d}" for place in range(len(self.shares))]

    def draw(self, random: np.random.Generator, n: int, before: Mapping[str, Column]) -> dict[str, Column]:
        """The column."""
        codes = random.choice(len(self.shares), -(-n // self.rows), p=self.shares)
        return {self.name: np.array(self.levels)[np.repeat(codes, self.rows)[:n]]}

    def declared(self) -> dict[str, Any]:
        """The levels."""
        return {self.name: self.levels}

    def effects(self, *values: float) -> dict[str, float]:
        """True coefficients of the levels after the first, the values being repeated as often as needed.

        Examples
        --------
        >>> Factor("g", (0.5, 0.3, 0.2)).effects(-1.9)
        {'g[T.g01]': -1.9, 'g[T.g02]': -1.9}
        """
        terms = [f"{self.name}[T.{level}]" for level in self.levels[1:]]
        return {term: values[place % len(values)] for place, term in enumerate(terms)}


def zipf(count: int, power: float = 1.0) -> tuple[float, ...]:
    """Shares that fall like a power of the rank."""
    weights = np.arange(1, count + 1) ** -power
    return tuple((weights / weights.sum()).tolist())


def slopes(prefix: str, *values: float) -> dict[str, float]:
    """True coefficients of ``prefix1``, ``prefix2`` and so on.

    Examples
    --------
    >>> slopes("x", 1.5, -1.5)
    {'x1': 1.5, 'x2': -1.5}
    """
    return {f"{prefix}{j + 1}": value for j, value in enumerate(values)}
