"""Design: bounded blocks, the same from memory and from a stream, from any source, pass after pass."""

import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.source import Source
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError

SCHEMA = Schema.of(
    {"x": (-2, 2), "g": ["a", "b", "c"], "w": {"bounds": [0, 4], "missing": 1}, "y": ["no", "yes"]}
)


class TinyEncoder:
    """A constant, x / 4, and an offset w."""

    columns = ("x", "w")
    size = 2

    def encoded(self, columns):
        usable = ~np.isnan(columns["x"])
        x = np.where(usable, columns["x"], 77.0)
        return np.array([np.full(len(x), 0.5), x / 4], dtype=np.float32), columns["w"], usable


def real_encoder(formula="y ~ x + g"):
    model = parse(formula, SCHEMA)
    return Coding.of(model)


def table(rows, seed=0):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": random.normal(size=rows).round(4), "w": random.random(rows).round(4)})
    frame.loc[::5, "x"] = np.nan
    frame["g"] = random.choice(np.array(["a", "b", "c", "?", None], dtype=object), rows)
    frame["y"] = random.choice(np.array(["no", "yes", "perhaps", None], dtype=object), rows)
    return frame


def design_of(data, encoder=None, **options):
    return Design(
        open_source(data), SCHEMA, encoder or TinyEncoder(), Response.of(SCHEMA, "y", "binary"), **options
    )


def stacked(blocks):
    blocks = list(blocks)
    return (
        np.concatenate([block.X for block in blocks], axis=1),
        np.concatenate([block.y for block in blocks]),
        np.concatenate([block.offset for block in blocks]) if blocks[0].offset is not None else None,
    )


def assert_same(left, right):
    left, right = list(left), list(right)
    assert len(left) == len(right)
    for one, two in zip(left, right, strict=True):
        np.testing.assert_array_equal(one.X, two.X)
        np.testing.assert_array_equal(one.y, two.y)
        np.testing.assert_array_equal(one.offset, two.offset)


def test_rows_that_cannot_be_used_are_zero_and_still_there():
    frame = table(5000)
    X, y, offset = stacked(design_of(frame).chunks())
    usable = frame["x"].notna().to_numpy() & frame["y"].isin(["no", "yes"]).to_numpy()
    assert X.shape == (2, 5000)
    assert not X[:, ~usable].any()
    assert not y[~usable].any()
    assert not offset[~usable].any()
    np.testing.assert_array_equal(y[usable], frame["y"].to_numpy()[usable] == "yes")
    np.testing.assert_array_equal(X[0, usable], np.float32(0.5))
    np.testing.assert_array_equal(offset[usable], frame["w"].to_numpy()[usable])


def test_blocks_are_8000_rows_in_float32_side_by_side_and_read_only():
    for encoder in (TinyEncoder(), real_encoder()):
        design = design_of(table(20_000), encoder)
        blocks = list(design.chunks())
        assert [len(block.y) for block in blocks] == [8000, 8000, 4000]
        for block in blocks:
            assert block.X.dtype == np.float32
            assert block.X.shape == (design.size, len(block.y))
            assert block.X.flags.c_contiguous
            assert block.X.base is None  # keeps no larger array alive
            assert block.y.dtype == np.float64
            assert not block.X.flags.writeable
            assert not block.y.flags.writeable


def test_blocks_are_coded_whatever_their_thread_cut_before():
    frame, coding = table(20_000), real_encoder("y ~ x + g + offset(w)")
    clean = SCHEMA.clean(frame, ("x", "g", "w", "y"))
    rows, offsets, usable = coding.encode(clean)
    usable &= clean["y"] >= 0
    X, y, offset = stacked(list(design_of(frame, coding).chunks()))  # kept, while others are made
    np.testing.assert_array_equal(X, np.where(usable, rows, 0.0))
    np.testing.assert_array_equal(y, np.where(usable, clean["y"], 0.0))
    np.testing.assert_array_equal(offset, np.where(usable, offsets, 0.0))


def test_what_a_thread_cut_is_gone_with_the_design():
    design = design_of(table(10_000))
    stacked(design.chunks())
    cut = weakref.ref(design._rooms.room)
    assert cut() is not None
    del design
    assert cut() is None


@pytest.mark.parametrize(
    "encoder", [TinyEncoder(), real_encoder(), real_encoder("y ~ x + offset(w)"), real_encoder("y ~ 1")]
)
def test_streamed_and_kept_blocks_are_equal_at_every_pass(encoder):
    frame = table(40_000)
    kept, streamed = design_of(frame, encoder), design_of(frame, encoder, memory_limit=0)
    first = list(kept.chunks())
    assert_same(first, streamed.chunks())
    assert_same(first, streamed.chunks())
    assert_same(first, kept.chunks())
    assert next(kept.chunks()).X is first[0].X
    assert next(streamed.chunks()).X is not next(streamed.chunks()).X


