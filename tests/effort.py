"""Parameters of a test: few of them in ``make test``, all the others in ``make audit``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """``values`` for ``parametrize``, marked as audits unless among ``chosen``; tuples are spread."""
    return [
        value
        if value in chosen
        else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.audit)
        for value in values
    ]
