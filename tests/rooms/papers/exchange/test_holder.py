"""A holder: charged before rows are read, each release once, the same bytes to the same question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.curator.curator import Curator
from dpglm.errors import (
    BudgetExceeded,
    ExchangeError,
    LedgerError,
    MethodError,
    PrivacyError,
    SchemaError,
)
from dpglm.exchange import Holder
from dpglm.exchange.messages import Answer, Ask, Done, Hello, Message, Start, Started, packed, read_message
from dpglm.mechanisms.gradient import Gradient
from dpglm.papers.dlr.dla import DLA
from dpglm.papers.dlr.dlvp import DLP, DLVP
from dpglm.papers.radmm.admm import DPADMM
from tests.rooms.papers.test_dlr import COLUMNS, FORMULA, SCHEMA, table

pytestmark = pytest.mark.papers

RUN, SITE, ROUNDS = "monday-run", "north", 3
ROWS = table(0, 60)
AT = np.array([0.1, -0.2, 0.3])


def plan(steps: int = ROUNDS, **options: Any) -> dpglm.Plan:
    return dpglm.plan(FORMULA, SCHEMA, method=DLVP(steps=steps), **({"privacy": (1.0, 1e-6)} | options))


def ledger(folder: Path, epsilon: float = 3.0) -> dpglm.Ledger:
    return dpglm.Ledger(folder / "north.ledger", budget=(epsilon, 1e-3), dataset=SITE)


def holder(folder: Path, **options: Any) -> Holder:
    given = {"site": SITE, "run": RUN} | options
    path = folder / "north.ledger"
    given.setdefault("ledger", path if path.exists() else ledger(folder))
    return Holder(given.pop("plan", plan()), given.pop("data", ROWS), **given)


def hello(which: dpglm.Plan | None = None) -> bytes:
    return Hello(RUN, SITE, (which or plan()).fingerprint, dpglm.__version__).to_bytes()


def ask(number: int, at: Any = AT, release: str = "gradient") -> bytes:
    return Ask(RUN, SITE, number, release, packed(np.asarray(at))).to_bytes()


def answers(one: Holder, *numbers: int) -> list[bytes]:
    one.reply(hello())
    return [one.reply(Start(RUN, SITE).to_bytes()), *(one.reply(ask(number)) for number in numbers)]


def read(content: bytes) -> Message:
    return read_message(content, run=RUN, site=SITE)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The releases that a curator ran."""
    seen: list[str] = []
    run = Curator.ask

    def asking(self: Curator, release: Any, at: Any = None) -> Any:
        seen.append(release.name)
        return run(self, release, at)

    monkeypatch.setattr(Curator, "ask", asking)
    return seen


def test_a_run_is_charged_at_its_start_and_before_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, own = holder(tmp_path), ledger(tmp_path)
    seen: list[int] = []
    count = one._table.design.row_count
    monkeypatch.setattr(one._table.design, "row_count", lambda: seen.append(len(own.entries)) or count())
    one.reply(hello())
    assert own.entries == ()
    assert read(one.reply(Start(RUN, SITE).to_bytes())) == Started(RUN, SITE, 60)
    (entry,) = own.entries
    assert (entry.key, entry.plan) == ("monday-run, site north", plan().fingerprint)
    assert entry.what.endswith("at site 'north' in run 'monday-run'")
    assert set(seen) == {1}


def test_asked_twice_it_sends_the_same_bytes_and_draws_nothing(tmp_path: Path, drawn: list[str]) -> None:
    one = holder(tmp_path)
    first = answers(one, 0, 1)
    assert answers(one, 0, 1) == first
    again = holder(tmp_path)  # another process, later
    assert answers(again, 0, 1, 2)[:3] == first
    assert len(drawn) == ROUNDS
    assert len(ledger(tmp_path).entries) == 1
    assert again.all_answered
    assert not again.finished
    assert again.reply(Done(RUN, SITE).to_bytes()) == b""
    assert holder(tmp_path).finished


def test_answers_are_those_of_the_release_with_fresh_noise(tmp_path: Path) -> None:
    first, second = answers(holder(tmp_path), 0, 1)[1:]
    numbers = [np.frombuffer(read(content).body) for content in (first, second)]  # type: ignore[attr-defined]
    assert all(values.shape == (3,) for values in numbers)
    assert not np.array_equal(*numbers)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (ask(0, AT + 1.0), "another 'ask 0' than the one that was answered"),
        (ask(2), "question 2, where 1 of 3 are answered"),
        (ask(1, AT[:2]), "question 1 with 16 bytes of numbers"),
        (ask(1, [np.nan, 0.0, 0.0]), "question 1 with numbers that are not finite"),
        (ask(1, [1e300, 0.0, 0.0]), "question 1 with numbers that are not finite"),
        (ask(1, AT, "rows"), "question 1 for another release"),
        (hello(plan(2)), "another 'hello' than the one"),
        (Answer(RUN, SITE, 1, b"").to_bytes(), "a message 'answer' to a holder"),
        (Ask(RUN, "south", 1, "gradient", packed(AT)).to_bytes(), "another run or site"),
        (Ask("tuesday", SITE, 1, "gradient", packed(AT)).to_bytes(), "another run or site"),
    ],
)
def test_other_questions_are_refused_before_rows_are_read(
    content: bytes, found: str, tmp_path: Path, drawn: list[str]
) -> None:
    one = holder(tmp_path)
    answers(one, 0)
    with pytest.raises(ExchangeError, match=f"at site 'north', .*{found}"):
        one.reply(content)
    assert len(drawn) == 1
    assert answers(one, 0, 1)  # and it goes on


