"""Padded time: blocks end at whole multiples of a public time, whatever happens in them."""

import numpy as np
import pytest
from click.testing import CliRunner

import dpglm
from dpglm.cli import main
from dpglm.curator import padded_time as room
from dpglm.errors import MethodError


class Clock:
    """A clock that moves when it is told to, and when somebody sleeps: each sleep ends a little early."""

    def __init__(self):
        self.now, self.sleeps = 1000.0, 0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += max(0.9 * seconds, 1e-3)
        self.sleeps += 1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(room, "time", clock)
    return clock


@pytest.mark.parametrize(("takes", "ends"), [(0.01, 60), (59.9, 60), (60.1, 120), (1000.0, 1020)])
def test_a_block_ends_at_the_next_multiple(clock, takes, ends):
    with dpglm.padded_time(60):
        clock.now += takes
    assert clock.now - 1000 == pytest.approx(ends, abs=0.01)
    assert clock.now - 1000 >= ends


def test_a_block_that_fails_ends_at_the_same_time_as_one_that_does_not(clock):
    def fail():
        clock.now += 0.2
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), dpglm.padded_time(5):
        fail()
    assert clock.now - 1000 == pytest.approx(5, abs=0.01)
    assert not room.time_is_padded()


def test_blocks_in_blocks_both_hold(clock):
    with dpglm.padded_time(60):
        with dpglm.padded_time(7):
            clock.now += 8
        assert clock.now - 1000 == pytest.approx(14, abs=0.01)
        assert room.time_is_padded()
    assert clock.now - 1000 == pytest.approx(60, abs=0.02)


def test_a_bar_that_would_tell_how_far_it_is_stays_away(clock, capsys):
    data = dpglm.load_data("simulated")
    dpglm.fit("y ~ x1", data, privacy=1.0, seed=1, progress=True)
    assert "charge" in capsys.readouterr().err
    with dpglm.padded_time(1):
        dpglm.fit("y ~ x1", data, privacy=1.0, seed=1, progress=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("seconds", [0, -1, np.nan, np.inf, 86_401, True, "60", None, 1j])
def test_no_other_time_is_taken(seconds):
    with pytest.raises(MethodError, match="86,400"), dpglm.padded_time(seconds):
        pytest.fail("entered")


def test_the_command_line_pads_a_fit_and_its_refusals(clock, tmp_path):
    table = tmp_path / "t.csv"
    dpglm.load_data("simulated").to_csv(table, index=False)
    (tmp_path / "t.schema.yaml").write_text('variables: {y: {levels: ["no", "yes"]}, x1: {bounds: [-3, 3]}}')
    found = CliRunner().invoke(main, ["fit", "y ~ x1", str(table), "--privacy", "1", "--pad-time", "30"])
    assert found.exit_code == 0, found.output
    assert clock.now - 1000 == pytest.approx(30, abs=0.01)
    assert clock.sleeps
