"""Numbers that vary far less than their declared ranges: what noise hides of them must not be in others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpglm
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.interval_model import HIDDEN_SCALE, USUALLY_SEEN, interval_model, with_seen_spreads
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.typing import FloatMatrix

CONSTANT, NOISE = 0.5, 2.0


def column(start: int, kind: str) -> TermColumns:
    return TermColumns(f"x{start}", kind, start, start + 1, 1.0, np.ones((1, 1)), np.ones(1))  # type: ignore[arg-type]


def model(weight: float, variances: tuple[float, float], correlation: float = 0.0) -> LinearModel:
    """A constant and two numbers, coded for a variance of a quarter, of which these shares are there."""
    constant = TermColumns("Intercept", "intercept", 0, 1, CONSTANT**2, np.full((1, 1), CONSTANT), np.ones(1))
    deviations = np.sqrt(0.25 * np.array(variances))
    rows: FloatMatrix = weight * np.outer(deviations, deviations) * [[1.0, correlation], [correlation, 1.0]]
    information = np.zeros((3, 3))
    information[0, 0], information[1:, 1:] = weight * CONSTANT**2, rows
    zeros = np.zeros(3)
    released = ScoreAndInformation(
        (constant, column(1, "slope"), column(2, "slope")),
        zeros,
        zeros,
        information,
        5.0,
        NOISE,
        1.0,
        np.ones(3),
        third_derivative_bound=1.0,
    )
    return LinearModel(released)


def test_a_spread_is_the_share_of_the_variance_that_a_column_is_coded_for() -> None:
    first, second = model(800.0, (0.9, 0.02)).spreads
    assert first.seen == pytest.approx(0.9)
    assert second.seen == pytest.approx(0.02)
    assert first.alone == pytest.approx(0.9 * 200.0 / NOISE)
    assert second.alone == pytest.approx(0.02 * 200.0 / NOISE)
    assert second.moves == pytest.approx(1.645 * 5.0 / np.sqrt(800.0 * (0.02 * 200.0 + NOISE)))
    assert (first.hidden, second.hidden) == (False, True)


def test_a_number_is_hidden_beside_its_neighbour_where_it_would_be_seen_alone() -> None:
    assert not model(8_000.0, (1.0, 0.05)).spreads[1].hidden
    assert model(8_000.0, (1.0, 0.05), correlation=0.97).spreads[1].hidden


def test_neither_few_rows_nor_a_neighbour_alone_hide_a_number() -> None:
    assert not any(spread.hidden for spread in model(20.0, (1.0, 1.0)).spreads)
    assert not any(spread.hidden for spread in model(800.0, (1.0, 1.0), correlation=0.999).spreads)


@settings(max_examples=50)
@given(
    weight=st.floats(1.0, 1e6),
    shares=st.tuples(st.floats(1e-4, 2.0), st.floats(1e-4, 2.0)),
    correlation=st.floats(-0.99, 0.99),
)
def test_prior_scales_grow_and_never_shrink(
    weight: float, shares: tuple[float, float], correlation: float
) -> None:
    one = model(weight, shares, correlation)
    grown = np.sqrt(with_seen_spreads(one).prior_variance / one.released.prior_variance)
    assert grown[0] == 1.0
    assert (grown >= 1.0).all()
    for spread, factor in zip(one.spreads, grown[1:], strict=True):
        if spread.seen - spread.noise >= USUALLY_SEEN:
            assert factor == pytest.approx(HIDDEN_SCALE if spread.hidden else 1.0)


def drawn(width: float) -> dpglm.FitResult:
    """x beside a number z of effect 1 whose declared range is so many standard deviations to each side."""
    random = np.random.default_rng(4)
    z, x = random.normal(size=4_000), random.normal(size=4_000)
    y = (random.random(4_000) < 1.0 / (1.0 + np.exp(-z - 0.5 * x))).astype(int)
    frame = pd.DataFrame({"z": z, "x": x, "y": y})
    schema = {"y": [0, 1], "z": (-width, width), "x": (-4, 4)}
    found = dpglm.fit("y ~ z + x", frame, schema=schema, privacy=(1.0, 1e-6), seed=4, progress=False)
    assert isinstance(found, dpglm.FitResult)
    return found


def test_beside_a_hidden_number_nothing_is_told() -> None:
    fit = drawn(250.0)
    assert not fit.tidy()["reliable"].any()
    assert fit.wald_test("x = 0").reason == "x = 0: noise hides how much z varies"
    text = " ".join(str(fit.summary()).split())
    assert "noise hides how much z varies. What it explains may be in any other coefficient" in text


def test_a_number_within_a_narrow_range_is_told() -> None:
    fit = drawn(4.0)
    assert fit.tidy()["reliable"].all()
    released = fit._record.released
    assert released is not None
    assert interval_model(released).masking == ()
