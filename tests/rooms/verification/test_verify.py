"""What `dpglm.verify` finds: an untouched file agrees, and every number that was changed is told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.errors import StoreError
from dpglm.postprocessing.store import fingerprint, from_json
from dpglm.verification.pages import RESULT

Document = dict[str, Any]


@cache
def fitted(epsilon: float = 4.0, **options: Any) -> dpglm.FitResult:
    women = dpglm.load_data("fair")
    return dpglm.fit("affair ~ age + religious", women, privacy=(epsilon, 1e-6), progress=False, **options)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return fitted().save(tmp_path / "fit.json")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    facts = {"organisation": "Ward <7>", "signatory": {"name": "A. Doe"}}
    return fitted().report(tmp_path / "fit.html", choices={"bounds": 'code "book" & more'}, facts=facts)


def outcomes(found: dpglm.Verification) -> dict[str, str]:
    return {check.what: check.outcome for check in found.checks}


def renewed(document: Document) -> Document:
    """A document whose SHA-256 is that of its numbers, as a careful forger would have it."""
    try:
        return document | {"sha256": fingerprint(from_json(json.dumps(document)))}
    except StoreError:
        return document


def rewrite(path: Path, change: Callable[[Document], None], *, renew: bool) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(renewed(document) if renew else document), encoding="utf-8")


def epsilon(document: Document) -> None:
    document["guarantee"]["epsilon"] = 0.5


def delta(document: Document) -> None:
    document["guarantee"]["delta"] = 1e-9


def price(document: Document) -> None:
    document["spend_lines"][0]["mu"] *= 0.5


def noise(document: Document) -> None:
    document["description"]["releases"][0]["scale"] *= 0.5


def coefficient(document: Document) -> None:
    document["estimates"][1] += 0.01


def coefficient_and_its_coded_twin(document: Document) -> None:
    map_to_user = np.reshape(document["user_from_coded"]["values"], (3, 3))
    document["coded"][1] += 0.1
    document["estimates"] = (map_to_user @ document["coded"]).tolist()


def formula(document: Document) -> None:
    document["specification"]["formula"] = "affair ~ age + educ"


def plan(document: Document) -> None:
    document["plan_fingerprint"] = "0" * 64


CHANGES = (epsilon, delta, price, noise, coefficient, coefficient_and_its_coded_twin, formula, plan)


def test_an_untouched_fit_agrees(saved: Path) -> None:
    found = dpglm.verify(saved)
    assert found.passed
    assert outcomes(found) == {
        "SHA-256": "agrees",
        "saved result": "agrees",
        "privacy and price": "agrees",
        "coefficients": "agrees",
        "ledger": "not checked",
    }


@pytest.mark.parametrize(
    "options",
    [{"penalty": "l2"}, {"goal": "select"}, {"method": "objective"}, {"seed": 3}, {"epsilon": 0.3}],
    ids=str,
)
def test_fits_of_all_goals_agree(options: dict[str, Any], tmp_path: Path) -> None:
    found = dpglm.verify(fitted(**options).save(tmp_path / "fit.json"))
    assert found.passed, str(found)
    assert found.alarm.startswith("NOT PRIVATE") == ("seed" in options)


def test_a_submodel_agrees_with_the_plan_of_the_whole_fit(tmp_path: Path) -> None:
    women = dpglm.load_data("fair")
    columns = {"affairs": (0, 10), "age": (17, 42), "religious": (1, 4)}
    schema = {name: {"bounds": bounds} for name, bounds in columns.items()}
    options = {"family": "gaussian", "privacy": (1.0, 1e-6), "progress": False}
    fit = dpglm.fit("affairs ~ age + religious", women, schema=schema, **options)  # type: ignore[arg-type]
    small = fit.refit(drop="age")
    for part in (small, small.refit("l1")):
        assert dpglm.verify(part.save(tmp_path / "small.json")).passed
        assert dpglm.verify(part.report(tmp_path / "small.html")).passed


def test_a_refit_and_a_profile_agree(tmp_path: Path) -> None:
    refit = fitted().refit(penalty="l1/2")
    assert dpglm.verify(refit.save(tmp_path / "refit.json")).passed
    assert dpglm.verify(refit.report(tmp_path / "refit.html")).passed
    profile = dpglm.describe(dpglm.load_data("fair"), columns=["age"], by="affair", privacy=(1.0, 1e-6))
    assert dpglm.verify(profile.save(tmp_path / "profile.json")).passed
    assert dpglm.verify(profile.report(tmp_path / "profile.html")).passed


@pytest.mark.parametrize("renew", [False, True], ids=["old SHA-256", "new SHA-256"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_number_of_a_fit_is_found(
    change: Callable[[Document], None], renew: bool, saved: Path
) -> None:
    rewrite(saved, change, renew=renew)
    found = dpglm.verify(saved)
    assert not found.passed
    assert "DOES NOT AGREE" in str(found)


def test_a_changed_information_matrix_is_found(saved: Path) -> None:
    def information(document: Document) -> None:
        changed = re.sub(r"\d\.\d{5,}", "1.5", json.dumps(document["released"]), count=1)
        assert changed != json.dumps(document["released"])
        document["released"] = json.loads(changed)

    rewrite(saved, information, renew=False)
    assert not dpglm.verify(saved).passed


def test_what_only_the_digest_holds_is_told(tmp_path: Path) -> None:
    path = fitted(goal="select").save(tmp_path / "fit.json")
    rewrite(path, coefficient_and_its_coded_twin, renew=True)
    assert outcomes(dpglm.verify(path))["coefficients"] == "not checked"
    rewrite(path, coefficient_and_its_coded_twin, renew=False)
    assert outcomes(dpglm.verify(path))["SHA-256"] == "DIFFERS"
    with_matrix = dpglm.verify(fitted().save(tmp_path / "matrix.json"))
    assert "the SHA-256 alone holds the scale" in " ".join(check.detail for check in with_matrix.checks)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_a_cut_file_is_refused(share: float, saved: Path) -> None:
    text = saved.read_text(encoding="utf-8")
    saved.write_text(text[: int(share * len(text))], encoding="utf-8")
    with pytest.raises(StoreError):
        dpglm.verify(saved)


def test_a_file_without_its_digest_is_told(saved: Path) -> None:
    rewrite(saved, lambda document: document.pop("sha256"), renew=False)
    found = dpglm.verify(saved)
    assert found.passed
    assert outcomes(found)["SHA-256"] == "not checked"


def test_an_untouched_report_agrees_also_with_other_line_ends(report: Path) -> None:
    found = dpglm.verify(report)
    assert found.passed, str(found)
    assert found.differences == ()
    assert outcomes(found)["page"] == "agrees"
    report.write_bytes(report.read_bytes().replace(b"\n", b"\r\n"))
    assert dpglm.verify(report).passed


@pytest.mark.parametrize("column", ["estimate", "std_error"])
def test_a_changed_number_of_a_table_is_found_at_its_place(column: str, report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    number = f"{fitted().tidy()[column].iloc[1]:#.4g}"
    assert f">{number}<" in page
    report.write_text(page.replace(f">{number}<", ">7.7777<", 1), encoding="utf-8")
    found = dpglm.verify(report)
    assert not found.passed
    assert [(part.found, part.expected) for part in found.differences] == [("7.7777", number)]
    assert "row 'age'" in found.differences[0].place
    assert "7.7777" in str(found)


def test_a_changed_epsilon_of_a_report_is_found(report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    assert "ε = 4" in page
    report.write_text(page.replace("ε = 4", "ε = 0.4"), encoding="utf-8")
    assert outcomes(dpglm.verify(report))["page"] == "DIFFERS"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_changed_record_in_a_report_is_found(change: Callable[[Document], None], report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    embedded = RESULT.search(page)
    assert embedded is not None
    document = json.loads(unescape(embedded.group(1)))
    change(document)
    changed = escape(json.dumps(document), quote=False)
    report.write_text(page.replace(embedded.group(1), changed), encoding="utf-8")
    assert not dpglm.verify(report).passed


@pytest.mark.parametrize("before", ["</body>", "<h2", "</style>"])
def test_an_added_sentence_is_found(before: str, report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    assert before in page
    report.write_text(page.replace(before, f"<p>Approved.</p>{before}", 1), encoding="utf-8")
    assert not dpglm.verify(report).passed


def test_a_cut_report_is_found(report: Path) -> None:
    page = report.read_text(encoding="utf-8")
    report.write_text(page[:-40], encoding="utf-8")
    assert not dpglm.verify(report).passed
    report.write_text(page[: len(page) // 2], encoding="utf-8")
    with pytest.raises(StoreError, match="does not hold its saved result"):
        dpglm.verify(report)


def test_a_report_that_is_not_private_asks_for_its_saved_result(tmp_path: Path) -> None:
    fit = fitted(seed=3)
    report, saved = fit.report(tmp_path / "fit.html"), fit.save(tmp_path / "fit.json")
    with pytest.raises(StoreError, match="result="):
        dpglm.verify(report)
    found = dpglm.verify(report, result=saved)
    assert found.passed, str(found)
    assert "NOT PRIVATE" in str(found)
    other = fitted().save(tmp_path / "other.json")
    assert not dpglm.verify(report, result=other).passed


@pytest.mark.parametrize("content", ["", "age,affair\n1,2\n", "<p>no page</p>", "{}", "[1]"])
def test_other_files_are_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StoreError):
        dpglm.verify(path)


def test_a_ledger_holds_the_charge_or_does_not(tmp_path: Path, saved: Path) -> None:
    women = dpglm.load_data("fair")
    ledger = dpglm.Ledger(tmp_path / "fair.db", budget=(3.0, 1e-5), dataset="fair")
    fit = dpglm.fit("affair ~ age", women, privacy=(1.0, 1e-6), ledger=ledger, progress=False)
    charged = fit.save(tmp_path / "charged.json")
    assert outcomes(dpglm.verify(charged, ledger=ledger.path))["ledger"] == "agrees"
    assert "not at hand" in str(dpglm.verify(charged))
    assert outcomes(dpglm.verify(saved, ledger=ledger))["ledger"] == "DIFFERS"


def test_it_tells_what_was_and_what_cannot_be_checked(saved: Path) -> None:
    found = dpglm.verify(saved)
    words = " ".join(str(found).split())
    assert "epsilon 4, delta 1e-6" in words
    assert "from the plan made again" in words
    assert "not checked" in words
    assert "No file can show that the noise was really drawn" in words
    assert found.fingerprint in words
    told = found.to_dict()
    assert json.loads(json.dumps(told))["passed"] is True
    assert len(told["cannot_be_checked"]) == 2
    assert list(found.tidy()["what"]) == list(outcomes(found))
