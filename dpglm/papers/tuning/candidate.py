"""A candidate of a choice: a method, a penalty and its strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dpglm.glm.penalties import Penalty, penalties
from dpglm.methods.base import Method, methods
from dpglm.registry import options_of, with_options


@dataclass(frozen=True)
class Candidate:
    """One way to fit: a method, a penalty and its strength."""

    method: Method
    penalty: Penalty
    strength: float | Literal["cv"] | None

    def to_option(self) -> dict[str, object]:
        """As plain values, which a saved specification keeps."""
        return {
            "method": self.method.name,
            "method_options": options_of(self.method),
            "penalty": self.penalty.name,
            "penalty_options": options_of(self.penalty, without=["strength"]),
            "strength": self.strength,
        }

    @classmethod
    def of_option(cls, option: Mapping[str, Any]) -> Candidate:
        """The candidate that `to_option` wrote."""
        method = with_options(methods[option["method"]], option["method_options"])
        kind, strength = penalties[option["penalty"]], option["strength"]
        good = strength in (None, "cv") or (isinstance(strength, int | float) and 0.0 <= strength <= 1e100)
        if not good:
            raise ValueError
        return cls(method, with_options(kind, option["penalty_options"], without=["strength"]), strength)


def labels_of(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """What tells candidates apart, in words, such as ``"penalty=l2, strength=0.01"``."""
    told: list[dict[str, str]] = []
    for one in candidates:
        option = one.to_option()
        strength = "default" if one.strength is None else str(one.strength)
        words = {name: f"{option[name]} {option[f'{name}_options'] or ''}" for name in ("method", "penalty")}
        told.append({**{name: text.strip() for name, text in words.items()}, "strength": strength})
    varied = [name for name in told[0] if len({each[name] for each in told}) > 1] if told else []
    return tuple(", ".join(f"{name}={each[name]}" for name in varied) for each in told)
