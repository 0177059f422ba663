"""The command line on saved files, as somebody types who never opens Python."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import dpglm
from dpglm.cli import main
from dpglm.cli.options import PYTHON_ONLY, names
from dpglm.errors import DpglmError

pytestmark = pytest.mark.papers  # a ranking is one of the saved results
WORDS = ("show", "refit", "report", "verify", "compare", "predict", "pool", "export")


@cache
def private() -> dpglm.FitResult:
    women = dpglm.load_data("fair")
    fit = dpglm.fit("affair ~ age + religious", women, privacy=(4.0, 1e-6), progress=False)
    assert isinstance(fit, dpglm.FitResult)
    return fit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a result of each kind, new rows and a report."""
    monkeypatch.chdir(tmp_path)
    women = dpglm.load_data("fair")
    private().save("fit.json")
    private().report("fit.html")
    dpglm.describe(women, columns=["age"], privacy=1.0).save("profile.json")
    dpglm.rank_features("affair ~ age + religious", women, k=1, privacy=(2.0, 1e-6)).save("ranking.json")
    spec = dpglm.plan("affair ~ age", women, n=2000, privacy=(1.0, 1e-6)).specification
    Path("plan.json").write_text(spec.to_json(), encoding="utf-8")
    women[["age", "religious"]].head(5).to_csv("new.csv", index=False)
    dpglm.Ledger("fair.db", budget=(1.0, 1e-6), dataset="fair")
    Path("empty.json").touch()
    return tmp_path


def run(*words: str, given: str | bytes | None = None, status: int = 0) -> Result:
    """A run with its exit status; a traceback would be another exception than SystemExit."""
    done = CliRunner().invoke(main, list(words), input=given)
    assert done.exit_code == status, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def document(*words: str, given: str | None = None, status: int = 0) -> dict[str, object]:
    found = json.loads(run(*words, "--json", given=given, status=status).stdout)
    assert isinstance(found, dict)
    return found


def text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


LOADED: dict[str, Callable[[], object]] = {
    "fit.json": lambda: private().summary(),
    "profile.json": lambda: dpglm.Profile.load("profile.json").summary(),
    "ranking.json": lambda: dpglm.FeatureRanking.load("ranking.json").summary(),
    "plan.json": lambda: dpglm.ModelSpec.from_json(text("plan.json")).plan().summary(),
}


@pytest.mark.parametrize("name", LOADED)
def test_every_saved_file_is_shown_from_its_path_and_from_standard_input(name: str) -> None:
    expected = str(LOADED[name]())
    assert expected in run("show", name).output
    assert expected in run("show", "-", given=text(name)).output
    assert document("show", name)["kind"] == name.removesuffix(".json")


def test_a_plan_is_shown_with_the_precision_to_expect() -> None:
    shown = run("show", "plan.json", "--n", "2000").output
    assert str(dpglm.ModelSpec.from_json(text("plan.json")).plan(n=2000).summary()) in shown
    assert "holds a fit" in run("show", "fit.json", "--n", "2000", status=2).output


@pytest.mark.parametrize(("form", "mark"), [("markdown", "|:--|"), ("html", "<table"), ("latex", "\\begin")])
def test_a_summary_is_written_for_a_paper(form: str, mark: str) -> None:
    assert mark in run("show", "fit.json", "--format", form).output


def test_a_refit_is_that_of_python_and_free() -> None:
    words = ("refit", "fit.json", "--penalty", "l1", "--strength", "0.02", "-o", "l1.json")
    found = document(*words)
    again = dpglm.load("l1.json")
    assert found["wrote"] == ["l1.json"]
    assert again._record == private().refit("l1", strength=0.02)._record
    assert again.privacy == private().privacy


def test_a_submodel_leaves_terms_out() -> None:
    rows = dpglm.load_data("fair").assign(affairs=lambda women: women["affairs"].clip(0, 10))
    gaussian = dpglm.fit(
        "affairs ~ age + religious + C(occupation)",
        rows,
        schema={"affairs": (0, 10), "age": (17, 42), "religious": (1, 4), "occupation": [*"123456"]},
        family="gaussian",
        privacy=(4.0, 1e-6),
        progress=False,
    )  # fmt: skip
    gaussian.save("gaussian.json")
    words = ("refit", "gaussian.json", "--drop", "age", "--merge", "occupation", "rest", "1, 2,6")
    run(*words, "-o", "small.json")
    expected = gaussian.refit(drop=["age"], merge={"occupation": {"rest": ["1", "2", "6"]}})
    assert dpglm.load("small.json").names == expected.names
    assert "C(occupation)[T.3]" in expected.names
    assert "age" not in expected.names