def test_nothing_is_answered_before_the_plan_and_the_charge(tmp_path: Path, drawn: list[str]) -> None:
    one = holder(tmp_path)
    for content in (Start(RUN, SITE).to_bytes(), ask(0)):
        with pytest.raises(ExchangeError, match="before the coordinator's plan"):
            one.reply(content)
    one.reply(hello())
    with pytest.raises(ExchangeError, match="question 0 before the charge"):
        one.reply(ask(0))
    assert ledger(tmp_path).entries == ()
    assert drawn == []


def test_no_release_runs_beyond_the_plan(tmp_path: Path) -> None:
    one = holder(tmp_path)
    answers(one, 0, 1, 2)
    with pytest.raises(ExchangeError, match="question 3, where 3 of 3 are answered"):
        one.reply(ask(3))


def test_a_coordinator_with_another_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match=r"another plan .* than the one approved there"):
        holder(tmp_path).reply(hello(plan(2)))
    older = Hello(RUN, SITE, plan(2).fingerprint, "0.0.1").to_bytes()
    with pytest.raises(ExchangeError, match=r"by dpglm 0\.0\.1"):
        holder(tmp_path).reply(older)
    assert ledger(tmp_path).entries == ()


def test_a_ledger_that_does_not_cover_the_plan_lets_nothing_out(tmp_path: Path, drawn: list[str]) -> None:
    ledger(tmp_path, epsilon=0.5)
    one = holder(tmp_path)
    one.reply(hello())
    for _ in range(2):
        with pytest.raises(BudgetExceeded):
            one.reply(Start(RUN, SITE).to_bytes())
    with pytest.raises(ExchangeError, match="before the charge"):
        one.reply(ask(0))
    assert drawn == []


def test_a_charge_without_its_journal_is_the_end_of_the_run(tmp_path: Path, drawn: list[str]) -> None:
    answers(holder(tmp_path), 0)
    (path,) = tmp_path.glob("*.journal")
    path.unlink()
    for _ in range(2):
        with pytest.raises(ExchangeError, match="was charged, and its journal is gone"):
            holder(tmp_path)
    assert not list(tmp_path.glob("*.journal"))
    other = holder(tmp_path, run="tuesday-run")  # charged anew
    assert len(drawn) == 1
    assert not other.finished


def test_a_journal_belongs_to_its_ledger_run_site_and_plan(tmp_path: Path) -> None:
    path = tmp_path / "own.journal"
    answers(holder(tmp_path, journal=path), 0)
    (tmp_path / "other").mkdir()
    with pytest.raises(ExchangeError, match="has a journal, and another ledger"):
        holder(tmp_path, journal=path, ledger=ledger(tmp_path / "other"))
    with pytest.raises(LedgerError, match="another plan was charged"):
        holder(tmp_path, journal=path, plan=plan(2))
    for other in ({"run": "tuesday-run"}, {"site": "south"}):
        with pytest.raises(ExchangeError, match="a journal of another run, site or plan"):
            holder(tmp_path, journal=path, **other)
    with pytest.raises(ExchangeError, match="a journal of another run, site or plan"):
        holder(tmp_path, journal=ledger(tmp_path).path, run="tuesday-run")


def test_a_torn_or_changed_journal_is_found(tmp_path: Path) -> None:
    path = tmp_path / "own.journal"
    answers(holder(tmp_path, journal=path), 0)
    content = bytearray(path.read_bytes())
    place = content.index(b'"ask 0"')
    content[place + 5 : place + 6] = b"1"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="tampered"):
        holder(tmp_path, journal=path)


def test_a_charge_whose_start_was_not_kept_is_not_charged_again(tmp_path: Path) -> None:
    one = holder(tmp_path)
    one.reply(hello())
    one._charge()  # and the process ends here
    assert answers(holder(tmp_path), 0)
    assert len(ledger(tmp_path).entries) == 1


def test_what_another_process_kept_first_is_what_leaves(tmp_path: Path, drawn: list[str]) -> None:
    one, other = holder(tmp_path), holder(tmp_path)
    answers(one)
    answers(other)
    assert one.reply(ask(0)) == other.reply(ask(0))
    assert len(drawn) == 2  # both drew, and one draw left
    assert len(ledger(tmp_path).entries) == 1


