"""The ledger: exact sums, refusals, what it will not charge, and files that were tampered with."""

from __future__ import annotations

import itertools
import math
import pickle
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.errors import BudgetExceeded, DpglmError, LedgerError, PrivacyError
from dpglm.ledger import lines, log
from dpglm.ledger.ledger import Ledger
from dpglm.ledger.log import TABLES, TRIGGERS
from dpglm.ledger.odometer import Balance, PrivacyFilter
from dpglm.privacy.budget import Privacy, pure_curve
from dpglm.privacy.gdp import gdp_delta, gdp_epsilon
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.charges import MOST_CHARGES

law = settings(derandomize=True, deadline=None, max_examples=200)
amounts = st.one_of(
    st.integers(1, 5000).map(lambda k: k / 1000),
    st.floats(1e-300, 1e3),
    st.floats(0.01, 5.0),
)
deltas = st.one_of(st.just(0.0), st.integers(1, 9).map(lambda k: k * 1e-6), st.floats(1e-30, 1e-4))


@dataclass(frozen=True)
class Claim:
    """A charge that no plan would make."""

    epsilon: float = 0.1
    delta: float = 0.0
    mu: float | None = None
    relation: str = "replace-one"
    unit: str = "one row"
    private: bool = True
    persons: bool = False


def pure(epsilon: float) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=0.0, definition="pure", relation="replace-one", unit="one row")


def approximate(epsilon: float, delta: float) -> Guarantee:
    return replace(pure(epsilon), delta=delta, definition="approximate")


def gaussian(mu: float) -> Guarantee:
    return replace(approximate(gdp_epsilon(mu, 1e-6), 1e-6), mu=mu, definition="gdp")


def told(error: pytest.ExceptionInfo[DpglmError]) -> DpglmError:
    """The error, if it has its three parts."""
    assert all(part.strip() for part in (error.value.found, error.value.expected, error.value.remedy))
    return error.value


def exact(number: float) -> Fraction:
    return Fraction(repr(number))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ward-7.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    """Three charges and a refusal on a budget of (1, 1e-5)."""
    ledger = Ledger(path, (1.0, 1e-5), dataset="ward-7")
    for number in range(3):
        ledger.charge(approximate(0.1, 1e-6), what=f"y ~ x{number}")
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(0.8), what="y ~ too much")
    return ledger


# Exact sums


@law
@given(budget=amounts, delta=deltas, costs=st.lists(st.tuples(amounts, deltas), max_size=12))
def test_charges_are_admitted_exactly_as_long_as_their_decimals_fit(
    budget: float, delta: float, costs: list[tuple[float, float]]
) -> None:
    kept: list[Balance] = []
    for epsilon, part in costs:
        cost = Balance(epsilon, part, None)
        fits = sum((exact(other.epsilon) for other in kept), exact(epsilon)) <= exact(budget) and sum(
            (exact(other.delta) for other in kept), exact(part)
        ) <= exact(delta)
        assert PrivacyFilter(Privacy(budget, delta), kept).admits(cost) == fits
        if fits:
            kept.append(cost)
    final = PrivacyFilter(Privacy(budget, delta), kept)
    assert exact(final.spent.epsilon) >= sum(exact(cost.epsilon) for cost in kept)
    assert exact(final.spent.delta) >= sum(exact(cost.delta) for cost in kept)


@law
@given(mu=st.floats(0.01, 10.0), costs=st.lists(st.floats(1e-6, 5.0), max_size=12))
def test_squares_of_mu_are_admitted_exactly_as_long_as_they_fit(mu: float, costs: list[float]) -> None:
    kept: list[Balance] = []
    for number in costs:
        cost = Balance(1.0, 0.0, number)
        fits = sum((exact(other.mu or 0.0) ** 2 for other in kept), exact(number) ** 2) <= exact(mu) ** 2
        assert PrivacyFilter(Privacy.gdp(mu), kept).admits(cost) == fits
        if fits:
            kept.append(cost)
    spent = PrivacyFilter(Privacy.gdp(mu), kept).spent.mu
    assert spent is not None
    assert exact(spent) ** 2 >= sum(exact(cost.mu or 0.0) ** 2 for cost in kept)


