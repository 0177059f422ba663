"""A coordinator without rows: the result of one process, and an error that names the site for all else."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.errors import ExchangeError, MethodError, PermitError, SchemaError, StoreError
from dpglm.exchange import Box, Folder, InProcess, Transcript
from dpglm.exchange.asked import Asked
from dpglm.exchange.coordinator import RowsElsewhere, _Releases
from dpglm.exchange.journal import Journal
from dpglm.exchange.messages import Answer, Hello, Message, Refusal, Started, packed, read_message
from dpglm.papers.dlr.dlvp import DLVP
from dpglm.papers.radmm.admm import DPADMM
from dpglm.spec.sites import site_seeds
from tests.rooms.papers.test_dlr import COLUMNS, FORMULA, SCHEMA, table

pytestmark = pytest.mark.papers

RUN, ROUNDS = "monday-run", 3
TABLES = {"north": table(0, 60), "south": table(1, 80), "west": table(2, 50)}
SITES = tuple(TABLES)
RING = {"north": ["south"], "south": ["north", "west"], "west": ["south"]}


def plan(method: Any = None, **options: Any) -> dpglm.Plan:
    given = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "method": method or DLVP(steps=ROUNDS)} | options
    specification = dpglm.ModelSpec.of(FORMULA, given.pop("schema"), **given)
    return specification.among([specification.schema]).plan()


class Spoiling(InProcess):
    """Changes what comes from the south."""

    def __init__(self, spoilt: Callable[[Message], Message | bytes | None]) -> None:
        super().__init__()
        self._spoilt = spoilt

    def send(self, box: Box, message: bytes) -> None:
        if (box.site, box.way) == ("south", "answers"):
            changed = self._spoilt(read_message(message, run=box.run, site=box.site))
            if changed is None:
                return
            message = changed.to_bytes() if isinstance(changed, Message) else changed
        super().send(box, message)


@contextmanager
def holders(
    carrier: Any, which: dpglm.Plan, seed: int | None = 7, *, ended_by: float = 30.0, **options: Any
) -> Iterator[dict[str, Any]]:
    """Holders as threads, whose transcripts or errors are there afterwards; options by site."""
    ended: dict[str, Any] = {}

    def hold(site: str, own: dict[str, Any]) -> None:
        given = {"ledger": None, "seed": own_seed[site], "timeout": 20.0} | own
        try:
            ended[site] = dpglm.answer(
                given.pop("plan", which),
                given.pop("data", TABLES[site]),
                site=site,
                run=RUN,
                transport=carrier,
                **given,
            )
        except dpglm.errors.DpglmError as error:
            ended[site] = error

    own_seed = dict(zip(SITES, site_seeds(seed, len(SITES)), strict=True))
    threads = [
        threading.Thread(target=hold, args=(site, options.get(site, {})), daemon=True) for site in SITES
    ]
    for thread in threads:
        thread.start()
    yield ended
    for thread in threads:
        thread.join(ended_by)


def fitted(carrier: Any, which: dpglm.Plan, sites: Any = SITES, **options: Any) -> dpglm.FitResult:
    return dpglm.coordinate(which, sites, run=RUN, transport=carrier, **({"timeout": 20.0} | options))


# What comes back


@pytest.mark.parametrize(
    "method",
    [DLVP(steps=ROUNDS), DLVP(steps=ROUNDS, graph=RING), DPADMM(steps=ROUNDS)],
    ids=["dlvp", "ring", "admm"],
)
@pytest.mark.parametrize("way", ["in process", "folder"])
def test_the_result_is_that_of_one_process_to_the_last_bit(method: Any, way: str, tmp_path: Path) -> None:
    carrier = InProcess() if way == "in process" else Folder(tmp_path, every=0.01)
    which = plan(method)
    with holders(carrier, which):
        found = fitted(carrier, which)
    one: Any = dpglm.fit(
        FORMULA, TABLES, schema=SCHEMA, method=method, privacy=(1.0, 1e-6), seed=7, progress=False
    )
    assert found == one
    assert str(found.summary()) == str(one.summary())
    assert found.to_html() == one.to_html()
    np.testing.assert_array_equal(found.predict(TABLES["north"]), one.predict(TABLES["north"]))


def test_each_site_may_declare_its_own_private_number_of_rows() -> None:
    budget = dpglm.Privacy(1.0, 1e-6, relation="add-remove")
    counts = {"north": 50, "south": 100, "west": 30}
    declared = dpglm.Schema.of(COLUMNS, sites="disjoint", rows=70)
    which, carrier = plan(schema=declared, privacy=budget), InProcess()
    with holders(carrier, which, **{site: {"rows": rows} for site, rows in counts.items()}) as ended:
        found = fitted(carrier, which)
    for transcript in ended.values():
        transcript.check(which)
    data = {site: dpglm.declare(rows, replace(declared, rows=counts[site])) for site, rows in TABLES.items()}
    one: Any = dpglm.fit(FORMULA, data, method=DLVP(steps=ROUNDS), privacy=budget, seed=7, progress=False)
    assert found.n_rows is None
    np.testing.assert_array_equal(found.params, one.params)
    assert found._record.part.sites[1].plan_fingerprint == one._record.part.sites[1].plan_fingerprint


def test_a_private_fit_charges_each_ledger_and_is_saved_and_audited(tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in SITES}
    with holders(carrier, which, None, **{site: {"ledger": own[site]} for site in SITES}):
        found = fitted(carrier, which)
    assert found.private
    assert [book.spent.epsilon for book in own.values()] == [1.0, 1.0, 1.0]
    assert dpglm.load(found.save(tmp_path / "fit.json")) == found
    assert "60 rows" in str(found.summary())


# What left


def test_the_bytes_of_every_message_are_a_formula_of_public_numbers(tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    with holders(carrier, which) as ended:
        fitted(carrier, which, transcript=tmp_path / "transcript.json")
    whole = Transcript.read(tmp_path / "transcript.json")
    whole.check(which)
    p, version = len(which.names), len(dpglm.__version__)
    numbers = 4 * math.ceil(8 * p / 3)
    for line in whole.lines:
        size = (
            len('{"format":"dpglm-exchange/1","kind":"","run":"","site":""}')
            + len(line.kind)
            + len(RUN)
            + len(line.site)
        )
        if line.kind == "ask":
            size += len(',"number":,"release":"gradient","body":""') + len(str(line.number)) + numbers
        elif line.kind == "answer":
            size += len(',"number":,"body":""') + len(str(line.number)) + numbers
        elif line.kind == "hello":
            seeded = "true" if line.way == "from" else "false"
            size += len(f',"plan":"","version":"","rows":null,"seeded":{seeded}') + 64 + version
        elif line.kind == "started":
            size += len(',"rows":60')
        assert line.bytes == size, line
    kinds = ["hello", "hello", "start", "started", *["ask", "answer"] * ROUNDS, "done"]
    for site, own in ended.items():
        assert [line.kind for line in whole.at(site).lines] == kinds
        assert own.at(site).lines == whole.at(site).lines
        assert own.left(site) == whole.left(site) < 200 * (2 + ROUNDS) + ROUNDS * numbers


@pytest.mark.parametrize(
    "change", [{"bytes": 4000}, {"values": 60}, {"number": 7}, {"number": 0}], ids=lambda change: str(change)
)
def test_a_transcript_with_anything_else_is_found(change: dict[str, int], tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    with holders(carrier, which):
        fitted(carrier, which, transcript=tmp_path / "transcript.json")
    whole = Transcript.read(tmp_path / "transcript.json")
    place = next(i for i, line in enumerate(whole.lines) if line.kind == "answer" and line.number == 1)
    lines = (*whole.lines[:place], replace(whole.lines[place], **change), *whole.lines[place + 1 :])
    with pytest.raises(ExchangeError, match="at site"):
        replace(whole, lines=lines).check(which)
    with pytest.raises(ExchangeError, match="another plan"):
        whole.check(plan(DLVP(steps=2)))
    (tmp_path / "x").write_text('{"format": "dpglm-fit"}')
    with pytest.raises(StoreError, match="no transcript"):
        Transcript.read(tmp_path / "x")


# Faults


def failing(spoilt: Callable[[Message], Message | bytes | None], *, timeout: float = 20.0) -> str:
    which, carrier = plan(), Spoiling(spoilt)
    with (
        holders(carrier, which, ended_by=0.0, **{site: {"timeout": 3.0} for site in SITES}),
        pytest.raises(ExchangeError, match="at site 'south'") as caught,
    ):
        fitted(carrier, which, timeout=timeout)
    return str(caught.value)


def only(kind: type[Message], change: Callable[[Any], Any]) -> Callable[[Message], Any]:
    return lambda message: change(message) if isinstance(message, kind) else message


def body(values: Any) -> Callable[[Message], Any]:
    return only(Answer, lambda message: replace(message, body=packed(np.asarray(values))))


@pytest.mark.parametrize(
    ("spoilt", "found"),
    [
        (body([np.nan, 0.0, 0.0]), "numbers that are not finite"),
        (body([1e200, 0.0, 0.0]), "numbers that are not finite"),
        (body(np.zeros(4)), "32 bytes of numbers"),
        (body(np.zeros(60)), "480 bytes of numbers"),
        (only(Answer, lambda message: b"{}"), "format unknown"),
        (only(Answer, lambda message: b"x" * 2**20), "too long"),
        (only(Answer, lambda message: replace(message, site="north")), "another run or site"),
        (only(Answer, lambda message: replace(message, run="x")), "another run or site"),
        (only(Answer, lambda message: Started(RUN, "south", 3)), "another answer to 'start' than before"),
        (
            only(Hello, lambda message: replace(message, plan="ab" * 32, version="0.0.1")),
            "made by dpglm 0.0.1",
        ),
        (only(Hello, lambda message: replace(message, rows=1000)), "plan "),
        (only(Hello, lambda message: message.to_bytes().replace(b"exchange/1", b"exchange/0")), "exchange/0"),
        (only(Started, lambda message: replace(message, rows=None)), "no number of rows"),
        (only(Started, lambda message: Answer(RUN, "south", 0, b"")), "no answer to 'start'"),
        (
            only(Answer, lambda message: Refusal(RUN, "south", "OSError", "x" * 9000, "y", "z")),
            "OSError: xxx",
        ),
        (
            only(
                Answer,
                lambda message: replace(message, number=0, body=packed(np.full(3, message.number + 0.5))),
            ),
            "another answer to 'ask 0' than before",
        ),
    ],
)
def test_what_a_site_must_not_send_is_an_error_that_names_it(spoilt: Any, found: str) -> None:
    assert found in failing(spoilt, timeout=2.0 if found.startswith("no answer") else 20.0)


def test_a_site_that_stops_answering_is_named_and_charges_are_kept(tmp_path: Path) -> None:
    which, carrier = plan(), Spoiling(only(Answer, lambda message: message if message.number == 0 else None))
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in SITES}
    options: dict[str, Any] = {site: {"ledger": own[site], "timeout": 4.0} for site in SITES}
    with (
        holders(carrier, which, None, **options) as ended,
        pytest.raises(ExchangeError, match="at site 'south', no answer to 'ask 1' for 3 seconds") as caught,
    ):
        fitted(carrier, which, timeout=3)
    assert "agree on another run of the remaining ones; each of them is charged anew" in str(caught.value)
    assert all("no message for 4 seconds" in str(error) for error in ended.values())
    assert [book.spent.epsilon for book in own.values()] == [1.0, 1.0, 1.0]
    # The same run goes on where it was, once all are there again.
    carrier = Spoiling(lambda message: message)
    with holders(carrier, which, None, **options) as ended:
        fitted(carrier, which)
    assert all(isinstance(transcript, Transcript) for transcript in ended.values())
    assert [book.spent.epsilon for book in own.values()] == [1.0, 1.0, 1.0]


def test_the_others_go_on_in_another_run_which_is_charged_anew(tmp_path: Path) -> None:
    which = plan()
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in ("north", "west")}
    for run in ("monday-run", "tuesday-run"):
        carrier = InProcess()
        shared: dict[str, Any] = {"run": run, "transport": carrier, "timeout": 20.0}
        threads = [
            threading.Thread(
                target=dpglm.answer,
                args=(which, TABLES[site]),
                kwargs={"site": site, "ledger": own[site], **shared},
            )
            for site in own
        ]
        for thread in threads:
            thread.start()
        dpglm.coordinate(which, ["north", "west"], **shared)
        for thread in threads:
            thread.join(30.0)
    assert [book.spent.epsilon for book in own.values()] == [2.0, 2.0]


def test_a_site_with_another_plan_costs_nobody_anything(tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in SITES}
    options: dict[str, Any] = {site: {"ledger": own[site], "timeout": 3.0} for site in SITES}
    options["south"]["plan"] = plan(DLVP(steps=2))
    with (
        holders(carrier, which, None, **options),
        pytest.raises(ExchangeError, match="at site 'south', ExchangeError: a coordinator with another plan"),
    ):
        fitted(carrier, which)
    assert all(book.entries == () for book in own.values())


def test_a_site_that_cannot_pay_is_named(tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    own = {
        site: dpglm.Ledger(tmp_path / site, budget=(0.5 if site == "south" else 3.0, 1e-3)) for site in SITES
    }
    options: dict[str, Any] = {site: {"ledger": own[site], "timeout": 3.0} for site in SITES}
    with (
        holders(carrier, which, None, **options),
        pytest.raises(ExchangeError, match="at site 'south', BudgetExceeded"),
    ):
        fitted(carrier, which)


def test_a_lost_or_doubled_message_changes_nothing() -> None:
    lost: set[str] = set()

    class Bad(InProcess):
        def send(self, box: Box, message: bytes) -> None:
            name = f"{box.site} {box.way} {read_message(message, run=box.run, site=box.site).name}"
            if box.site == "south" and name not in lost and "1" in name:
                lost.add(name)
                return
            super().send(box, message)
            super().send(box, message)

    which, carrier = plan(), Bad()
    with holders(carrier, which):
        found = fitted(carrier, which)
    one: Any = which.fit(TABLES, seed=7, progress=False)
    assert lost == {"south asks ask 1", "south answers ask 1"}
    assert found == one


# Arguments, and what a method must not do


def test_a_coordinator_with_its_journal_needs_no_holder_for_what_it_has(tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    with holders(carrier, which):
        found = fitted(carrier, which, journal=tmp_path / "journal")
    assert fitted(InProcess(), which, journal=tmp_path / "journal", timeout=0.1) == found
    with pytest.raises(ExchangeError, match="a journal of another run, site or plan"):
        fitted(InProcess(), which, SITES[:2], journal=tmp_path / "journal")


def test_sites_timeouts_and_graphs_are_checked_before_anything_is_sent() -> None:
    for wrong in ([], "north", ["north", "north"], ["north", 3], ["north", "NORTH"], {"north": 1}):
        with pytest.raises(SchemaError):
            fitted(InProcess(), plan(), wrong)
    with pytest.raises(MethodError, match="a graph with"):
        fitted(InProcess(), plan(DLVP(steps=2, graph=RING)), ["north", "south"])
    for seconds in (0, -1.0, "x", math.nan, math.inf):
        with pytest.raises(MethodError, match="timeout"):
            fitted(InProcess(), plan(), timeout=seconds)
    with pytest.raises(StoreError):
        fitted(InProcess(), plan(), transcript="/nowhere/transcript.json")


def test_a_method_gets_no_rows_and_no_release_out_of_order() -> None:
    rows = RowsElsewhere(3, None)
    for read in (rows.row_count, rows.chunks):
        with pytest.raises(PermitError, match="rows that another process holds"):
            read()
    which = plan()
    asked = Asked("north", RUN, 3, InProcess(), Journal(None, {}), 0.1)
    run: Any = type("Run", (), {"plan": which})
    ask = _Releases(asked, run)
    with pytest.raises(PermitError, match="not the next one of the plan"):
        ask(which.releases.releases[1], np.zeros(3))
    with pytest.raises(PermitError, match="at no point"):
        ask(which.releases.releases[0])
    with pytest.raises(ExchangeError, match="question 0, made of answers, with numbers that are not finite"):
        ask(which.releases.releases[0], np.full(3, np.inf))
