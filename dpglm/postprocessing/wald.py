"""Wald tests of linear restrictions on the user's coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpglm.inference.contrasts import Contrasts, wald
from dpglm.inference.interval_decision import interval_decisions
from dpglm.postprocessing.missing_intervals import no_intervals
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.restrictions import restrictions
from dpglm.tables.content import Column
from dpglm.tables.number import p_value, statistic
from dpglm.tables.table import Table


@dataclass(frozen=True)
class WaldResult:
    """A Wald test.

    Attributes
    ----------
    statistic : float
        Squared distance from the restrictions in units of the covariance of the debiased estimates.
    df : int
        Number of restrictions: degrees of freedom of the chi-squared distribution.
    p_value : float
        NaN, with ``statistic``, where a restriction fails the rule by which intervals are given.
    restrictions : tuple of str
        What was tested.
    reason : str
        Why there is no p-value; empty where there is one.
    privacy : str
        What was promised.
    """

    statistic: float
    df: int
    p_value: float
    restrictions: tuple[str, ...]
    reason: str
    privacy: str

    def summary(self) -> Table:
        """The test as a table."""
        return Table(
            title="Wald test",
            columns=(Column("restrictions", "left"), Column("chi2"), Column("df"), Column("P>chi2")),
            rows=(
                (
                    ", ".join(self.restrictions),
                    statistic(self.statistic),
                    str(self.df),
                    p_value(self.p_value),
                ),
            ),
            notes=(*((f"No test (-): {self.reason}.",) if self.reason else ()), self.privacy),
            alarm=self.privacy if self.privacy.startswith("NOT PRIVATE") else "",
        )

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().to_html()


def wald_test(record: FitRecord, asked: object) -> WaldResult:
    """Test of linear restrictions; see :meth:`FitResult.wald_test`."""
    rows, values, words = restrictions(asked, record.names)
    promise = record.alarm or record.guarantee.statement()
    found, reason = (float("nan"), float("nan")), ""
    if record.contrasts is None:
        reason = no_intervals(record)
    else:
        model, coded = record.contrasts.model, rows @ record.user_from_coded
        with np.errstate(all="ignore"):
            judged = interval_decisions(Contrasts(model, coded))
        failed = [
            f"{word}: {verdict.reason}"
            for word, verdict in zip(words, judged, strict=True)
            if not verdict.reported
        ]
        reason = "; ".join(failed)
        if not failed:
            test = wald(model, coded, values)
            found = test.statistic, test.p_value
    return WaldResult(found[0], len(rows), found[1], words, reason, promise)
