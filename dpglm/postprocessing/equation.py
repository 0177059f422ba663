"""One equation of a multinomial fit: what it is about, and what all of them promise together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.parts import ResultPart, parts
from dpglm.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from dpglm.postprocessing.record import FitRecord
    from dpglm.tables.table import Fact


@parts.register("equation")
@dataclass(frozen=True, eq=False)
class Equation(ResultPart):
    """One of several logistic regressions of levels against a baseline.

    Parameters
    ----------
    levels : tuple of str
        Of the response, the baseline first.
    together : Guarantee
        What all equations promise a person; the result's own is what this one costs.
    plan : str
        Fingerprint of the plan of all equations, which was charged.
    """

    levels: tuple[str, ...]
    together: Guarantee
    plan: str

    name: ClassVar[str] = "equation"

    @property
    def title(self) -> str:
        """What it is."""
        return "one equation of a multinomial fit"

    @property
    def beside(self) -> str:
        """The promise of all equations."""
        count = len(self.levels) - 1
        return f"This is one of {count} equations of one fit. Together: {self.together.statement()}"

    @property
    def paid_with(self) -> tuple[str, Guarantee]:
        return self.plan, self.together

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        baseline, level = record.response.levels or ("", "")
        others = [name for name in self.levels[1:] if name != level]
        return (("Equation", f"log odds of {level} against {baseline}; beside it: {', '.join(others)}"),)

    def check(self, record: FitRecord) -> None:
        """Refuse a level that is none of these, or a promise that is not that of all equations together."""
        own = record.response.levels
        if own is None or own[0] != self.levels[0] or own[1] not in self.levels[1:]:
            raise store_error("an equation of other levels", "a level against the baseline")
        one, whole = record.guarantee, self.together
        same = (one.relation, one.unit, one.reason) == (whole.relation, whole.unit, whole.reason)
        if not same or whole.epsilon < one.epsilon or whole.delta < one.delta:
            raise store_error("equations that promise more together than one of them", "the price of all")
