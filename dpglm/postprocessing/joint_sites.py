"""The sites behind a joint fit: what each of them promised, and which ledger paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.parts import ResultPart, parts
from dpglm.postprocessing.record import LedgerState, SpendLine
from dpglm.privacy.guarantee import Guarantee, disjoint, overlapping
from dpglm.tables.table import balance, budget, count

if TYPE_CHECKING:
    from dpglm.postprocessing.record import FitRecord
    from dpglm.tables.table import Fact

MOST_LISTED: Final = 20


@dataclass(frozen=True, eq=False)
class JointSite:
    """One site of a joint fit."""

    name: str
    guarantee: Guarantee  # of what it released
    n_rows: int | None  # where the relation makes it public
    plan_fingerprint: str
    ledger: LedgerState | None  # right after the charge, where the site has one of its own

    @property
    def line(self) -> str:
        """What it promised, how many rows it has, and what its ledger has left, in words."""
        words = [f"NOT PRIVATE: {self.guarantee.reason}"]
        if self.guarantee.private or self.guarantee.reason == "seeded":
            kept = "" if self.guarantee.private else " (not kept)"
            words = [f"epsilon {budget(self.guarantee.epsilon)}{kept}"]
            if self.guarantee.delta > 0.0:
                words.append(f"delta {budget(self.guarantee.delta)}")
        if self.n_rows is not None:
            words.append(f"{count(self.n_rows)} rows")
        if self.ledger is not None:
            left = balance(self.ledger.remaining_epsilon)
            words.append(f"{left} of {budget(self.ledger.budget_epsilon)} left in {self.ledger.dataset}")
        return ", ".join(words)


@dataclass(frozen=True, eq=False)
class SeveralSites(ResultPart):
    """The sites of one fit, in the order in which they were given, each with a name and a guarantee.

    ``disjoint`` is whether everybody is declared to be at one site only.
    """

    sites: tuple[Any, ...]
    disjoint: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sites."""
        return tuple(site.name for site in self.sites)

    @property
    def listed(self) -> Fact:
        """How many sites there are, and names of the first ones."""
        more = f" and {len(self.sites) - MOST_LISTED} more" if len(self.sites) > MOST_LISTED else ""
        return "Sites", f"{len(self.sites)}: {', '.join(self.names[:MOST_LISTED])}{more}"

    @property
    def deals_rows(self) -> bool:
        """True where nobody is at two sites: they are parts of the rows."""
        return self.disjoint

    @property
    def site_guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(site.guarantee for site in self.sites)

    def check(self, record: FitRecord) -> None:
        """Refuse sites without names of their own."""
        names = self.names
        if not names or len(set(names)) < len(names) or not all(map(str.isprintable, names)):
            raise store_error("sites without names of their own", "one name per site")


@parts.register("joint sites")
@dataclass(frozen=True, eq=False)
class JointSites(SeveralSites):
    """The sites of a joint fit.

    ``apart`` is whether each site's rows were read by a curator of its own, ``masked`` whether only totals of
    their answers could be read.
    """

    sites: tuple[JointSite, ...]
    apart: bool
    masked: bool = False

    name: ClassVar[str] = "joint sites"

    @property
    def title(self) -> str:
        """What it is."""
        return f"a joint fit of {len(self.sites)} sites"

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        """The sites, and a line for each of them, as a summary shows them."""
        each = tuple((f"Site {site.name}", site.line) for site in self.sites[:MOST_LISTED])
        return (self.listed, *each)

    def check(self, record: FitRecord) -> None:
        """Refuse sites that a joint fit could not have."""
        super().check(record)
        try:
            whole = together(self.site_guarantees, once=self.disjoint)
        except (AssertionError, ValueError):
            raise store_error("sites that promise different kinds of things", "one kind of promise") from None
        if record.guarantee != whole:
            raise store_error("a guarantee that is not that of the sites together", "their composition")
        counts = [site.n_rows for site in self.sites]
        whole_count = None if None in counts else sum(rows for rows in counts if rows is not None)
        if record.n_rows != whole_count:
            raise store_error("n_rows that is not the sum of the sites'", "the sum")


def together(guarantees: Sequence[Guarantee], *, once: bool) -> Guarantee:
    """What all sites promise a person: the worst of them, where everybody is at one only, or the sum."""
    return disjoint(guarantees) if once else overlapping(guarantees)


def site_lines(lines: Mapping[str, Sequence[SpendLine]], *, once: bool) -> tuple[SpendLine, ...]:
    """What each site paid, with its name; sites are parts of the rows, where everybody is at one only."""
    return tuple(
        replace(
            line,
            release=f"{line.release}, site {site}",
            share=line.share if once else line.share / len(lines),
            part=place if once else 0,
        )
        for place, (site, own) in enumerate(lines.items(), start=1)
        for line in own
    )
