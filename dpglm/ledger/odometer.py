"""Privacy odometer and filter: what a budget still admits when each charge is chosen after seeing results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real

from dpglm.errors import PrivacyError
from dpglm.ledger.grown import Grown
from dpglm.privacy.budget import EXACT, Privacy, exact, exact_square, exact_sum, rounded_down, rounded_up
from dpglm.privacy.gdp import gdp_epsilon, mu_from_pure
from dpglm.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Balance:
    """An amount of privacy: what a charge costs, what was spent or what is left.

    Of a charge ``mu`` is its Gaussian-DP parameter, if it has one. A balance has one under a budget of
    Gaussian DP only; its epsilon and delta are the point that ``mu`` implies at the budget's delta.
    """

    epsilon: float
    delta: float
    mu: float | None


@dataclass(frozen=True)
class PrivacyFilter:
    r"""A budget and the costs taken from it so far.

    The analyst may choose every next charge after looking at earlier results, so theorems for a fixed list of
    charges do not apply. What is used here holds for such *privacy filters*:

    * a budget of (epsilon, delta): the epsilons add and the deltas add [1]_, Theorem 3.6;
    * a budget of Gaussian DP (and of zCDP, met through mu): the squares of mu add [2]_. A pure epsilon charge
      without mu counts as :math:`\mu = 2\Phi^{-1}(e^\epsilon / (1 + e^\epsilon))`, whose trade-off curve lies
      below that of epsilon-DP and touches it; a charge with neither is refused.

    Numbers are added exactly, as the decimals that are printed: ten times 0.1 is 1, not less and not more.
    (The binary 0.1 that a mechanism works with is within one part in 10^15 of it, far inside the margin by
    which noise scales are rounded up.)

    References
    ----------
    .. [1] Rogers, Roth, Ullman and Vadhan (2016), "Privacy odometers and filters", NeurIPS.
    .. [2] Smith and Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".

    Examples
    --------
    >>> tenth = Balance(0.1, 0.0, None)
    >>> PrivacyFilter(Privacy(1.0), (tenth,) * 9).admits(tenth)
    True
    >>> PrivacyFilter(Privacy(1.0), (tenth,) * 10).remaining
    Balance(epsilon=0.0, delta=0.0, mu=None)
    """

    budget: Privacy
    costs: Sequence[Balance] = ()

    @property
    def spent(self) -> Balance:
        """What was spent, rounded up where a float cannot hold it."""
        epsilon, delta, square = self._sums
        if self.budget.mu is None:
            return Balance(rounded_up(epsilon), rounded_up(delta), None)
        return self._at(rounded_up(square, root=True))

    @property
    def remaining(self) -> Balance:
        """What is left, rounded down: a charge of this much is always admitted."""
        epsilon, delta, square = self._sums
        if self.budget.mu is not None:
            return self._at(rounded_down(EXACT.subtract(exact_square(self.budget.mu), square), root=True))
        epsilon = EXACT.subtract(exact(self.budget.epsilon), epsilon)
        delta = EXACT.subtract(exact(self.budget.delta), delta)
        return Balance(rounded_down(epsilon), rounded_down(delta), None)

    @property
    def covered(self) -> bool:
        """Whether the budget covers the costs taken so far; what it admitted, it covers."""
        epsilon, delta, square = self._sums
        if self.budget.mu is not None:
            return square <= exact_square(self.budget.mu)
        return epsilon <= exact(self.budget.epsilon) and delta <= exact(self.budget.delta)

    def after(self, costs: Sequence[Balance]) -> PrivacyFilter:
        """The filter once more ``costs`` were taken, whether or not the budget covers them."""
        before = self.costs if isinstance(self.costs, Grown) else Grown(self.costs)
        return self._later(before.with_more(costs), costs)

    def admits(self, *costs: Balance) -> bool:
        """Whether the budget covers all of these as well."""
        return self._later((), costs).covered

    def cost(self, guarantee: Guarantee, *, owner: str) -> Balance:
        """What a guarantee costs under this budget; ``owner`` names the ledger in messages.

        A PrivacyError where the guarantee is not private, speaks of other neighbours or another unit than the
        budget, holds numbers that mean nothing, or has no mu where the budget counts in mu.
        """
        if not guarantee.private:
            raise PrivacyError(
                "a result that is not private (seeded noise, or no noise at all)",
                expected=f"a private guarantee to charge to ledger {owner!r}",
                remedy="Leave seed out and ask for a privacy budget, or fit without ledger=.",
            )
        # A budget for "one row" takes any unit whose rows are one: whoever a row stands for, it is protected.
        unit = guarantee.unit if self.budget.unit == "one row" and not guarantee.persons else self.budget.unit
        for name, spent, counted in (
            ("relation", guarantee.relation, self.budget.relation),
            ("unit", guarantee.unit, unit),
        ):
            if spent != counted:
                raise PrivacyError(
                    f"{name} {spent!r}",
                    expected=f"{name} {counted!r}, which ledger {owner!r} counts in",
                    remedy=f"Use privacy=dpglm.Privacy(..., {name}={counted!r}), the ledger's own: amounts "
                    "for different neighbours do not add up.",
                )
        epsilon, delta = _double(guarantee.epsilon), _double(guarantee.delta)
        mu = None if guarantee.mu is None else _double(guarantee.mu)
        sound = 0 <= epsilon < math.inf and 0 <= delta < 1 and (mu is None or 0 < mu < math.inf)
        if not sound or (epsilon == 0 and delta == 0):
            raise PrivacyError(
                f"a charge of epsilon = {epsilon!r}, delta = {delta!r}, mu = {mu!r}",
                expected="finite epsilon >= 0, delta in [0, 1), not both 0, and mu > 0 where there is one",
                remedy="Charge the guarantee of a planned fit.",
            )
        if self.budget.mu is not None and mu is None:
            if delta > 0:
                raise PrivacyError(
                    "an (epsilon, delta) guarantee without mu",
                    expected=f"a guarantee with mu, or pure epsilon: ledger {owner!r} counts in mu",
                    remedy="Use privacy=dpglm.Privacy.gdp(mu) or a pure epsilon.",
                )
            mu = mu_from_pure(epsilon)
        return Balance(epsilon, delta, mu)

    def _later(self, listed: Sequence[Balance], costs: Sequence[Balance]) -> PrivacyFilter:
        """The filter of the costs that are ``listed``, with ``costs`` added to the sums of this one."""
        later = PrivacyFilter(self.budget, listed)
        added = PrivacyFilter(self.budget, costs)._sums
        # Exact sums need not be taken again from the first cost on.
        later.__dict__["_sums"] = tuple(map(EXACT.add, self._sums, added))
        return later

    @cached_property
    def _sums(self) -> tuple[Decimal, Decimal, Decimal]:
        """Exact sums of epsilon, delta and (under a GDP budget) mu squared."""
        mus = [cost.mu for cost in self.costs if cost.mu is not None]
        assert self.budget.mu is None or len(mus) == len(self.costs), "a GDP budget takes only costs with mu"
        return (
            exact_sum(cost.epsilon for cost in self.costs),
            exact_sum(cost.delta for cost in self.costs),
            exact_sum(mus if self.budget.mu is not None else (), squares=True),
        )

    def _at(self, mu: float) -> Balance:
        delta = self.budget.delta
        return Balance(gdp_epsilon(mu, delta), delta, mu) if mu > 0 else Balance(0.0, 0.0, 0.0)


def _double(number: object) -> float:
    """``number`` as a double; infinite where it is a whole number too large for one, NaN for what is none."""
    if not isinstance(number, Real):
        return math.nan
    try:
        return float(number)
    except OverflowError:
        return math.inf
