"""Secure sums: the total is the sum, noise is shared out, and fewer messages than all of them say nothing.

Keys are seeded. A right mask fails a test of uniformity with probability below 1e-6 (and never again for keys
that passed).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.auditing.neighbours import Table
from dpglm.glm.families import families
from dpglm.mechanisms import pairwise_masks, secure_sum
from dpglm.mechanisms.base import Release, Rows
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.mechanisms.coordinates import Coordinates
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.mapped import LengthClasses, Mapped, Standardisation
from dpglm.mechanisms.moments import SecondMoments
from dpglm.mechanisms.noise import STEPS, NoiseSource, SeededNoise
from dpglm.mechanisms.noisy_sum import SumNoise
from dpglm.mechanisms.pairwise_masks import MODULUS, MaskKeys, mask, numbers, packed
from dpglm.mechanisms.secure_sum import CUT, MOST_HOLDERS, collusion_factor, masked, opened, share, total
from dpglm.mechanisms.whole_sums import Whole, WholeNumbers
from dpglm.rows import ArrayChunk, JoinedRows
from dpglm.typing import FloatVector
from tests.laws.test_noise_of_releases import free, tied

BINOMIAL = families["binomial"]()
# Of a single number: beyond it less than 1e-6 of a standard normal's draws lie, in absolute value.
FAR = 4.9


def names(holders: int) -> list[str]:
    return [f"site {place}" for place in range(holders)]


def secrets_of(holders: int, seed: int) -> dict[str, dict[str, bytes]]:
    """What each holder has in common with each other one."""
    random = np.random.default_rng(seed)
    keys = {name: MaskKeys(random.bytes(32)) for name in names(holders)}
    return {
        name: {other: keys[name].secret_with(other, keys[other].public) for other in keys if other != name}
        for name in keys
    }


def messages(owns: Sequence[Whole], seed: int = 1, context: bytes = b"a run") -> list[Whole]:
    known = secrets_of(len(owns), seed)
    return [
        masked(own, mask(name, known[name], context, len(own)))
        for name, own in zip(names(len(owns)), owns, strict=True)
    ]


def whole(values: Sequence[int]) -> Whole:
    return np.array(values, dtype=object)


# The sum is the sum

MOST = CUT + 2**63
anything = st.one_of(st.integers(-MOST, MOST), st.sampled_from([-MOST, -CUT, -1, 0, 1, CUT, MOST]))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 7), st.integers(0, 5))
def test_the_total_of_all_messages_is_the_sum_exactly(data: Any, holders: int, count: int) -> None:
    owns = [whole(data.draw(st.lists(anything, min_size=count, max_size=count))) for _ in range(holders)]
    found = total(messages(owns))
    assert found.tolist() == [sum(each) for each in zip(*(own.tolist() for own in owns), strict=True)]


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_most_holders_at_the_ends_of_their_range_do_not_wrap(sign: int) -> None:
    owns = [whole([sign * MOST])] * MOST_HOLDERS
    found = total([np.asarray(own % MODULUS) for own in owns])  # masks, which add up to 0, left out
    assert found.tolist() == [sign * MOST * MOST_HOLDERS]
    assert 2 * MOST * MOST_HOLDERS < MODULUS


@given(st.lists(st.integers(0, MODULUS - 1)))
def test_numbers_are_read_as_they_were_packed(values: list[int]) -> None:
    assert numbers(packed(whole(values))).tolist() == values


def rows(seed: int, count: int, size: int = 3) -> Table:
    random = np.random.default_rng(seed)
    X = random.normal(0.0, 0.4, (size, count)).astype(np.float32)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=0))
    X[0] = 0.5
    X[1:] *= 0.8
    return Table(ArrayChunk(X, random.choice([0.0, 1.0], count), None))


def columns(seed: int, count: int) -> Table:
    random = np.random.default_rng(seed)
    X = np.array([np.zeros(count), random.uniform(-1, 1, count), random.integers(0, 3, count)])
    return Table(ArrayChunk(X.astype(np.float32), np.zeros(count), None))


AT = np.array([0.3, -2.0, 1.0])
ONE = ColumnSums((False,), (3,), 1, True, "gaussian", 5.0)
MOMENTS = SecondMoments(free(3), "gaussian", 5.0, 1.0, 1.0, 0.5, 0.5)
SUMS: list[tuple[Release, Any, FloatVector | None]] = [
    (ONE, columns, None),
    (MOMENTS, rows, None),
    (Gradient(BINOMIAL, 5.0), rows, AT),
    (Information(BINOMIAL, 5.0, "gaussian", free(3)), rows, AT),
    (Information(BINOMIAL, 5.0, "gaussian", free(3), score_weight=0.2), rows, AT),
    (
        Mapped(
            ColumnSums((False, False), (), 1, True, "gaussian", 5.0), Coordinates((0, 0.5), ((1, 2.0),), True)
        ),
        rows,
        None,
    ),
    (
        Mapped(Information(BINOMIAL, 5.0, "gaussian", free(3)), Standardisation()),
        rows,
        np.concatenate([np.diag([1.0, 2.0, 0.5]).ravel(), AT]),
    ),
    (
        Mapped(ColumnSums((), (3,), 1, False, "gaussian", 5.0), LengthClasses((0.5, 1.0), (0, 0.5))),
        rows,
        np.eye(3).ravel(),
    ),
]
TITLES = [f"{type(release).__name__}-{release.name}" for release, _, _ in SUMS]


@pytest.mark.parametrize(("release", "table", "at"), SUMS, ids=TITLES)
def test_sums_of_holders_add_up_to_the_sum_of_one_curator(
    release: Release, table: Any, at: FloatVector | None
) -> None:
    """In steps of the grid, of which the noise has 2^40: each holder rounds once."""
    parts = [table(seed, count) for seed, count in ((1, 50), (2, 0), (3, 7))]
    summed = release.summed
    assert summed is not None
    step = secure_sum.shared_step(summed.sum_noise, 3, 7)
    found = sum(summed.whole(part, at, SeededNoise(1)).steps(step) for part in parts)
    one = summed.whole(JoinedRows(tuple(parts)), at, SeededNoise(1)).steps(step)
    assert max(abs(found - one).tolist()) <= len(parts)


@pytest.mark.parametrize(("release", "table", "at"), SUMS, ids=TITLES)
def test_without_noise_what_is_opened_is_what_one_curator_releases(
    release: Release, table: Any, at: FloatVector | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NoiseSource, "whole_normal", lambda self, size: np.zeros(size, dtype=np.int64))
    parts = [table(seed, 40) for seed in range(4)]
    summed, noise = release.summed, SeededNoise(1)
    assert summed is not None
    owns = [share(summed, part, at, noise, holders=4) for part in parts]
    one = release.run(JoinedRows(tuple(parts)), at, noise)
    # A few steps of 2^-40 of the noise's deviation, and their weights.
    np.testing.assert_allclose(opened(summed, messages(owns)), one, atol=1e-9)


def test_a_release_is_the_sum_and_the_noise_of_one_place() -> None:
    for release, table, at in SUMS:
        summed = release.summed
        assert summed is not None
        held = table(1, 20)
        noisy = summed.sum_noise.add(summed.whole(held, at, SeededNoise(3)), SeededNoise(3))
        np.testing.assert_array_equal(summed.finished(noisy), release.run(held, at, SeededNoise(3)))


def test_samples_and_parts_by_place_are_no_sums_that_holders_form() -> None:
    assert Gradient(BINOMIAL, 1.0, sampling="poisson", rate=0.5).summed is None
    assert Gradient(BINOMIAL, 1.0, parts=2).summed is None
    assert Mapped(Gradient(BINOMIAL, 1.0, parts=2), Standardisation()).summed is None
    assert Information(BINOMIAL, 1.0, "gamma", tied()).summed is not None  # refused for its law


# Noise


@dataclass(frozen=True)
class Given:
    """A sum of these numbers, whatever the rows."""

    values: tuple[int, ...]
    scale: float = 7.0

    @property
    def sum_noise(self) -> SumNoise:
        return SumNoise("gaussian", self.scale, 1.0)

    def whole(self, rows: Rows, at: FloatVector | None, noise: NoiseSource) -> WholeNumbers:
        return WholeNumbers(whole(self.values), 1.0)

    def finished(self, noisy: FloatVector) -> FloatVector:
        return noisy


@pytest.mark.parametrize("holders", [1, 2, 7])
def test_the_noise_of_all_holders_is_that_of_the_release_and_each_has_its_share(holders: int) -> None:
    """Bars of five standard deviations of a mean square over 20,000 draws; a fifth less is 36 % away."""
    size = 20_000
    summed = Given((3,) * size)
    noise = SeededNoise(5)
    owns = [share(summed, rows(0, 0), None, noise, holders=holders) for _ in range(holders)]
    bar = 5.0 * math.sqrt(2.0 / size)
    errors = opened(summed, owns) - 3.0 * holders
    assert np.mean(errors**2) == pytest.approx(summed.scale**2, rel=bar + 2e-4)
    assert abs(errors.mean()) < 5.0 * summed.scale / math.sqrt(size)
    step = secure_sum.shared_step(summed.sum_noise, holders, size)
    for own in owns:
        alone = own.astype(np.float64) * step - 3.0
        assert np.mean(alone**2) == pytest.approx(summed.scale**2 / holders, rel=bar + 2e-4)


@pytest.mark.parametrize("holders", [2, 10, 200])
@pytest.mark.parametrize("count", [1, 10_000])
def test_honest_noise_hides_a_row_at_the_price_that_is_stated(holders: int, count: int) -> None:
    """The equation of the proof: steps that a row moves, over the deviation of the honest holders' noise."""
    noise = SumNoise("gaussian", 7.0, 1.0)
    step = secure_sum.shared_step(noise, holders, count)
    for colluding in (0, 1, holders - 1):
        moved = (1.0 + 1e-4) * noise.sensitivity / step + math.sqrt(count)
        price = moved / (STEPS * math.sqrt(holders - colluding))
        stated = noise.sensitivity / noise.scale * collusion_factor(holders, colluding)
        assert price == pytest.approx(stated, rel=1e-12)


