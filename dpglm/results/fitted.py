"""A fit with its plots and its report: the result that ``dpglm.fit`` hands back."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dpglm.postprocessing.refits import CoefficientPath
from dpglm.postprocessing.store import save, write_atomically
from dpglm.report.page import render
from dpglm.report.plots import plot
from dpglm.results.fit_result import FitResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Fitted(FitResult):
    """A :class:`FitResult` that draws itself.

    It holds released numbers and public facts only, so plots, reports and copies cost no privacy.

    Examples
    --------
    >>> import dpglm
    >>> fit = dpglm.fit("y ~ x1", dpglm.load_data("simulated"), privacy=1.0, seed=1)
    >>> fit.to_html().count("<h1")
    1
    """

    def plot(
        self,
        kind: Literal["coef", "variance", "path", "spend", "tradeoff"] = "coef",
        *,
        ax: Axes | None = None,
        path: CoefficientPath | None = None,
    ) -> Axes:
        """Draw a figure of the fit with matplotlib.

        Parameters
        ----------
        kind : {"coef", "variance", "path", "spend", "tradeoff"}
            Coefficients with their intervals; what makes these wide; coefficients along a path of penalty
            strengths; the spend by release; the trade-off curve of the guarantee.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.
        path : CoefficientPath, optional
            What ``"path"`` draws, if not ``fit.path()``.

        Raises
        ------
        MethodError
            An unknown kind, an ``ax`` that is not one of matplotlib's, variances of a fit without standard
            errors, or a path of a fit without a curvature.
        """
        return plot(self, kind, ax=ax, path=path)

    def to_html(self, *, choices: Mapping[str, str] | None = None) -> str:
        """The privacy report: one self-contained HTML page.

        Parameters
        ----------
        choices : mapping of str to str, optional
            The analyst's answers to the checklist of choices made outside the software.

        Raises
        ------
        MethodError
            Answers that are not a mapping of text to text.
        """
        return render(self, choices=choices)

    def report(self, path: str | PathLike[str], *, choices: Mapping[str, str] | None = None) -> Path:
        """Write the privacy report to a file, whole or not at all, and return its path.

        Raises
        ------
        StoreError
            The file cannot be written.
        MethodError
            Answers that are not a mapping of text to text.
        """
        return write_atomically(path, self.to_html(choices=choices))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the result as versioned JSON, to be read by :func:`dpglm.load`, and return its path.

        Raises
        ------
        StoreError
            The file cannot be written.
        """
        save(self, path)
        return Path(path)
