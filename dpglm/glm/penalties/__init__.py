"""Penalties on coefficients, one file each. Each registered class is an attribute of this module."""

from __future__ import annotations

from typing import Any

from dpglm.glm.penalties.base import Penalty, penalised_terms, penalties

__all__ = ["Penalty", "penalised_terms", "penalties"]


def __getattr__(name: str) -> Any:
    """The registered class of this name, wherever its file is."""
    try:
        return penalties.classes()[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *penalties.classes()})
