"""What the verbs accept, checked before anything is read: words, numbers and objects become our pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError, PrivacyError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties import Penalty, penalties
from dpglm.ledger.ledger import Ledger
from dpglm.mechanisms.noise.source import NoiseSource, OsNoise, SeededNoise
from dpglm.methods.auto import auto
from dpglm.methods.base import Method, methods
from dpglm.privacy.budget import REMEDY, Privacy


class Required:
    """Marks the one argument that has no default, so that its absence is told in our words."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED = Required()


def privacy_of(value: object) -> Privacy | None:
    """The budget that was asked for; None for a fit without privacy."""
    if isinstance(value, Required):
        raise PrivacyError("no privacy argument", expected="a privacy budget for this fit", remedy=REMEDY)
    return None if value is None else Privacy.of(value)


def naming_unit(budget: Privacy | None, schema: Schema) -> Privacy | None:
    """The budget, protecting the unit that the schema names unless it names one itself."""
    if budget is None or schema.unit is None or budget.unit != "one row":
        return budget
    return replace(budget, unit=schema.unit)


def noise_of(seed: object) -> NoiseSource:
    """The operating system's noise, or its repeatable twin."""
    if seed is None:
        return OsNoise()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise MethodError(
            f"seed of type {type(seed).__name__}", expected="an integer >= 0", remedy="Use seed=1."
        )
    return SeededNoise(int(seed))


def family_of(family: object) -> Family:
    """A family by name, or the object itself."""
    chosen = families[family]() if isinstance(family, str) else family
    if not isinstance(chosen, Family):
        raise _stranger("family", chosen, "family='binomial'")
    return chosen


def penalty_of(penalty: object, strength: object) -> Penalty:
    """A penalty by name, or the object itself; its strength is said once."""
    chosen = penalties[penalty]() if isinstance(penalty, str) else penalty
    if not isinstance(chosen, Penalty):
        raise _stranger("penalty", chosen, "penalty='none' for none, or penalty='l1'")
    if strength is not None and chosen.strength is not None:
        raise MethodError(
            "a strength in the penalty object and in strength=",
            expected="one of the two",
            remedy="Leave strength= out.",
        )
    return chosen


def strength_of(strength: object, penalty: Penalty) -> float | str | None:
    """The penalty strength per row, "cv", or None for the method's default."""
    value = strength if penalty.strength is None else penalty.strength
    if value is None or (isinstance(value, str) and value == "cv"):
        return value
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    # Beyond 1e100 per row nothing is left of the data, and sums over rows would overflow.
    if not number or not 0.0 <= value <= 1e100:  # type: ignore[operator]  # a number, as just checked
        raise MethodError(
            f"strength={_short(value)}",
            expected="a number from 0 to 1e100, 'cv' (with privacy=None) or None",
            remedy="Leave strength out for a default that does not look at the data.",
        )
    assert isinstance(value, int | float | np.integer | np.floating)
    return float(value)


def _short(value: object) -> str:
    """A number or word as it may stand in a message, other things by type."""
    return repr(value) if isinstance(value, float | str) else f"something of type {type(value).__name__}"


def method_of(method: object, budget: Privacy | None, family: Family | None = None) -> Method:
    """A method by name, or the object itself."""
    if isinstance(method, str):
        return auto(budget, family) if method == "auto" else methods[method]()
    if not isinstance(method, Method):
        raise _stranger("method", method, "method='auto'")
    return method


def ledger_of(ledger: object) -> Ledger | None:
    """A ledger, or the existing one at a path."""
    if ledger is None or isinstance(ledger, Ledger):
        return ledger
    if isinstance(ledger, str | PathLike):
        return Ledger(ledger)
    raise _stranger("ledger", ledger, "ledger=dpglm.Ledger('ward-7.db', budget=(3.0, 1e-5))")


def require_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a word that is not among the choices."""
    if not isinstance(value, str) or value not in choices:
        raise MethodError(
            f"{name}={value!r}" if isinstance(value, str) else f"{name} of type {type(value).__name__}",
            expected=f"one of {', '.join(map(repr, choices))}",
            remedy=f"Choose {name}={choices[0]!r}.",
        )


def _stranger(name: str, value: object, example: str) -> MethodError:
    shown = f"the class {value.__name__}" if isinstance(value, type) else f"type {type(value).__name__}"
    return MethodError(
        f"{name} of {shown}",
        expected="a name, or an object of the right kind",
        remedy=f"Use {example}.",
    )
