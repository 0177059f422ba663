"""The command line: bad paths cost nothing, and every failure is a message and an exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import dpglm
from dpglm.auditing.result import Audit
from dpglm.cli import main
from dpglm.data.tables.sources import declared
from dpglm.ledger.ledger import Ledger
from dpglm.results.fit_result import FitResult
from tests.effort import quick

FIT = ("fit", "affair ~ age", "fair.csv", "--privacy", "1", "--penalty", "l2")
DESCRIBE = ("describe", "fair.csv", "--by", "affair", "--privacy", "1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, their schema and a ledger."""
    monkeypatch.chdir(tmp_path)
    fair = dpglm.load_data("fair")
    schema = declared(fair)
    assert schema is not None
    fair.head(300).to_csv("fair.csv", index=False)
    Path("fair.schema.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    Ledger("fair.db", budget=dpglm.Privacy(2.0), dataset="fair")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def told(result: Result, status: int = 1) -> str:
    """What a run that failed said; a traceback would be another exception than SystemExit."""
    assert result.exit_code == status
    assert isinstance(result.exception, SystemExit)
    return result.output


@pytest.mark.parametrize("command", [FIT, DESCRIBE])
@pytest.mark.parametrize("option", ["--report", "--save"])
@pytest.mark.parametrize("path", ["none/out", ".", "", "fair.csv", "fair.db", "fair.schema.yaml"])
def test_a_bad_target_is_told_before_anything_is_charged(
    command: tuple[str, ...], option: str, path: str
) -> None:
    before = Path("fair.csv").read_bytes()
    words = (*command, "--schema", "fair.schema.yaml", "--ledger", "fair.db", option, path)
    assert "Remedy:" in told(run(*words), 2)
    assert Ledger("fair.db", budget=None).entries == ()
    assert Path("fair.csv").read_bytes() == before


def test_one_file_cannot_be_both_report_and_result() -> None:
    assert "two files" in told(run(*FIT, "--ledger", "fair.db", "--report", "out", "--save", "./out"), 2)
    assert Ledger("fair.db", budget=None).entries == ()


@pytest.mark.parametrize("command", [FIT, DESCRIBE])
def test_a_report_states_the_facts_beside_the_ledger(command: tuple[str, ...]) -> None:
    words = (*command, "--ledger", "fair.db", "--report", "out.html")
    Path("report.yaml").write_text("organisation: [Ward 7", encoding="utf-8")
    assert "report.yaml" in told(run(*words), 2)
    assert Ledger("fair.db", budget=None).entries == (), "read before anything is charged"
    Path("report.yaml").write_text("organisation: Ward 7\nsignatory: {name: A. Doe}\n", encoding="utf-8")
    assert run(*words).exit_code == 0
    page = Path("out.html").read_text(encoding="utf-8")
    assert "Ward 7" in page
    assert "A. Doe" in page


def test_data_may_be_a_folder_or_a_pattern() -> None:
    Path("visits").mkdir()
    whole = Path("fair.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, lines in (("1", whole[1:90]), ("2", []), ("3", whole[90:])):
        Path(f"visits/{name}.csv").write_text("".join([whole[0], *lines]), encoding="utf-8")
    Path("visits.schema.yaml").write_bytes(Path("fair.schema.yaml").read_bytes())
    for data in ("visits", "visits/*.csv"):
        words = (data, "--privacy", "1", "--ledger", "fair.db")
        done = run("describe", *words, "--column", "age", "--key", "once")
        assert done.exit_code == 0
        assert "300" in done.output
        assert "two files" in told(run("fit", "affair ~ age", *words, "--save", "visits/2.csv"), 2)
    assert run("fit", "affair ~ age", "visits", "--privacy", "1", "--penalty", "l2").exit_code == 0
    assert "no file" in told(run("fit", "affair ~ age", "visits/*.parquet", "--privacy", "1"), 2)
    assert len(Ledger("fair.db", budget=None).entries) == 1
    run("ledger", "table-key", "table.key")
    for name, table in (("one", "fair.csv"), ("other", "visits")):
        words = ("--budget", "1", "--dataset", "fair", "--table", table, "--table-key", "table.key")
        assert run("ledger", "create", f"{name}.db", *words).exit_code == 0
    assert run("ledger", "tables", "one.db", "other.db").exit_code == 1  # one table


def test_a_profile_is_charged_printed_reported_and_saved() -> None:
    words = (
        "--column",
        "age",
        "--column",
        "educ",
        "--ledger",
        "fair.db",
        "--report",
        "out.html",
        "--save",
        "out.json",
    )
    done = run(*DESCRIBE, *words)
    assert done.exit_code == 0
    for told in ("Sample characteristics", "age, mean (sd)", "yes", "wrote out.html", "wrote out.json"):
        assert told in done.output
    assert "religious" not in done.output
    assert len(Ledger("fair.db", budget=None).entries) == 1
    assert str(dpglm.Profile.load("out.json")) in done.output
    assert "Privacy report" in Path("out.html").read_text(encoding="utf-8")


def test_saved_fits_of_sites_are_pooled() -> None:
    for seed, site in enumerate(("north", "south")):
        rows = dpglm.load_data("fair").sample(2000, random_state=seed)
        dpglm.fit("affair ~ age", rows, privacy=(4.0, 1e-6), seed=seed, progress=False).save(f"{site}.json")
    done = run(
        "pool", "north.json", "south.json", "--overlapping", "--report", "both.html", "--save", "both.json"
    )
    assert done.exit_code == 0
    for words in ("2: north, south", "wrote both.html", "wrote both.json"):
        assert words in done.output
    assert str(dpglm.load("both.json").summary()) in done.output
    assert "path of its own" in told(run("pool", "north.json", "south.json", "--save", "south.json"), 2)


@pytest.mark.papers
@pytest.mark.slow
def test_holders_answer_what_a_coordinator_asks() -> None:
    planned = run(
        "plan", "affair ~ age", "--schema", "fair.schema.yaml", "--n", "300", "--privacy", "1,1e-6",
        "--method", "dp-admm", "--save", "plan.json",
    )  # fmt: skip
    assert "wrote plan.json" in planned.output
    shared = ("--run", "monday-run", "--folder", ".", "--timeout", "60")
    code = "from dpglm.cli import main; main()"
    held = []
    for site in ("north", "south"):
        Ledger(f"{site}.db", budget=(2.0, 1e-5), dataset=site)
        words = ("answer", "plan.json", "fair.csv", "--site", site, "--ledger", f"{site}.db", *shared)
        held.append(subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True))
    sites = ("--site", "north", "--site", "south")
    done = run("coordinate", "plan.json", *sites, *shared, "--save", "both.json", "--transcript", "sent.json")
    for site, process in zip(("north", "south"), held, strict=True):
        assert f"bytes left site {site!r} in 205 messages" in process.communicate(timeout=100)[0]
        assert Ledger(f"{site}.db").spent.epsilon == 1.0
    assert "2: north, south" in done.output
    assert str(dpglm.load("both.json").summary()) in done.output
    assert Path("sent.json").read_text(encoding="utf-8").count("sha256") == 2 * 205
    assert "no answer to 'hello'" in told(
        run("coordinate", "plan.json", *sites, "--run", "x", "--folder", ".", "--timeout", ".1")
    )


def test_a_column_that_cannot_be_described_costs_nothing() -> None:
    assert "nobody" in told(run(*DESCRIBE, "--column", "nobody", "--ledger", "fair.db"))
    assert "SchemaError" in told(
        run("describe", "fair.csv", "--by", "age", "--privacy", "1", "--ledger", "fair.db")
    )
    assert Ledger("fair.db", budget=None).entries == ()


@pytest.mark.parametrize("data", [".", "", "none.csv"])
def test_data_that_are_no_file_are_told(data: str) -> None:
    told(run("fit", "affair ~ age", data, "--privacy", "1", "--schema", "fair.schema.yaml"), 2)


@pytest.mark.parametrize("budget", ["", "x", "-1", "nan", "1,2", "1,1e-6,3"])
def test_a_budget_is_mended_in_the_words_of_the_command_line(budget: str) -> None:
    words = told(run("fit", "affair ~ age", "fair.csv", f"--privacy={budget}"), 2)
    assert "--privacy 1 (pure epsilon) or --privacy 1,1e-6" in words
    assert "privacy=" not in words.partition("Remedy:")[2]
    assert "--budget 1" in told(run("ledger", "create", "new.db", f"--budget={budget}", "--dataset", "x"), 2)


def test_the_result_is_saved_and_shown_even_where_the_report_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Path:
        raise OSError(28, "No space left on device", "out.html")

    monkeypatch.setattr(FitResult, "report", broken)
    words = told(run(*FIT, "--ledger", "fair.db", "--report", "out.html", "--save", "fit.json"))
    assert "No space left on device: out.html" in words
    assert "age" in words
    assert dpglm.load("fit.json").formula == "affair ~ age"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("sink", quick(["/dev/full", "closed pipe"], "closed pipe"))
def test_an_output_that_takes_nothing_gives_no_traceback(sink: str) -> None:
    if sink == "/dev/full":
        target = os.open(sink, os.O_WRONLY)
    else:
        source, target = os.pipe()
        os.close(source)
    command = [sys.executable, "-c", "from dpglm.cli import main; main()", *FIT, "--save", "fit.json"]
    done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
    os.close(target)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert dpglm.load("fit.json").formula == "affair ~ age"


def test_an_audit_reads_no_data_and_its_status_is_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("audit", "affair ~ age", "--schema", "fair.schema.yaml", "--privacy", "1", "--method", "output")
    Path("fair.csv").unlink()
    found = run(*words, "--trials", "200")
    assert found.exit_code == 0
    assert "no private table was read" in " ".join(found.output.split())
    assert "Remedy:" in told(run(*words, "--trials", "many"))
    monkeypatch.setattr(Audit, "passed", False)
    assert run(*words, "--trials", "200").exit_code == 1


def test_the_status_of_verify_is_its_verdict() -> None:
    assert run(*FIT, "--report", "fit.html", "--save", "fit.json").exit_code == 0
    for file in ("fit.html", "fit.json"):
        found = run("verify", file, "--json")
        assert found.exit_code == 0
        assert json.loads(found.output)["passed"] is True
    page = Path("fit.html").read_text(encoding="utf-8")
    Path("fit.html").write_text(page.replace("ε = 1", "ε = 0.1"), encoding="utf-8")
    found = run("verify", "fit.html")
    assert found.exit_code == 3
    assert "DOES NOT AGREE: page" in found.output
    assert json.loads(run("verify", "fit.html", "--json").output)["passed"] is False
    for file in ("fair.csv", "none.json", "."):
        found = run("verify", file)
        assert found.exit_code == 2
        assert "Remedy:" in found.output


def test_help_is_shown_without_the_package_behind_it() -> None:
    code = "import sys; from dpglm.cli import main; main(['--help'], standalone_mode=False)"
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}; print([*sys.modules])"], capture_output=True, text=True, check=True
    ).stdout
    assert "Fit FORMULA to DATA" in shown
    assert "'dpglm.postprocessing.store'" in shown
    assert not [name for name in ("dpglm.api", "dpglm.exchange.holder", "pandas") if f"'{name}'" in shown]


def test_the_command_line_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpglm.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dpglm, version")


def test_weights_of_rows_are_a_column_of_the_schema() -> None:
    words = ("fit", "affair ~ age", "fair.csv", "--schema", "fair.schema.yaml", "--privacy", "1,1e-6")
    done = run(*words, "--weights", "children")
    assert done.exit_code == 0
    assert "Weights:" in done.output
    assert "weights='nothing'" in told(run(*words, "--weights", "nothing"))
