"""The command `dpglm` itself: its help, its errors and its exit statuses."""

from __future__ import annotations

import errno
import os
import sys
import warnings

import click

from dpglm.cli.failures import UNUSABLE, Failure
from dpglm.cli.options import listed, names
from dpglm.cli.output import say
from dpglm.errors import DpglmError

EPILOG = """\b
Exit status:
  0  done
  1  an error, or a check whose answer is no: audit, schema check, ledger tables
  2  the command line, or a file that it names, cannot be used
  3  verify: something differs
  4  the ledger does not cover the cost; nothing was computed from rows or released

A file that is read may be - for standard input. docs/command_line.md has more.
"""


class _Guarded(click.Group):
    """Turns our errors and the system's into a message and an exit status; nothing else is caught."""

    def invoke(self, ctx: click.Context) -> object:
        with warnings.catch_warnings():
            warnings.showwarning = _tell
            try:
                return super().invoke(ctx)
            except DpglmError as error:
                raise Failure.of(error) from None
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise  # a reader that went away, such as head: click ends quietly
                if error.filename is None:
                    # What standard output could not take would be tried again at exit.
                    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
                raise click.ClickException(
                    f"{error.strerror}: {error.filename or 'standard output'}"
                ) from None


def _tell(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """A warning in words, without a line of code."""
    click.echo(f"{category.__name__}: {message}", err=True)


@click.group(cls=_Guarded, epilog=EPILOG, invoke_without_command=True)
@click.version_option(package_name="dpglm")
@click.option("--choices", is_flag=True, help="List families, penalties, methods and goals.")
@click.option("--json", "as_json", is_flag=True, help="Print the choices as JSON.")
@click.pass_context
def main(ctx: click.Context, choices: bool, as_json: bool) -> None:
    """R-style statistics under differential privacy."""
    if choices and ctx.invoked_subcommand is None:
        say(as_json, lambda: {"kind": "choices", **names()}, listed)
    elif choices or as_json:
        raise click.UsageError("--choices and --json alone: --json of a command stands after its name.")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(UNUSABLE)
