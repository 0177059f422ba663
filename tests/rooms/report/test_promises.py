"""What the page promises: the right numbers where there is a guarantee, nothing where there is none."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from dpglm.postprocessing.record import LedgerLine
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.gdp import gdp_delta
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.guarantee_figures import cumulative, privacy_profile, trade_off
from tests.rooms.report.reading import Element, Page
from tests.rooms.report.specimen import (
    MINIMISER,
    PAGES,
    PURE_THEOREM,
    approximate,
    fit,
    gaussian,
    ledger,
    plain,
    pure,
    render,
    seeded,
)


def page(guarantee: Guarantee) -> Page:
    return Page(render(fit(guarantee=guarantee)))


def cells(table: Element) -> list[list[str]]:
    return [[cell.words for cell in row.walk() if cell.tag in ("th", "td")] for row in table.all("tr")]


def table(read: Page, caption: str) -> list[list[str]]:
    (found,) = [t for t in read.root.all("table") if t.all("caption")[0].words == caption]
    return cells(found)[1:]


@pytest.mark.parametrize(
    ("epsilon", "odds", "one_percent", "half"),
    [
        (1.0, "73 of 100", "2.67 %", "73.1 %"),
        (0.1, "52 of 100", "1.10 %", "52.5 %"),
        (4.0, "98 of 100", "35.5 %", "98.2 %"),
    ],
)
def test_plain_words_give_the_largest_posterior(
    epsilon: float, odds: str, one_percent: str, half: str
) -> None:
    read = page(pure(epsilon=epsilon))
    assert f"at most {odds}; if she does not, it stays at 50 of 100" in read.visible
    rows = {row[0]: row[1] for row in table(read, "Belief in a guess about Ana’s row")}
    assert rows == {"1 %": one_percent, "10 %": rows["10 %"], "50 %": half}


@pytest.mark.parametrize(
    ("epsilon", "mu", "average", "power"),
    [(1.0, 0.268, "55.3 %", "1.98 %"), (0.1, 0.033, "50.7 %", "1.09 %"), (4.0, 0.925, "67.8 %", "8.06 %")],
)
def test_gaussian_numbers_stand_on_the_page(epsilon: float, mu: float, average: str, power: str) -> None:
    read = page(gaussian(epsilon=epsilon, mu=mu))
    assert f"the best guesser is right {average} of the time" in read.visible
    assert table(read, "Power of a test for one row")[0] == ["1 %", power]


def test_delta_is_called_what_it_is_and_pure_epsilon_needs_no_such_words() -> None:
    words = page(approximate()).visible
    assert "The limit is not absolute" in words
    assert "1 in 100,000" in words
    assert "with a chance of at most 1 in 50,000" in words
    assert "not absolute" not in page(pure()).visible


@pytest.mark.parametrize("mu", [0.05, 0.268, 0.925, 3.0])
def test_odds_beyond_twice_the_factor_have_chance_at_most_twice_delta(mu: float) -> None:
    # The loss of a Gaussian pair is N(mu^2 / 2, mu^2). The factor 2 is the best in general: a loss that is
    # epsilon + log 2 with chance p, and below epsilon otherwise, has delta = p (1 - 1/2).
    for epsilon in (0.0, 0.1, 1.0, 2.0):
        beyond = 0.5 * math.erfc(((epsilon + math.log(2.0)) / mu - mu / 2.0) / math.sqrt(2.0))
        assert beyond <= 2.0 * gdp_delta(epsilon, mu)


def test_a_large_epsilon_is_called_a_weak_promise() -> None:
    assert "This is a weak promise" in page(pure(epsilon=4.0)).visible
    assert "This is a weak promise" not in page(pure(epsilon=1.0)).visible


def test_under_add_remove_the_question_is_membership_and_content_counts_twice() -> None:
    words = page(pure(relation="add-remove")).visible
    assert "whether Ana’s row is in the table" in words
    assert "from even odds at most 88.1 %" in words  # e^2 / (1 + e^2)
    assert "counts twice" not in page(pure()).visible


@pytest.mark.parametrize(
    "guarantee", [pure(), approximate(), gaussian()], ids=["pure", "approximate", "gaussian"]
)
def test_groups_of_one_two_and_five(guarantee: Guarantee) -> None:
    rows = table(page(guarantee), "Group privacy")
    assert [row[0] for row in rows] == ["1", "2", "5"]
    for row, size in zip(rows, (1, 2, 5), strict=True):
        epsilon, delta = guarantee.group(size)
        assert float(row[1]) == pytest.approx(epsilon, rel=1e-3)  # four digits
        assert float(row[1]) >= epsilon * (1 - 1e-12)  # never rounded down
        assert float(row[2]) >= delta


@pytest.mark.parametrize(
    "guarantee", [pure(), approximate(), gaussian()], ids=["pure", "approximate", "gaussian"]
)
def test_curves_fall_and_stay_below_blind_guessing(guarantee: Guarantee) -> None:
    for points in (trade_off(guarantee), privacy_profile(guarantee)):
        xs, ys = zip(*points, strict=True)
        assert list(xs) == sorted(xs)
        assert list(ys) == sorted(ys, reverse=True)
        assert all(0.0 <= y <= 1.0 for y in ys)
    assert all(b <= 1.0 - a + 1e-12 for a, b in trade_off(guarantee))


@pytest.mark.parametrize(
    "guarantee", [pure(), approximate(), gaussian()], ids=["pure", "approximate", "gaussian"]
)
def test_the_profile_never_claims_more_than_the_trade_off(guarantee: Guarantee) -> None:
    # beta >= 1 - delta - e^epsilon alpha for all points of the profile
    for epsilon, delta in privacy_profile(guarantee):
        slack = [b - (1.0 - delta - math.exp(epsilon) * a) for a, b in trade_off(guarantee)]
        assert min(slack) >= -1e-9


def test_the_profile_passes_through_what_was_declared_and_is_randomised_response_below() -> None:
    for guarantee in (pure(), approximate(), gaussian()):
        found = dict(privacy_profile(guarantee))
        assert found[guarantee.epsilon] <= guarantee.delta
    assert dict(privacy_profile(pure()))[0.0] == pytest.approx(
        math.tanh(0.5)
    )  # total variation (e - 1) / (e + 1)
    assert dict(privacy_profile(gaussian()))[0.0] == pytest.approx(math.erf(0.134 / math.sqrt(2.0)))


def test_a_ledger_of_gaussian_budgets_is_drawn_in_mu() -> None:
    line = LedgerLine("", "charged", 1.0, 1e-5, 0.3)
    state = ledger(entries=(line, line), spent_epsilon=1.45)
    measure, spent = cumulative(state)
    assert measure == "mu"
    assert spent == pytest.approx((0.3, 0.3 * math.sqrt(2.0)))
    assert cumulative(ledger()) == ("epsilon", (0.5, 1.0, 1.0, 2.0))


def test_without_a_ledger_the_page_warns() -> None:
    words = Page(render(fit(ledger=None))).visible
    assert "No ledger was used." in words
    assert "no ledger was used" in words


def test_refusals_and_balance_stand_in_the_ledger() -> None:
    read = Page(render(fit()))
    assert [row[3] for row in table(read, "Entries")] == ["charged", "charged", "refused", "charged"]
    assert table(read, "Balance right after this fit was charged")[2] == ["left", "1", "0"]


def test_standard_errors_are_absent_not_zero() -> None:
    rows = table(Page(render(fit())), "Coefficients, original scale")
    assert {row[2] for row in rows} == {"-"}
    assert {row[0]: row[4] for row in rows}["children"] == "no"
    assert {row[0]: row[3] for row in rows}["rate_marriage"] == "0.5010"


def test_the_number_of_rows_is_absent_where_it_is_private() -> None:
    words = Page(render(fit(guarantee=approximate(), n_rows=None))).visible
    assert "private, and nowhere in this report" in words
    assert "6,366" not in words


def test_bounds_read_off_the_data_are_called_out() -> None:
    peeked = {"variables": {"age": {"bounds": [17.5, 42.0], "looked_at_data": True}}}
    assert "read off the private data for age" in Page(render(fit(schema=peeked))).visible
    assert "read off the private data" not in Page(render(fit())).visible


CLAIMS = re.compile(
    r"differential(ly)? priva|ε|δ|μ|epsilon|at most|theorem|protect|budget|\bcurator\b|Ana\b|anonym",
    re.IGNORECASE,
)


@pytest.mark.parametrize("make", [seeded, plain, PAGES["intervals_seeded"][0]])
def test_a_result_without_privacy_claims_nothing_in_any_section(make: object) -> None:
    assert callable(make)
    read = Page(render(make()))
    assert not CLAIMS.search(read.visible), CLAIMS.search(read.visible)
    assert read.visible.count("NOT PRIVATE") >= 8
    assert read.root.all("title")[0].text.startswith("NOT PRIVATE")
    assert "Report without privacy" in read.root.all("h1")[0].text
    strip = [element for element in read.root.walk() if element.has("alarm")]
    assert [element.words.startswith("NOT PRIVATE") for element in strip] == [True]
    assert not {"tradeoff-t", "profile-t", "icons-t"} & {e.attributes.get("id") for e in read.root.walk()}


def test_the_search_for_claims_finds_them_where_they_belong() -> None:
    words = Page(render(fit())).visible
    found = {match.group(0).lower() for match in CLAIMS.finditer(words)}
    assert {"ε", "at most", "theorem", "budget", "ana"} <= found
    assert "NOT PRIVATE" not in words


def test_each_release_says_what_it_is_and_why_it_is_private() -> None:
    section = Page(render(PAGES["intervals"][0]())).by_id("mechanism")
    assert [heading.words for heading in section.all("h3")] == ["perturbed minimiser", "information matrix"]
    for theorem in (PURE_THEOREM, "Gaussian mechanism (information.md)"):
        assert theorem in section.words
    assert [step.words for step in section.all("li")] == [
        "At the minimiser the gradient is zero.",
        "Outputs and noise determine each other.",
    ]
    assert "Sensitivity, Euclidean norm" in section.words
    seeded_words = Page(render(PAGES["intervals_seeded"][0]())).by_id("mechanism").words
    assert "Sensitivity" not in seeded_words
    assert "At the minimiser" not in seeded_words


def test_many_releases_leave_the_page_short() -> None:
    description = MethodDescription("many", tuple(replace(MINIMISER, name=f"part {k}") for k in range(1000)))
    words = Page(render(fit(description=description))).by_id("mechanism").words
    assert "part 19" in words
    assert "part 20" not in words
    assert "980 more releases are in the saved result" in words


def test_no_theorem_is_printed_without_its_mechanism() -> None:
    for guarantee in (pure(), approximate(), gaussian()):
        words = page(guarantee).visible
        assert words.count("Theorem A") + words.count("Theorem B") == words.count("(Theorem ")


def test_the_words_of_a_long_theorem_are_not_cut_off() -> None:
    theorem = "; ".join(
        ["objective perturbation on groups of columns (Theorem A2, submodel_minimisers.md)"] * 8
    )
    read = page(approximate(theorem=theorem))
    assert theorem in read.by_id("guarantee").words
    assert theorem in read.by_id("verdict").words


def test_the_plan_that_was_charged_is_named_beside_the_guarantee_and_in_the_annex() -> None:
    digits = "0123456789abcdef" * 4
    line = LedgerLine("fit", "charged", 1.0, 0.0, None, plan=digits)
    read = Page(render(fit(plan_fingerprint=digits, ledger=ledger(entries=(line,), spent_epsilon=1.0))))
    for section in ("guarantee", "annex"):
        assert digits in read.by_id(section).words
    assert table(read, "Entries")[0][-1] == "0123456789ab…"
    assert "Plan that was charged" not in page(pure()).visible
