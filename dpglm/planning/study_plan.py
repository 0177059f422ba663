"""The plan of a study: what its fit can be expected to give, as tables and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.planning.merging import Merger, proposals, without_shares
from dpglm.planning.study import Forecast, Study
from dpglm.planning.summary import release_lines, summary
from dpglm.postprocessing.missing_intervals import reason
from dpglm.postprocessing.uncertainty import quantile
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.coefficient_figures import expected_figure
from dpglm.report.plots import draw
from dpglm.tables.table import Table
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Over: TypeAlias = Literal["n", "epsilon"]

# A two-sided test at 5 % finds an effect of this many standard errors with power 80 %: 1.96 + 0.84.
DETECTABLE: Final = 2.8
# Values drawn over are the planned one times these.
GRID: Final = tuple(2.0**step for step in range(-3, 4))


@dataclass(frozen=True, eq=False, repr=False)
class StudyPlan:
    """What ``dpglm.plan`` gives back; it never sees data and costs nothing.

    Standard errors are those to expect if columns are spread as declared and overlap as columns usually do:
    an orientation, within a factor of 2.5 as a rule where shares, means and standard deviations are
    declared.

    Parameters
    ----------
    study : Study
        What is declared.
    level : float
        Coverage of intervals.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"y": ["no", "yes"], "age": (18, 90), "sex": ["F", "M"]}
    >>> study = dpglm.plan("y ~ age + sex", schema, n=5000, privacy=(1.0, 1e-6))
    >>> study.names
    ('Intercept', 'sex[T.M]', 'age')
    >>> bool((study.half_width > 1.9 * study.std_error).all())
    True
    """

    study: Study
    level: float = 0.95

    def __repr__(self) -> str:
        return f"<StudyPlan {self.study.formula!r}: n = {self.study.n:,}, {self.guarantee.statement()}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The user's coefficients."""
        return self.study.coding.names

    @property
    def guarantee(self) -> Guarantee:
        """What the fit will promise, and so its price."""
        return self.study.plan.guarantee

    @property
    def expected(self) -> Forecast:
        """Standard errors with their parts, and which coefficients will probably have an interval."""
        return self.study.forecast

    @property
    def std_error(self) -> FloatVector:
        """Expected standard errors on the original scale, shape (p,)."""
        return self.expected.deviations

    @property
    def has_intervals(self) -> bool:
        """Whether the fit pays for standard errors and intervals at all."""
        return self.study.equations is not None

    @property
    def half_width(self) -> FloatVector:
        """Half the width of the interval to expect, shape (p,); NaN where the fit pays for none."""
        return quantile(self.level) * self._tested

    @property
    def detectable(self) -> FloatVector:
        """Smallest effect that a test at 5 % finds with power 80 %, shape (p,); NaN without intervals."""
        return DETECTABLE * self._tested

    @property
    def relative_width(self) -> FloatVector:
        """Expected standard error in units of that of the fit without privacy, shape (p,)."""
        return np.asarray(self.std_error / self.expected.classical)

    @property
    def _tested(self) -> FloatVector:
        return np.where(self.has_intervals, self.std_error, np.nan)

    @cached_property
    def mergers(self) -> tuple[Merger, ...]:
        """Rare levels to merge by declaration; only of columns with declared shares."""
        return proposals(self.study)

    @cached_property
    def assumed_equal(self) -> tuple[str, ...]:
        """Columns whose levels are assumed to be equally frequent, for want of declared shares."""
        return without_shares(self.study)

    def summary(self) -> Table:
        """Expected precision of each coefficient, what is released, the price, and what would improve it."""
        return summary(self)

    def tidy(self) -> pd.DataFrame:
        """A row per coefficient.

        Returns
        -------
        DataFrame
            ``term``, ``std_error``, ``half_width``, ``detectable``, ``relative_width``, ``printed``, the
            parts of the standard error ``sampling_se``, ``privacy_se`` (of estimate and curvature),
            ``adjustment_se``, and ``reason`` for coefficients that will probably have no interval.
        """
        import pandas as pd

        parts = np.sqrt(self.expected.parts)
        return pd.DataFrame(
            {
                "term": list(self.names),
                "std_error": self.std_error,
                "half_width": self.half_width,
                "detectable": self.detectable,
                "relative_width": self.relative_width,
                "printed": list(self.expected.printed),
                "sampling_se": parts[:, 0],
                "privacy_se": np.hypot(parts[:, 1], parts[:, 2]),
                "estimate_noise_se": parts[:, 1],
                "curvature_noise_se": parts[:, 2],
                "adjustment_se": parts[:, 3],
                "reason": [
                    reason(verdict) if self.has_intervals else verdict.reason
                    for verdict in self.expected.interval_decisions
                ],
            }
        )

    @property
    def releases(self) -> pd.DataFrame:
        """A row per release: what it is, its noise, and its price in epsilon or mu."""
        import pandas as pd

        return pd.DataFrame(
            release_lines(self.study.plan), columns=["release", "noise_scale", "epsilon", "mu"]
        )

    def curve(self, over: Over = "n", values: Sequence[float] | None = None) -> pd.DataFrame:
        """Expected standard errors over other numbers of rows or budgets.

        Parameters
        ----------
        over : {"n", "epsilon"}
            What changes; the rest stays as planned.
        values : sequence of float, optional
            Numbers of rows or epsilons; by default from an eighth to eight times what is planned.

        Returns
        -------
        DataFrame
            ``over``, then of all coefficients but the intercept ``median`` and ``worst`` standard error and
            ``median_relative``, the median in units of the fit without privacy; ``printed``, how many will
            probably have an interval; ``intervals``, whether the fit pays for any.

        Raises
        ------
        MethodError
            Another ``over``, values out of range, or epsilons of a budget that is declared as mu or rho.

        Examples
        --------
        >>> import dpglm
        >>> study = dpglm.plan("y ~ x", {"y": [0, 1], "x": (0, 9)}, n=5000, privacy=(1.0, 1e-6))
        >>> list(study.curve("n", [5000, 20_000]).columns)
        ['n', 'median', 'worst', 'median_relative', 'printed', 'intervals']
        """
        import pandas as pd

        rows = []
        for value in self._values(over, values):
            study = self.study.at(n=round(value)) if over == "n" else self.study.at(epsilon=float(value))
            rows.append((round(value) if over == "n" else float(value), *_worth(study)))
        columns = [over, "median", "worst", "median_relative", "printed", "intervals"]
        return pd.DataFrame(rows, columns=columns)

    def plot(
        self, over: Over = "n", *, values: Sequence[float] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the median and the worst expected standard error over n or epsilon with matplotlib.

        Raises
        ------
        MethodError
            As `curve`, or an ``ax`` that is not one of matplotlib's.
        """
        curve = self.curve(over, values)
        planned = float(self.study.n if over == "n" else self.study.privacy.epsilon)
        figure = expected_figure(
            over,
            curve[over].to_numpy(dtype=np.float64),
            {"worst coefficient": curve["worst"].to_numpy(), "median": curve["median"].to_numpy()},
            planned=planned,
            scale=self.study.family.link,
        )
        return draw(figure, ax=ax)

    def _values(self, over: str, values: Sequence[float] | None) -> Sequence[float]:
        if over not in ("n", "epsilon"):
            raise MethodError(
                f"over={over!r}" if isinstance(over, str) else f"over of type {type(over).__name__}",
                expected="'n' or 'epsilon'",
                remedy="Use over='n'.",
            )
        if over == "epsilon" and self.study.privacy.mu is not None:
            raise MethodError(
                "over='epsilon' of a budget declared as mu or rho",
                expected="a budget declared as epsilon",
                remedy="Use over='n', or plan with privacy=(1.0, 1e-6).",
            )
        planned = self.study.n if over == "n" else self.study.privacy.epsilon
        least = 1.0 if over == "n" else 1e-3
        given = [max(planned * step, least) for step in GRID] if values is None else list(values)
        if not given or not all(
            isinstance(value, int | float | np.integer | np.floating) and least <= value <= 1e12
            for value in given
        ):
            raise MethodError(
                f"values of {over} out of range",
                expected=f"numbers from {least:g} to 1e12",
                remedy="Leave values out for an eighth to eight times what is planned.",
            )
        return given


def _worth(study: Study) -> tuple[float, float, float, int, bool]:
    """Median and worst standard error, relative median, how many intervals, and whether any is paid for."""
    found = study.forecast
    slopes = study.coding.penalised if study.coding.penalised.any() else ~study.coding.penalised
    errors = found.deviations[slopes]
    relative = errors / found.classical[slopes]
    printed = int(np.sum(np.array(found.printed)[slopes]))
    return (
        float(np.median(errors)),
        float(errors.max()),
        float(np.median(relative)),
        printed,
        study.equations is not None,
    )
