"""Words of any kind on the command line: status 0, 1 or 2, a message, and never a traceback."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import dpglm
from dpglm.cli import main
from tests.fuzz.documented import CANARY, STATUSES, Counter, require_no_canary, within_bounds
from tests.fuzz.strategies import ATTACKS
from tests.replay.neighbours import COLUMNS, SCHEMA

NUMBERS = ["1", "1,1e-6", "0", "-1", "nan", "inf", "1e999", "1,2", "1,", "", "x", "9" * 400, "1e-320", "0x1"]
PATHS = [
    "table.csv",
    "table.parquet",
    "nowhere.csv",
    ".",
    "",
    "/",
    "spent.db",
    "table.schema.yaml",
    "a" * 300,
    "-",
]
FORMULAS = [
    "y ~ x",
    "y ~ x + g",
    "z ~ w",
    "k ~ x",
    "y",
    "",
    "~",
    *(f"y ~ {attack}" for attack in ATTACKS[:12]),
]
# The first word of each is a sound one.
WORDS = {
    "--schema": ["table.schema.yaml", *PATHS],
    "--privacy": NUMBERS,
    "--relation": ["replace-one", "add-remove", "other"],
    "--unit": ["one woman", "", "<script>", "\udc80"],
    "--family": ["binomial", "gaussian", "poisson", "binomia", ""],
    "--penalty": ["l1", "none", "scad", "group", "L1", "", "__class__"],
    "--strength": NUMBERS,
    "--goal": ["explain", "select", "win"],
    "--method": ["auto", "objective", "moments", "nonprivate", "__init__", ""],
    "--ledger": ["sound.db", *PATHS],
    "--report": ["out.html", *PATHS],
    "--save": ["out.json", *PATHS],
    "--n": ["100", "0", "-1", "x", "9" * 30],
    "--level": NUMBERS,
    "--rate": NUMBERS,
    "--budget": NUMBERS,
    "--dataset": ["table", "", "\n"],
    "--nothing": ["x"],
}
OPTIONS = st.sampled_from([*list(WORDS)[:12] * 3, *WORDS]).flatmap(
    lambda name: st.one_of(st.just(WORDS[name][0]), st.sampled_from(WORDS[name])).map(
        lambda value: [name, value]
    )
)
# No system passes on a NUL, and bytes that are no UTF-8 come as these halves of characters.
ARGUMENT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff-="),
    max_size=8,
)
STARTS = st.one_of(
    st.builds(
        lambda formula, path: ["fit", formula, path, "--privacy", "1"],
        st.sampled_from(FORMULAS),
        st.sampled_from(["table.csv"] * 4 + PATHS[:3]),
    ),
    st.builds(
        lambda formula: ["plan", formula, "--schema", "table.schema.yaml", "--n", "50", "--privacy", "1"],
        st.sampled_from(FORMULAS),
    ),
    st.sampled_from(PATHS).map(lambda path: ["ledger", "show", path]),
    st.sampled_from(PATHS).map(
        lambda path: ["ledger", "create", path, "--budget", "1", "--dataset", "table"]
    ),
    st.lists(ARGUMENT, max_size=3),
)


def prepared() -> None:
    """The files that paths name, as they were."""
    Path("table.schema.yaml").write_text(dpglm.Schema.of(SCHEMA).to_yaml(), encoding="utf-8")
    line = f"no,1,2,0.5,{CANARY},{CANARY}\n"
    Path("table.csv").write_text(",".join(COLUMNS) + "\n" + line * 3, encoding="utf-8")
    Path("table.parquet").write_bytes(b"PAR1" + CANARY.encode())
    Path("sound.db").unlink(missing_ok=True)
    dpglm.Ledger("sound.db", budget=(3.0, 1e-4), dataset="table")
    Path("spent.db").write_bytes(CANARY.encode())


def test_any_words(drawn: Any) -> None:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:

            @drawn(170)
            @given(STARTS, st.one_of(st.just([]), st.lists(OPTIONS, max_size=3)))
            def law(start: list[str], options: list[list[str]]) -> None:
                prepared()
                words = [*start, *(word for option in options for word in option)]
                done = within_bounds(lambda: CliRunner().invoke(main, words))
                assert done.exit_code in STATUSES, (words, done.output)
                assert done.exception is None or isinstance(done.exception, SystemExit), (
                    words,
                    done.exc_info,
                )
                assert "Traceback" not in done.output
                Counter.refused += done.exit_code != 0
                require_no_canary(done.output)

            law()
        finally:
            os.chdir(before)