@pytest.mark.parametrize("options", [(), ("--what", "class"), ("--interval", "0.9"), ("--se",)])
def test_predictions_are_those_of_python_and_come_as_csv(options: tuple[str, ...]) -> None:
    words = ("predict", "fit.json", "new.csv", *options)
    printed = run(*words).stdout
    found = pd.read_csv(io.StringIO(printed))
    what = "class" if "class" in options else "mean"
    interval = 0.9 if "--interval" in options else None
    expected = private().predict(Path("new.csv"), what, interval=interval, se="--se" in options)  # type: ignore[arg-type]
    frame = expected if isinstance(expected, pd.DataFrame) else pd.DataFrame({"prediction": expected})
    pd.testing.assert_frame_equal(found, frame, rtol=1e-15)
    run(*words, "-o", "out.csv")
    assert text("out.csv") == printed
    assert run("predict", "fit.json", "-", *options, given=text("new.csv")).stdout == printed
    assert run("predict", "-", "new.csv", *options, given=text("fit.json")).stdout == printed
    rows = document(*words)["rows"]
    assert isinstance(rows, list)
    assert len(rows) == 5


def test_rows_that_cannot_be_predicted_are_empty_lines_in_their_place() -> None:
    Path("new.csv").write_text("age,religious\n30,2\n,2\n30,3\n", encoding="utf-8")
    found = pd.read_csv(io.StringIO(run("predict", "fit.json", "new.csv").stdout))
    assert found["prediction"].isna().tolist() == [False, True, False]
    assert document("predict", "fit.json", "new.csv")["rows"][1] == {"prediction": None}  # type: ignore[index]


def test_numbers_of_a_file_are_read_by_its_decimal_mark() -> None:
    Path("new.csv").write_text("age,religious\n30.5,2\n22.25,3\n", encoding="utf-8")
    Path("comma.csv").write_text("age;religious\n30,5;2\n22,25;3\n", encoding="utf-8")
    words = ("predict", "fit.json", "comma.csv", "--separator", "semicolon", "--decimal", "comma")
    assert run(*words).stdout == run("predict", "fit.json", "new.csv").stdout


def test_parquet_comes_through_a_pipe_too() -> None:
    pd.read_csv("new.csv").to_parquet("new.parquet")
    piped = run("predict", "fit.json", "-", given=Path("new.parquet").read_bytes())
    assert piped.stdout == run("predict", "fit.json", "new.csv").stdout


def test_private_rows_come_through_a_pipe_and_stay_off_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path("scratch")
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder.absolute()))
    schema = {"affair": ["no", "yes"], "age": {"bounds": [17.5, 42.0]}}
    Path("s.yaml").write_text(dpglm.Schema.of(schema).to_yaml(), encoding="utf-8")
    rows = dpglm.load_data("fair")[["affair", "age"]].head(400).to_csv(index=False)
    words = ("fit", "affair ~ age", "-", "--schema", "s.yaml", "--privacy", "1", "--penalty", "l2")
    assert "400" in run(*words, given=rows).output
    assert list(folder.iterdir()) == []
    assert "Name files" in run(*words, "--pad-time", "60", given=rows, status=2).output


def test_standard_input_is_one_file() -> None:
    assert "two files" in run("predict", "-", "-", given="", status=2).output
    Path("-").write_text("not read", encoding="utf-8")
    assert "empty" in run("show", "-", given="", status=2).output


def test_fits_are_compared_under_the_names_of_their_files() -> None:
    run("refit", "fit.json", "--penalty", "l1", "-o", "l1.json")
    expected = dpglm.compare({"fit": private(), "l1": dpglm.load("l1.json")})
    assert str(expected) in run("compare", "fit.json", "l1.json").output
    assert [*document("compare", "fit.json", "l1.json")["fits"]] == ["fit", "l1"]  # type: ignore[misc]
    Path("two").mkdir()
    Path("two/fit.json").write_bytes(Path("fit.json").read_bytes())
    assert [*document("compare", "fit.json", "two/fit.json")["fits"]] == ["fit.json", "two/fit.json"]  # type: ignore[misc]
    assert "named twice" in run("compare", "fit.json", "fit.json", status=2).output


def test_a_report_holds_the_facts_and_the_answers_and_is_verified() -> None:
    Path("report.yaml").write_text("organisation: Ward 7\nsignatory: {name: A. Doe}\n", encoding="utf-8")
    for name in ("fit", "profile", "ranking"):
        words = ("report", f"{name}.json", "-o", "page.html", "--facts", "report.yaml")
        run(*words, "--answer", "bounds", "from the code book")
        assert all(word in text("page.html") for word in ("Ward 7", "A. Doe", "from the code book"))
        assert document("verify", "page.html")["passed"] is True
    assert "Remedy:" in run("report", "plan.json", "-o", "page.html", status=2).output
    assert "two files" in run("report", "fit.json", "-o", "fit.json", status=2).output


