"""Privacy guarantee: what was promised, in numbers and in one sentence, by one fit or by several sites."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self, get_args

from scipy.special import ndtr, ndtri

from dpglm.errors import PrivacyError
from dpglm.privacy.budget import Definition, Relation, exact_sum, pure_curve, rounded_text, rounded_up
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon, rho_from_mu

_NEIGHBOURS: dict[tuple[Relation, bool], str] = {
    ("replace-one", False): "replaced by any other (the number of rows is public)",
    ("add-remove", False): "present or absent (the number of rows is private too)",
    ("replace-one", True): "exchanged for anybody else’s (the number of persons is public)",
    ("add-remove", True): "present or absent (the number of persons is private too)",
}


@dataclass(frozen=True)
class Guarantee:
    """The privacy promise that a result carries, or the reason why it carries none.

    Parameters
    ----------
    epsilon, delta : float
        The promise as a pair; delta 0 is pure epsilon-DP. Numbers out of range are a PrivacyError.
    definition : {"pure", "approximate", "gdp", "zcdp"}
        In which terms it was asked for.
    relation : {"replace-one", "add-remove"}
        What neighbouring tables are.
    unit : str
        What one row is: who is protected.
    mu, rho : float, optional
        Only where the whole result is mu-GDP (rho-zCDP), at every epsilon at once.
    theorem : str
        What the promise rests on.
    assumptions : tuple of str
        Without these it does not hold.
    curve : tuple of (epsilon, delta)
        More pairs that hold, all at once.
    private, reason, persons
        False: no promise is made, and why; and whether neighbours differ by all rows of a unit.

    Examples
    --------
    >>> promise = Guarantee(1.0, 0.0, "pure", "replace-one", "one patient", theorem="Theorem A1")
    >>> round(promise.posterior(0.01), 4)
    0.0267
    """

    epsilon: float
    delta: float
    definition: Definition
    relation: Relation
    unit: str
    mu: float | None = None
    rho: float | None = None
    theorem: str = ""
    assumptions: tuple[str, ...] = ()
    curve: tuple[tuple[float, float], ...] = field(default=(), repr=False)  # too many digits to read
    private: bool = True
    reason: str = ""
    persons: bool = False

    def __post_init__(self) -> None:
        finite = self.epsilon < math.inf or not self.private
        _require(self.epsilon >= 0.0 and finite, f"epsilon={self.epsilon!r}", "epsilon >= 0, finite")
        _require(0.0 <= self.delta <= 1.0, f"delta={self.delta!r}", "0 <= delta <= 1")
        _require(self.definition in get_args(Definition), f"definition={self.definition!r}", "a known one")
        _require(self.relation in get_args(Relation), f"relation={self.relation!r}", "a known one")
        _require(bool(self.unit.strip()), f"unit={self.unit!r}", "words that say what one row is")
        pure = self.definition != "pure" or self.delta == 0.0
        _require(pure, f"delta={self.delta!r} with definition='pure'", "delta = 0")
        for name, value, definition in (("mu", self.mu, "gdp"), ("rho", self.rho, "zcdp")):
            _require(value is None or 0.0 <= value < math.inf, f"{name}={value!r}", f"{name} >= 0, finite")
            given = self.definition != definition or value is not None
            _require(given, f"definition={definition!r} without its parameter", name)
        for epsilon, delta in self.curve:
            good = 0.0 <= epsilon < math.inf and 0.0 <= delta <= 1.0
            _require(good, f"curve point {(epsilon, delta)!r}", "epsilon >= 0 and 0 <= delta <= 1")
        _require(self.private or bool(self.reason), "private=False without a reason", "a reason")

    @classmethod
    def none(cls, reason: str) -> Self:
        """No guarantee at all, and why.

        Examples
        --------
        >>> print(Guarantee.none("no privacy was asked for").statement())
        NOT PRIVATE: this result carries no privacy guarantee (no privacy was asked for).
        """
        return cls(math.inf, 1.0, "approximate", "replace-one", "one row", private=False, reason=reason)

    def seeded(self) -> Self:
        """The same numbers without the promise: whoever knows the seed can take the noise away again."""
        return replace(self, private=False, reason="seeded") if self.private else self

    def statement(self) -> str:
        """The guarantee, or its absence, in one sentence.

        Examples
        --------
        >>> promise = Guarantee(1.0, 0.0, "pure", "add-remove", "one visit", theorem="Theorem A1")
        >>> print(promise.statement())  # doctest: +NORMALIZE_WHITESPACE
        Differential privacy with epsilon = 1 (pure, delta = 0; add-remove): no set of results is more than
        2.719 times as probable from one of two tables as from the other, when they differ in one visit,
        present or absent (the number of rows is private too); by Theorem A1.
        """
        if not self.private and self.reason != "seeded":
            return f"NOT PRIVATE: this result carries no privacy guarantee ({self.reason})."
        if not self.private:
            return (
                "NOT PRIVATE: the noise came from a known seed and can be subtracted by whoever knows it; "
                f"the same fit without a seed would carry differential privacy with {self._numbers()}."
            )
        slack = f", plus {rounded_text(self.delta)}," if self.delta > 0.0 else ""
        parts = [
            f"Differential privacy with {self._numbers()}: no set of results is more than "
            f"{rounded_text(_exp(self.epsilon))} times as probable{slack} from one of two tables as "
            f"from the other, when they differ in {self.unit}, {_NEIGHBOURS[self.relation, self.persons]}"
        ]
        if self.theorem:
            parts.append(f"by {self.theorem}")
        if self.assumptions:
            parts.append("provided that " + ", and that ".join(self.assumptions))
        return "; ".join(parts) + "."

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.statement())}</p>"

    def posterior(self, prior: float) -> float:
        """The most an attacker can believe, of something about one row that was ``prior`` probable before.

        ``e^epsilon p / (1 - p + e^epsilon p)``, whatever else the attacker knows. With delta > 0 an outcome
        may exceed it; outcomes beyond the same formula at a larger E have probability at most
        ``delta / (1 - exp(epsilon - E))``. For a bound without exceptions see ``guess``.
        """
        _require(0.0 <= prior <= 1.0, f"{prior=}", "0 <= prior <= 1")
        if prior == 0.0:
            return 0.0
        if not self.private:
            return 1.0
        return prior / (prior + (1.0 - prior) * math.exp(-self.epsilon))

    def guess(self, prior: float = 0.5) -> float:
        """The largest probability of guessing right which of two tables it was, one ``prior`` probable.

        Holds for delta > 0 as well, on average over outcomes: ``Phi(mu / 2)`` at prior 1/2 under mu alone. At
        prior 1/2 and pure epsilon it equals ``posterior(0.5)``.

        Examples
        --------
        >>> promise = Guarantee(1.0, 1e-5, "gdp", "replace-one", "one row", mu=0.268)
        >>> round(promise.guess(), 3)
        0.553
        """
        _require(0.0 <= prior <= 1.0, f"{prior=}", "0 <= prior <= 1")
        if not self.private or prior in (0.0, 1.0):
            return 1.0
        odds = math.log1p(-prior) - math.log(prior)
        # p P(S | in) + (1 - p)(1 - P(S | out)) for the best set S; the same from either table's side.
        return max(prior, min(1.0, 1.0 - prior + prior * self._hockey(odds)))

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """The largest rate at which a test can detect one row, at this rate of false alarms.

        The least of ``min(e^eps FPR + delta, 1 - e^-eps (1 - delta - FPR))`` over all pairs that hold, and of
        ``1 - Phi(Phi^-1(1 - FPR) - mu)``.

        Examples
        --------
        >>> promise = Guarantee(1.0, 1e-5, "gdp", "replace-one", "one row", mu=0.268)
        >>> round(promise.true_positive_rate(0.01), 4)
        0.0198
        """
        _require(0.0 <= false_positive_rate <= 1.0, f"{false_positive_rate=}", "a rate from 0 to 1")
        if not self.private:
            return 1.0
        rate = 1.0
        for epsilon, delta in self._points():
            # not infinity times 0
            grown = delta + (_exp(epsilon) * false_positive_rate if false_positive_rate > 0.0 else 0.0)
            left = 1.0 - math.exp(-epsilon) * (1.0 - delta - false_positive_rate)
            rate = min(rate, grown, left)
        if self.mu is not None:
            rate = min(rate, float(ndtr(ndtri(false_positive_rate) + self.mu)))
        return rate

    def group(self, size: int) -> tuple[float, float]:
        """The (epsilon, delta) that protects ``size`` rows of the same person together.

        Pure: ``size * epsilon``. Under mu: ``size * mu`` at the same delta. Otherwise ``size * epsilon`` with
        ``delta * (e^(size epsilon) - 1) / (e^epsilon - 1)``.

        Examples
        --------
        >>> Guarantee(1.0, 0.0, "pure", "replace-one", "one row").group(2)
        (2.0, 0.0)
        """
        _require(size >= 1 and int(size) == size, f"size={size!r}", "a whole number >= 1")
        if not self.private:
            return math.inf, 1.0
        if size == 1:
            return self.epsilon, self.delta
        if self.mu is not None and self.delta > 0.0:
            return gdp_epsilon(size * self.mu, self.delta), self.delta
        if self.delta == 0.0:
            return size * self.epsilon, 0.0
        growth = math.fsum(_exp(step * self.epsilon) for step in range(size))
        return size * self.epsilon, min(1.0, self.delta * growth)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite epsilon becomes None."""
        epsilon = None if self.epsilon == math.inf else self.epsilon
        lists = {"assumptions": list(self.assumptions), "curve": [list(point) for point in self.curve]}
        return asdict(self) | {"epsilon": epsilon} | lists

    def _points(self) -> tuple[tuple[float, float], ...]:
        return (self.epsilon, self.delta), *self.curve

    def _hockey(self, epsilon: float) -> float:
        """Bound on the profile at any real epsilon, from all that is promised."""
        if epsilon < 0.0:
            return -math.expm1(epsilon) + math.exp(epsilon) * self._hockey(-epsilon)
        bounds = [] if self.mu is None else [gdp_delta(epsilon, self.mu)]
        bounds += [
            delta + (1.0 - delta) * float(pure_curve(epsilon, known)) for known, delta in self._points()
        ]
        return min(bounds)

    def _numbers(self) -> str:
        """The budget in the terms it was asked in, and its relation."""
        if self.definition == "pure":
            return f"epsilon = {rounded_text(self.epsilon)} (pure, delta = 0; {self.relation})"
        pair = f"epsilon = {rounded_text(self.epsilon)}, delta = {rounded_text(self.delta)}"
        if self.definition == "gdp":
            return f"mu = {rounded_text(self.mu)} (Gaussian, which means {pair}; {self.relation})"
        if self.definition == "zcdp":
            return f"rho = {rounded_text(self.rho)} (zero-concentrated, which means {pair}; {self.relation})"
        return f"{pair} ({self.relation})"


