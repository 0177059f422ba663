"""Sums under masks by messages: the fit of one process, sizes by formula, and keys that are refused."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.curator.secure_site import SecureSite, key_message
from dpglm.errors import ExchangeError, MethodError, PermitError
from dpglm.exchange import Box, Folder, Holder, InProcess, Transcript, sums
from dpglm.exchange.arguments import joint_plan
from dpglm.exchange.messages import (
    Answer,
    Ask,
    Hello,
    Key,
    Keys,
    Message,
    Start,
    packed,
    read_message,
)
from dpglm.exchange.sums import masks_run, size_of
from dpglm.methods.moments import Moments
from dpglm.methods.secure_sum import SecureSum
from dpglm.spec.sites import site_seeds

pytestmark = pytest.mark.papers

RUN = "monday-run"
SITES = ("north", "south", "west")
NUMBERS = {"x": (-1, 1), "z": (0, 10)}
DPSGD = {"name": "dpsgd", "options": {"steps": 4}}


def table(seed: int, rows: int, family: str) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x, z = random.uniform(-1, 1, rows), random.uniform(0, 10, rows)
    mean = 0.3 * z + x
    y: Any = np.clip(mean + random.normal(size=rows), -5, 5)
    if family == "binomial":
        y = np.where(random.uniform(size=rows) < 1.0 / (1.0 + np.exp(1.5 - mean)), "yes", "no")
    elif family == "poisson":
        y = np.minimum(random.poisson(np.exp(0.2 * mean)), 20)
    return pd.DataFrame({"x": x, "z": z, "y": y})


def tables(family: str = "gaussian") -> dict[str, Any]:
    return {site: table(place, 200 + place, family) for place, site in enumerate(SITES)}


def schema(family: str = "gaussian", **options: Any) -> dpglm.Schema:
    response: Any = {"gaussian": (-5, 5), "binomial": ["no", "yes"], "poisson": (0, 20)}[family]
    return dpglm.Schema.of(NUMBERS | {"y": response}, **({"sites": "disjoint"} | options))


def plan(method: Any = "moments", family: str = "gaussian", **options: Any) -> dpglm.Plan:
    given = {"schema": schema(family), "privacy": (1.0, 1e-6)} | options
    secure = method if isinstance(method, SecureSum) else SecureSum(method, sites=3)
    return dpglm.plan("y ~ x + z", given.pop("schema"), method=secure, family=family, **given)


@contextmanager
def holders(
    carrier: Any, which: dpglm.Plan, data: Any, seed: int | None = 7, **options: Any
) -> Iterator[dict[str, Any]]:
    """Holders as threads, whose transcripts or errors are there afterwards; options by site."""
    ended: dict[str, Any] = {}

    def hold(site: str, own: int | None) -> None:
        given = {"ledger": None, "seed": own, "timeout": 20.0} | options.get(site, {})
        try:
            ended[site] = dpglm.answer(which, data[site], site=site, run=RUN, transport=carrier, **given)
        except dpglm.errors.DpglmError as error:
            ended[site] = error

    seeds = site_seeds(seed, len(SITES))
    threads = [Thread(target=hold, args=each, daemon=True) for each in zip(SITES, seeds, strict=True)]
    for thread in threads:
        thread.start()
    yield ended
    for thread in threads:
        thread.join(20.0)


def fitted(carrier: Any, which: dpglm.Plan, sites: Any = SITES, **options: Any) -> dpglm.FitResult:
    return dpglm.coordinate(which, sites, run=RUN, transport=carrier, **({"timeout": 20.0} | options))


# What comes back


FITS = [("moments", "gaussian"), (DPSGD, "binomial"), (None, "poisson")]


@pytest.mark.parametrize(("method", "family"), FITS, ids=["moments", "dpsgd", "objective"])
@pytest.mark.parametrize("way", ["in process", "folder"])
def test_the_result_is_that_of_one_process_to_the_last_bit(
    method: Any, family: str, way: str, tmp_path: Path
) -> None:
    carrier = InProcess() if way == "in process" else Folder(tmp_path, every=0.01)
    which, data = plan(method, family), tables(family)
    with holders(carrier, which, data):
        found = fitted(carrier, which)
    one: Any = dpglm.fit(
        "y ~ x + z",
        data,
        schema=schema(family),
        method=SecureSum(method),
        family=family,
        privacy=(1.0, 1e-6),
        seed=7,
        progress=False,
    )
    assert found == one
    assert str(found.summary()) == str(one.summary())
    assert found.to_html() == one.to_html()
    assert found.n_rows == 603


def test_a_private_number_of_rows_is_that_of_all_sites_and_declared_in_the_plan() -> None:
    budget = dpglm.Privacy(1.0, 1e-6, relation="add-remove")
    which, carrier = plan(privacy=budget, schema=schema(rows=600)), InProcess()
    with holders(carrier, which, tables()) as ended:
        found = fitted(carrier, which)
    assert found == which.fit(tables(), seed=7, progress=False)
    assert found.n_rows is None
    for transcript in ended.values():
        transcript.check(which)
    with pytest.raises(MethodError, match="rows of one site"):
        Holder(which, tables()["north"], site="north", run=RUN, ledger=None, seed=1, rows=200)


def test_a_private_fit_charges_each_ledger_once_and_its_journals_go_on(tmp_path: Path) -> None:
    which, carrier, data = plan(), InProcess(), tables()
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in SITES}
    options: dict[str, Any] = {site: {"ledger": own[site]} for site in SITES}
    with holders(carrier, which, data, None, **options) as ended:
        found = fitted(carrier, which, journal=tmp_path / "journal", transcript=tmp_path / "sent.json")
    assert found.private
    assert [book.spent.epsilon for book in own.values()] == [1.0, 1.0, 1.0]
    assert own["north"].entries[0].key == "monday-run, site north"
    assert dpglm.load(found.save(tmp_path / "fit.json")) == found
    # The coordinator, started again, and the holders, made anew: the same bytes, and no charge.
    assert fitted(InProcess(), which, journal=tmp_path / "journal", timeout=0.1) == found
    for site in SITES:
        assert Holder(which, data[site], site=site, run=RUN, ledger=own[site]).finished
        sent = Transcript.read(tmp_path / "sent.json")
        assert ended[site].at(site).lines == sent.at(site).lines
    assert all(len(book.entries) == 1 for book in own.values())


# What left


@pytest.mark.parametrize(("method", "family"), FITS, ids=["moments", "dpsgd", "objective"])
def test_an_answer_has_sixteen_bytes_a_number_and_a_length_by_formula(
    method: Any, family: str, tmp_path: Path
) -> None:
    which, carrier = plan(method, family), InProcess()
    with holders(carrier, which, tables(family)):
        fitted(carrier, which, transcript=tmp_path / "sent.json")
    sent = Transcript.read(tmp_path / "sent.json")
    sent.check(which)
    sizes = [size_of(release, len(which.names)) for release in which.releases.releases]
    kinds = ["hello", "hello", "start", "started", "key", "key", "keys", "keys"]
    for site in SITES:
        lines = sent.at(site).lines
        assert [line.kind for line in lines] == [*kinds, *["ask", "answer"] * len(sizes), "done"]
        for line in lines:
            if line.kind == "answer":
                assert line.number is not None
                size = sizes[line.number]
                inside = (
                    len('{"at":,"format":"dpglm-secure-sum/1","release":,"run":"/","site":"","sum":""}')
                    + (4 if size.at is None else 2 + 64)
                    + len(str(line.number))
                    + len(which.fingerprint + RUN + site)
                    + 4 * math.ceil(16 * size.sums / 3)
                )
                around = len(
                    '{"format":"dpglm-exchange/1","kind":"answer","run":"","site":"","number":,"body":""}'
                )
                around += len(RUN + site + str(line.number))
                assert line.bytes == around + 4 * math.ceil(inside / 3)
                assert line.values == size.sums
            if line.kind == "ask":
                assert line.number is not None
                assert line.values == (sizes[line.number].at or 0)
    if family == "gaussian":
        p = len(which.names)
        assert (sizes[0].at, sizes[0].sums) == (None, 2 * p + 1)
        assert {(p + 1) * (p + 2) // 2 + 1} <= {size.sums for size in sizes}


def test_a_transcript_with_anything_else_is_found(tmp_path: Path) -> None:
    which, carrier = plan(), InProcess()
    with holders(carrier, which, tables()):
        fitted(carrier, which, transcript=tmp_path / "sent.json")
    whole = Transcript.read(tmp_path / "sent.json")
    place = next(i for i, line in enumerate(whole.lines) if (line.kind, line.number) == ("answer", 2))
    key = next(i for i, line in enumerate(whole.lines) if (line.kind, line.way) == ("keys", "from"))
    for at, change in ((place, {"bytes": 4000}), (place, {"values": 60}), (key, {"bytes": 40_000})):
        lines = (*whole.lines[:at], replace(whole.lines[at], **change), *whole.lines[at + 1 :])
        with pytest.raises(ExchangeError, match="at site 'north', a message"):
            replace(whole, lines=lines).check(which)


# Refused before a charge


def test_another_number_of_sites_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    class Silent(InProcess):
        def send(self, box: Box, message: bytes) -> None:
            raise AssertionError(message)

    for sites in (SITES[:2], (*SITES, "east")):
        with pytest.raises(MethodError, match=f"tables of {len(sites)} sites, for a plan of 3"):
            fitted(Silent(), plan(), sites)


def test_a_site_that_does_not_come_costs_nobody_anything(tmp_path: Path) -> None:
    which = plan()
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in SITES}
    options: dict[str, Any] = {site: {"ledger": own[site], "timeout": 1.5} for site in SITES}

    class Lost(InProcess):
        def send(self, box: Box, message: bytes) -> None:
            if (box.site, box.way) != ("south", "answers"):
                super().send(box, message)

    carrier = Lost()
    with (
        holders(carrier, which, tables(), None, **options),
        pytest.raises(ExchangeError, match="at site 'south', no answer to 'hello'"),
    ):
        fitted(carrier, which, timeout=0.5)
    assert all(book.entries == () for book in own.values())


def test_plans_that_sites_cannot_run_apart_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = dpglm.ModelSpec.of(
        "y ~ x + z", schema(), method=SecureSum(), family="gaussian", privacy=(1.0, 1e-6)
    )
    with pytest.raises(MethodError, match="without a number of sites"):
        joint_plan(spec)
    with pytest.raises(MethodError, match="sites: disjoint"):
        joint_plan(plan(schema=schema(sites=None)))
    assert joint_plan(plan().specification).fingerprint == plan().fingerprint
    monkeypatch.setattr(sums, "MOST_BYTES", 4400)
    with pytest.raises(MethodError, match=r"a 'classes of row length' of 18 sums, in messages of \d+ bytes"):
        joint_plan(plan())


@pytest.mark.parametrize(
    "method", [Moments(), Moments(scales="declared"), "dpsgd"], ids=["sd", "declared", "dpsgd"]
)
@pytest.mark.parametrize("columns", [1, 4, 9])
def test_sizes_of_messages_and_points_are_what_a_fit_sends(
    method: Any, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(columns)
    names = [f"x{place}" for place in range(columns)]
    data = {
        site: pd.DataFrame(random.uniform(0, 1, (80, columns)), columns=names).assign(
            y=random.uniform(0, 1, 80)
        )
        for site in ("a", "b")
    }
    declared = dpglm.Schema.of(dict.fromkeys([*names, "y"], (0, 1)), sites="disjoint")
    honest, seen = SecureSite.masked, list[bool]()

    def measured(self: SecureSite, release: int, at: Any = None) -> bytes:
        message = honest(self, release, at)
        count = len(base64.b64decode(json.loads(message)["sum"])) // 16
        planned = size_of(self._releases[release], columns + 1)
        seen.append((planned.sums, planned.at) == (count, None if at is None else len(at)))
        return message

    monkeypatch.setattr(SecureSite, "masked", measured)
    dpglm.fit(
        f"y ~ {' + '.join(names)}",
        data,
        schema=declared,
        method=SecureSum(method),
        family="gaussian",
        privacy=(1.0, 1e-6),
        progress=False,
    )
    assert seen
    assert all(seen)


# Keys


class Spoiling(InProcess):
    """Changes what crosses with the south, one way."""

    def __init__(self, way: str, spoilt: Callable[[Any], Message | bytes | None]) -> None:
        super().__init__()
        self._way, self._spoilt = way, spoilt

    def send(self, box: Box, message: bytes) -> None:
        if (box.site, box.way) == ("south", self._way):
            changed = self._spoilt(read_message(message, run=box.run, site=box.site))
            if changed is None:
                return
            message = changed.to_bytes() if isinstance(changed, Message) else changed
        super().send(box, message)


def failing(way: str, spoilt: Callable[[Any], Any], which: dpglm.Plan | None = None) -> str:
    which = which or plan()
    carrier, patient = Spoiling(way, spoilt), {site: {"timeout": 1.0} for site in SITES}
    with holders(carrier, which, tables(), **patient), pytest.raises(ExchangeError) as caught:
        fitted(carrier, which, timeout=10.0)
    return str(caught.value)


def only(kind: type[Message], change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda message: change(message) if isinstance(message, kind) and message.body else message


def key_of(site: str, run: str, key: bytes = b"k" * 32) -> Callable[[Any], Any]:
    return only(Key, lambda message: replace(message, body=key_message(run, site, key)))


OWN = masks_run(plan(), RUN)


@pytest.mark.parametrize(
    ("spoilt", "found"),
    [
        (key_of("west", OWN), "a key of another site or run"),
        (key_of("south", "tuesday-run"), "a key of another site or run"),
        (key_of("south", OWN, b"k" * 31), "a key that is damaged"),
        (only(Key, lambda message: replace(message, body=b"x")), "a key that is damaged"),
        (only(Key, lambda message: replace(message, body=b"")), "a key that is damaged"),
        (
            only(Key, lambda message: replace(message, body=message.body.replace(b",", b",\n"))),
            "a key of another site or run",
        ),
    ],
)
def test_a_key_that_a_site_must_not_send_is_an_error_that_names_it(spoilt: Any, found: str) -> None:
    def again(message: Any) -> Any:  # also the empty body that asks
        return spoilt(message) if not isinstance(message, Key) or message.body else message

    text = failing("answers", again)
    assert "at site 'south', " + found in text


def test_the_key_of_another_site_is_refused() -> None:
    seen, north = dict[str, bytes](), Event()

    class Copying(InProcess):
        def send(self, box: Box, message: bytes) -> None:
            said = read_message(message, run=box.run, site=box.site)
            if isinstance(said, Key) and said.body:
                seen[box.site] = base64.b64decode(json.loads(said.body)["key"])
                if box.site == "west":
                    north.wait(10.0)  # which answers first
                    said = replace(said, body=key_message(OWN, "west", seen["north"]))
                    message = said.to_bytes()
                elif box.site == "north":
                    north.set()
            super().send(box, message)

    carrier, patient = Copying(), {site: {"timeout": 1.0} for site in SITES}
    with holders(carrier, plan(), tables(), **patient), pytest.raises(ExchangeError) as caught:
        fitted(carrier, plan())
    assert "the key of site 'north'" in str(caught.value)
    assert "at site 'west'" in str(caught.value)


def told(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Any], Any]:
    return only(Keys, lambda message: replace(message, body=b"\n".join(change(message.body.split(b"\n")))))


@pytest.mark.parametrize(
    ("spoilt", "found"),
    [
        (told(lambda keys: [keys[0], key_message(OWN, "south", b"k" * 32), keys[2]]), "not its own"),
        (told(lambda keys: keys[:2]), "keys of 2 sites at site 'south'"),
        (told(lambda keys: [*keys, key_message(OWN, "east", b"k" * 32)]), "keys of 4 sites"),
        (told(lambda keys: [key_message("other", "north", b"k" * 32), *keys[1:]]), "of another run"),
        (told(lambda keys: [*keys[:2], key_message(OWN, "west", bytes(32))]), "'west' that is no X25519"),
        (told(lambda keys: [b"{}"]), "damaged"),
    ],
)
def test_foreign_keys_are_refused_by_the_site_that_is_told_them(spoilt: Any, found: str) -> None:
    text = failing("asks", spoilt)
    assert "at site 'south', ExchangeError: " in text
    assert found in text


@pytest.mark.parametrize(
    ("spoilt", "found"),
    [
        (lambda body: body[:-3], "a masked sum that is damaged"),
        (lambda body: packed(np.zeros(7)), "a masked sum that is damaged"),
        (lambda body: sums.masked_bytes(OWN, "south", 0, sums.Size(8, None)), "128 bytes of sums"),
        (
            lambda body: sums.masked_bytes(OWN, "north", 0, sums.Size(7, None)),
            "of another run, release or point",
        ),
        (
            lambda body: sums.masked_bytes(OWN, "south", 1, sums.Size(7, None)),
            "of another run, release or point",
        ),
        (lambda body: sums.masked_bytes("run", "south", 0, sums.Size(7, None)), "of another run"),
        (
            lambda body: sums.masked_bytes(OWN, "south", 0, sums.Size(7, 3)),
            "of another run, release or point",
        ),
    ],
)
def test_a_sum_that_a_site_must_not_send_is_an_error_that_names_it(spoilt: Any, found: str) -> None:
    text = failing("answers", only(Answer, lambda message: replace(message, body=spoilt(message.body))))
    assert "at site 'south', " in text
    assert found in text


# A holder


def read(content: bytes) -> Any:
    return read_message(content, run=RUN, site="north")


def holder(folder: Path, which: dpglm.Plan | None = None) -> Holder:
    path = folder / "north.ledger"
    own: Any = path if path.exists() else dpglm.Ledger(path, budget=(3.0, 1e-3))
    return Holder(
        which or plan(DPSGD, "binomial"), tables("binomial")["north"], site="north", run=RUN, ledger=own
    )


def key_of_holder(one: Holder) -> bytes:
    hello = Hello(RUN, "north", one._approved.fingerprint, dpglm.__version__)
    for message in (hello, Start(RUN, "north")):
        one.reply(message.to_bytes())
    body: bytes = read(one.reply(Key(RUN, "north", b"").to_bytes())).body
    return body


def acquainted(one: Holder) -> bytes:
    """The message that told it the keys."""
    others = [
        key_message(masks_run(one._approved, RUN), site, bytes([9 + place]) * 32)
        for place, site in enumerate(SITES[1:])
    ]
    message = Keys(RUN, "north", b"\n".join([key_of_holder(one), *others])).to_bytes()
    assert read(one.reply(message)) == Keys(RUN, "north", b"")
    return message


def ask(number: int, at: Any = (0.1, 0.2, 0.3)) -> bytes:
    body = b"" if at is None else packed(np.array(at))
    return Ask(RUN, "north", number, "gradient", body).to_bytes()


def test_a_holder_that_is_started_again_sends_again_and_then_refuses(tmp_path: Path) -> None:
    one = holder(tmp_path)
    keys = acquainted(one)
    sent = [one.reply(ask(0)), one.reply(ask(1))]
    assert [one.reply(ask(0)), one.reply(ask(1))] == sent
    again = holder(tmp_path)
    assert key_of_holder(again) == key_of_holder(one)
    assert read(again.reply(keys)) == Keys(RUN, "north", b"")
    assert [again.reply(ask(0)), again.reply(ask(1))] == sent
    with pytest.raises(ExchangeError, match="at site 'north', a process without the mask key") as caught:
        again.reply(ask(2))
    assert "Begin another run, which is charged anew" in str(caught.value)
    # The process that has the key goes on.
    assert one.reply(ask(2)) == holder(tmp_path).reply(ask(2))
    assert len(dpglm.Ledger(tmp_path / "north.ledger").entries) == 1


def test_a_holder_that_is_started_again_before_the_keys_came_refuses_them(tmp_path: Path) -> None:
    key_of_holder(holder(tmp_path))
    with pytest.raises(ExchangeError, match="a process without the mask key"):
        acquainted(holder(tmp_path))


def test_of_two_processes_the_one_whose_key_left_goes_on(tmp_path: Path) -> None:
    one, other = holder(tmp_path), holder(tmp_path)
    key_of_holder(one)
    assert other._masks is not None
    other._masks.acquainted(Key(RUN, "north", b""))  # made at the same time, and not kept
    assert key_of_holder(one) == key_of_holder(other)
    with pytest.raises(ExchangeError, match="not its own"):
        acquainted(other)
    keys = acquainted(one)
    for question in (keys, ask(0)):
        with pytest.raises(ExchangeError, match=r"not its own|without the mask key|before the charge"):
            other.reply(question)
    assert one.reply(ask(0)) == holder(tmp_path).reply(ask(0))


def test_the_private_key_is_in_no_file(tmp_path: Path) -> None:
    one = holder(tmp_path)
    acquainted(one)
    one.reply(ask(0))
    assert one._masks is not None
    assert one._masks._site is not None
    private = one._masks._site._keys._private.private_bytes_raw()
    secrets = [private, *one._masks._site._secrets.values()]
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        for secret in secrets:
            twice = base64.b64encode(base64.b64encode(secret)[:-3])[:-4]
            for spelt in (secret, secret.hex().encode(), base64.b64encode(secret)[:-3], twice):
                assert spelt not in content


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (ask(0), "a process without the mask key"),
        (ask(1), "question 1, where 0 of 4 are answered"),
        (ask(0, None), "question 0 with 0 bytes"),
        (ask(0, (0.1, 0.2)), "question 0 with 16 bytes"),
        (ask(0, (0.1, 0.2, np.nan)), "not finite"),
        (Key(RUN, "north", b"x").to_bytes(), "a key in the question"),
    ],
)
def test_other_questions_are_refused(content: bytes, found: str, tmp_path: Path) -> None:
    one = holder(tmp_path)
    for message in (Hello(RUN, "north", one._approved.fingerprint, dpglm.__version__), Start(RUN, "north")):
        one.reply(message.to_bytes())
    with pytest.raises(ExchangeError, match=f"at site 'north', .*{found}"):
        one.reply(content)


def test_no_key_is_made_before_the_charge_or_for_a_method_without_masks(tmp_path: Path) -> None:
    one = holder(tmp_path)
    one.reply(Hello(RUN, "north", one._approved.fingerprint, dpglm.__version__).to_bytes())
    for message in (Key(RUN, "north", b""), Keys(RUN, "north", b"")):
        with pytest.raises(ExchangeError, match=f"a message '{message.kind}' before the charge"):
            one.reply(message.to_bytes())
    dlvp = dpglm.plan("y ~ x + z", schema("binomial"), method="dlvp", privacy=(1.0, 1e-6))
    other = Holder(dlvp, tables("binomial")["north"], site="north", run=RUN, ledger=None, seed=1)
    other.reply(Hello(RUN, "north", dlvp.fingerprint, dpglm.__version__).to_bytes())
    other.reply(Start(RUN, "north").to_bytes())
    with pytest.raises(ExchangeError, match="a message 'key' to a holder"):
        other.reply(Key(RUN, "north", b"").to_bytes())


def test_a_release_with_no_point_is_asked_without_one(tmp_path: Path) -> None:
    path = tmp_path / "north.ledger"
    own = dpglm.Ledger(path, budget=(3.0, 1e-3))
    one = Holder(plan(), tables()["north"], site="north", run=RUN, ledger=own)
    acquainted(one)
    name = plan().releases.releases[0].name
    with pytest.raises(ExchangeError, match="question 0 with 24 bytes of numbers"):
        one.reply(Ask(RUN, "north", 0, name, packed(np.zeros(3))).to_bytes())
    assert read(one.reply(Ask(RUN, "north", 0, name, b"").to_bytes())).number == 0


def test_a_holder_killed_in_a_run_ends_it_and_is_named(tmp_path: Path) -> None:
    """West is started again after two answers: the next question ends the run."""
    which, carrier, data = plan(DPSGD, "binomial"), InProcess(), tables("binomial")
    own = {site: dpglm.Ledger(tmp_path / site, budget=(3.0, 1e-3)) for site in SITES}
    honest = Holder.reply

    class Dying(InProcess):
        """West is another process from its third answer on."""

        answered = 0

        def send(self, box: Box, message: bytes) -> None:
            if (box.site, box.way) == ("west", "answers") and b'"kind":"answer"' in message:
                Dying.answered += 1
            super().send(box, message)

    def reply(self: Holder, content: bytes) -> bytes:
        if self.site == "west" and Dying.answered >= 2:
            again = Holder(which, data["west"], site="west", run=RUN, ledger=own["west"])
            return honest(again, content)
        return honest(self, content)

    carrier = Dying()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Holder, "reply", reply)
        options = {site: {"ledger": own[site], "timeout": 3.0} for site in SITES}
        with (
            holders(carrier, which, data, None, **options) as ended,
            pytest.raises(
                ExchangeError, match="at site 'west', ExchangeError: a process without the mask key"
            ),
        ):
            fitted(carrier, which)
    assert isinstance(ended["west"], ExchangeError)
    assert all(book.spent.epsilon == 1.0 for book in own.values())


def test_a_method_gets_no_release_out_of_order_and_no_point_that_is_not_finite() -> None:
    which, carrier = plan(DPSGD, "binomial"), InProcess()

    def wrong(self: Any, problem: Any, parties: Any) -> Any:
        (party,) = parties.values()
        releases = party.plan.releases
        with pytest.raises(PermitError, match="not the next one of the plan"):
            party.ask(releases[1], np.zeros(3))
        with pytest.raises(ExchangeError, match="question 0, made of the sums of all sites, with numbers"):
            party.ask(releases[0], np.full(3, math.inf))
        return self._inner(problem.family).solve(problem, party.plan, party.ask)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SecureSum, "join", wrong)
        with holders(carrier, which, tables("binomial")):
            assert fitted(carrier, which).n_rows == 603