@law
@given(budget=amounts, delta=deltas, costs=st.lists(st.tuples(amounts, deltas), max_size=8))
def test_what_is_left_can_be_spent_and_no_more(
    budget: float, delta: float, costs: list[tuple[float, float]]
) -> None:
    state = PrivacyFilter(Privacy(budget, delta))
    for epsilon, part in costs:
        cost = Balance(epsilon, part, None)
        if state.admits(cost):
            state = PrivacyFilter(state.budget, (*state.costs, cost))
    left = state.remaining
    assert left.epsilon >= 0
    assert left.delta >= 0
    assert state.admits(left)
    assert not state.admits(replace(left, epsilon=math.nextafter(left.epsilon, math.inf)))
    assert not state.admits(replace(left, delta=math.nextafter(left.delta, math.inf)))


@law
@given(mu=st.floats(0.01, 10.0), first=st.floats(1e-6, 10.0))
def test_what_is_left_of_mu_can_be_spent_and_no_more(mu: float, first: float) -> None:
    state = PrivacyFilter(Privacy.gdp(mu))
    cost = Balance(1.0, 0.0, first)
    if state.admits(cost):
        state = PrivacyFilter(state.budget, (cost,))
    left = state.remaining
    assert left.mu is not None
    assert state.admits(left)
    assert not state.admits(replace(left, mu=math.nextafter(left.mu, math.inf)))


def test_ten_tenths_fill_a_budget_of_one_and_no_eleventh_fits(path: Path) -> None:
    ledger = Ledger(path, 1.0)
    for _ in range(10):
        ledger.charge(pure(0.1), what="y ~ x")  # in binary the ten sum to 0.9999999999999999
    assert ledger.remaining == Balance(0.0, 0.0, None)
    with pytest.raises(BudgetExceeded):
        ledger.charge(pure(5e-324), what="y ~ x")
    assert ledger.spent == Balance(1.0, 0.0, None)


def test_a_file_that_is_there_is_not_made_again(path: Path) -> None:
    kept = log.Log(path)
    assert kept.create("first")
    assert not kept.create("second")
    assert [line.content for line in kept.read()] == ["first"]
    assert list(path.parent.iterdir()) == [path]


def test_a_delta_alone_is_a_charge_and_nothing_at_all_is_none() -> None:
    state = PrivacyFilter(Privacy(1.0, 1e-5))
    alone = replace(pure(0.0), delta=1e-6, definition="approximate")
    assert state.cost(alone, owner="x") == Balance(0.0, 1e-6, None)
    with pytest.raises(PrivacyError, match="not both 0"):
        state.cost(pure(0.0), owner="x")


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 20.0])
def test_a_pure_charge_costs_the_least_mu_that_covers_it(epsilon: float) -> None:
    cost = PrivacyFilter(Privacy.gdp(50.0)).cost(pure(epsilon), owner="x")
    assert cost.mu is not None
    at = epsilon * 0.25  # the curves touch at one point of the trade-off, seen from every epsilon below
    assert gdp_delta(at, cost.mu) >= pure_curve(at, epsilon)
    assert gdp_delta(0.0, cost.mu) >= pure_curve(0.0, epsilon)
    assert gdp_delta(0.0, cost.mu * (1 - 1e-6)) < pure_curve(0.0, epsilon)


def test_a_gaussian_budget_adds_squares(path: Path) -> None:
    ledger = Ledger(path, Privacy.gdp(1.0))
    for _ in range(4):
        ledger.charge(gaussian(0.5), what="y ~ x")
    assert ledger.spent.mu == 1.0
    assert ledger.spent.epsilon == gdp_epsilon(1.0, 1e-6)
    assert ledger.remaining == Balance(0.0, 0.0, 0.0)
    with pytest.raises(BudgetExceeded, match=r"costs mu = 0\.5, but mu = 0\.0 of 1\.0"):
        ledger.charge(gaussian(0.5), what="y ~ x")


def test_a_zero_concentrated_budget_is_kept_through_mu(path: Path) -> None:
    ledger = Ledger(path, Privacy.zcdp(0.5))
    assert ledger.remaining.mu == 1.0
    assert Ledger(path).budget.definition == "zcdp"


# Refusals


