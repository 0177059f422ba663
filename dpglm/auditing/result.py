"""What an audit found: lower bounds beside claims, and what they do and do not show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpglm.privacy.guarantee import Guarantee
from dpglm.report.guarantee_figures import bounds_figure
from dpglm.report.plots import draw
from dpglm.tables.table import Column, Summarised, Table, balance, budget, count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NO_PROOF = (
    "An audit that finds nothing does not prove a claim: it looks at a few pairs of tables, with a few "
    "statistics and finitely many draws. The proof is beside the code of each release."
)
COLUMNS = ("claim", "epsilon >=", "delta >=", "draws", "wrong with", "verdict")


@dataclass(frozen=True)
class AuditRow:
    """One claim and what draws showed of it."""

    name: str  # a release, or "whole method"
    claim: Guarantee
    epsilon: float  # lower bound at the claimed delta
    delta: float  # lower bound at the claimed epsilon
    trials: int  # draws on each of the two tables, those that chose tables and statistic included
    failure: float  # the bounds of this row are wrong with at most this probability
    refuted: bool  # whether the draws contradict the claim at any of its points, its curve or its mu
    tables: str  # the neighbouring tables behind the bounds, in words
    statistics: tuple[str, ...]  # what was looked at in the outputs

    @property
    def verdict(self) -> str:
        """``"not refuted"`` or ``"REFUTED"``."""
        return "REFUTED" if self.refuted else "not refuted"


@dataclass(frozen=True, repr=False)
class Audit(Summarised):
    """What ``dpglm.audit`` gives back; made of public facts and of noise, and free of any private table.

    Parameters
    ----------
    formula, method : str
        What was audited.
    rows : tuple of AuditRow
        One for each release, then one for the whole method.
    confidence : float
        All bounds hold together with at least this probability.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"y": (0, 1), "x": (0, 9)}
    >>> study = dpglm.plan("y ~ x", schema, n=99, privacy=1.0, family="gaussian")
    >>> found = dpglm.audit(study, trials=400, seed=1, progress=False)
    >>> [row.name for row in found.rows], found.passed
    (['second moments', 'whole method'], True)
    """

    formula: str
    method: str
    rows: tuple[AuditRow, ...]
    confidence: float

    def __repr__(self) -> str:
        state = "no claim refuted" if self.passed else "A CLAIM IS REFUTED"
        return f"<Audit {self.formula!r}, method {self.method}: {state}>"

    @property
    def passed(self) -> bool:
        """Whether no claim was refuted; that proves none."""
        return not any(row.refuted for row in self.rows)

    def summary(self) -> Table:
        """Claims, lower bounds and verdicts; prints as text, HTML, LaTeX or Markdown."""
        relation, unit = self.rows[-1].claim.relation, self.rows[-1].claim.unit
        tables = dict.fromkeys(f"{row.name}: {row.tables}" for row in self.rows)
        refuted = ", ".join(row.name for row in self.rows if row.refuted)
        return Table(
            title="Audit of privacy claims by draws on neighbouring tables",
            columns=(Column("release", "left"), *(Column(heading) for heading in COLUMNS)),
            rows=tuple(
                (
                    row.name,
                    words(row.claim),
                    balance(row.epsilon),
                    balance(row.delta),
                    count(row.trials),
                    budget(row.failure),
                    row.verdict,
                )
                for row in self.rows
            ),
            wide=(("Formula", self.formula), *(("Tables", text) for text in tables)),
            left=(("Method", self.method), ("Relation", relation)),
            right=(("Confidence", f"{100.0 * self.confidence:.10g} %"), ("Unit", unit)),
            notes=(
                "Lower bounds on epsilon at the claimed delta and on delta at the claimed epsilon, for "
                "tables made of the schema; no private table was read. All of them hold together with the "
                "confidence above. Draws: on each of two tables; half of them chose what to look at.",
                NO_PROOF,
            ),
            alarm=f"CLAIM REFUTED: {refuted}" if refuted else "",
        )

    def tidy(self) -> pd.DataFrame:
        """A row per claim.

        Returns
        -------
        DataFrame
            ``release``, ``claimed_epsilon``, ``claimed_delta``, ``claimed_mu``, ``epsilon`` and ``delta``
            (lower bounds), ``trials``, ``failure``, ``refuted``, ``tables`` and ``statistics``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "release": [row.name for row in self.rows],
                "claimed_epsilon": [row.claim.epsilon for row in self.rows],
                "claimed_delta": [row.claim.delta for row in self.rows],
                "claimed_mu": [row.claim.mu for row in self.rows],
                "epsilon": [row.epsilon for row in self.rows],
                "delta": [row.delta for row in self.rows],
                "trials": [row.trials for row in self.rows],
                "failure": [row.failure for row in self.rows],
                "refuted": [row.refuted for row in self.rows],
                "tables": [row.tables for row in self.rows],
                "statistics": [", ".join(row.statistics) for row in self.rows],
            }
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw each claimed epsilon against its lower bound with matplotlib.

        Raises
        ------
        MethodError
            ``ax`` is not one of matplotlib's.
        """
        figure = bounds_figure(
            [row.name for row in self.rows],
            [row.epsilon for row in self.rows],
            [row.claim.epsilon for row in self.rows],
            refuted=[row.refuted for row in self.rows],
        )
        return draw(figure, ax=ax)


def words(claim: Guarantee) -> str:
    """The claim as it stands in a table.

    Examples
    --------
    >>> words(Guarantee(1.0, 1e-6, "approximate", "replace-one", "one row"))
    'epsilon 1, delta 1e-6'
    """
    if claim.definition == "pure":
        return f"epsilon {budget(claim.epsilon)}"
    pair = f"epsilon {budget(claim.epsilon)}, delta {budget(claim.delta)}"
    return pair if claim.mu is None else f"mu {budget(claim.mu)} ({pair})"
