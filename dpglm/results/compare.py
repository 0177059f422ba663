"""Several fits side by side: of any models, or of one model at several sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpglm.errors import MethodError
from dpglm.postprocessing.labels import shown_names
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.site_pool import Effects
from dpglm.postprocessing.summary import approximation, family_text, guarantee_notes, strength_text
from dpglm.postprocessing.wald import in_short
from dpglm.privacy.guarantee import Guarantee
from dpglm.results.charges import KeepsCharges, charge_notes, kept_fits
from dpglm.results.fit_result import FitResult
from dpglm.results.result import Named
from dpglm.tables.table import ABSENT, Column, Table, budget, coefficient

if TYPE_CHECKING:
    import pandas as pd


BELOW = "(std err)"
ERRORS = (
    "In brackets: standard errors, noise included. They belong to the debiased estimates, which penalised "
    "fits show in their summaries."
)
TOGETHER = "Each guarantee holds for its fit alone. What they cost together is for a ledger to say."


def compare(
    fits: FitResult | Sequence[FitResult] | Mapping[str, FitResult] | KeepsCharges,
    *more: FitResult,
    ledger: KeepsCharges | None = None,
) -> Table:
    """Coefficients of several fits side by side, with a guarantee for each.

    Parameters
    ----------
    fits : FitResult, or a sequence or mapping of them, or Ledger
        The keys of a mapping are the headings, else ``(1)``, ``(2)``, ... Of a :class:`dpglm.SiteFits` they
        are the sites, and the notes say what all of them cost together. A ledger stands for all fits whose
        answers it keeps, by their keys.
    *more : FitResult
        Further fits, where the first was given alone.
    ledger : Ledger, optional
        Then the notes say which of its lines paid for which fit, what else was charged, and what is left.

    Returns
    -------
    Table
        A row per term, with standard errors below where a fit has any. ``"-"``: not in this model, or no
        standard error; ``"0"``: in the model and exactly zero.

    Raises
    ------
    MethodError
        Nothing to compare, something that is not a result, or a ledger that keeps no fit.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> small = dpglm.fit("affair ~ age", women, penalty="l2", privacy=1.0, seed=1)
    >>> large = dpglm.fit("affair ~ age + religious", women, penalty="l2", privacy=1.0, seed=2)
    >>> [row[0] for row in dpglm.compare([small, large]).rows if row[0] != "(std err)"]
    ['Intercept', 'age', 'religious']
    """
    if isinstance(fits, KeepsCharges):
        kept = {name: FitResult(record) for name, record in kept_fits(fits).items()}
        return compare(kept, *more, ledger=fits)
    named = _named((fits, *more) if more else fits)
    terms = list(dict.fromkeys(name for record in named.values() for name in record.names))
    labels = dict(
        pair
        for record in reversed(named.values())
        for pair in zip(record.names, shown_names(record), strict=True)
    )
    estimates = [dict(zip(record.names, record.estimates, strict=True)) for record in named.values()]
    errors = [dict(zip(record.names, record.standard_errors, strict=True)) for record in named.values()]
    given = any(record.contrasts is not None for record in named.values())
    rows: list[tuple[str, ...]] = []
    for term in terms:
        rows.append((labels[term], *(coefficient(column.get(term)) for column in estimates)))
        if given:
            rows.append((BELOW, *(_bracketed(column.get(term)) for column in errors)))
    # The guarantee in full once, of sites that of all of them, and what is not private always.
    first = 0 if isinstance(fits, SiteFits) and not more else 1
    short = [label for label, record in named.items() if record.private][first:]
    told = {
        label: (in_short(record.promise),) if label in short else guarantee_notes(record)
        for label, record in named.items()
    }
    open_fits = [f"{label}: {record.alarm}" for label, record in named.items() if record.alarm]
    return Table(
        title="Fits side by side",
        columns=(Column("term", "left"), *(Column(label) for label in named)),
        rows=tuple(rows),
        wide=tuple((label, _line(record)) for label, record in named.items()),
        notes=(
            *(f"{label}: {note}" for label, notes in told.items() for note in notes),
            *(f"{label}: {note}" for label, record in named.items() if (note := approximation(record))),
            *((ERRORS,) if given else ()),
            *((fits.together,) if isinstance(fits, SiteFits) and not more else ()),
            *(charge_notes(named, ledger) if ledger is not None else ()),
            *((TOGETHER,) if ledger is None and (more or not isinstance(fits, SiteFits)) else ()),
        ),
        alarm="; ".join(open_fits),
    )


def _named(fits: object) -> dict[str, FitRecord]:
    if isinstance(fits, Mapping):
        named: dict[str, Any] = {str(label): fit for label, fit in fits.items()}
    elif isinstance(fits, Sequence):
        named = {f"({position})": fit for position, fit in enumerate(fits, start=1)}
    else:
        named = {"(1)": fits}
    strangers = [type(fit).__name__ for fit in named.values() if not isinstance(fit, FitResult)]
    if strangers or not named or (len(named) == 1 and not isinstance(fits, Mapping | Sequence)):
        raise MethodError(
            f"compare of {strangers[0]}" if strangers else "compare without a list of fits",
            expected="a list of fits, or a mapping of names to fits",
            remedy="Use dpglm.compare([fit1, fit2]).",
        )
    return {label: fit._record for label, fit in named.items()}


def _bracketed(error: float | None) -> str:
    text = coefficient(error)
    return text if text == ABSENT else f"({text})"


def _line(record: FitRecord) -> str:
    """Formula, model and price of one fit in a line."""
    parts = [record.specification.formula, family_text(record), f"penalty {record.penalty}"]
    if (strength := strength_text(record)) != ABSENT:
        parts.append(f"strength {strength}")
    parts.append(f"method {record.specification.method.name}")
    if record.private:
        parts.append(f"epsilon {budget(record.guarantee.epsilon)}, delta {budget(record.guarantee.delta)}")
        parts.append(f"relation {record.guarantee.relation}, unit {record.guarantee.unit}")
    else:
        parts.append(record.alarm)
    return "; ".join(parts)


@dataclass(frozen=True, eq=False, repr=False)
class NamedFits(Named[FitResult]):
    """Fits by name, in their order, with what all of them together promise a person."""

    privacy: Guarantee

    def __post_init__(self) -> None:
        assert self._results, "at least one"
        super().__post_init__()

    def __eq__(self, other: object) -> bool:
        """Equal names in the same order, equal fits and an equal promise."""
        if not isinstance(other, NamedFits):
            return NotImplemented
        return self.privacy == other.privacy and list(self.items()) == list(other.items())

    def __hash__(self) -> int:
        return hash((tuple(self), self.privacy))

    @property
    def alarm(self) -> str:
        """Why nothing is promised; empty where something is."""
        return next((fit._record.alarm for fit in self.values() if not fit.private), "")

    @property
    def params(self) -> pd.DataFrame:
        """Coefficients on the original scale, a row per coefficient, a column per fit."""
        import pandas as pd

        return pd.DataFrame({name: fit.params for name, fit in self.items()})

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(map(repr, self))}>{self.alarm and ' ' + self.alarm}"


@dataclass(frozen=True, eq=False, repr=False)
class SiteFits(NamedFits):
    """A :class:`dpglm.FitResult` per site, in the order of the sites; it cannot be changed and holds no data.

    Parameters
    ----------
    fits : mapping of str to FitResult
        Fits of one formula, by site; at least one.
    privacy : Guarantee
        What all of them together promise a person; ``fits[site].privacy`` is what one site promises.

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

    # `dpglm.pool`, which reads formulas again and is handed in from above.
    _pool: Callable[..., FitResult] | None = None

    @property
    def together(self) -> str:
        """What the fits cost together, in a sentence."""
        sites = "One site" if len(self) == 1 else f"All {len(self)} sites together"
        return f"{sites}: {self.privacy.statement()}"

    def pool(self, *, effects: Effects = "common", fixed: Sequence[str] = ()) -> FitResult:
        """One model of all sites, from what each of them released, see :func:`dpglm.pool`: free.

        Its guarantee is that of ``privacy``.

        Parameters
        ----------
        effects : {"common", "random"}
            One coefficient for all sites, or each site its own around a mean.
        fixed : sequence of str
            Coefficients that are the same at every site all the same, with random effects.
        """
        assert self._pool is not None, "fits of dpglm.fit"
        return self._pool(self, effects=effects, fixed=fixed)

    def summary(self) -> Table:
        """The sites side by side, as :func:`dpglm.compare` shows them."""
        return compare(self)