def test_a_result_without_a_promise_says_so_wherever_it_goes() -> None:
    women = dpglm.load_data("fair")
    dpglm.fit("affair ~ age + religious", women, privacy=(4.0, 1e-6), seed=1).save("seeded.json")
    found = document("show", "seeded.json")
    assert (found["private"], found["guarantee"], found["spend"]) == (False, None, [])
    assert "NOT PRIVATE" in str(found["alarm"])
    assert "NOT PRIVATE" in run("predict", "seeded.json", "new.csv").stderr
    assert "NOT PRIVATE" in str(document("predict", "seeded.json", "new.csv")["alarm"])
    assert "NOT PRIVATE" in run("report", "seeded.json", "-o", "page.html").output


def words_of(word: str, file: str) -> tuple[str, ...]:
    more = {"report": ("-o", "out.html"), "predict": ("new.csv",), "refit": ("--penalty", "l1")}
    return ("export", "methods", file) if word == "export" else (word, file, *more.get(word, ()))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("file", ["none.json", "empty.json", ".", "new.csv", "fair.db", ""])
def test_a_file_that_cannot_be_used_is_one_message(word: str, file: str) -> None:
    said = run(*words_of(word, file), status=2).output
    assert all(part in said for part in ("Found:", "Expected:", "Remedy:"))
    assert "Traceback" not in said


@pytest.mark.parametrize("word", ["refit", "compare", "predict", "export"])
@pytest.mark.parametrize("file", ["profile.json", "ranking.json", "plan.json", "fit.html"])
def test_a_file_of_another_kind_is_named(word: str, file: str) -> None:
    said = run(*words_of(word, file), status=2).output
    assert file in said
    assert "Remedy:" in said


@pytest.mark.parametrize("data", ["none.csv", ".", "empty.csv", "fit.json"])
def test_a_table_that_cannot_be_used_is_one_message(data: str) -> None:
    Path("empty.csv").touch()
    assert "Remedy:" in run("predict", "fit.json", data, status=2).output


def test_a_refused_budget_has_a_status_of_its_own_and_says_what_to_type() -> None:
    dpglm.load_data("fair").head(400)[["affair", "age"]].to_csv("rows.csv", index=False)
    Path("rows.schema.yaml").write_text(
        'affair: ["no", "yes"]\nage: {bounds: [17.5, 42]}\n', encoding="utf-8"
    )
    words = ("fit", "affair ~ age", "rows.csv", "--ledger", "fair.db", "--privacy")
    said = run(*words, "1.5,1e-6", status=4).output
    assert "Use --privacy 1.0,1e-06 or less" in said
    assert "Remedy:" in run(*words[:-2], "new.csv", "--privacy", "1", status=2).output
    run("ledger", "show", "new.csv", status=2)
    run(*words, "1,1e-6", "--penalty", "l2", "--goal", "predict")


def test_what_is_listed_can_be_chosen() -> None:
    listed = run("--choices").output
    assert all(name in listed for known in names().values() for name in known)
    assert document("--choices") == {"kind": "choices", **names(), "wrote": []}
    families = {"binomial": ["no", "yes"], "gaussian": (0, 5), "poisson": (0, 5)}
    families |= {"ordinal": {"levels": ["no", "some", "much"], "ordered": True}}

    def accepted(option: str, name: str) -> bool:
        for family, response in families.items():
            chosen: dict[str, Any] = {"family": family, option: name}
            try:
                dpglm.plan("y ~ x", {"y": response, "x": (0, 1)}, n=1000, privacy=(1.0, 1e-6), **chosen)
                return True
            except DpglmError:
                continue
        return False

    for option, known in names().items():
        assert [name for name in known if not accepted(option, name)] == []
    assert not [name for name in PYTHON_ONLY if accepted("method", name)]


@pytest.mark.parametrize(
    ("line", "word"),
    [("dpglm pr", "predict"), ("dpglm fit --penalty sc", "scad"), ("dpglm ledger si", "sign")],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_words_and_names(line: str, word: str, shell: str) -> None:
    code = "from dpglm.cli import main; main(prog_name='dpglm')"
    typed = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    if shell == "fish":
        typed["COMP_CWORD"] = line.split()[-1]
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **typed, "_DPGLM_COMPLETE": f"{shell}_complete"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert word in found


def test_numbers_that_json_has_not_are_told() -> None:
    from dpglm.cli.output import plain

    found = plain({"a": [np.float64("nan"), -np.inf, np.int64(3)], "b": pd.DataFrame({"c": [1.5]})})
    assert found == {"a": [None, "-Infinity", 3], "b": [{"c": 1.5}]}
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("refit", "fit.json", "--drop", "nobody"), "--merge job other x,y"),
        (("predict", "fit.json", "semicolon.csv"), "--separator"),
        (("predict", "fit.json", "new.csv", "--what", "class", "--interval", "0.9"), "--what 'mean'"),
    ],
)
def test_a_remedy_is_what_can_be_typed(words: tuple[str, ...], option: str) -> None:
    Path("semicolon.csv").write_text("age;religious\n30;2\n", encoding="utf-8")
    done = CliRunner().invoke(main, [*words])
    assert done.exit_code in (1, 2)
    assert option in done.output.partition("Remedy:")[2]
