"""dpglm and patsy on real tables, large files and a cluster, timed in the project's own interpreter."""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import patsy

import dpglm
from dpglm.data.tables.sources import open_source
from dpglm.errors import DpglmError, PlanningAdvice, SchemaError
from dpglm.kept_rows import _Pass
from studies.real_tables import table
from studies.speed import simulated
from studies.speed.design import design_of
from studies.speed.own import schema, warm
from studies.speed.timing import peak_megabytes, serve, timed


@lru_cache(maxsize=1)
def real(name: str, rows: int) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """The first rows of a real table, the same without missing values, and patsy's information of it."""
    own = table(name)
    public, frame = own.schema(), own.frame().iloc[: rows or None]
    # patsy has no rule for missing values but to drop rows; give it the level that the schema fills in.
    filled = frame.fillna(fillings(public))
    right = own.formula().split("~", 1)[1]
    return frame, filled, patsy.dmatrix(right, template(public), return_type="matrix").design_info


def fillings(public: dpglm.Schema) -> dict[str, Any]:
    """What the schema says of missing values, by column."""
    return {name: one.missing for name, one in public.variables.items() if one.missing != "omit"}


def template(public: dpglm.Schema) -> pd.DataFrame:
    """Rows in which every declared level occurs, in declared order."""
    length = max(len(getattr(one, "levels", ())) for one in public.variables.values())
    columns: dict[str, Any] = {}
    for name, one in public.variables.items():
        if isinstance(one, dpglm.Categorical):
            codes = np.arange(length) % len(one.levels)
            columns[name] = pd.Categorical([one.levels[code] for code in codes], categories=one.levels)
        else:
            columns[name] = np.linspace(one.low, one.high, length)
    return pd.DataFrame(columns)


def own_design(name: str, rows: int) -> dict[str, Any]:
    """From the formula and the frame to coded rows: parsing, coding and all blocks."""
    frame, _, _ = real(name, rows)
    public, formula = table(name).schema(), table(name).formula()
    return timed(lambda: design_of(formula, frame, public).row_count())


def patsy_design(name: str, rows: int) -> dict[str, Any]:
    """patsy's evaluation only; its parsing and its search for levels are not counted."""
    _, filled, information = real(name, rows)
    return timed(lambda: patsy.build_design_matrices([information], filled))


def pandas_read(name: str, rows: int) -> dict[str, Any]:
    """The file into a frame."""
    return timed(lambda: pd.read_csv(table(name).path, nrows=rows or None, low_memory=False))


@cache
def takes_folders() -> bool:
    """Whether a folder of files is a table."""
    with tempfile.TemporaryDirectory() as folder:
        pd.DataFrame({"y": [0]}).to_parquet(Path(folder) / "part-0.parquet")
        try:
            open_source(folder)
        except SchemaError:
            return False
    return True


