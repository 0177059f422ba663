"""Rows of the table about real tables, large files, a cluster, and the start of a process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from studies import real_tables
from studies.speed.contest import PEER, TABLES, Contest, Figure, Turn
from studies.speed.fit_rows import APPROXIMATE, size
from studies.speed.measure import folder
from studies.speed.programs import BASE, FIRST_FIT, HELP, IMPORT, KDD_READ, KDD_REPORT, WITH_PANDAS


def design(name: str, rows: int = 0) -> Contest:
    """From a formula and a frame in memory to coded rows; how long the file takes to read is for scale."""
    part = {"name": name, "rows": rows}
    real = real_tables.table(name)
    peer: dict[str, Any] = {"path": str(real.path) if real_tables.available(name) else "", "rows": rows}
    public = real.schema()
    fillings = {one: kind.missing for one, kind in public.variables.items() if kind.missing != "omit"}
    formulaic = {**peer, "formula": real.formula(), "fillings": fillings}
    return Contest(
        (
            Turn("design", "own_design", part, TABLES),
            Turn("patsy", "patsy_design", part, TABLES),
            Turn("formulaic", "formulaic_design", formulaic, PEER),
            Turn("pandas.read_csv", "pandas_read", part, TABLES),
            Turn("polars.read_csv", "polars_read", peer, PEER),
        ),
        (
            Figure(f"{name}: design / patsy's", "design", "patsy", 0.08),
            *(
                Figure(f"{name}: design / {other}", "design", other)
                for other in ("formulaic", "pandas.read_csv", "polars.read_csv")
            ),
        ),
    )


def parquet(rows: int, columns: int, files: int, frame: bool = True) -> Contest:
    """Rows streamed from Parquet files, against passes that decode and multiply, and no more.

    ``frame``: the same rows in memory as well, where there is memory for them.
    """
    part = {"folder": str(folder()), "rows": rows, "columns": columns, "files": files}
    fitted = {**part, "options": {"penalty": "l2", "privacy": APPROXIMATE}}
    about = f"Parquet, {size(rows, columns)}"
    turns = [
        Turn("pass", "dot_pass", part, replace(TABLES, alone="pass")),
        Turn("fit", "parquet_fit", fitted, replace(TABLES, alone=f"fit of {rows}")),
    ]
    figures = [
        Figure(f"{about}: CPU of the fit / CPU of its passes", "fit", "pass", 1.5, passes=True),
        Figure(f"{about}: wall time of the fit / of its passes", "fit", "pass", by="wall", passes=True),
        Figure(f"{about}: largest memory", "fit", goal=500.0, by="megabytes"),
    ]
    if frame:
        turns.append(Turn("frame", "frame_fit", fitted, replace(TABLES, alone=f"frame of {rows}")))
        figures += [
            Figure(f"{about}: fit of the same rows as a frame / one pass", "frame", "pass"),
            Figure(f"{about}: largest memory with the frame", "frame", by="megabytes"),
        ]
    return Contest(tuple(turns), tuple(figures))


def dask(rows: int, columns: int, files: int) -> Contest:
    """A dask cluster of two processes against one of one."""
    part = {"folder": str(folder()), "rows": rows, "columns": columns, "files": files}
    options = {"penalty": "l2", "privacy": APPROXIMATE}
    one, two = (
        Turn(
            f"{count} process",
            "dask_fit",
            {**part, "processes": count, "options": options},
            replace(TABLES, alone=f"dask {count}", threads=1),
        )
        for count in (1, 2)
    )
    what = f"dask, {size(rows, columns)}: wall time, two processes / one"
    return Contest((one, two), (Figure(what, two.name, one.name, 0.6, by="wall"),))


def kdd() -> Contest:
    """KDD Cup 99 from the CSV file to a privacy report in a fresh process, imports included."""
    real = real_tables.table("kddcup99")
    file = str(real.path) if real_tables.available("kddcup99") else ""
    words = (file, real.formula(), str(real.schema_path))
    return Contest(
        (
            Turn("report", KDD_REPORT, {"words": words}, None),
            Turn("pandas.read_csv", KDD_READ, {"words": words[:1]}, None),
        ),
        (
            Figure("KDD from CSV to report / pandas.read_csv", "report", "pandas.read_csv", 4.0),
            Figure("KDD from CSV to report: largest memory", "report", goal=450.0, by="megabytes"),
        ),
    )


def start() -> Contest:
    """What a process spends before it fits a second time."""
    codes = {
        "base": BASE,
        "import": IMPORT,
        "base, pandas": WITH_PANDAS,
        "first fit": FIRST_FIT,
        "help": HELP,
    }
    base = "numpy, scipy.linalg, scipy.special"
    return Contest(
        tuple(Turn(name, code, seat=None) for name, code in codes.items()),
        (
            Figure(f"import dpglm, more than import {base}", "import", "base", 0.15, less=True),
            Figure("first fit and summary, more than these imports", "first fit", "base", 0.35, less=True),
            Figure("the same, more than these and pandas", "first fit", "base, pandas", less=True),
            Figure("dpglm --help, more than these imports", "help", "base", 0.4, less=True),
        ),
    )