def test_csv_parquet_polars_and_frame_give_equal_blocks(tmp_path):
    frame = table(40_000)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=999)
    expected = list(design_of(frame, real_encoder()).chunks())
    for data in (
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        pytest.importorskip("polars").from_pandas(frame),
    ):
        assert_same(design_of(data, real_encoder()).chunks(), expected)


def test_a_pass_that_is_broken_off_leaves_the_next_one_whole():
    design = design_of(table(5000))
    next(design.chunks())
    assert sum(len(block.y) for block in design.chunks()) == 5000
    assert design.row_count() == 5000


def test_rows_are_counted_whether_usable_or_not():
    assert design_of(table(3000)).row_count() == 3000
    assert design_of(table(0)).row_count() == 0
    assert design_of(table(3000), memory_limit=1).row_count() == 3000


def test_undeclared_and_absent_columns_are_told_before_any_row_is_read():
    class Unreadable(Source):
        column_names = ("x", "w", "y")

        def chunks(self, columns, *, numeric=()):
            raise AssertionError("read")

    response = Response.of(SCHEMA, "y", "binary")
    Design(Unreadable(), SCHEMA, TinyEncoder(), response)
    with pytest.raises(SchemaError, match="no column g"):
        Design(Unreadable(), SCHEMA, real_encoder(), response)
    with pytest.raises(SchemaError, match="no declaration of w"):
        Design(Unreadable(), Schema.of({"x": (0, 1), "y": ["no", "yes"]}), TinyEncoder(), response)


def test_norms_of_coded_rows_are_at_most_one():
    X, _, _ = stacked(design_of(table(20_000), real_encoder("y ~ x * g + I(x ** 2)")).chunks())
    assert np.einsum("ji,ji->i", X, X, dtype=np.float64).max() <= 1.0


PEAK = """
import resource, sys
import numpy as np
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source

class Wide:
    columns, size = ("x",), 200
    def encoded(self, columns):
        return np.repeat(columns["x"][None, :] / 40, 200, 0).astype(np.float32), None, columns["x"] > -9

schema = Schema.of({"x": (-2, 2), "y": ["no", "yes"]})
response = Response.of(schema, "y", "binary")
design = Design(open_source(sys.argv[1]), schema, Wide(), response, memory_limit=2**24)
for _ in range(2):
    for block in design.chunks():
        block.X.sum()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.audit
def test_memory_of_a_streamed_design_does_not_grow_with_the_rows(tmp_path):
    def peak(rows):
        path = tmp_path / f"{rows}.csv"
        path.write_text("x,y\n" + "0.5,yes\n" * rows)
        run = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True)
        return int(run.stdout) / 1024

    # Coded, the larger table has 320 MB and the smaller one 32 MB; both exceed the limit of 16 MB.
    assert peak(400_000) - peak(40_000) < 30


def test_a_row_that_is_not_bounded_never_reaches_a_release() -> None:
    """The design looks at norms itself: a coding gone wrong costs rows, not privacy."""

    class Broken:
        columns = ("x",)
        size = 2

        def encoded(self, columns: Any) -> tuple[Any, None, Any]:
            x = columns["x"].astype(np.float32)
            return np.vstack([x, np.sqrt(np.maximum(1 - x**2, 0))]), None, np.ones(len(x), dtype=bool)

    frame = pd.DataFrame({"x": [0.5, 2.0, np.nan, 1.0], "y": ["no", "yes", "yes", "yes"]})
    schema = Schema.of({"x": (0.0, 3.0), "y": ["no", "yes"]})
    (block,) = Design(open_source(frame), schema, Broken(), Response.of(schema, "y", "binary")).chunks()
    assert block.X[:, 1].tolist() == block.X[:, 2].tolist() == [0.0, 0.0]
    assert block.X[0, [0, 3]].tolist() == [0.5, 1.0]
    assert block.y.tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("bounds", [(-8e307, 8e307), (0, 1e-300), (-1e155, 1e155), (1e300, 1.0000001e300)])
@pytest.mark.parametrize("centred", [True, False])
def test_a_response_whose_square_is_no_number_is_refused(bounds, centred):
    with pytest.raises(SchemaError, match="1e-140 to 1e"):
        Response.of(Schema.of({"y": bounds}), "y", "number", centred=centred)