def _exp(epsilon: float) -> float:
    """e^epsilon, infinite beyond the range of doubles: never less than it is."""
    return math.exp(epsilon) if epsilon < 709.0 else math.inf


def _require(good: bool, found: str, expected: str) -> None:
    if not good:
        raise PrivacyError(found, expected=expected, remedy="Let a plan make the guarantee.")


def overlapping(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What a person is promised who may have one row at every site.

    One guarantee per site, all for the same budget. Sums are exact and rounded up; squares of mu are added at
    the delta that was asked for. No promise at all where one of them promises nothing. A PrivacyError where
    the epsilons add up to more than a number can hold.

    Examples
    --------
    >>> single = Guarantee(1.0, 0.0, "pure", "replace-one", "one patient", theorem="Theorem A1")
    >>> both = overlapping([single, single])
    >>> both.epsilon, both.unit
    (2.0, 'one patient, with a row at each of the 2 sites')
    """
    first, mu, definition = guarantees[0], None, guarantees[0].definition
    if _nothing_to_combine(guarantees):
        return first
    mus = [guarantee.mu for guarantee in guarantees if guarantee.mu is not None]
    if definition in ("gdp", "zcdp") and len(mus) == len(guarantees):
        delta = max(guarantee.delta for guarantee in guarantees)
        mu = rounded_up(exact_sum(mus, squares=True), root=True)
        epsilon = gdp_epsilon(mu, delta)
    else:
        delta = rounded_up(exact_sum(guarantee.delta for guarantee in guarantees))
        epsilon = rounded_up(exact_sum(guarantee.epsilon for guarantee in guarantees))
        definition = "pure" if delta == 0.0 else "approximate"
    return _joint(
        guarantees,
        "composition over the sites",
        "this holds at every site, where small probabilities add up",
        epsilon=epsilon,
        delta=min(1.0, delta),
        definition=definition,
        unit=f"{first.unit}, with a row at each of the {len(guarantees)} sites",
        mu=mu,
        rho=rho_from_mu(mu) if mu is not None and definition == "zcdp" else None,
        curve=(),
    )


def disjoint(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What a person is promised who is at one site only, as the schema declares: the worst of the sites'.

    Examples
    --------
    >>> single = Guarantee(1.0, 0.0, "pure", "add-remove", "one patient", theorem="Theorem A1")
    >>> both = disjoint([single, single])
    >>> both.epsilon, both.theorem
    (1.0, 'Theorem A1 and parallel composition over the sites')
    """
    first = guarantees[0]
    if _nothing_to_combine(guarantees):
        return first
    mus = [math.inf if guarantee.mu is None else guarantee.mu for guarantee in guarantees]
    rhos = [math.inf if guarantee.rho is None else guarantee.rho for guarantee in guarantees]
    moves = (
        "a row is replaced by another at its own site (the number of rows of each site is public, and which "
        "site somebody is at is not protected)"
        if first.relation == "replace-one"
        else "a row is present or absent at its own site (moving to another is two steps)"
    )
    return _joint(
        guarantees,
        "parallel composition over the sites",
        "whoever a row stands for is at one site only, as the schema declares",
        moves,
        epsilon=max(guarantee.epsilon for guarantee in guarantees),
        delta=max(guarantee.delta for guarantee in guarantees),
        mu=max(mus) if max(mus) < math.inf else None,
        rho=max(rhos) if max(rhos) < math.inf else None,
        curve=first.curve if all(guarantee.curve == first.curve for guarantee in guarantees) else (),
    )


def _nothing_to_combine(guarantees: Sequence[Guarantee]) -> bool:
    """One site, or no numbers: seeded guarantees have them, and combine as if they were private."""
    kinds = {(each.definition, each.relation, each.unit, each.private, each.reason) for each in guarantees}
    assert len(kinds) == 1, "every site is asked for the same budget"
    first = guarantees[0]
    return len(guarantees) == 1 or not (first.private or first.reason == "seeded")


def _joint(guarantees: Sequence[Guarantee], rule: str, *premises: str, **numbers: Any) -> Guarantee:
    """The first guarantee with other numbers, all theorems and the rule, all assumptions and the premises."""
    theorems = dict.fromkeys(guarantee.theorem for guarantee in guarantees if guarantee.theorem)
    assumptions = dict.fromkeys(text for guarantee in guarantees for text in guarantee.assumptions)
    return replace(
        guarantees[0],
        theorem=" and ".join([*theorems, rule]),
        assumptions=(*assumptions, *premises),
        **numbers,
    )
