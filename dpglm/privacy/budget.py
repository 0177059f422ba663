"""Privacy budget: epsilon, delta, who counts as a neighbour and who is protected; and exact sums of amounts.

Amounts are added exactly, as the decimals that are printed: ten times 0.1 is 1, not less and not more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal, Inexact
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from dpglm.errors import MethodError, PrivacyError
from dpglm.privacy.gdp import gdp_epsilon, mu_from_rho, rho_from_mu
from dpglm.typing import ROWS_OF, FloatVector

Relation: TypeAlias = Literal["replace-one", "add-remove"]
Definition: TypeAlias = Literal["pure", "approximate", "gdp", "zcdp"]
# One replaced row is one removed and one added.
STEPS: dict[Relation, int] = {"add-remove": 1, "replace-one": 2}

# Sums and squares of short decimals are short decimals: nothing is ever rounded, and a rounding would raise.
EXACT = Context(prec=10_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_ROOTS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
NUMBERS = (int, float, np.integer, np.floating)
REMEDY = "Use privacy=1.0 (pure epsilon), privacy=(1.0, 1e-6) or dpglm.Privacy(...)."


@dataclass(frozen=True)
class Privacy:
    """A privacy budget for one fit; a PrivacyError says which number or word is none.

    Parameters
    ----------
    epsilon : float
        Privacy loss bound, > 0 and finite.
    delta : float
        Failure probability, in [0, 1). 0 asks for pure epsilon-DP.
    relation : {"replace-one", "add-remove"}
        Neighbouring tables differ by one replaced row (the number of rows is public), or by one row more or
        less (the number of rows is private). One replaced row is one removed and one added.
    unit : str, optional
        Who is protected, in words: what one row is. "one row" unless said otherwise.
    unit_rows : int, optional
        How many rows of one unit a fit reads, where these are several: a column of the table tells whose a
        row is, and neighbours differ by all rows of one unit; or a row of the table stands for several
        periods. A schema that declares such a column, a formula with ``Surv(time, event)``, or
        ``family="ordinal"`` says so.

    Examples
    --------
    >>> Privacy(1.0, 1e-6, relation="add-remove").definition
    'approximate'
    >>> Privacy.of(0.5).definition
    'pure'
    """

    epsilon: float
    delta: float = 0.0
    relation: Relation = "replace-one"
    unit: str | None = None
    definition: Definition = "approximate"
    mu: float | None = None
    unit_rows: int | None = None

    def __post_init__(self) -> None:
        epsilon = _number("epsilon", self.epsilon, low=0.0, high=math.inf, open_low=True)
        delta = _number("delta", self.delta, low=0.0, high=1.0, open_low=False)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        if self.relation not in get_args(Relation):
            raise PrivacyError(
                f"relation={self.relation!r}",
                expected="'replace-one' or 'add-remove'",
                remedy="Use relation='replace-one' where the number of rows may be known, else 'add-remove'.",
            )
        if self.unit is None:
            object.__setattr__(self, "unit", "one row")
        elif not isinstance(self.unit, str) or not self.unit.strip():
            raise PrivacyError(
                f"unit={self.unit!r}",
                expected="words that say what one row is",
                remedy="Use unit='one patient', or leave unit out.",
            )
        whole = isinstance(self.unit_rows, int | np.integer) and not isinstance(self.unit_rows, bool)
        if self.unit_rows is not None and not (whole and self.unit_rows >= 1):
            raise PrivacyError(
                f"unit_rows={_shown(self.unit_rows)}",
                expected="how many rows of a unit are read, 1 or more",
                remedy="Leave unit_rows out; a schema with a unit's column says it.",
            )
        if self.mu is None and self.definition in ("pure", "approximate"):
            object.__setattr__(self, "definition", "approximate" if delta > 0 else "pure")
        elif not self._consistent():
            raise PrivacyError(
                "a definition and a mu that do not belong together",
                expected="what Privacy(epsilon, delta), Privacy.gdp(mu) or Privacy.zcdp(rho) make",
                remedy="Use one of these and leave definition= and mu= out.",
            )

    def _consistent(self) -> bool:
        """Whether a Gaussian budget's epsilon is the one that goes with its mu and delta."""
        if self.definition not in ("gdp", "zcdp") or not isinstance(self.mu, float) or self.delta == 0.0:
            return False
        return 0.0 < self.mu < math.inf and self.epsilon == gdp_epsilon(self.mu, self.delta)

    @classmethod
    def gdp(
        cls, mu: float, *, delta: float = 1e-6, relation: Relation = "replace-one", unit: str | None = None
    ) -> Self:
        """A Gaussian-DP budget: as hard to tell neighbours apart as N(0, 1) from N(mu, 1).

        ``delta`` is only the point at which the budget is also printed as (epsilon, delta).

        Examples
        --------
        >>> round(Privacy.gdp(0.5, delta=1e-6).epsilon, 3)
        2.254
        """
        mu = _number("mu", mu, low=0.0, high=math.inf, open_low=True)
        delta = _number("delta", delta, low=0.0, high=1.0, open_low=True)
        epsilon = gdp_epsilon(mu, delta)
        if epsilon == 0.0:
            raise PrivacyError(
                f"mu={mu:g} at delta={delta:g}",
                expected="a mu above that delta's reach: here even epsilon = 0 holds",
                remedy="Print it at a smaller delta, or use a larger mu.",
            )
        return cls(epsilon, delta, relation, unit, "gdp", mu)

    @classmethod
    def zcdp(
        cls, rho: float, *, delta: float = 1e-6, relation: Relation = "replace-one", unit: str | None = None
    ) -> Self:
        """A zero-concentrated budget rho, met by Gaussian noise with mu = sqrt(2 rho)."""
        rho = _number("rho", rho, low=0.0, high=math.inf, open_low=True)
        budget = cls.gdp(mu_from_rho(rho), delta=delta, relation=relation, unit=unit)
        return cls(budget.epsilon, budget.delta, relation, unit, "zcdp", budget.mu)

    @classmethod
    def of(cls, value: object) -> Privacy:
        """The budget meant by a number, a pair (epsilon, delta) or a budget; else a PrivacyError."""
        if isinstance(value, Privacy):
            return value
        if isinstance(value, tuple | list) and len(value) == 2:
            return cls(value[0], value[1])
        if isinstance(value, bool) or not isinstance(value, NUMBERS):
            raise PrivacyError(
                f"privacy={_shown(value)}",
                expected="a number, a pair (epsilon, delta) or a Privacy",
                remedy=REMEDY,
            )
        return cls(value)  # type: ignore[arg-type]  # checked on construction

    @property
    def persons(self) -> bool:
        """Whether neighbours differ by all rows of one unit, told by a column."""
        return self.unit_rows is not None and ROWS_OF in str(self.unit)

    @property
    def shared(self) -> bool:
        """Whether more than one row of a unit may be read, with shares that add up to at most 1."""
        return self.unit_rows not in (None, 1)

    @property
    def rows_are_public(self) -> bool:
        """Whether the number of rows of a table is: of persons it is no more than their number."""
        return self.relation == "replace-one" and not self.shared

    @property
    def rho(self) -> float | None:
        """The zCDP parameter that goes with ``mu``."""
        return None if self.mu is None else rho_from_mu(self.mu)