def test_a_refusal_says_what_it_costs_what_is_left_and_what_to_do(path: Path) -> None:
    ledger = Ledger(path, 2.0, dataset="ward-7")
    ledger.charge(pure(1.6), what="y ~ x")
    with pytest.raises(BudgetExceeded) as error:
        ledger.charge(pure(1.0), what="y ~ z")
    assert str(told(error)) == (
        "Found: this charge costs epsilon = 1.0, but epsilon = 0.4 of 2.0 is left in ledger 'ward-7'\n"
        "Expected: a cost that what is left covers; nothing was read and nothing was released\n"
        "Remedy: Use privacy=0.4 or less, or ask the data owner for a larger budget."
    )
    ledger.charge(pure(0.4), what="y ~ z")
    with pytest.raises(BudgetExceeded) as error:
        ledger.charge(pure(0.1), what="y ~ z")
    assert told(error).remedy == "Ask the data owner for a larger budget."


def test_a_refusal_names_delta_where_there_is_some(path: Path) -> None:
    ledger = Ledger(path, (2.0, 1e-6))
    with pytest.raises(BudgetExceeded) as error:
        ledger.charge(approximate(1.0, 1e-5), what="y ~ x")
    assert "epsilon = 2.0 of 2.0 and delta = 1e-06 of 1e-06 are left" in told(error).found
    assert "privacy=(2.0, 1e-06)" in told(error).remedy
    with pytest.raises(BudgetExceeded) as error:
        ledger.charge(pure(2.5), what="y ~ x")
    assert "costs epsilon = 2.5 and delta = 0.0, but" in told(error).found
    assert told(error).remedy.startswith("Use privacy=2.0 or less")
    with pytest.raises(BudgetExceeded) as error:
        Ledger(path.with_name("pure.ledger"), 1.0).charge(approximate(0.5, 1e-6), what="y ~ x")
    assert "delta = 0.0 of 0.0 are left" in told(error).found


def test_a_refusal_is_written_down_and_costs_nothing(ledger: Ledger) -> None:
    assert [entry.status for entry in ledger.entries] == ["charged"] * 3 + ["refused"]
    assert ledger.entries[-1].epsilon == 0.8
    assert ledger.spent == Balance(0.3, 3e-6, None)
    assert ledger.remaining == Balance(0.7, 7e-6, None)


@pytest.mark.parametrize(
    "guarantee",
    [
        Guarantee.none("no privacy was asked for"),
        replace(pure(0.1), private=False, reason="seeded"),
        Claim(private=False),
        Claim(relation="add-remove"),
        Claim(epsilon=math.nan),
        Claim(epsilon=math.inf),
        Claim(epsilon=-0.1),
        Claim(epsilon=0.0),
        Claim(delta=1.0),
        Claim(delta=math.nan),
        Claim(delta=-1e-9),
        Claim(mu=0.0),
        Claim(mu=math.nan),
        Claim(mu=math.inf),
    ],
    ids=lambda g: f"{g.private}, {g.relation}, {g.unit}, {g.epsilon}, {g.delta}, {g.mu}",
)
def test_what_cannot_be_added_up_is_not_charged(ledger: Ledger, guarantee: Guarantee) -> None:
    before = ledger.head
    with pytest.raises(PrivacyError) as error:
        ledger.charge(guarantee, what="y ~ x")
    told(error)
    assert ledger.head == before


def test_a_budget_that_names_its_unit_takes_no_other(path: Path) -> None:
    ledger = Ledger(path, Privacy(1.0, unit="one patient"))
    for unit in ("one row", "one visit"):
        with pytest.raises(PrivacyError) as error:
            ledger.charge(Claim(unit=unit), what="y ~ x")
        assert told(error).found == f"unit {unit!r}"
        assert "unit 'one patient'" in told(error).expected
    assert ledger.charge(Claim(unit="one patient"), what="y ~ x").unit == "one patient"


def test_a_budget_for_one_row_takes_any_unit(ledger: Ledger) -> None:
    assert ledger.charge(Claim(unit="one patient"), what="y ~ x").unit == "one patient"


def test_a_gaussian_budget_refuses_what_has_no_mu(path: Path) -> None:
    ledger = Ledger(path, Privacy.gdp(1.0))
    with pytest.raises(PrivacyError) as error:
        ledger.charge(approximate(0.1, 1e-6), what="y ~ x")
    assert "mu" in told(error).expected
    assert ledger.charge(pure(0.1), what="y ~ x").mu == pytest.approx(0.1253, abs=1e-4)


