"""Families of responses, one file each. Each registered class is an attribute of this module.

``family="multinomial"`` has no class: `dpglm.fit` fits an equation for each level but the first.
"""

from __future__ import annotations

from typing import Any

from dpglm.glm.families.base import Family, families

__all__ = ["Family", "families"]


def __getattr__(name: str) -> Any:
    """The registered class of this name, wherever its file is."""
    try:
        return families.classes()[name]
    except KeyError:
        words = f"module {__name__!r} has no attribute {name!r}. {families.remedy(name)}"
        raise AttributeError(words.rstrip(". ")) from None


def __dir__() -> list[str]:
    return sorted({*__all__, *families.classes()})
