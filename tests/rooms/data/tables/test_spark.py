"""Rows of a Spark session: the same numbers to the last bit, and nothing of a row in errors."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import ClusterError, SchemaError
from tests.rooms.data.tables.test_cluster import BY_PERSON, CUTS, FORMULA, HOSTILE, SCHEMA, table

pyspark = pytest.importorskip("pyspark", reason="dpglm[spark] is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark runs on Java, which is not installed", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.audit]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    one = builder.getOrCreate()
    one.sparkContext.setLogLevel("OFF")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table in Parquet files cut unevenly."""
    folder = tmp_path_factory.mktemp("visits")
    for number, (start, stop) in enumerate(pairwise(CUTS)):
        table().iloc[start:stop].to_parquet(folder / f"part-{number}.parquet")
    return folder


def rows_of(frame: Any) -> pd.DataFrame:
    """The frame's rows in its own order."""
    return frame.toPandas().reset_index(drop=True)


@pytest.mark.parametrize("how", [{}, {"privacy": 1.0, "penalty": "l1"}, {"schema": BY_PERSON}])
def test_a_fit_has_the_same_bits_as_of_one_frame(session: Any, files: Path, how: dict[str, Any]) -> None:
    frame = session.read.parquet(str(files)).repartition(4).persist()
    here = rows_of(frame)
    assert len(here) == len(table())
    asked = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "seed": 3, "progress": False, **how}
    assert dpglm.fit(FORMULA, here, **asked) == dpglm.fit(FORMULA, frame, **asked)


@pytest.mark.papers
def test_samples_are_drawn_here_and_summed_there(session: Any) -> None:
    frame = session.createDataFrame(table(5_000)).repartition(3).persist()
    asked: dict[str, Any] = {"schema": SCHEMA, "privacy": (1.0, 1e-6), "seed": 3, "progress": False}
    method = dpglm.methods.DPSGD(steps=5)
    one, other = (dpglm.fit(FORMULA, data, method=method, **asked) for data in (rows_of(frame), frame))
    assert one == other


def test_a_frame_that_cannot_be_computed_is_an_error_without_its_words(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame(table(100))
    broken = frame.mapInPandas(_broken, frame.schema)
    ledger = dpglm.Ledger(tmp_path / "a.ledger", budget=(1.0, 1e-6))
    with pytest.raises(ClusterError, match="could not do a job") as caught:
        dpglm.fit(FORMULA, broken, schema=SCHEMA, privacy=(1.0, 1e-6), ledger=ledger, progress=False)
    assert HOSTILE not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert len(ledger.entries) == 1
    with pytest.raises(SchemaError, match="no column z"):
        dpglm.fit(FORMULA, frame.drop("z"), schema=SCHEMA, privacy=(1.0, 1e-6), ledger=ledger)
    assert len(ledger.entries) == 1


def _broken(frames: Any) -> Any:
    for _ in frames:
        raise ValueError(HOSTILE)
    yield pd.DataFrame({"x": np.zeros(0)})