@pytest.mark.parametrize("what", ["", " \n", "x" * 10_001, "bell \a", "turned \u202e", "half \ud800", 7])
def test_words_that_cannot_be_printed_are_refused_and_not_repeated(ledger: Ledger, what: str) -> None:
    before = ledger.head
    with pytest.raises(LedgerError) as error:
        ledger.charge(pure(0.1), what=what)
    assert not isinstance(what, str) or not what.strip() or what not in str(told(error))
    assert ledger.head == before


# Opening


def test_a_ledger_is_found_again_as_it_was_left(ledger: Ledger, path: Path) -> None:
    for again in (
        Ledger(path),
        Ledger(str(path), (1.0, 1e-5), dataset="ward-7"),
        pickle.loads(pickle.dumps(ledger)),
    ):
        assert again.entries == ledger.entries
        assert again.budget == Privacy(1.0, 1e-5)
        assert again.dataset == "ward-7"
        assert again.path == path


@pytest.mark.parametrize(
    "budget",
    [
        2.0,
        (1.0, 1e-6),
        Privacy(1.0, 1e-5, relation="add-remove"),
        Privacy(1.0, 1e-5, unit="a ward"),
        Privacy.gdp(1.0),
    ],
)
def test_another_budget_than_the_file_states_is_refused(ledger: Ledger, budget: Privacy) -> None:
    with pytest.raises(LedgerError) as error:
        Ledger(ledger.path, budget)
    assert "A budget cannot be changed" in told(error).remedy


def test_another_data_set_than_the_file_states_is_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError) as error:
        Ledger(ledger.path, dataset="ward-8")
    told(error)


@pytest.mark.parametrize("budget", [None, 1.0])
@pytest.mark.parametrize(
    "place", ["folder", "no/such/folder", "text", "empty", "database", "dangling", "\0", ""]
)
def test_what_is_no_ledger_is_refused(tmp_path: Path, place: str, budget: float | None) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("name,age\n" * 1000)
    (tmp_path / "empty").touch()
    (tmp_path / "dangling").symlink_to("nowhere/nothing")
    with sqlite3.connect(tmp_path / "database") as connection:
        connection.execute("CREATE TABLE entries (position, content, hash)")
    connection.close()
    before = (tmp_path / "text").read_bytes(), (tmp_path / "database").read_bytes()
    with pytest.raises(LedgerError) as error:
        Ledger(f"{tmp_path}/{place}" if place else place, budget)
    told(error)
    assert ((tmp_path / "text").read_bytes(), (tmp_path / "database").read_bytes()) == before
    assert (tmp_path / "empty").stat().st_size == 0
    assert not list(tmp_path.glob(".*"))  # no draft is left behind


def test_a_missing_file_without_budget_is_refused(path: Path) -> None:
    with pytest.raises(LedgerError) as error:
        Ledger(path)
    assert "budget" in told(error).remedy
    assert not path.exists()


@pytest.mark.parametrize("budget", [0, -1.0, math.nan, (1.0, 2.0), "1", True])
def test_a_budget_that_means_nothing_makes_no_file(path: Path, budget: float) -> None:
    with pytest.raises(PrivacyError) as error:
        Ledger(path, budget)
    told(error)
    assert not path.exists()


# Tampering


def tamper(path: Path, *statements: str) -> None:
    """Change a ledger behind its back and put the triggers back."""
    connection = sqlite3.connect(path, isolation_level=None)
    for name in [
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    ]:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in (*statements, *TRIGGERS):
        connection.execute(statement)
    connection.close()


SWAP = (
    "UPDATE entries SET position = -1 WHERE position = 1",
    "UPDATE entries SET position = 1 WHERE position = 2",
    "UPDATE entries SET position = 2 WHERE position = -1",
)


