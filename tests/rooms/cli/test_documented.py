"""What the documentation types is what the command line takes, and prints."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dpglm
from dpglm.cli import main

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINES = sorted(
    {
        line
        for page in PAGES
        for language, block in BLOCKS.findall(page.read_text(encoding="utf-8"))
        for line in re.findall(r"^(?:\w+ \S+ \| )?dpglm (.+)$", block, re.MULTILINE)
        if not language
    }
)


def commands(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name), command


COMMANDS = dict(commands(main))


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_docs_is_one_that_is_taken(line: str) -> None:
    words = shlex.split(line, comments=True)
    words = words[: words.index("|")] if "|" in words else words
    if words[0].startswith("--"):
        assert words[0] in {option for parameter in main.params for option in parameter.opts}
        return
    name = next(path for path in COMMANDS if tuple(words[: len(path)]) == path)
    command = COMMANDS[name]
    with click.Context(command, resilient_parsing=True) as context:
        _, left, _ = command.make_parser(context).parse_args(words[len(name) :])
    assert left == []


def test_every_command_is_on_its_page_and_has_json() -> None:
    assert len(COMMANDS) > 20
    for path, command in COMMANDS.items():
        assert f"`{' '.join(path)}`" in PAGE or f"dpglm {' '.join(path)}" in PAGE, path
        assert "--json" in {option for parameter in command.params for option in parameter.opts}, path


def test_statuses_of_the_help_are_those_of_the_page() -> None:
    told = CliRunner().invoke(main, ["--help"]).output
    statuses = re.findall(r"^    (\d)  ", told, re.MULTILINE)
    assert statuses == re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE) == [*"01234"]


def test_keys_of_json_are_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dpglm.load_data("fair")[["affair", "age"]].to_csv("rows.csv", index=False)
    schema = "variables:\n  affair: {levels: ['no', 'yes']}\n  age: {bounds: [17.5, 42]}\n"
    Path("s.yaml").write_text(schema, encoding="utf-8")
    model = ("affair ~ age", "--schema", "s.yaml", "--privacy", "1,1e-6")
    kinds = {}
    for line in (
        ("ledger", "create", "l.db", "--budget", "3,1e-5", "--dataset", "fair"),
        ("ledger", "keys", "a.pem", "b.pub"),
        ("ledger", "sign", "l.db", "--key", "a.pem"),
        ("ledger", "table-key", "t.key"),
        ("ledger", "tables", "l.db"),
        ("schema", "draft", "affair ~ age"),
        ("schema", "check", "s.yaml", "--formula", "affair ~ age"),
        ("plan", *model, "--n", "6000", "-o", "plan.json"),
        ("audit", *model, "--trials", "200"),
        ("fit", model[0], "rows.csv", *model[1:], "--ledger", "l.db", "-o", "fit.json", "--report", "r.html"),
        ("describe", "rows.csv", *model[1:]),
        ("predict", "fit.json", "rows.csv"),
        ("compare", "fit.json", "--ledger", "l.db"),
        ("export", "methods", "fit.json"),
        ("report", "fit.json", "-o", "page.html"),
        ("verify", "r.html"),
        ("show", "plan.json"),
    ):
        done = CliRunner().invoke(main, [*line, "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        kinds[found["kind"]] = found
        missing = [key for key in found if key not in ("kind", "wrote") and f"`{key}`" not in PAGE]
        assert missing == []
        assert set(found["wrote"]) <= {str(path) for path in Path().iterdir()}
    assert [kind for kind in kinds if f"`{kind}`" not in PAGE] == []
    assert len(kinds) == 16
