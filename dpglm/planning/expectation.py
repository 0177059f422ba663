"""Expected precision of a plan: standard errors, intervals and detectable effects, before any data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from dpglm.data.coding.coded_model import CodedModel
from dpglm.errors import DpglmError, MethodError
from dpglm.inference.contrasts import Contrasts, IntervalDecision
from dpglm.inference.expectation import EstimateNoise, ExpectedRows, LikelyFits, classical_deviations
from dpglm.mechanisms.span import Span
from dpglm.planning import merging, tables
from dpglm.planning.correlated_rows import CorrelatedRows
from dpglm.planning.expected_rows import SEED, expected_moments, expected_rows
from dpglm.postprocessing import functions
from dpglm.postprocessing.intervals import quantile
from dpglm.tables.table import Summarised, Table
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpglm.planning.merging import Merger
    from dpglm.planning.tables import Over
    from dpglm.spec.plan import Plan

NO_INFORMATION: Final = "the whole budget goes to the estimate"
NOTHING_EXPECTED: Final = "this method's releases do not say how precise its coefficients are"
# A two-sided test at 5 % finds an effect of this many standard errors with power 80 %: 1.96 + 0.84.
DETECTABLE: Final = 2.8
# Draws of the information's noise, an odd number; one alone with more columns than the second number, which
# takes as long. One says much the same of all coefficients together, and less of each.
DRAWS, MOST_DRAWN = 5, 200


@dataclass(frozen=True, eq=False, repr=False)
class Expectation(Summarised):
    """What a plan's fit can be expected to give; it never sees data and costs nothing.

    Standard errors are those to expect if columns are spread as declared and overlap as columns usually do:
    an orientation, within a factor of 2.5 as a rule where shares, means and standard deviations are
    declared. Where the method gives no standard errors, they are those of its estimate before its penalty.

    Parameters
    ----------
    plan : Plan
    n : int
        Expected number of rows.
    rate : float
        Expected share of the second level of a response with two levels.
    level : float
        Coverage of intervals.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"y": ["no", "yes"], "age": (18, 90), "sex": ["F", "M"]}
    >>> expected = dpglm.plan("y ~ age + sex", schema, n=5000, privacy=(1.0, 1e-6)).expected()
    >>> expected.names
    ('Intercept', 'sex[T.M]', 'age')
    >>> bool((expected.half_width > 1.9 * expected.std_error).all())
    True
    """

    plan: Plan
    n: int
    rate: float
    level: float = 0.95

    def __repr__(self) -> str:
        return f"<Expectation of {self.plan.specification.formula!r}: n = {self.n:,}>"

    @cached_property
    def model(self) -> CodedModel:
        """The formula with its coding, its response and the loss that is minimised."""
        return replace(self.plan.specification.coded_model, family=self.plan.problem.family)

    @property
    def names(self) -> tuple[str, ...]:
        """The user's coefficients."""
        return self.model.coding.names

    @cached_property
    def drawn(self) -> CorrelatedRows | None:
        """Rows whose columns go together as a profile released; None where it did not."""
        products = self.plan.specification.products
        return None if products is None else CorrelatedRows.of(self.model, products)

    @cached_property
    def moments(self) -> FloatMatrix:
        """Mean of x x' over expected rows, shape (p, p); it depends on neither n nor the budget."""
        if self.drawn is not None:
            return self.drawn.moments
        return expected_moments(self.model.schema, self.model.coding)

    @cached_property
    def rows(self) -> ExpectedRows:
        """The rows to expect."""
        return expected_rows(self.model, self.n, self.rate, self.moments, self.drawn)

    @cached_property
    def found(self) -> LikelyFits | EstimateNoise | None:
        """The coefficients in models that the releases may make, or their noise, if known."""
        spec = self.plan.specification
        with self._computing():
            found = spec.method.expected(self.plan.problem, self.plan.releases, self.rows)
            return likely_fits(found) if isinstance(found, Contrasts) else found

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Numbers out of all proportion are a MethodError."""
        try:
            with np.errstate(all="ignore"):
                yield
        except DpglmError:
            raise
        except (np.linalg.LinAlgError, ValueError):
            raise self._incomputable() from None

    @property
    def has_intervals(self) -> bool:
        """Whether the fit pays for standard errors and intervals at all."""
        return isinstance(self.found, LikelyFits)

    @cached_property
    def parts(self) -> FloatMatrix:
        """Variance of each coefficient by source, shape (p, 4): sampling, noise of the estimate, noise of the
        information, adjustment for the other coefficients; NaN where the method says nothing.
        """
        rows, unit = self.model.coding.user_from_coded, self.model.response.unit
        if self.found is None:
            return np.full((len(rows), 4), np.nan)
        with self._computing():
            parts = self.found.parts(rows) if isinstance(self.found, EstimateNoise) else self.found.parts
        if not np.isfinite(parts).all() or not parts.any(axis=1).all():
            raise self._incomputable()
        return np.asarray(unit**2 * parts)

    def _incomputable(self) -> MethodError:
        return MethodError(
            f"a plan for n={self.n:,} and epsilon={self.plan.guarantee.epsilon:g}",
            expected="numbers that can be computed with",
            remedy="Use a budget and a number of rows of usual size.",
        )

    @cached_property
    def decisions(self) -> tuple[IntervalDecision, ...]:
        """Whether each coefficient will probably have a standard error, and why not."""
        if isinstance(self.found, LikelyFits):
            with np.errstate(all="ignore"):
                return self.found.decisions
        why = NOTHING_EXPECTED if self.found is None else NO_INFORMATION
        return (IntervalDecision(False, why, math.inf),) * len(self.names)

    @property
    def printed(self) -> tuple[bool, ...]:
        """Which coefficients will probably have a standard error."""
        return tuple(decision.reported for decision in self.decisions)

    @cached_property
    def classical(self) -> FloatVector:
        """Standard errors of the fit without privacy, shape (p,)."""
        rows = self.model.coding.user_from_coded
        errors = classical_deviations(self.rows.information, rows, self.rows.dispersion)
        return np.asarray(self.model.response.unit * errors)

    @property
    def std_error(self) -> FloatVector:
        """Expected standard errors on the original scale, shape (p,)."""
        return np.asarray(np.sqrt(self.parts.sum(axis=1)))

    @property
    def noise_error(self) -> FloatVector:
        """The part of `std_error` that is noise of the releases, shape (p,)."""
        return np.asarray(np.sqrt(self.parts[:, 1] + self.parts[:, 2]))

    @property
    def half_width(self) -> FloatVector:
        """Half the width of the interval to expect, shape (p,); NaN where the fit pays for none."""
        return quantile(self.level) * np.where(self.has_intervals, self.std_error, np.nan)

    @property
    def detectable(self) -> FloatVector:
        """Smallest effect that a test at 5 % finds with power 80 %, shape (p,).

        Without intervals: the effect below which an estimate is not told from zero, since sampling and noise
        make as much.
        """
        return DETECTABLE * self.std_error

    @property
    def relative_width(self) -> FloatVector:
        """Expected standard error in units of that of the fit without privacy, shape (p,)."""
        return np.asarray(self.std_error / self.classical)

    @cached_property
    def mergers(self) -> tuple[Merger, ...]:
        """Rare levels to merge by declaration; only of columns with declared shares."""
        return merging.proposals(self)

    @cached_property
    def assumed_equal(self) -> tuple[str, ...]:
        """Columns whose levels are assumed to be equally frequent, for want of declared shares."""
        return merging.factors(self, shares=False)

    def summary(self) -> Table:
        """Expected precision of each coefficient, what is released, the price, and what would improve it."""
        return tables.summary(self)

    def tidy(self) -> pd.DataFrame:
        """A row per coefficient.

        Returns
        -------
        DataFrame
            ``term``, ``std_error``, ``half_width``, ``detectable``, ``relative_width``, ``printed``, the
            parts of the standard error ``sampling_se``, ``privacy_se`` (of estimate and information),
            ``adjustment_se``, and ``reason`` for coefficients that will probably have no standard error.
        """
        import pandas as pd

        parts = np.sqrt(self.parts)
        return pd.DataFrame(
            {
                "term": list(self.names),
                "std_error": self.std_error,
                "half_width": self.half_width,
                "detectable": self.detectable,
                "relative_width": self.relative_width,
                "printed": list(self.printed),
                "sampling_se": parts[:, 0],
                "privacy_se": self.noise_error,
                "estimate_noise_se": parts[:, 1],
                "information_noise_se": parts[:, 2],
                "adjustment_se": parts[:, 3],
                "reason": [
                    functions.why(decision) if self.has_intervals else decision.reason
                    for decision in self.decisions
                ],
            }
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
            probably have a standard error; ``intervals``, whether the fit pays for any.

        Raises
        ------
        MethodError
            Another ``over``, values out of range, or epsilons of a budget that is declared as mu or rho.

        Examples
        --------
        >>> import dpglm
        >>> plan = dpglm.plan("y ~ x", {"y": [0, 1], "x": (0, 9)}, n=5000, privacy=(1.0, 1e-6))
        >>> list(plan.expected().curve("n", [5000, 20_000]).columns)
        ['n', 'median', 'worst', 'median_relative', 'printed', 'intervals']
        """
        return tables.curve(self, over, values)

    def plot(
        self, over: Over = "n", *, values: Sequence[float] | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the median and the worst expected standard error over n or epsilon with matplotlib.

        Raises
        ------
        MethodError
            As `curve`, or an ``ax`` that is not one of matplotlib's.
        """
        return tables.plot_curve(self, over, values, ax)

    def at(self, *, n: int | None = None, epsilon: float | None = None) -> Expectation:
        """The same with another number of rows or budget; expected rows are not drawn again."""
        spec = self.plan.specification
        if n is not None and spec.schema.rows is not None:
            # A declared number of rows is that of the plan.
            spec = spec.under(replace(spec.schema, rows=n))
        if epsilon is not None:
            assert spec.privacy is not None, "a plan has a budget"
            spec = replace(spec, privacy=replace(spec.privacy, epsilon=epsilon))
            spec.__dict__["coded_model"] = self.model
        rows = self.n if n is None else n
        plan = self.plan if spec is self.plan.specification else spec.plan(n=rows)
        other = replace(self, plan=plan, n=rows)
        other.__dict__.update(moments=self.moments, drawn=self.drawn)
        return other


def likely_fits(found: Contrasts) -> LikelyFits:
    """With the noise of their information drawn: the same draws for the same columns."""
    span, draw = Span(found.model.released.term_columns), np.random.default_rng(SEED)
    count = DRAWS if span.size <= MOST_DRAWN else 1
    return LikelyFits.of(found, (span.matrix(draw.standard_normal(span.dimension)) for _ in range(count)))