@pytest.mark.parametrize(
    "statements",
    [
        ("UPDATE entries SET content = replace(content, '\"0.1\"', '\"0.01\"') WHERE position = 2",),
        ("UPDATE entries SET content = replace(content, 'charged', 'refused') WHERE position = 3",),
        ("UPDATE entries SET content = replace(content, 'y ~ x0', 'y ~ x9') WHERE position = 1",),
        ("UPDATE entries SET content = CAST(content AS BLOB) WHERE position = 1",),
        ("UPDATE entries SET hash = upper(hash) WHERE position = 2",),
        ("UPDATE entries SET content = replace(content, '\"1.0\"', '\"9.0\"') WHERE position = 0",),
        ("DELETE FROM entries WHERE position = 0",),
        ("DELETE FROM entries WHERE position = 2",),
        ("DELETE FROM entries WHERE position = 4",),
        ("DELETE FROM entries",),
        ("DELETE FROM entries", "DELETE FROM head"),
        ("DELETE FROM head",),
        ("DELETE FROM entries WHERE position > 1", "UPDATE head SET count = 2"),
        ("UPDATE head SET count = 4",),
        ("UPDATE head SET hash = 'x'",),
        SWAP,
        ("INSERT INTO entries SELECT 5, content, hash FROM entries WHERE position = 3",),
        ("CREATE TRIGGER eats AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE position = 9; END",),
        ("CREATE TABLE more (x)",),
        ("DROP TABLE head", TABLES[1]),
        ("DROP TABLE entries", TABLES[0]),
        ("PRAGMA application_id = 0",),
    ],
    ids=lambda statements: "; ".join(statements)[:60],
)
def test_a_ledger_changed_behind_its_back_is_refused(ledger: Ledger, statements: tuple[str, ...]) -> None:
    tamper(ledger.path, *statements)
    uses: tuple[Callable[[], object], ...] = (
        lambda: Ledger(ledger.path),
        lambda: Ledger(ledger.path, (1.0, 1e-5)),
        ledger.verify,
        lambda: ledger.spent,
    )
    for use in uses:
        with pytest.raises(LedgerError) as error:
            use()
        assert not isinstance(error.value, BudgetExceeded)
        told(error)


@pytest.mark.parametrize("position", [0, 2, 3, 4])
def test_a_forged_line_whose_own_hash_is_right_breaks_what_follows(ledger: Ledger, position: int) -> None:
    lines = log.Log(ledger.path).read()
    before = lines[position - 1] if position else None
    forged = log._next(before, lines[position].content.replace("e", "E"))
    tamper(
        ledger.path,
        f"UPDATE entries SET content = '{forged.content}', "
        f"hash = '{forged.hash}' WHERE position = {position}",
    )
    with pytest.raises(LedgerError, match="chain breaks" if position < 4 else "head"):
        Ledger(ledger.path)


def test_a_line_before_the_first_is_found(ledger: Ledger) -> None:
    tamper(ledger.path, "INSERT INTO entries VALUES (-1, 'x', 'x')")
    with pytest.raises(LedgerError, match="chain breaks at line 0"):
        Ledger(ledger.path)


def test_an_open_ledger_counts_on_from_what_it_has_read(path: Path) -> None:
    """Earlier charges that are made smaller in the file give no budget back; what follows them is checked."""
    ledger = Ledger(path, 1.0)
    for _ in range(3):
        ledger.charge(pure(0.3), what="y ~ x")
    tamper(path, """UPDATE entries SET content = replace(content, '"0.3"', '"0.0"') WHERE position = 1""")
    with pytest.raises(BudgetExceeded, match=r"epsilon = 0\.1 of 1\.0"):
        ledger.charge(pure(0.2), what="y ~ x")
    tamper(path, "UPDATE entries SET hash = upper(hash) WHERE position = 4")
    with pytest.raises(LedgerError, match="does not hold what this object read"):
        ledger.charge(pure(0.1), what="y ~ x")


def test_charges_of_others_are_counted(path: Path) -> None:
    first, second = Ledger(path, 1.0), Ledger(path)
    first.charge(pure(0.4), what="y ~ x")
    second.charge(pure(0.4), what="y ~ x")
    with pytest.raises(BudgetExceeded):
        first.charge(pure(0.4), what="y ~ x")
    with pytest.raises(BudgetExceeded):
        second.charge(pure(0.3), what="y ~ x")
    assert second.charge(pure(0.2), what="y ~ x").index == 5
    assert [entry.status for entry in first.entries] == [
        "charged",
        "charged",
        "refused",
        "refused",
        "charged",
    ]
    assert first.spent == second.spent == Balance(1.0, 0.0, None)


