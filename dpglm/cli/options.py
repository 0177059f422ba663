"""Options that several commands share, and budgets as they are typed."""

from __future__ import annotations

from pathlib import Path

import click

from dpglm.errors import PrivacyError
from dpglm.privacy.budget import Privacy

PATH = click.Path(path_type=Path)
RELATION = click.option(
    "--relation", type=click.Choice(["replace-one", "add-remove"]), default="replace-one", show_default=True
)
UNIT = click.option("--unit", help="Who is protected, in words: 'one patient'.")


def budget_of(text: str, relation: str, unit: str | None, option: str = "--privacy") -> Privacy:
    """The budget that was typed after an option, or a PrivacyError that shows how to type it."""
    remedy = f"Use {option} 1 (pure epsilon) or {option} 1,1e-6."
    try:
        numbers = [float(part) for part in text.split(",")]
        epsilon, delta = numbers if len(numbers) == 2 else (*numbers, 0.0)
    except ValueError:
        raise PrivacyError(
            f"{option} {text!r}", expected="epsilon, or epsilon,delta", remedy=remedy
        ) from None
    try:
        Privacy(epsilon, delta)
    except PrivacyError as error:
        raise PrivacyError(error.found, expected=error.expected, remedy=remedy) from None
    return Privacy(epsilon, delta, relation, unit)  # type: ignore[arg-type]  # click checked the choice
