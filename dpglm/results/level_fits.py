"""A multinomial fit: a logistic regression of each level against the first one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from dpglm.errors import DpglmError, MethodError, NoAttribute, StoreError
from dpglm.postprocessing import frames, store
from dpglm.postprocessing.restriction import equation_of
from dpglm.postprocessing.summary import guarantee_notes
from dpglm.report.exports import ExportKind
from dpglm.report.exports.export import export
from dpglm.results.compare import NamedFits
from dpglm.results.fit_result import FitResult
from dpglm.results.hints import hint
from dpglm.tables.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd

    from dpglm.glm.penalties.base import Penalty

INDEPENDENT = (
    "Each equation is a logistic regression on the rows at its level or the baseline (Begg and Gray 1984). "
    "Equations share the rows at the baseline, so that estimates of different levels are correlated."
)


class LevelFits(NamedFits):
    """A :class:`dpglm.FitResult` for each level but the first, the baseline; it holds no data.

    Coefficients are log odds of the level against the baseline. ``fits[level]`` is an ordinary logistic fit,
    with intervals, tests, refits, plots and a report. ``fits.privacy`` is what all of them promise together,
    ``fits[level].privacy`` what one of them costs. Covariances between equations are not released: there is
    no test about several levels, and no interval of a probability.

    References
    ----------
    Begg and Gray (1984), "Calculation of polychotomous logistic regression parameters using individualized
    regressions", Biometrika 71(1).

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> schema = dpglm.Schema.of(women.attrs["dpglm.schema"])
    >>> fits = dpglm.fit("occupation ~ age + educ", women, family="multinomial", privacy=(1.0, 1e-6), seed=1)
    >>> fits.baseline, list(fits)[:2], fits.params.shape
    ('1', ['2', '3'], (3, 5))
    >>> fits.predict(women.head(2)).sum(axis=1).round(6).tolist()
    [1.0, 1.0]
    >>> fits.conf_int().loc[("2", "age")].shape, fits.odds_ratios().columns[:3].tolist()
    ((2,), ['level', 'term', 'odds_ratio'])
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = fits.save(f"{folder}/jobs")
    ...     sorted(path.name for path in saved.iterdir())[:2], dpglm.load(saved) == fits
    (['1-2.json', '2-3.json'], True)
    """

    @classmethod
    def of(cls, fits: Iterable[FitResult]) -> Self:
        """The fit whose equations these are, each as `dpglm.load` reads it; all of them, in any order.

        Raises
        ------
        MethodError
            Fits that are not the equations of one multinomial fit.
        """
        given = list(fits)
        parts = [equation_of(fit._record) if isinstance(fit, FitResult) else None for fit in given]
        first = parts[0] if parts else None
        alike = first is not None and all(
            part == first and fit.formula == given[0].formula for fit, part in zip(given, parts, strict=True)
        )
        named = {fit._record.response.levels[1]: fit for fit in given} if alike else {}  # type: ignore[index]
        if first is None or len(given) != len(named) or {*named} != {*first.levels[1:]}:
            raise MethodError(
                f"{len(given)} fits that are not the equations of one multinomial fit",
                expected="one of each level but the baseline, from one call of dpglm.fit",
                remedy="Load the folder that fits.save(folder) made: dpglm.load(folder).",
            )
        return cls({level: named[level] for level in first.levels[1:]}, first.together)

    @classmethod
    def of_folder(cls, folder: str | PathLike[str], load: Callable[[Path], Any]) -> Self:
        """The fit whose equations a folder holds and ``load`` reads; of any other folder a StoreError."""
        try:
            return cls.of(map(load, sorted(Path(folder).glob("*.json"))))
        except DpglmError as error:
            raise StoreError(
                f"{fspath(folder)!r}, a folder that does not hold a multinomial fit: {error.found}",
                expected="a saved file, or a folder with the equations of one fit and no other JSON",
                remedy="Name a file in it, or a folder that save of a multinomial fit wrote.",
            ) from None

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write a file for each equation, as :meth:`FitResult.save` does, and return the folder.

        It is made, or is there and empty. Each file is an ordinary saved fit, which also says what all of
        them promise together. `dpglm.load` reads the folder.
        """
        return self._written(folder, "json", FitResult.save)

    def report(
        self, folder: str | PathLike[str], *, choices: Mapping[str, str] | None = None, facts: object = None
    ) -> Path:
        """Write the privacy report of each equation, as :meth:`FitResult.report` does; the folder."""
        return self._written(folder, "html", partial(FitResult.report, choices=choices, facts=facts))

    def _written(
        self, folder: str | PathLike[str], ending: str, write: Callable[[FitResult, Path], Path]
    ) -> Path:
        """A folder with a file for each equation."""
        target = store.free_folder(folder)
        target.mkdir(exist_ok=True)
        for level, name in self._file_names().items():
            write(self[level], target / f"{name}.{ending}")
        return target

    def _file_names(self) -> dict[str, str]:
        """Names of files by level: its place and, where these are plain, its letters and digits."""
        plain = {level: re.sub(r"[^A-Za-z0-9]+", "-", level).strip("-")[:40] for level in self}
        return {level: f"{place}-{plain[level]}".rstrip("-") for place, level in enumerate(self, start=1)}

    @property
    def baseline(self) -> str:
        """The first level of the response."""
        levels = next(iter(self.values()))._record.response.levels
        assert levels is not None
        return levels[0]

    @property
    def levels(self) -> tuple[str, ...]:
        """All levels of the response, the baseline first."""
        return self.baseline, *self

    @property
    def bse(self) -> pd.DataFrame:
        """Standard errors, a row per coefficient, a column per level."""
        import pandas as pd

        return pd.DataFrame({level: fit.bse for level, fit in self.items()})

    def conf_int(self, level: float = 0.95, *, adjust: Literal["fcr"] | None = None) -> pd.DataFrame:
        """Those of :meth:`FitResult.conf_int` by level and term; ``adjust`` is of each equation by itself."""
        import pandas as pd

        ends = {name: fit.conf_int(level, adjust=adjust) for name, fit in self.items()}
        return self._promised(pd.concat(ends, names=["level", "term"]))

    def odds_ratios(self, *, debiased: bool = False) -> pd.DataFrame:
        """The rows of :meth:`FitResult.odds_ratios` of every equation, behind a column ``level``."""
        return self._below({level: fit.odds_ratios(debiased=debiased) for level, fit in self.items()})

    def glance(self, *, style: frames.Style = "dpglm") -> pd.DataFrame:
        """A row for each equation, as :meth:`FitResult.glance` has it, behind a column ``level``.

        Epsilon, delta and mu are in every row those of all equations together.
        """
        found = self._below({level: fit.glance(style=style) for level, fit in self.items()}, style)
        whole = self.privacy
        price = {"epsilon": whole.epsilon, "delta": whole.delta, "mu": whole.mu or np.nan}
        return found.assign(**price) if whole.private else found

    def tidy(
        self, *, exponentiate: bool = False, debiased: bool = False, style: frames.Style = "dpglm"
    ) -> pd.DataFrame:
        """The rows of :meth:`FitResult.tidy` of every equation, behind a column ``level``.

        With ``style="broom"`` it is named ``y.level``, as in broom's ``tidy.multinom``.
        """
        own = partial(FitResult.tidy, exponentiate=exponentiate, debiased=debiased, style=style)
        return self._below({level: own(fit) for level, fit in self.items()}, style)

    def _below(self, shown: Mapping[str, pd.DataFrame], style: frames.Style = "dpglm") -> pd.DataFrame:
        """Frames of the equations below one another, behind a column of levels."""
        import pandas as pd

        found = pd.concat(shown.values(), ignore_index=True)
        levels = [level for level, frame in shown.items() for _ in range(len(frame))]
        found.insert(0, "y.level" if style == "broom" else "level", levels)
        return self._promised(found)

    def _promised(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame.attrs["privacy"] = self.alarm or self.privacy.statement()
        return frame

    def export(self, kind: ExportKind, path: str | PathLike[str], *, facts: object = None) -> Path:
        """Write one text of all equations, as :meth:`FitResult.export` does of one; a crate is of one."""
        return export([fit._record for fit in self.values()], kind, path, facts)

    def refit(
        self,
        penalty: str | Penalty | None = None,
        *,
        strength: float | None = None,
        drop: str | Sequence[str] | None = None,
        merge: Mapping[str, Mapping[Any, Sequence[Any]]] | None = None,
    ) -> Self:
        """:meth:`FitResult.refit` of every equation, with the same arguments: free.

        A submodel is refused where it is too far from one of them.
        """
        again = partial(FitResult.refit, penalty=penalty, strength=strength, drop=drop, merge=merge)
        return type(self)({level: again(fit) for level, fit in self.items()}, self.privacy)

    def predict(
        self,
        new: object,
        what: Literal["mean", "class"] = "mean",
        *,
        se: bool = False,
        interval: float | None = None,
    ) -> pd.DataFrame | pd.Series[Any]:
        """The probability of each level, shape (n, levels), or the most probable level.

        Parameters
        ----------
        new : DataFrame, or another table in memory, or a dict of columns
            The response is not read. Rows with missing values are NaN.
        what : {"mean", "class"}
            Probabilities, or the first level of largest probability.
        se, interval
            Refused: probabilities have none.

        Raises
        ------
        MethodError
            Another ``what``, ``se`` or ``interval``, or fits without probabilities.
        """
        import pandas as pd

        if what not in ("mean", "class"):
            raise MethodError(
                "what that is neither 'mean' nor 'class'",
                expected="'mean' or 'class'",
                remedy="Use fits[level].predict(new, what='link') for log odds against the baseline.",
            )
        if se or interval is not None:
            raise MethodError(
                "standard errors or intervals of probabilities of several levels",
                expected="predictions alone: covariances between equations are not released",
                remedy="Use fits[level].predict(new, 'link', se=True) for log odds against the baseline.",
            )
        given = [fit.predict(new) for fit in self.values()]
        index = next((each.index for each in given if isinstance(each, pd.Series)), None)
        share = np.column_stack([np.asarray(each, dtype=np.float64) for each in given])
        with np.errstate(all="ignore"):  # new rows may be private too: no warning tells of one of them
            # p / (1 - p) are odds against the baseline. Over the largest of them no number is too large.
            odds = np.column_stack([np.zeros(len(share)), np.log(share) - np.log1p(-share)])
            odds = np.exp(odds - odds.max(axis=1, keepdims=True))
            found = odds / odds.sum(axis=1, keepdims=True)
        if what == "mean":
            return pd.DataFrame(found, index=index, columns=list(self.levels))
        classes = np.full(len(found), np.nan, dtype=object)
        told = np.isfinite(found).all(axis=1)
        classes[told] = np.array(self.levels, dtype=object)[np.argmax(found[told], axis=1)]
        return pd.Series(classes, index=index, name="class")

    def summary(self) -> Table:
        """The coefficients of all equations, below one another, and what all of them promise."""
        first = next(iter(self.values()))
        shown = {level: fit.summary() for level, fit in self.items()}
        own = {level: guarantee_notes(fit._record) for level, fit in self.items()}
        notes = {
            level: [note for note in table.notes if note not in own[level]] for level, table in shown.items()
        }
        common = [note for note in notes[next(iter(notes))] if all(note in each for each in notes.values())]
        return Table(
            title=f"Multinomial logistic regression of {first._record.response.name}",
            columns=(Column("level", "left"), *shown[next(iter(shown))].columns),
            rows=tuple(
                (level if place == 0 else "", *row)
                for level, table in shown.items()
                for place, row in enumerate(table.rows)
            ),
            wide=(
                ("Formula", first.formula),
                ("Baseline", self.baseline),
                ("Method", f"{first._record.specification.method.name}, penalty {first._record.penalty}"),
            ),
            notes=(
                self.privacy.statement(),
                INDEPENDENT,
                *common,
                "What else is to be said of one equation is in fits[level].summary().",
            ),
            alarm=self.alarm,
        )

    def __getattr__(self, name: str) -> Any:
        """An AttributeError that says what there is in the place of a name of a fit, of R or statsmodels."""
        words = hint(type(self).__name__, name, of_one=hasattr(FitResult, name))
        raise NoAttribute(words, name=name, obj=self)
