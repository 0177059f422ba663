"""dpglm and patsy, timed in the project's own interpreter: run by `measure.Contestant`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import patsy

import dpglm
from dpglm.glm.penalties import penalties
from dpglm.inference.coefficients import sparse_path
from studies.real_tables import table
from studies.speed.pieces import Pieces, user_rows

STATE: dict[str, Any] = {}


def timed(*works: Callable[[], object]) -> dict[str, object]:
    """CPU seconds of one call, mean over the calls given."""
    start = time.process_time()
    for work in works:
        work()
    return {"cpu": (time.process_time() - start) / len(works)}


def simulate(rows: int, columns: int, seed: int, peer_rows: str, peer_labels: str) -> dict[str, object]:
    """Keep a frame of uniform columns in memory; leave the peer the same rows, scaled to norm at most one."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1.0, 1.0, size=(rows, columns))
    slopes = random.normal(size=columns) * (np.arange(columns) < columns // 5)
    y = random.uniform(size=rows) < 1.0 / (1.0 + np.exp(-X @ slopes))
    names = [f"x{j:03d}" for j in range(columns)]
    STATE["frame"] = pd.DataFrame(X, columns=names).assign(y=y.astype(np.int64))
    bounds: dict[str, Any] = dict.fromkeys(names, (-1.0, 1.0))
    STATE["schema"] = dpglm.Schema.of({**bounds, "y": [0, 1]})
    STATE["formula"] = "y ~ " + " + ".join(names)
    STATE["array"] = X / np.sqrt(columns)
    np.save(peer_rows, STATE["array"])
    np.save(peer_labels, y.astype(np.int64))
    return {}


def fit(epsilon: float, penalty: str, seeds: list[int]) -> dict[str, object]:
    """The whole fit, from the frame to the result, mean over noise seeds."""

    def once(seed: int) -> None:
        dpglm.fit(
            STATE["formula"],
            STATE["frame"],
            schema=STATE["schema"],
            penalty=penalty,
            privacy=epsilon,
            seed=seed,
            progress=False,
        )

    return timed(*(partial(once, seed) for seed in seeds))


def solve(epsilon: float, penalty: str, seeds: list[int]) -> dict[str, object]:
    """Planning, noise and solver only, the curator's rows being coded already."""
    if "pieces" not in STATE:
        STATE["pieces"] = Pieces.of(STATE["formula"], STATE["frame"], STATE["schema"])
        STATE["pieces"].design.row_count()
    solve_once = partial(STATE["pieces"].solve, dpglm.Privacy(epsilon), penalty)
    return timed(*(partial(solve_once, seed=seed) for seed in seeds))


def read_once() -> dict[str, object]:
    """One read of the float64 array: the unit of memory-bound work."""
    return timed(lambda: STATE["array"].ravel().sum())


def load(name: str) -> dict[str, object]:
    """Keep a real table in memory, and patsy's design information made from its schema."""
    real = table(name)
    schema, formula = real.schema(), real.formula()
    frame = real.frame()
    # patsy has no rule for missing values but to drop rows; give it the level that the schema fills in.
    fillings = {name: one.missing for name, one in schema.variables.items() if one.missing != "omit"}
    filled = frame.fillna(fillings)
    right = formula.split("~", 1)[1]
    STATE.update(frame=frame, filled=filled, schema=schema, formula=formula)
    STATE["information"] = patsy.dmatrix(right, template(schema), return_type="matrix").design_info
    return {}


def template(schema: dpglm.Schema) -> pd.DataFrame:
    """Rows in which every declared level occurs, in declared order."""
    length = max(len(getattr(one, "levels", ())) for one in schema.variables.values())
    columns: dict[str, Any] = {}
    for name, one in schema.variables.items():
        if isinstance(one, dpglm.Categorical):
            codes = np.arange(length) % len(one.levels)
            columns[name] = pd.Categorical([one.levels[code] for code in codes], categories=one.levels)
        else:
            columns[name] = np.linspace(one.low, one.high, length)
    return pd.DataFrame(columns)


def path(columns: int, condition: float, penalty: str) -> dict[str, object]:
    """A path of 100 strengths on a released quadratic, and the largest residual in parts of the gradient."""
    random = np.random.default_rng(columns)
    basis, _ = np.linalg.qr(random.normal(size=(columns, columns)))
    matrix = (basis * np.geomspace(1.0, condition, columns)) @ basis.T
    slopes = 2.0 * random.normal(size=columns) * (np.arange(columns) < columns // 10)
    right = matrix @ slopes + np.sqrt(np.diag(matrix)) * random.normal(size=columns)
    start = time.process_time()
    found = sparse_path(matrix, right, penalties[penalty]())
    spent = time.process_time() - start
    return {"cpu": spent, "residual": float(found.residuals.max() / np.abs(right).max())}


def own_design() -> dict[str, object]:
    """From the formula and the frame to coded rows: parsing, coding and all blocks."""
    return timed(lambda: Pieces.of(STATE["formula"], STATE["frame"], STATE["schema"]).design.row_count())


def patsy_design() -> dict[str, object]:
    """patsy's evaluation only; its parsing and its search for levels are not counted."""
    return timed(lambda: patsy.build_design_matrices([STATE["information"]], STATE["filled"]))


def difference() -> dict[str, object]:
    """Largest difference of our rows, mapped to the user's columns, from patsy's, per column's range."""
    (theirs,) = patsy.build_design_matrices([STATE["information"]], STATE["filled"])
    pieces = Pieces.of(STATE["formula"], STATE["frame"], STATE["schema"])
    place = [pieces.coding.names.index(name) for name in STATE["information"].column_names]
    apart = np.zeros(len(place))
    for first, rows in user_rows(pieces):
        theirs_here = np.asarray(theirs)[first : first + len(rows)]
        apart = np.maximum(apart, np.abs(rows[:, place] - theirs_here).max(axis=0))
    return {"difference": float((apart / np.maximum(np.ptp(np.asarray(theirs), axis=0), 1.0)).max())}


def main() -> None:
    """Answer one JSON line with one JSON line."""
    tasks: dict[str, Callable[..., dict[str, object]]] = {
        one.__name__: one
        for one in (simulate, fit, solve, read_once, load, path, own_design, patsy_design, difference)
    }
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(tasks[request.pop("do")](**request)), flush=True)


if __name__ == "__main__":
    main()
