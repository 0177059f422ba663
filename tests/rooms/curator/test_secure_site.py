"""Sites in a run: keys first, one message a release, the same bytes when asked again, and all or nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpglm.curator import secure_site
from dpglm.curator.curator import Curator, PricedReleases
from dpglm.curator.secure_site import SecureAsk, SecureSite, aggregate
from dpglm.errors import ExchangeError, PermitError
from dpglm.glm.families import families
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.noise import NoiseSource, SeededNoise
from dpglm.mechanisms.pairwise_masks import MODULUS, numbers
from dpglm.methods.base import budgeted_plan
from dpglm.privacy.budget import Privacy
from dpglm.rows import JoinedRows
from tests.laws.test_secure_sum import near, rows

NAMES = ("north", "south", "west")
FIRST, SECOND = np.array([0.1, 0.2, -0.3]), np.zeros(3)


def planned(count: int = 2) -> PricedReleases:
    releases = tuple(Gradient(families["binomial"](), 100.0) for _ in range(count))
    return budgeted_plan(releases, Privacy.gdp(1.0), mu=1.0)


def sites(
    plan: PricedReleases, run: str = "run 1", names: Sequence[str] = NAMES, seed: int | None = 0
) -> list[SecureSite]:
    return [
        SecureSite(
            name,
            Curator(rows(place, 30), plan, SeededNoise(place)),
            plan,
            sites=len(names),
            run=run,
            secret=None if seed is None else bytes([seed, place] * 16),
        )
        for place, name in enumerate(names)
    ]


def acquainted(plan: PricedReleases, **options: Any) -> tuple[list[SecureSite], list[bytes]]:
    found = sites(plan, **options)
    keys = [site.public_key() for site in found]
    for site in found:
        site.meet(keys)
    return found, keys


def content(message: bytes) -> Any:
    return numbers(base64.b64decode(json.loads(message)["sum"]))


def changed(message: bytes, **fields: object) -> bytes:
    return json.dumps(json.loads(message) | fields).encode()


def test_messages_of_all_sites_give_the_noisy_sum() -> None:
    plan = planned()
    (first, second) = plan.releases
    found, keys = acquainted(plan)
    for place, (release, at) in enumerate([(first, FIRST), (second, SECOND)]):
        messages = [site.masked(place, at) for site in found]
        answer = aggregate(messages[::-1], keys, release=release, place=place, at=at)
        exact = np.asarray(
            first.whole(JoinedRows(tuple(rows(seed, 30) for seed in range(3))), at, SeededNoise(0))
        )
        # Noise of deviation 100: beyond 600 with probability below 1e-8.
        assert 0.0 < np.abs(answer - exact).max() < 600.0


def test_a_run_in_one_process_gives_what_messages_give() -> None:
    plan = planned()
    found, keys = acquainted(plan)
    ask = SecureAsk(sites(plan, run="run 2", seed=None))
    for place, release in enumerate(plan.releases):
        by_messages = aggregate(
            [site.masked(place, FIRST) for site in found], keys, release=release, place=place, at=FIRST
        )
        np.testing.assert_array_equal(ask(release, FIRST), by_messages)  # seeded noise; masks cancel


class Counting(NoiseSource):
    """Noise that counts what is drawn."""

    private = False

    def __init__(self) -> None:
        self.drawn, self._noise = 0, SeededNoise(1)

    def bytes(self, count: int) -> bytes:
        self.drawn += count
        return self._noise.bytes(count)


def test_a_site_that_is_asked_again_sends_the_same_bytes_and_draws_nothing() -> None:
    plan, noise = planned(), Counting()
    _, keys = acquainted(plan)
    curator = Curator(rows(0, 30), plan, noise)
    site = SecureSite("north", curator, plan, sites=3, run="run 1", secret=b"\0" * 32)
    keys[0] = site.public_key()
    site.meet(keys)
    site.meet(keys)
    first = site.masked(0, FIRST)
    drawn = noise.drawn
    assert drawn > 0
    assert site.masked(0, FIRST.copy()) == first
    assert site.masked(0, FIRST) == first
    assert noise.drawn == drawn
    site.masked(1, SECOND)
    assert site.masked(0, FIRST) == first


def test_a_release_is_never_run_at_another_point_or_out_of_order() -> None:
    plan = planned()
    (site, *_), _ = acquainted(plan)
    with pytest.raises(PermitError, match="gradient"):
        site.masked(1, FIRST)
    site.masked(0, FIRST)
    for other in (SECOND, np.nextafter(FIRST, 1.0), None):
        with pytest.raises(PermitError, match="at another point"):
            site.masked(0, other)
    for place in (2, -1):
        with pytest.raises(PermitError, match="of a plan with 2"):
            site.masked(place, FIRST)
    site.masked(1, FIRST)


@pytest.mark.parametrize("missing", NAMES)
def test_without_a_site_there_is_an_error_that_names_it(missing: str) -> None:
    plan = planned()
    found, keys = acquainted(plan)
    messages = [site.masked(0, FIRST) for site in found if site.name != missing]
    with pytest.raises(ExchangeError, match=f"no message of '{missing}' for release 0"):
        aggregate(messages, keys, release=plan.releases[0], place=0, at=FIRST)


def test_what_is_not_a_message_of_this_release_is_refused() -> None:
    plan = planned()
    found, keys = acquainted(plan)
    other, _ = acquainted(plan, run="run 2")
    messages = [site.masked(0, FIRST) for site in found]

    def refused(*last: bytes, match: str, place: int = 0, at: Any = FIRST) -> None:
        with pytest.raises(ExchangeError, match=match):
            aggregate([*messages[:2], *last], keys, release=plan.releases[0], place=place, at=at)

    twice = aggregate([*messages, messages[0]], keys, release=plan.releases[0], place=0, at=FIRST)
    assert twice.shape == (3,)
    refused(messages[2], match="another run, release or point", at=SECOND)
    refused(messages[2], match="another run, release or point", place=1)
    refused(other[2].masked(0, FIRST), match="site 'west' that is of another run")
    refused(messages[2], changed(messages[0], sum="AAAA"), match="second one")
    refused(changed(messages[2], site="east"), match="site 'east'")
    refused(changed(messages[2], sum="AAAA"), match="different lengths")
    refused(changed(messages[2], sum="no base64!"), match="damaged")
    refused(changed(messages[2], sum=7), match="damaged")
    refused(changed(messages[2], release=False), match="another run, release or point")
    refused(changed(messages[2], more=1), match="damaged")
    for damaged in (b"", b"[]", b"[" * 100_000, b"\xff", messages[2][:-1], b'{"format": NaN}'):
        refused(damaged, match="damaged")


def test_keys_are_those_of_the_planned_sites_in_this_run() -> None:
    plan = planned()
    site, *others = sites(plan)
    own, south, west = (each.public_key() for each in (site, *others))
    stranger = sites(plan, names=("east", "far"), seed=9)[1].public_key()
    low_order = changed(west, key=base64.b64encode(bytes(32)).decode())
    with pytest.raises(ExchangeError, match="before it has the keys"):
        site.masked(0, FIRST)
    for keys, match in (
        ([own, south], "keys of 2 sites"),
        ([own, south, west, stranger], "keys of 4 sites"),
        ([own, south, changed(west, run="run 2")], "another run"),
        ([own, south, south], "two keys of one site"),
        ([stranger, south, west], "not its own"),
        ([changed(own, key=json.loads(south)["key"]), south, west], "not its own"),
        ([own, south, changed(west, key=json.loads(south)["key"])], "one key for two sites"),
        ([own, south, changed(west, key="AAAA")], "damaged"),
        ([own, south, low_order], "'west' that is no X25519 key"),
        ([own, south, changed(west, site=3)], "damaged"),
    ):
        with pytest.raises(ExchangeError, match=match):
            site.meet(keys)
    site.meet([west, own, south])
    with pytest.raises(ExchangeError, match="other keys than it took before"):
        site.meet([own, south, changed(west, key=json.loads(stranger)["key"])])


def test_what_leaves_a_site_has_the_length_of_the_formula() -> None:
    """16 bytes a number in base64, whatever the rows."""
    plan = planned()
    found, _ = acquainted(plan)
    messages = [site.masked(0, FIRST) for site in found]
    assert {len(base64.b64decode(json.loads(message)["sum"])) for message in messages} == {16 * 3}
    assert len({len(message) - len(site.name) for site, message in zip(found, messages, strict=True)}) == 1


def masks_again(plan: PricedReleases, **options: Any) -> int:
    """How many of a site's numbers in two releases are so near that one mask hides both."""
    found, _ = acquainted(plan, **options)
    return sum(near(content(site.masked(0, FIRST)), content(site.masked(1, FIRST))) for site in found)