def _number(name: str, value: object, *, low: float, high: float, open_low: bool) -> float:
    """``value`` as a float between ``low`` and ``high`` (excluded), or a PrivacyError."""
    number = math.nan
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    if low <= number < high and not (open_low and number == low):
        return number
    top = f"< {high:g}" if high < math.inf else "finite"
    span = f"{name} {'>' if open_low else '>='} {low:g} and {top}"
    raise PrivacyError(f"{name}={_shown(value)}", expected=span, remedy=REMEDY)


def _shown(value: object) -> str:
    """A public argument as it may stand in a message: short numbers and words whole, other things by type."""
    if isinstance(value, int) and abs(value) > 10**15:
        return "a whole number of many digits"
    return repr(value) if isinstance(value, int | float | str | bool | type(None)) else type(value).__name__


def steps_of(relation: Relation, **numbers: float) -> int:
    """How many rows move, after checking the public numbers; a MethodError names the first bad one."""
    for name, value in numbers.items():
        if not (0.0 < value < math.inf or (name == "ridge" and value == math.inf)):
            raise MethodError(f"{name}={value!r}", expected=f"{name} > 0, finite", remedy=f"Correct {name}.")
    if relation not in STEPS:
        raise MethodError(
            f"relation={relation!r}",
            expected="'replace-one' or 'add-remove'",
            remedy="Use relation='replace-one'.",
        )
    return STEPS[relation]


def exact(number: float) -> Decimal:
    """The decimal that is printed for a number.

    Examples
    --------
    >>> rounded_up(exact_sum([0.1] * 10))
    1.0
    """
    return Decimal(repr(number))


def exact_square(number: float) -> Decimal:
    """Its square, without rounding."""
    return EXACT.multiply(exact(number), exact(number))


def exact_sum(numbers: Iterable[float], *, squares: bool = False) -> Decimal:
    """The sum of numbers, or of their squares, without rounding."""
    total = Decimal(0)
    for number in numbers:
        total = EXACT.add(total, exact_square(number) if squares else exact(number))
    return total


def rounded_up(amount: Decimal, *, root: bool = False) -> float:
    """The smallest float that is printed as no less than ``amount`` (or its root)."""
    measure, number = _measured(amount, root=root)
    while measure(number) < amount:
        number = math.nextafter(number, math.inf)
    return number


def rounded_down(amount: Decimal, *, root: bool = False) -> float:
    """The largest float that is printed as no more than ``amount`` (or its root)."""
    measure, number = _measured(amount, root=root)
    while measure(number) > amount:
        number = math.nextafter(number, -math.inf)
    return number


def _measured(amount: Decimal, *, root: bool) -> tuple[Callable[[float], Decimal], float]:
    return (exact_square, float(_ROOTS.sqrt(amount))) if root else (exact, float(amount))


def rounded_text(value: float | None) -> str:
    """Four significant digits, rounded up: a printed price is never below the real one."""
    if value is None or value == 0.0 or not math.isfinite(value):
        return "-" if value is None else f"{value:g}"
    number = exact(float(value))
    last = number.adjusted() - 3
    rounded = number.quantize(Decimal(1).scaleb(last), rounding=ROUND_CEILING)
    mantissa, _, power = f"{float(rounded):.4g}".partition("e")
    return f"{mantissa}e{int(power)}" if power else mantissa


def pure_curve(epsilons: ArrayLike, pure_epsilon: float) -> FloatVector:
    """The delta at epsilons >= 0 of any ``pure_epsilon``-DP release: its whole privacy profile.

    ``(e^pure - e^epsilon) / (1 + e^pure)`` below the pure epsilon (randomised response attains it), else 0.

    Examples
    --------
    >>> pure_curve([0.0, 0.5, 1.0], 1.0).round(4)
    array([0.4621, 0.2876, 0.    ])
    """
    left = np.minimum(np.asarray(epsilons, dtype=np.float64) - pure_epsilon, 0.0)
    curve: FloatVector = (0.0 - np.expm1(left)) / (1.0 + math.exp(-pure_epsilon))
    return curve
