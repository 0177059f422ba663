"""Keys: a run that is tried again gives the answer that the ledger kept, and is charged and drawn once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import AnswerNotKept, BudgetExceeded, DpglmError, LedgerError, MethodError, PrivacyError
from dpglm.ledger import log
from dpglm.ledger.ledger import Ledger
from tests.test_bad_input import UnreadFrame

SCHEMA: Mapping[str, Any] = {"y": ["no", "yes"], "x": (0.0, 1.0), "z": (0.0, 1.0)}


def rows(kind: type[pd.DataFrame] = pd.DataFrame) -> pd.DataFrame:
    x = np.linspace(0.0, 1.0, 60)
    return kind({"y": ["no", "yes"] * 30, "x": x, "z": x[::-1] ** 2})


def fitted(data: object, ledger: object, **options: Any) -> Any:
    options = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "progress": False, "key": "monday-run", **options}
    return dpglm.fit(options.pop("formula", "y ~ x"), data, ledger=ledger, **options)  # type: ignore[call-overload]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ward-7.ledger", (9.0, 1e-4), dataset="ward-7")


def told(error: pytest.ExceptionInfo[DpglmError]) -> DpglmError:
    assert all(part.strip() for part in (error.value.found, error.value.expected, error.value.remedy))
    return error.value


def test_the_same_plan_under_the_same_key_is_charged_and_drawn_once(ledger: Ledger) -> None:
    first = fitted(rows(), ledger)
    head = ledger.head
    for again in (
        fitted(rows(UnreadFrame), ledger),  # a row that is looked at raises
        fitted(rows(UnreadFrame), ledger.path),
        dpglm.plan("y ~ x", SCHEMA, privacy=(1.0, 1e-6)).fit(
            rows(UnreadFrame), ledger=Ledger(ledger.path), key="monday-run", progress=False
        ),
    ):
        assert again == first
        assert again.ledger == first.ledger
        assert again.summary() == first.summary()
        assert (again.params == first.params).all()
    assert ledger.head == head
    assert ledger.spent.epsilon == 1.0
    assert [entry.key for entry in ledger.entries] == ["monday-run"]
    pd.testing.assert_series_equal(fitted(rows(UnreadFrame), ledger).predict(rows()), first.predict(rows()))
    ledger.verify()


def test_a_key_hides_no_later_charge_from_the_state_of_the_first(ledger: Ledger) -> None:
    first = fitted(rows(), ledger)
    fitted(rows(), ledger, key=None)
    fitted(rows(), ledger, key="tuesday-run")
    assert fitted(rows(UnreadFrame), ledger).ledger == first.ledger
    assert ledger.spent.epsilon == 3.0
    assert [entry.index for entry in ledger.entries] == [1, 2, 3]
    assert list(ledger.to_frame().index) == [1, 2, 3]
    for shown in (str(ledger).splitlines()[2:5], [row[0] for row in ledger._records().summary().rows]):
        assert [line.split()[0] for line in shown] == ["1", "2", "3"]
    plan = dpglm.plan("y ~ x", SCHEMA, privacy=(1.0, 1e-6))
    assert ledger.charge(plan.guarantee, what=plan.what) == ledger.entries[3]
    assert ledger.state(at=ledger.entries[1])["spent_epsilon"] == 2.0
    assert "key" in str(ledger).splitlines()[1]


@pytest.mark.parametrize(
    "other",
    [
        {"formula": "y ~ x + z"},
        {"privacy": 0.5},
        {"schema": {**SCHEMA, "x": (0.0, 2.0)}},
        {"goal": "predict"},
    ],
)
def test_another_plan_under_the_same_key_is_refused(ledger: Ledger, other: dict[str, Any]) -> None:
    fitted(rows(), ledger)
    head = ledger.head
    with pytest.raises(LedgerError) as error:
        fitted(rows(UnreadFrame), ledger, **other)
    assert "another plan" in told(error).found
    assert "another key" in error.value.remedy
    assert ledger.head == head


def test_a_charge_without_an_answer_is_never_drawn_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "keep", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            fitted(rows(), ledger)
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            fitted(rows(UnreadFrame), ledger)
        assert "no answer is kept" in told(error).found
        assert "another key, which is charged anew" in error.value.remedy
    assert ledger.spent.epsilon == 1.0
    fitted(rows(), ledger, key="monday-run, second try")
    assert ledger.spent.epsilon == 2.0


def test_an_answer_that_cannot_be_kept_is_given_back_with_a_warning(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise log._error_of(OSError(), ledger.path)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(log, "keep", full)
        with pytest.warns(AnswerNotKept, match="Save the result now") as caught:
            fit = fitted(rows(), ledger)
    assert caught[0].filename == __file__
    assert fit.private
    with pytest.raises(LedgerError, match="no answer is kept"):
        fitted(rows(UnreadFrame), ledger)
    assert [entry.status for entry in ledger.entries] == ["charged"]


def test_a_refusal_takes_no_key(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "small.ledger", (1.0, 1e-4))
    with pytest.raises(BudgetExceeded):
        fitted(rows(UnreadFrame), ledger, privacy=(2.0, 1e-6))
    assert [entry.key for entry in ledger.entries] == [""]
    assert fitted(rows(), ledger) == fitted(rows(UnreadFrame), ledger)


def test_sites_are_charged_and_drawn_once_together(ledger: Ledger) -> None:
    def tables(kind: type[pd.DataFrame] = pd.DataFrame) -> dict[str, pd.DataFrame]:
        return {"north": rows(kind), "south": rows(kind)}

    first = fitted(tables(), ledger)
    again = fitted(tables(UnreadFrame), ledger)
    assert again == first
    assert again.privacy == first.privacy
    assert again["south"].ledger == first["south"].ledger
    assert ledger.spent.epsilon == 2.0
    assert [entry.key for entry in ledger.entries] == ["monday-run"] * 2
    others = ({"south": rows(UnreadFrame), "north": rows(UnreadFrame)}, {"north": rows(UnreadFrame)})
    for other in (*others, rows(UnreadFrame)):
        with pytest.raises(LedgerError, match="another plan"):
            fitted(other, ledger)


def test_disjoint_sites_share_a_line_and_a_key(ledger: Ledger) -> None:
    schema = dpglm.Schema.of({**SCHEMA}, sites="disjoint")
    first = fitted({"north": rows(), "south": rows()}, ledger, schema=schema)
    unread = {"north": rows(UnreadFrame), "south": rows(UnreadFrame)}
    assert fitted(unread, ledger, schema=schema) == first
    assert ledger.spent.epsilon == 1.0
    with pytest.raises(LedgerError) as error:
        fitted({"north": rows(UnreadFrame), "east": rows(UnreadFrame)}, ledger, schema=schema)
    assert "other sites" in told(error).found


@pytest.mark.parametrize("quartiles", [False, True])
def test_profiles_are_charged_and_drawn_once(ledger: Ledger, quartiles: bool) -> None:
    def described(kind: type[pd.DataFrame], *, sites: bool, key: str) -> Any:
        data: Any = {"north": rows(kind), "south": rows(kind)} if sites else rows(kind)
        return dpglm.describe(data, schema=SCHEMA, quartiles=quartiles, privacy=1.0, ledger=ledger, key=key)

    for sites in (False, True):
        first = described(pd.DataFrame, sites=sites, key=f"profile {sites}")
        again = described(UnreadFrame, sites=sites, key=f"profile {sites}")
        assert again == first
        assert str(again.summary()) == str(first.summary())
        assert again.privacy == first.privacy
    assert ledger.spent.epsilon == 3.0
    with pytest.raises(LedgerError, match="another plan"):
        fitted(rows(UnreadFrame), ledger, key="profile False")


@pytest.mark.papers
def test_a_search_is_charged_and_drawn_once(ledger: Ledger) -> None:
    def tuned(data: pd.DataFrame) -> dpglm.FitResult:
        grid = {"penalty": ["l1", "l2"]}
        return dpglm.tune(
            "y ~ x", data, grid=grid, schema=SCHEMA, privacy=2.0, ledger=ledger, key="search", progress=False
        )

    assert tuned(rows()) == tuned(rows(UnreadFrame))
    assert ledger.spent.epsilon == 2.0


def test_a_key_wants_a_ledger_and_a_private_fit(ledger: Ledger) -> None:
    with pytest.raises(MethodError, match="without a ledger"):
        fitted(rows(UnreadFrame), None)
    with pytest.raises(PrivacyError, match="not private"):
        fitted(rows(UnreadFrame), ledger, seed=1)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    "key", ["", " ", "a  b", "two\nlines", "x" * 201, "\x1b[31m", "\ud800", 7, b"key", ["k"]]
)
def test_what_is_no_key_is_refused_and_not_repeated(ledger: Ledger, key: Any) -> None:
    head = ledger.head
    with pytest.raises(LedgerError) as error:
        fitted(rows(UnreadFrame), ledger, key=key)
    assert "key" in told(error).found
    assert ledger.head == head


def test_answers_are_kept_once_and_for_a_charge_only(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="nothing was charged"):
        ledger.keep("no charge", {"": "an answer"})
    plan = dpglm.plan("y ~ x", SCHEMA, privacy=(1.0, 1e-6))
    charge = (plan.guarantee, plan.what, plan.fingerprint)
    assert ledger.kept("direct", [charge]) is None
    entry = ledger.charge(plan.guarantee, what=plan.what, plan=plan.fingerprint, key="direct")
    with pytest.raises(LedgerError, match="no answer is kept"):
        ledger.charge(plan.guarantee, what=plan.what, plan=plan.fingerprint, key="direct")
    ledger.keep("direct", {"": "an answer"})
    assert ledger.kept("direct", [charge]) == (entry, {"": "an answer"})
    with pytest.raises(LedgerError, match="has finished meanwhile"):
        ledger.charge(plan.guarantee, what=plan.what, plan=plan.fingerprint, key="direct")
    with pytest.raises(LedgerError, match="kept already"):
        ledger.keep("direct", {"": "another answer"})


def test_a_ledger_without_keys_is_the_file_that_it_was(ledger: Ledger) -> None:
    fitted(rows(), ledger, key=None)
    assert b"answers" not in ledger.path.read_bytes()
    assert all('"key"' not in line.content for line in log.Log(ledger.path).read())


def test_the_ledger_lines_of_other_fits_are_not_kept_with_an_answer(ledger: Ledger) -> None:
    """They would make a ledger of n answers grow with n squared."""
    for number in range(3):
        ledger.charge(fitted(rows(), ledger, key=f"k{number}").privacy, what="a long line " * 100)
    sizes = [len(next(iter(_texts(ledger, f"k{number}").values()))) for number in range(3)]
    assert max(sizes) - min(sizes) < 400


def _texts(ledger: Ledger, key: str) -> dict[str, str]:
    (digest,) = ledger._records().keyed[key].answers.values()
    return {"": ledger._log.answer(digest)}
