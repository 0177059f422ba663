"""The command line: the same words as the Python verbs."""

from __future__ import annotations

from pathlib import Path

import click

from dpglm.api import fit as fit_model
from dpglm.errors import DpglmError, PrivacyError
from dpglm.privacy.budget import REMEDY, Privacy
from dpglm.privacy.ledger import Ledger


class _Guarded(click.Group):
    """Turns our errors into a message and an exit status; nothing else is caught."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except DpglmError as error:
            raise click.ClickException(f"{type(error).__name__}\n{error}") from None


@click.group(cls=_Guarded)
@click.version_option(package_name="dpglm")
def main() -> None:
    """R-style statistics under differential privacy."""


@main.command()
@click.argument("formula")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--schema", type=click.Path(path_type=Path), help="YAML file of public bounds and levels.")
@click.option("--privacy", required=True, help="epsilon, or epsilon,delta: 1 or 1,1e-6.")
@click.option(
    "--relation", type=click.Choice(["replace-one", "add-remove"]), default="replace-one", show_default=True
)
@click.option("--unit", help="Who is protected, in words: 'one patient'.")
@click.option("--family", default="binomial", show_default=True)
@click.option("--penalty", default="l1", show_default=True)
@click.option("--strength", type=float, help="Penalty strength per row; left out: from the noise level.")
@click.option(
    "--goal", type=click.Choice(["explain", "predict", "select"]), default="explain", show_default=True
)
@click.option("--method", default="auto", show_default=True)
@click.option("--ledger", type=click.Path(path_type=Path), help="Existing ledger file to charge.")
@click.option("--report", type=click.Path(path_type=Path), help="Write the HTML privacy report here.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the result as JSON here.")
def fit(
    formula: str,
    data: Path,
    schema: Path | None,
    privacy: str,
    relation: str,
    unit: str | None,
    family: str,
    penalty: str,
    strength: float | None,
    goal: str,
    method: str,
    ledger: Path | None,
    report: Path | None,
    save: Path | None,
) -> None:
    """Fit FORMULA to DATA, a CSV or Parquet file, and print the summary."""
    result = fit_model(
        formula,
        data,
        schema=schema,
        privacy=_budget(privacy, relation, unit),
        family=family,
        penalty=penalty,
        strength=strength,
        goal=goal,  # type: ignore[arg-type]  # click checked the choice
        method=method,
        ledger=None if ledger is None else Ledger(ledger, budget=None),
    )
    click.echo(str(result.summary()))
    if report is not None:
        click.echo(f"wrote {result.report(report)}")
    if save is not None:
        click.echo(f"wrote {result.save(save)}")


@main.group()
def ledger() -> None:
    """Look at a privacy ledger."""


@ledger.command()
@click.argument("path", type=click.Path(path_type=Path))
def show(path: Path) -> None:
    """Print the budget, the balance and every charge of the ledger at PATH, after checking its hash chain."""
    opened = Ledger(path, budget=None)
    opened.verify()
    click.echo(str(opened))


@ledger.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--budget", required=True, help="epsilon, or epsilon,delta: 3 or 3,1e-5.")
@click.option("--dataset", required=True, help="Name of the data set the budget belongs to.")
@click.option(
    "--relation", type=click.Choice(["replace-one", "add-remove"]), default="replace-one", show_default=True
)
@click.option("--unit", help="Who is protected, in words.")
def create(path: Path, budget: str, dataset: str, relation: str, unit: str | None) -> None:
    """Make a new ledger at PATH."""
    click.echo(str(Ledger(path, budget=_budget(budget, relation, unit), dataset=dataset)))


def _budget(text: str, relation: str, unit: str | None) -> Privacy:
    try:
        numbers = [float(part) for part in text.split(",")]
        epsilon, delta = numbers if len(numbers) == 2 else (*numbers, 0.0)
    except ValueError:
        raise PrivacyError(
            f"privacy {text!r}",
            expected="epsilon, or epsilon,delta",
            remedy=REMEDY.replace("privacy=", "--privacy "),
        ) from None
    return Privacy(epsilon, delta, relation, unit)  # type: ignore[arg-type]  # click checked the choice
