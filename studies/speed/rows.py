"""The rows of the table by their names, and what each needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from studies.speed import fit_rows, table_rows
from studies.speed.contest import Contest, Kind

_PRIVATE_PEER = ("diffprivlib",)
KINDS: Final = {
    "fit": Kind(fit_rows.fit, ("diffprivlib", "skglm", "patsy", "formulaic")),
    "nonprivate_peers": Kind(fit_rows.nonprivate_peers, ("scikit-learn", "glum", "statsmodels")),
    "blas": Kind(fit_rows.blas),
    "threads": Kind(fit_rows.threads),
    "design_adult": Kind(partial(table_rows.design, "adult"), ("formulaic", "polars"), data="adult"),
    "design_kdd": Kind(partial(table_rows.design, "kddcup99"), ("formulaic", "polars"), data="kddcup99"),
    "parquet": Kind(table_rows.parquet),
    "dask": Kind(table_rows.dask, modules=("dask", "distributed")),
    "levels": Kind(fit_rows.levels, ("scikit-learn",)),
    "wide": Kind(fit_rows.wide, ("scikit-learn",)),
    "plan": Kind(fit_rows.plan),
    "without_privacy": Kind(fit_rows.without_privacy, ("statsmodels",)),
    "gradients": Kind(fit_rows.gradients),
    "kdd": Kind(table_rows.kdd, data="kddcup99"),
    "start": Kind(table_rows.start),
    "audit": Kind(fit_rows.audit),
    "path": Kind(fit_rows.path),
    **{
        f"cost_{axis}": Kind(fit_rows.cost, axis=axis)
        for axis in ("rows", "columns", "levels", "threads", "epsilon")
    },
    **{
        f"diffprivlib_{axis}": Kind(partial(fit_rows.cost, peers=True), _PRIVATE_PEER, axis=axis)
        for axis in ("rows", "columns", "epsilon")
    },
}


def contest(job: Mapping[str, Any]) -> Contest:
    """Of a job, or of an entry of the grid."""
    sizes = {key: value for key, value in job.items() if key not in ("row", "round")}
    return KINDS[job["row"]].build(**sizes)


def key(job: Mapping[str, Any]) -> str:
    """Rounds of one contest have the same."""
    return json.dumps({key: value for key, value in job.items() if key != "round"}, sort_keys=True)