def test_no_mask_hides_two_releases_and_a_twin_that_uses_them_again_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By chance a number is that near with probability 2^-11; none of nine is, for these keys."""
    plan = planned()
    assert masks_again(plan) == 0
    honest = secure_site.mask
    monkeypatch.setattr(
        secure_site, "mask", lambda name, secrets, context, count: honest(name, secrets, b"", count)
    )
    assert masks_again(plan) == 9


def test_no_mask_hides_a_release_in_two_runs() -> None:
    """The same seeded noise and rows in two runs, with keys of the operating system.

    Each of nine numbers is near by chance with probability 2^-11, so two of them are in 1 of 100,000 runs.
    With masks that are used again all nine are.
    """
    plan = planned()
    first, second = (acquainted(plan, seed=None, run="run")[0] for _ in range(2))
    pairs = [(one.masked(0, FIRST), two.masked(0, FIRST)) for one, two in zip(first, second, strict=True)]
    assert sum(near(*map(content, pair)) for pair in pairs) <= 1
    same_keys = [acquainted(plan, run=run)[0][0].masked(0, FIRST) for run in ("run 1", "run 2")]
    assert near(*map(content, same_keys)) == 0  # other runs have other masks, whatever the keys


def test_of_two_sites_each_message_alone_is_far_from_the_sums() -> None:
    plan = planned()
    found, _ = acquainted(plan, names=("a", "b"))
    for site in found:
        numbers_sent = content(site.masked(0, FIRST))
        centred = np.abs((numbers_sent + MODULUS // 2) % MODULUS - MODULUS // 2)
        assert (centred > 2**100).all()  # a sum and its noise are below 2^60


def test_a_release_that_is_no_sum_is_never_shared() -> None:
    class Other(Gradient):
        @property
        def summed(self) -> None:
            return None

    release: Release = Other(families["binomial"](), 100.0)
    plan = budgeted_plan((release,), Privacy.gdp(1.0), mu=1.0)
    (site, *_), _ = acquainted(plan)
    with pytest.raises(AssertionError, match="planned as a sum"):
        site.masked(0, FIRST)
