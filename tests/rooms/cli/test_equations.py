"""Multinomial fits on the command line: folders, in which each equation has a file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpglm
from dpglm.cli import main
from tests.silence import Silence

MODEL = ("work ~ age + coin", "--schema", "s.yaml", "--family", "multinomial", "--privacy", "4,1e-6")
FIT = ("fit", MODEL[0], "rows.csv", *MODEL[1:])
NAMES = ["1-white-collar", "2-a-b", "3"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    jobs = {2: "home", 3: "white-collar", 4: "a/b", 5: "é"}
    women = dpglm.load_data("fair")
    women = women[women["occupation"].isin([*jobs])]
    table = pd.DataFrame({"work": women["occupation"].map(jobs), "age": women["age"]})
    table = table.assign(coin=np.random.default_rng(3).normal(size=len(table)))
    table.to_csv("rows.csv", index=False)
    schema = (
        'work: {levels: [home, white-collar, a/b, "é"]}\nage: {bounds: [17.5, 42]}\ncoin: {bounds: [-3, 3]}\n'
    )
    Path("s.yaml").write_text(schema, encoding="utf-8")
    dpglm.Ledger("rows.db", budget=(9.0, 1e-5), dataset="rows")
    return tmp_path


def run(*words: str, status: int = 0) -> str:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == status, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.output


def document(*words: str, status: int = 0) -> dict[str, Any]:
    found = json.loads(run(*words, "--json", status=status))
    assert isinstance(found, dict)
    return found


def test_each_equation_has_a_file_and_a_report_and_one_charge_pays_for_all() -> None:
    run(*FIT, "--ledger", "rows.db", "--key", "monday", "-o", "work", "--report", "pages")
    assert sorted(path.name for path in Path("work").iterdir()) == [f"{name}.json" for name in NAMES]
    assert sorted(path.name for path in Path("pages").iterdir()) == [f"{name}.html" for name in NAMES]
    fits = dpglm.LevelFits.of(map(dpglm.load, Path("work").iterdir()))
    assert str(fits.summary()) in run("show", "work")
    assert (fits.privacy.epsilon, document("ledger", "show", "rows.db")["spent_epsilon"]) == (4.0, 4.0)
    for page in Path("pages").iterdir():
        run("verify", str(page), "--ledger", "rows.db")
    run("export", "methods", f"work/{NAMES[0]}.json")
    again = run(*FIT, "--ledger", "rows.db", "--key", "monday")
    assert str(fits.summary()) in again
    assert document("ledger", "show", "rows.db")["spent_epsilon"] == 4.0


def test_a_folder_is_verified_exported_and_compared_as_one_fit() -> None:
    run(*FIT, "--ledger", "rows.db", "-o", "work")
    found = document("verify", "work", "--ledger", "rows.db")
    assert (found["kind"], found["passed"]) == ("multinomial fit", True)
    assert {check["what"] for check in found["checks"]} > {f"{name}: ledger" for name in NAMES}
    last = found["checks"][-1]
    assert (last["what"], last["outcome"]) == ("privacy and price of all equations", "agrees")
    assert "epsilon 4," in last["detail"]
    fits = dpglm.load("work")
    for kind in ("methods", "dpia", "registry"):
        assert run("export", kind, "work") == fits.export(kind, "one").read_text(encoding="utf-8")  # type: ignore[arg-type]
    assert [*document("compare", "work")["fits"]] == [f"work: {level}" for level in fits]
    text = Path(f"work/{NAMES[0]}.json").read_text(encoding="utf-8")
    digest = json.loads(text)["sha256"]
    Path(f"work/{NAMES[0]}.json").write_text(text.replace(digest, "0" * 64), encoding="utf-8")
    assert document("verify", "work", status=3)["passed"] is False


def test_predictions_and_refits_of_all_equations_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpglm.spec.arguments.OsNoise", Silence)  # no submodel is too far by chance
    run(*FIT, "-o", "work")
    fits = dpglm.LevelFits.of(map(dpglm.load, Path("work").iterdir()))
    printed = pd.read_csv(io.StringIO(run("predict", "work", "rows.csv")))
    expected = fits.predict(pd.read_csv("rows.csv"))
    assert isinstance(expected, pd.DataFrame)
    pd.testing.assert_frame_equal(printed, expected, rtol=1e-14)
    run("predict", "work", "rows.csv", "--what", "class", "-o", "class.csv")
    assert pd.read_csv("class.csv")["prediction"].tolist() == [
        *fits.predict(pd.read_csv("rows.csv"), what="class")
    ]
    run("refit", "work", "--penalty", "l1", "--strength", "0.02", "-o", "sparse")
    sparse = dpglm.LevelFits.of(map(dpglm.load, Path("sparse").iterdir()))
    assert sparse == fits.refit("l1", strength=0.02)
    run("refit", "work", "--drop", "coin", "-o", "small")
    assert str(fits.refit(drop="coin").summary()) in run("show", "small")
    found = document("show", "work")
    assert found["kind"] == "equations"
    assert [*found["equations"]] == [*fits]
    assert found["guarantee"]["epsilon"] == 4.0
    assert {row["level"] for row in found["rows"]} == {*fits}


def test_a_plan_of_all_equations_says_what_they_cost_together() -> None:
    found = document("plan", *MODEL, "--n", "6000")
    assert (found["kind"], found["guarantee"]["epsilon"]) == ("plans", 4.0)
    assert all(each["guarantee"]["epsilon"] < 4.0 for each in found["equations"].values())
    assert "white-collar" in run("plan", *MODEL, "--n", "6000")


def test_nothing_is_charged_where_a_folder_cannot_be_written() -> None:
    Path("full").mkdir()
    Path("full/notes.txt").touch()
    Path("file").touch()
    for target in ("full", "file", "none/work", "rows.csv", "work.json", "work.HTML"):
        for option in ("-o", "--report"):
            said = run(*FIT, "--ledger", "rows.db", option, target, status=2)
            assert all(part in said for part in ("Found:", "Expected:", "Remedy:"))
    assert "two files" in run(*FIT, "--ledger", "rows.db", "-o", "work", "--report", "work", status=2)
    assert document("ledger", "show", "rows.db")["entries"] == []
    Path("free").mkdir()
    run(*FIT, "-o", "free")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("predict", "work", "rows.csv", "--se"), 2),
        (("predict", "work", "rows.csv", "--what", "link"), 1),
        (("export", "ro-crate", "work", "-o", "crate.zip"), 1),
        (("verify", "half"), 2),
        (("verify", "none"), 2),
        (("compare", "half"), 2),
        (("pool", "work"), 2),
        (("show", "half"), 2),
        (("show", "none"), 2),
        (("refit", "work", "--drop", "nobody"), 1),
        (("audit", *MODEL, "--n", "6000"), 2),
        (("plan", *MODEL, "--n", "6000", "-o", "plan.json"), 2),
    ],
)
def test_what_is_of_one_equation_is_refused_in_words(words: tuple[str, ...], status: int) -> None:
    run(*FIT, "-o", "work")
    Path("half").mkdir()
    Path("half/1.json").write_bytes(Path(f"work/{NAMES[0]}.json").read_bytes())
    Path("none").mkdir()
    said = run(*words, status=status)
    assert "Traceback" not in said
    assert "Error" in said
