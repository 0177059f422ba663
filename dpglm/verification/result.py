"""What a verification found: checks in words, and the numbers that differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from dpglm.tables.table import Column, Summarised, Table
from dpglm.verification.pages import Difference

if TYPE_CHECKING:
    import pandas as pd

Outcome = Literal["agrees", "DIFFERS", "not checked"]
MOST_DIFFERENCES: Final = 20


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and what came out."""

    what: str
    outcome: Outcome
    detail: str


@dataclass(frozen=True, repr=False)
class Verification(Summarised):
    """What `dpglm.verify` gives back: which numbers follow from what a file holds, and what cannot be known.

    Parameters
    ----------
    kind : str
        What was read: ``"report"`` or ``"saved result"``.
    written_by, read_by : str
        Versions of dpglm.
    fingerprint : str
        SHA-256 of the saved result: compare it with one that was noted elsewhere.
    checks : tuple of Check
        Each ``"agrees"``, ``"DIFFERS"`` or ``"not checked"``.
    differences : tuple of Difference
        Places of the page that differ: place, found, expected.
    alarm : str
        ``"NOT PRIVATE: ..."`` of a result without a promise.

    Examples
    --------
    >>> checks = (Check("epsilon", "agrees", ""), Check("ledger", "not checked", "no ledger was given"))
    >>> Verification("report", "0.1.0", "0.1.0", "8f3b...", checks).passed
    True
    """

    kind: str
    written_by: str
    read_by: str
    fingerprint: str
    checks: tuple[Check, ...]
    differences: tuple[Difference, ...] = ()
    alarm: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing differs; what was not checked is not known."""
        return not any(check.outcome == "DIFFERS" for check in self.checks)

    def summary(self) -> Table:
        """Checks, differences and what no file can show; prints as text, HTML, LaTeX or Markdown."""
        notes = [
            f"DIFFERS: {part.place}: found {part.found!r}, expected {part.expected!r}."
            for part in self.differences[:MOST_DIFFERENCES]
        ]
        if len(self.differences) > MOST_DIFFERENCES:
            notes.append(f"{len(self.differences) - MOST_DIFFERENCES} more places differ.")
        if self.written_by != self.read_by:
            notes.append(
                f"The file was written by dpglm {self.written_by} and checked by {self.read_by}: numbers may "
                f"differ in their last digits. Install dpglm {self.written_by} for a verdict on every digit."
            )
        failed = [check.what for check in self.checks if check.outcome == "DIFFERS"]
        alarms = (self.alarm, f"DOES NOT AGREE: {', '.join(failed)}" if failed else "")
        return Table(
            title=f"Verification of a {self.kind}",
            columns=(Column("what", "left"), Column("outcome", "left"), Column("in words", "left")),
            rows=tuple((check.what, check.outcome, check.detail) for check in self.checks),
            wide=(("SHA-256", self.fingerprint),),
            left=(("Written by", f"dpglm {self.written_by}"),),
            right=(("Checked by", f"dpglm {self.read_by}"),),
            notes=(*notes, *CANNOT),
            alarm="; ".join(filter(None, alarms)),
        )

    def tidy(self) -> pd.DataFrame:
        """A row for each check: what, outcome, detail."""
        import pandas as pd

        return pd.DataFrame([asdict(check) for check in self.checks], columns=["what", "outcome", "detail"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"passed": self.passed, **asdict(self), "cannot_be_checked": list(CANNOT)}

    def __repr__(self) -> str:
        return f"<Verification of a {self.kind}: {'agrees' if self.passed else 'DOES NOT AGREE'}>"


CANNOT: Final = (
    "No file can show that the noise was really drawn, that these rows and no others were read, that bounds "
    "and formula were chosen without looking at the data, that what people stated is true, or that no charge "
    "is missing from the ledger.",
    "Whoever writes the whole file anew, with other numbers that agree with each other, is not found here: "
    "compare the SHA-256 above with one that was noted or signed elsewhere.",
)