def test_a_huge_sum_is_cut_and_neighbours_come_no_farther_apart() -> None:
    huge = share(Given((10**80, -(10**80), 0)), rows(0, 0), None, SeededNoise(1), holders=3)
    assert all(abs(abs(number) - CUT) < 2**63 for number in huge.tolist()[:2])
    near = share(Given((10**80 - 10**60, -(10**80), 0)), rows(0, 0), None, SeededNoise(1), holders=3)
    np.testing.assert_array_equal(huge, near)


# What fewer messages say


def test_of_all_masks_those_of_all_but_one_holder_are_uniform_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Modulo 4, over all streams of three pairs: each pair of messages as often, whatever the sums."""
    small = 4
    for module in (pairwise_masks, secure_sum):
        monkeypatch.setattr(module, "MODULUS", small)
    pairs = list(itertools.combinations(names(3), 2))
    secrets: dict[str, dict[str, Any]] = {name: {} for name in names(3)}
    for pair in pairs:
        for name, other in (pair, pair[::-1]):
            secrets[name][other] = pair
    for owns in itertools.product(range(small), repeat=3):
        seen: dict[int, Counter[tuple[int, ...]]] = {left_out: Counter() for left_out in range(3)}
        for streams in itertools.product(range(small), repeat=3):
            drawn = dict(zip(pairs, streams, strict=True))
            monkeypatch.setattr(
                pairwise_masks, "_stream", lambda secret, *_, drawn=drawn: whole([drawn[secret]])
            )
            sent = [
                int(masked(whole([own]), mask(name, secrets[name], b"", 1))[0])
                for name, own in zip(names(3), owns, strict=True)
            ]
            assert sum(sent) % small == sum(owns) % small
            for left_out, counted in seen.items():
                counted[tuple(sent[:left_out] + sent[left_out + 1 :])] += 1
        for counted in seen.values():
            assert len(counted) == small**2
            assert set(counted.values()) == {small}


def bytes_apart(values: Sequence[bytes]) -> float:
    """How far counts of bytes are from uniform: chi-square of 255, as a standard normal."""
    counts = np.bincount(np.frombuffer(b"".join(values), dtype=np.uint8), minlength=256)
    expected = counts.sum() / 256.0
    square = float(((counts - expected) ** 2 / expected).sum())
    return (square - 255.0) / math.sqrt(2.0 * 255.0)


@pytest.mark.parametrize("own", [0, MOST, -MOST], ids=["nought", "most", "least"])
def test_messages_of_all_but_one_holder_look_uniform(own: int) -> None:
    """48,000 bytes of three holders' messages and of their sum: chi-square within 4.9 deviations."""
    sent = messages([whole([own] * 1000)] * 4)
    for left_out in range(4):
        others = sent[:left_out] + sent[left_out + 1 :]
        assert abs(bytes_apart([packed(message) for message in others])) < FAR
        added = np.asarray(sum(others[1:], others[0]) % MODULUS)
        assert abs(bytes_apart([packed(added)])) < FAR
    assert abs(bytes_apart([packed(np.asarray(total(sent) % MODULUS))])) > FAR  # all of them say the sum


