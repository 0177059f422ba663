"""Fits of one model at several sites, and what they cost together: what ``dpglm.fit`` of sites hands back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dpglm.privacy.guarantee import Guarantee
from dpglm.results.compare import compare
from dpglm.results.fit_result import FitResult
from dpglm.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd


class SiteFits(Mapping[str, FitResult]):
    """One :class:`FitResult` per site, in the order of the sites; it cannot be changed and holds no data.

    Parameters
    ----------
    fits : mapping of str to FitResult
        Fits of one formula, by site; at least one.
    privacy : Guarantee
        What all of them together promise a person.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> tables = {"north": women[:3000], "south": women[3000:]}
    >>> fits = dpglm.fit("affair ~ age", tables, penalty="l2", privacy=1.0, seed=1)
    >>> list(fits), fits["south"].names, fits.params.shape
    (['north', 'south'], ('Intercept', 'age'), (2, 2))
    >>> fits.privacy.epsilon
    2.0
    """

    __slots__ = ("_fits", "_privacy")
    _fits: dict[str, FitResult]
    _privacy: Guarantee

    def __init__(self, fits: Mapping[str, FitResult], privacy: Guarantee) -> None:
        assert fits, "at least one site"
        object.__setattr__(self, "_fits", dict(fits))
        object.__setattr__(self, "_privacy", privacy)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"fits at several sites cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"fits at several sites cannot be changed: {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return SiteFits, (self._fits, self._privacy)

    def __getitem__(self, site: str) -> FitResult:
        return self._fits[site]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    def __eq__(self, other: object) -> bool:
        """Equal sites in the same order, equal fits and an equal promise."""
        if not isinstance(other, SiteFits):
            return NotImplemented
        return self._privacy == other._privacy and list(self.items()) == list(other.items())

    def __hash__(self) -> int:
        return hash((tuple(self._fits), self._privacy))

    @property
    def privacy(self) -> Guarantee:
        """What all sites together promise a person; ``fits[site].privacy`` is what one site promises."""
        return self._privacy

    @property
    def together(self) -> str:
        """What the fits cost together, in a sentence."""
        sites = "One site" if len(self) == 1 else f"All {len(self)} sites together"
        return f"{sites}: {self._privacy.statement()}"

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients on the original scale, a row per coefficient, a column a site; shape (p, sites)."""
        import pandas as pd

        return pd.DataFrame({site: fit.params for site, fit in self.items()})

    def summary(self) -> Table:
        """The sites side by side, each with its guarantee, and what they cost together.

        See :func:`dpglm.compare`; ``fits[site].summary()`` is the table of one site.
        """
        return compare(self)

    def __str__(self) -> str:
        return str(self.summary())

    def __repr__(self) -> str:
        alarm = next((f" {fit._record.alarm}" for fit in self._fits.values() if not fit.private), "")
        return f"<SiteFits: {', '.join(map(repr, self))}>{alarm}"

    def _repr_html_(self) -> str:
        return self.summary().to_html()
