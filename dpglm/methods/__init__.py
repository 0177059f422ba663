"""Methods: they plan releases and make coefficients of the answers. Each is an attribute of this module."""

from __future__ import annotations

from typing import Any

from dpglm.methods.base import Estimate, Method, Problem, methods

__all__ = ["Estimate", "Method", "Problem", "methods"]


def __getattr__(name: str) -> Any:
    """The registered class of this name, wherever its file is."""
    try:
        return methods.classes()[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *methods.classes()})