def test_a_charge_reads_no_earlier_line(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a ledger of any length a charge hashes its own line, and those of others since the last one."""
    hashed: list[int] = []

    def next_line(before: log.Line | None, content: str) -> log.Line:
        hashed.append(0 if before is None else before.position + 1)
        return real(before, content)

    real = log._next
    monkeypatch.setattr(log, "_next", next_line)
    entry = ledger.charge(pure(0.001), what="y ~ x")
    assert hashed == [entry.index]


def test_tampering_that_changes_nothing_is_not_reported(ledger: Ledger) -> None:
    tamper(ledger.path)  # what makes the other cases fail is their statements, not the way they are run
    ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET content = 'x' WHERE position = 1",
        "DELETE FROM entries WHERE position = 4",
        "INSERT OR REPLACE INTO entries VALUES (1, 'x', 'x')",
        "INSERT INTO entries VALUES (7, 'x', 'x')",
        "UPDATE head SET count = 1",
        "DELETE FROM head",
    ],
)
def test_a_slip_of_the_hand_is_stopped_by_the_file_itself(ledger: Ledger, statement: str) -> None:
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()
    assert len(ledger.entries) == 4


def test_missing_triggers_are_noticed(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER entries_stay")
    connection.close()
    with pytest.raises(LedgerError, match="triggers"):
        ledger.verify()


def flipped_readings(ledger: Ledger, copy: Path, *, stride: int) -> int:
    """Flip one byte at a time; how many flips were refused. The others must not change what is read."""
    content = ledger.path.read_bytes()
    truth, refused = (ledger.budget, ledger.dataset, ledger.entries, ledger.head), 0
    for position in range(0, len(content), stride):
        damaged = bytearray(content)
        damaged[position] ^= 1 + position % 255
        copy.write_bytes(damaged)
        try:
            again = Ledger(copy)
            found = (again.budget, again.dataset, again.entries, again.head)
        except LedgerError:
            refused += 1
        else:
            assert found == truth  # free space, or a counter of SQLite's own
    return refused


def test_a_flipped_byte_is_refused_or_changes_nothing(ledger: Ledger, tmp_path: Path) -> None:
    assert flipped_readings(ledger, tmp_path / "copy", stride=23) > 50


@pytest.mark.audit
def test_every_flipped_byte_is_refused_or_changes_nothing(ledger: Ledger, tmp_path: Path) -> None:
    assert flipped_readings(ledger, tmp_path / "copy", stride=1) > 1000


@pytest.mark.parametrize("budget", [None, (1.0, 1e-5)])
def test_a_file_cut_short_is_refused(ledger: Ledger, budget: tuple[float, float] | None) -> None:
    content = ledger.path.read_bytes()
    for length in (0, 1, 50, 100, 4095, 4096, *range(4097, len(content), 3000), len(content) - 1):
        ledger.path.write_bytes(content[:length])
        with pytest.raises(LedgerError) as error:
            Ledger(ledger.path, budget)
        told(error)


def test_a_genesis_that_was_replaced_and_chained_anew_is_seen_by_whoever_noted_the_head(
    ledger: Ledger, tmp_path: Path
) -> None:
    noted = ledger.head
    other = Ledger(tmp_path / "other", (1.0, 1e-5), dataset="ward-7")
    ledger.path.write_bytes(other.path.read_bytes())
    assert Ledger(ledger.path).entries == ()  # whole in itself: cannot be seen from inside
    for use in (
        lambda: Ledger(ledger.path, head=noted),
        ledger.verify,
        lambda: ledger.charge(pure(0.1), what="x"),
    ):
        with pytest.raises(LedgerError, match="does not hold") as error:
            use()
        told(error)


def test_an_older_copy_is_seen_by_whoever_noted_the_head(ledger: Ledger) -> None:
    older, early = ledger.path.read_bytes(), ledger.head
    ledger.charge(pure(0.1), what="y ~ x")
    noted = ledger.head
    ledger.path.write_bytes(older)
    Ledger(ledger.path, head=early)
    for use in (
        lambda: Ledger(ledger.path, head=noted),
        ledger.verify,
        lambda: ledger.charge(pure(0.1), what="x"),
    ):
        with pytest.raises(LedgerError, match="does not hold"):
            use()


def test_an_open_ledger_remembers_its_own_last_charge(ledger: Ledger) -> None:
    older = ledger.path.read_bytes()
    ledger.charge(pure(0.1), what="y ~ x")
    ledger.path.write_bytes(older)
    with pytest.raises(LedgerError, match="does not hold"):
        ledger.charge(pure(0.1), what="y ~ x")


def test_a_head_noted_earlier_is_still_on_a_ledger_that_grew(ledger: Ledger) -> None:
    heads = [entry.hash for entry in ledger.entries]
    ledger.charge(pure(0.1), what="y ~ x")
    for head in heads:
        Ledger(ledger.path, head=head).verify(head=head)
    with pytest.raises(LedgerError):
        ledger.verify(head="0" * 64)


def test_lines_that_mean_nothing_are_refused_though_their_chain_is_whole(ledger: Ledger) -> None:
    for content in ("{}", "[]", "words", '{"epsilon": "nan"}'):
        copy = ledger.path.with_name(f"{len(content)}")
        copy.write_bytes(ledger.path.read_bytes())
        log.Log(copy).extend(lambda _: [content])  # noqa: B023, run at once
        with pytest.raises(LedgerError, match="say nothing about a budget") as error:
            Ledger(copy)
        told(error)


# At once


def test_threads_share_a_ledger(path: Path) -> None:
    ledger, outcomes = Ledger(path, 1.0), []

    def work() -> None:
        for _ in range(10):
            try:
                ledger.charge(pure(0.07), what="y ~ x")
                outcomes.append("charged")
            except BudgetExceeded:
                outcomes.append("refused")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["charged"] * 14 + ["refused"] * 26
    assert sorted(entry.status for entry in ledger.entries) == sorted(outcomes)
    assert ledger.spent.epsilon == 0.98


def test_nobody_charges_between_the_check_and_the_writing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Ledger(path, 1.0), Ledger(path)
    monkeypatch.setattr(log, "BUSY_SECONDS", 0.0)
    admits, errors = PrivacyFilter.admits, []

    def interrupted(self: PrivacyFilter, cost: Balance) -> bool:
        monkeypatch.setattr(PrivacyFilter, "admits", admits)
        with pytest.raises(LedgerError) as error:
            second.charge(pure(1.0), what="in between")
        errors.append(told(error).found)
        return admits(self, cost)

    monkeypatch.setattr(PrivacyFilter, "admits", interrupted)
    first.charge(pure(1.0), what="y ~ x")
    assert "held by another process" in errors[0]
    assert [entry.what for entry in second.entries] == ["y ~ x"]


@pytest.mark.parametrize("step", ["_begin", "_insert", "_advance", "_commit"])
@pytest.mark.parametrize("code", ["SQLITE_FULL", "SQLITE_IOERR_FSYNC", "SQLITE_BUSY", "SQLITE_CORRUPT", None])
def test_a_disk_that_fails_is_told_and_charges_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, step: str, code: str | None
) -> None:
    def fail(*args: object) -> None:
        error = sqlite3.OperationalError("disk")
        if code is not None:
            error.sqlite_errorname = code
        raise error

    before = ledger.head
    with monkeypatch.context() as patch:
        patch.setattr(log, step, fail)
        with pytest.raises(LedgerError) as error:
            ledger.charge(pure(0.1), what="y ~ x")
        told(error)
    assert ledger.head == before


def test_an_interrupt_keeps_the_chain_whole(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = log._commit

    def late(connection: sqlite3.Connection) -> None:
        commit(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(log, "_commit", late)
    with pytest.raises(KeyboardInterrupt):
        ledger.charge(pure(0.1), what="y ~ x")
    assert ledger.spent.epsilon == 0.4  # budget lost, never privacy


# Views


def test_the_frame_holds_every_entry(ledger: Ledger) -> None:
    frame = ledger.to_frame()
    assert list(frame.index) == [1, 2, 3, 4]
    assert list(frame.columns) == [
        "when",
        "what",
        "status",
        "epsilon",
        "delta",
        "mu",
        "relation",
        "unit",
        "plan",
        "key",
        "hash",
    ]
    assert list(frame["what"]) == [entry.what for entry in ledger.entries]


def test_the_frame_of_an_empty_ledger_has_its_columns(path: Path) -> None:
    assert Ledger(path, 1.0).to_frame().shape == (0, 11)


def test_the_state_is_plain_and_can_be_taken_as_of_an_entry(ledger: Ledger) -> None:
    state = ledger.state(at=ledger.entries[0])
    assert {name: value for name, value in state.items() if name != "entries"} == {
        "dataset": "ward-7",
        "budget_epsilon": 1.0,
        "budget_delta": 1e-5,
        "spent_epsilon": 0.1,
        "spent_delta": 1e-6,
        "remaining_epsilon": 0.9,
        "remaining_delta": 9e-6,
    }
    assert [sorted(line) for line in state["entries"]] == [
        ["delta", "epsilon", "mu", "plan", "status", "what", "when"]
    ]
    assert len(ledger.state()["entries"]) == 4


def test_the_records_as_of_an_entry_ends_with_the_hash_that_was_the_head_then(path: Path) -> None:
    ledger = Ledger(path, 1.0)
    heads = []
    for _ in range(3):
        ledger.charge(pure(0.1), what="y ~ x")
        heads.append(ledger.head)
    now = ledger._records()
    for entry, head in zip(ledger.entries, heads, strict=True):
        then = now.until(entry)
        assert then.entries[-1] == entry
        assert then.hashes[-1] == head
        assert len(then.hashes) == len(then.entries) + 1


def test_a_long_ledger_shows_its_latest_charges_and_its_whole_balance(path: Path) -> None:
    ledger = Ledger(path, 10.0)
    for place in range(MOST_CHARGES + 5):
        ledger.charge(pure(0.125), what=f"model {place}")
    page = ledger._repr_html_()
    assert "model 4<" not in page
    assert all(f"model {place}<" in page for place in range(5, MOST_CHARGES + 5))
    assert "The latest 40 of 45 lines; the balance counts all." in page
    assert f"<td>epsilon = {0.125 * (MOST_CHARGES + 5)}</td>" in page


def test_the_table_in_words_is_the_same_every_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "now", lambda: "2024-02-29T12:00:00Z")
    ledger = Ledger(path, (1.0, 1e-5), dataset="<ward>")
    ledger.charge(approximate(0.5, 1e-6), what="y  ~\n x")
    assert str(ledger) == (
        "Ledger '<ward>': budget epsilon = 1.0, delta = 1e-05 (replace-one, one row)\n"
        "   when                  what   status   epsilon  delta  mu\n"
        "1  2024-02-29T12:00:00Z  y ~ x  charged  0.5      1e-06  -\n"
        "spent epsilon = 0.5, delta = 1e-06; left epsilon = 0.5, delta = 9e-06"
    )
    page = ledger._repr_html_()
    assert "Ledger &lt;ward&gt;" in page
    assert "<td>epsilon = 0.5, delta = 9e-06</td>" in page
    assert repr(ledger) == "Ledger('<ward>', budget epsilon = 1.0, delta = 1e-05 (replace-one, one row))"


def test_two_ledgers_never_share_a_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "now", lambda: "2024-02-29T12:00:00Z")
    heads = [Ledger(tmp_path / str(k), 1.0, dataset="same").head for k in range(3)]
    assert all(one != other for one, other in itertools.combinations(heads, 2))


def test_a_line_holds_the_fingerprint_of_its_plan_and_old_lines_have_none(path: Path) -> None:
    ledger = Ledger(path, (3.0, 1e-5))
    ledger.charge(pure(1.0), what="y ~ x")
    charged = ledger.charge(pure(1.0), what="y ~ z", plan="0af3")
    both = ledger.charge_all([(pure(0.1), "here", "77"), (pure(0.1), "there", "77")])
    plans = ["", "0af3", "77", "77"]
    assert [entry.plan for entry in ledger.entries] == plans
    assert ledger.to_frame()["plan"].tolist() == plans
    assert [line["plan"] for line in ledger.state()["entries"]] == plans
    assert (charged.plan, both[0].plan) == ("0af3", "77")
    assert '"plan"' not in log.Log(ledger.path).read()[1].content  # as lines were before plans were kept
    with pytest.raises(LedgerError, match="fingerprint"):
        ledger.charge(pure(0.1), what="y ~ x", plan="a plan")
    assert len(ledger.entries) == 4
