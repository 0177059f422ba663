"""No coded row, as float32 numbers, is longer in any block than the block's public bound."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError

NUMBERS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
TERMS = st.lists(
    st.sampled_from(["x", "z", "g", "h", "b", "x:g", "g:h", "x:z", "bs(x, df=4)", "b:x:g", "I(x > 0)"]),
    min_size=1,
    max_size=5,
    unique=True,
)


@settings(max_examples=60, deadline=None)
@given(NUMBERS, NUMBERS, st.integers(3, 40), st.integers(3, 8), TERMS, st.booleans(), st.integers(0, 2**31))
def test_every_block_of_every_row_keeps_its_bound(
    x: tuple[float, float],
    z: tuple[float, float],
    levels: int,
    more: int,
    terms: list[str],
    intercept: bool,
    seed: int,
) -> None:
    schema = Schema.of(
        {
            "y": ["no", "yes"],
            "x": (x[0], x[0] + x[1]),
            "z": (z[0], z[0] + z[1]),
            "g": [f"g{i}" for i in range(levels)],
            "h": [f"h{i}" for i in range(more)],
            "b": ["u", "v"],
        }
    )
    try:
        model = parse(f"y ~ {'1' if intercept else '0'} + {' + '.join(terms)}", schema)
        coding = Coding.of(model)
    except FormulaError:
        return
    rng = np.random.default_rng(seed)
    count = 300
    columns = {
        name: np.where(
            rng.random(count) < 0.8,
            rng.choice([low, low + width], count),  # the corners, where rows are longest
            np.clip(rng.uniform(low, low + width, count), low, low + width),
        )
        for name, (low, width) in (("x", x), ("z", z))
    }
    for name, size in (("g", levels), ("h", more), ("b", 2)):
        columns[name] = rng.integers(0, size, count).astype(np.int32)
    columns["y"] = np.zeros(count, np.int32)
    rows, _, _ = coding.encode(columns)
    squares = rows.astype(np.float64) ** 2
    for block in coding.term_columns:
        assert squares[block.columns].sum(axis=0).max() <= block.bound
    # So the reach that a method computes covers all rows, and no release blanks one.
    ridge = np.concatenate([np.full(b.stop - b.start, rng.uniform(0.1, 10)) for b in coding.term_columns])
    max_leverage = sum(block.bound / ridge[block.start] for block in coding.term_columns)
    assert ((squares.T @ (1.0 / ridge)) <= max_leverage).all()