def near(first: Whole, second: Whole) -> int:
    """How many numbers of two messages are so near that one mask hides both."""
    apart = np.abs((first - second + MODULUS // 2) % MODULUS - MODULUS // 2)
    return int((apart < 2**116).sum())


def test_masks_of_two_releases_or_two_runs_share_nothing() -> None:
    """Two independent masks are as near by chance with probability 2^-11 a number: at most 12 of 1000 so."""
    sums = [whole([0] * 1000)] * 3
    first = messages(sums, context=b"a run, release 0")
    for other in (
        messages(sums, context=b"a run, release 1"),
        messages(sums, seed=2, context=b"a run, release 0"),
        messages(sums[:2], context=b"a run, release 0"),
    ):
        assert all(near(one, two) <= 12 for one, two in zip(first, other, strict=False))
    again = messages([whole([5] * 1000)] * 3, context=b"a run, release 0")
    assert all(near(one, two) == 1000 for one, two in zip(first, again, strict=True))


def test_two_keys_give_both_holders_one_secret_and_no_third_one() -> None:
    one, two, three = (MaskKeys() for _ in range(3))
    shared = one.secret_with("two", two.public)
    assert shared == two.secret_with("one", one.public)
    assert len({shared, one.secret_with("three", three.public), two.secret_with("three", three.public)}) == 3