def test_an_interrupt_between_draw_and_journal_lets_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: list[str]
) -> None:
    one = holder(tmp_path)
    answers(one)
    with monkeypatch.context() as patched:
        patched.setattr(one._journal, "keep", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            one.reply(ask(0, AT))
    assert one.reply(ask(0, AT + 1.0))  # even another point: nothing was told
    assert len(drawn) == 2


def test_another_number_of_rows_after_a_restart_is_refused(tmp_path: Path) -> None:
    answers(holder(tmp_path), 0)
    other = holder(tmp_path, data=table(0, 61))
    with pytest.raises(ExchangeError, match="another number of rows than at the start"):
        other.reply(ask(1))


def test_a_private_number_of_rows_is_declared_and_not_sent(tmp_path: Path) -> None:
    budget = dpglm.Privacy(1.0, 1e-6, relation="add-remove")
    declared = dpglm.Schema.of(COLUMNS, sites="disjoint", rows=100)
    own = dpglm.Ledger(tmp_path / "own", budget=dpglm.Privacy(3.0, 1e-3, relation="add-remove"))
    shared = dpglm.plan(FORMULA, declared, method=DLVP(steps=2), privacy=budget)
    one = holder(tmp_path, plan=shared, ledger=own, rows=50)
    first: Any = read(one.reply(hello(shared)))
    assert first.rows == 50
    assert first.plan != shared.fingerprint
    assert read(one.reply(Start(RUN, SITE).to_bytes())) == Started(RUN, SITE, None)


@pytest.mark.parametrize("method", [DLA(), DLP(), "objective"], ids=["dla", "dlp", "objective"])
def test_methods_whose_messages_are_no_noisy_releases_are_refused(method: Any) -> None:
    budget: Any = None if isinstance(method, DLA) else (1.0, 1e-6)
    spec = dpglm.ModelSpec.of(FORMULA, SCHEMA, method=method, privacy=budget, penalty="l2")
    for verb in (lambda: Holder(spec, ROWS, site=SITE, run=RUN, ledger=None, seed=1),):
        with pytest.raises(MethodError, match="over several processes"):
            verb()


def test_plans_are_objects_specifications_or_files(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan().specification.to_json())
    for each in (plan(), plan().specification, path, str(path)):
        one = Holder(each, ROWS, site=SITE, run=RUN, ledger=None, seed=1)
        assert read(one.reply(hello())).seeded  # type: ignore[attr-defined]
    admm = dpglm.plan(FORMULA, SCHEMA, method=DPADMM(steps=2), privacy=(1.0, 1e-6))
    with pytest.raises(MethodError, match="deals its rows to parties"):
        Holder(admm, ROWS, site=SITE, run=RUN, ledger=None, seed=1)
    Holder(admm.specification, ROWS, site=SITE, run=RUN, ledger=None, seed=1)
    for wrong in (3, tmp_path / "missing"):
        with pytest.raises(MethodError, match="a plan"):
            Holder(wrong, ROWS, site=SITE, run=RUN, ledger=None, seed=1)  # type: ignore[arg-type]
    path.write_text("{}")
    with pytest.raises(SchemaError):
        Holder(path, ROWS, site=SITE, run=RUN, ledger=None, seed=1)


def test_without_a_ledger_only_seeded_noise_is_sent(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no ledger"):
        holder(tmp_path, ledger=None)
    with pytest.raises(LedgerError, match="beside a seed"):
        holder(tmp_path, seed=1)
    with pytest.raises(LedgerError, match="beside a seed"):
        holder(tmp_path, ledger=None, seed=1, journal=tmp_path / "j")
    assert not list(tmp_path.glob("*journal"))


@pytest.mark.parametrize(
    ("name", "value"), [("run", ""), ("run", "a\nb"), ("run", "x" * 81), ("run", 3), ("site", "")]
)
def test_names_are_public_words(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises((ExchangeError, SchemaError)):
        holder(tmp_path, **{name: value})


def test_a_table_without_a_column_costs_nothing(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="at site 'north'"):
        holder(tmp_path, data=ROWS.drop(columns="a"))
    assert ledger(tmp_path).entries == ()


def test_a_ledger_in_another_relation_costs_nothing(tmp_path: Path) -> None:
    own = dpglm.Ledger(tmp_path / "own", budget=dpglm.Privacy(3.0, 1e-3, relation="add-remove"))
    one = holder(tmp_path, ledger=own)
    one.reply(hello())
    with pytest.raises(PrivacyError, match="replace-one"):
        one.reply(Start(RUN, SITE).to_bytes())
    assert own.entries == ()


def test_the_plan_has_gradients_only() -> None:
    assert all(isinstance(release, Gradient) for release in plan().releases.releases)