def parquet(folder: str, rows: int, columns: int, files: int) -> Path:
    """A Parquet file of float64 columns, or a folder of several; written by the first process that asks."""
    count = files if takes_folders() else 1
    path = Path(folder) / f"{rows}-{columns}-{count}{'.parquet' if count == 1 else ''}"
    if path.exists():
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    begun = Path(folder) / f"begun-{os.getpid()}"
    if count > 1:
        begun.mkdir()
    places = [begun] if count == 1 else [begun / f"part-{number}.parquet" for number in range(count)]
    writers: dict[Path, Any] = {}
    total = -(-rows // simulated.BLOCK)
    for number, (X, y) in enumerate(simulated.blocks(rows, columns)):
        arrays = {name: X[:, j] for j, name in enumerate(simulated.names(columns))}
        block = pa.table({**arrays, "y": y})
        place = places[number * count // total]
        if place not in writers:
            writers[place] = pq.ParquetWriter(place, block.schema)
        writers[place].write_table(block)
    for writer in writers.values():
        writer.close()
    begun.rename(path)
    return path


def parts(path: Path) -> list[Path]:
    """The files of a table."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def dot_pass(folder: str, rows: int, columns: int, files: int) -> dict[str, Any]:
    """Decode all columns and multiply them by a vector: the least that a pass over the file can be."""
    import pyarrow.parquet as pq

    path, weights = parquet(folder, rows, columns, files), np.ones(columns)
    names = [*simulated.names(columns), "y"]

    def once() -> None:
        for part in parts(path):
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(batch_size=32_000, columns=names):
                    X = np.empty((columns, batch.num_rows))
                    for j in range(columns):
                        X[j] = batch.column(j).to_numpy()
                    weights @ X

    return timed(once)


def parquet_fit(folder: str, rows: int, columns: int, files: int, options: dict[str, Any]) -> dict[str, Any]:
    """A fit of the file, how often it read all rows, and the process' largest memory."""
    path = parquet(folder, rows, columns, files)
    warm(json.dumps(options))
    count = Counted()
    with count:
        spent = timed(lambda: _fit(path, columns, options))
    return {
        **spent,
        "passes": count.rows / rows,
        "megabytes": peak_megabytes(),
        **({"note": "read as one file, since no folder is taken"} if files > 1 and path.is_file() else {}),
    }


def frame_fit(folder: str, rows: int, columns: int, files: int, options: dict[str, Any]) -> dict[str, Any]:
    """A fit of the same rows in memory."""
    frame = _frame(folder, rows, columns, files)
    warm(json.dumps(options))
    return {**timed(lambda: _fit(frame, columns, options)), "megabytes": peak_megabytes()}


@lru_cache(maxsize=1)
def _frame(folder: str, rows: int, columns: int, files: int) -> pd.DataFrame:
    return pd.read_parquet(parquet(folder, rows, columns, files))


def _fit(data: object, columns: int, options: dict[str, Any]) -> None:
    keywords = {**options, "privacy": tuple(options["privacy"])}
    dpglm.fit(simulated.formula(columns), data, schema=schema(columns), progress=False, seed=0, **keywords)


class Counted:
    """How many rows are read: decoded from Parquet files, or taken from where they were kept."""

    def __init__(self) -> None:
        self.rows = 0

    def __enter__(self) -> None:
        import pyarrow.parquet as pq

        self._kinds: tuple[Any, Any] = pq.ParquetFile, _Pass
        self._before = self._kinds[0].iter_batches, self._kinds[1].again

        def decoded(file: Any, *words: Any, **options: Any) -> Iterator[Any]:
            for batch in self._before[0](file, *words, **options):
                self.rows += batch.num_rows
                yield batch

        def again(kept: Any) -> Iterator[Any]:
            for chunk in self._before[1](kept):
                self.rows += chunk.count
                yield chunk

        self._kinds[0].iter_batches, self._kinds[1].again = decoded, again

    def __exit__(self, *error: object) -> None:
        self._kinds[0].iter_batches, self._kinds[1].again = self._before


def dask_fit(
    folder: str, rows: int, columns: int, files: int, processes: int, options: dict[str, Any]
) -> dict[str, Any]:
    """A fit of a dask frame of the file; CPU seconds are those of all processes."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    path = parquet(folder, rows, columns, files)
    seats = {"n_workers": processes, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**seats) as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        few = pd.DataFrame(dict.fromkeys([*simulated.names(columns), "y"], [0] * 2 * processes))
        _fit(dd.from_pandas(few, npartitions=2 * processes), columns, options)  # all import what they need
        # As many partitions as there are row groups, so that each process has some of them.
        data = dd.read_parquet([str(part) for part in parts(path)], split_row_groups=True)
        before = sum(client.run(time.process_time).values())
        spent = timed(lambda: _fit(data, columns, options))
        after = sum(client.run(time.process_time).values())
    return {"cpu": spent["cpu"] + after - before, "wall": spent["wall"]}


if __name__ == "__main__":
    works = (own_design, patsy_design, pandas_read, dot_pass, parquet_fit, frame_fit, dask_fit)
    warnings.simplefilter("ignore", PlanningAdvice)
    serve({one.__name__: one for one in works}, refusals=(DpglmError,))
