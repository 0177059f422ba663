"""Options that several commands share, and what can be chosen by name: families, penalties and so on."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, Final, get_args

import click

import dpglm
from dpglm.cli.failures import Unusable
from dpglm.cli.files import FILE, PATH
from dpglm.errors import PrivacyError
from dpglm.postprocessing.record import Goal
from dpglm.privacy.budget import Privacy
from dpglm.spec.defaults import DEFAULT_METHOD, MULTINOMIAL

# They need options, tables by site or a grid, or no privacy at all.
PYTHON_ONLY: Final = {"dla", "lha", "nonprivate", "pphtl", "pst-h", "secure-sum", "tune"}
WIDTH: Final = 100

RELATION = click.option(
    "--relation", type=click.Choice(["replace-one", "add-remove"]), default="replace-one", show_default=True
)
UNIT = click.option("--unit", help="Who is protected, in words: 'one patient'.")
LEDGER = click.option("--ledger", type=FILE, help="Existing ledger file to charge.")
REPORT = click.option("--report", type=PATH, help="Write the HTML privacy report here.")
SAVE = click.option("-o", "--save", type=PATH, help="Write the result as JSON here.")


def names() -> dict[str, list[str]]:
    """Names by option."""
    return {
        "family": [*dpglm.families.families, MULTINOMIAL],
        "penalty": list(dpglm.penalties.penalties),
        "method": [DEFAULT_METHOD, *(name for name in dpglm.methods.methods if name not in PYTHON_ONLY)],
        "goal": list(get_args(Goal)),
    }


def listed() -> str:
    """The names as text, an option a paragraph."""
    lines = [
        textwrap.fill(
            ", ".join(known), WIDTH, initial_indent=f"--{option:<9}", subsequent_indent=" " * 11,
            break_on_hyphens=False,
        )
        for option, known in names().items()
    ]  # fmt: skip
    return "\n".join([*lines, "", "docs/methods.md says what each of them is for."])


def piece(option: str, concept: str, **settings: Any) -> Callable[[Any], Any]:
    """An option that takes a registered name, which the shell completes."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
        return [name for name in names()[concept] if name.startswith(begun)]

    return click.option(option, shell_complete=complete, **settings)


def budget_of(text: str, relation: str, unit: str | None, option: str = "--privacy") -> Privacy:
    """The budget that was typed after an option, or a failure that shows how to type it."""
    remedy = f"Use {option} 1 (pure epsilon) or {option} 1,1e-6."
    try:
        numbers = [float(part) for part in text.split(",")]
        epsilon, delta = numbers if len(numbers) == 2 else (*numbers, 0.0)
    except ValueError:
        wrong = PrivacyError(f"{option} {text!r}", expected="epsilon, or epsilon,delta", remedy=remedy)
        raise Unusable(wrong) from None
    try:
        Privacy(epsilon, delta)
    except PrivacyError as error:
        wrong = PrivacyError(error.found, expected=error.expected, remedy=remedy)
        raise Unusable(wrong) from None
    return Privacy(epsilon, delta, relation, unit)  # type: ignore[arg-type]  # click checked the choice
