"""Speed against peers: every figure is a ratio measured in this run.

Run as ``python -m studies speed [--peer-python .venv-peers/bin/python]`` from the project root.
CPU seconds, one BLAS thread, best of interleaved repeats. Parts whose data or peer are not here are skipped
and say so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from studies.real_tables import absence, available, table
from studies.speed.measure import ONE_THREAD, ROOT, Contestant, Line, best_of, fresh_cpu, table_text

ROWS, COLUMNS, EPSILON = 100_000, 100, 1.0
SEEDS = [0, 1, 2]
# Penalty, coefficients, condition number of the curvature, CPU seconds allowed.
PATHS: tuple[tuple[str, int, float, float | None], ...] = (
    ("l1", 100, 10.0, 0.1),
    ("l1", 100, 1e4, 0.1),
    ("l1", 500, 1e4, 1.6),
    ("group", 100, 1e4, None),
    ("l1/2", 100, 10.0, 0.4),
    ("l1/2", 100, 1e4, 0.4),
    ("lq", 100, 10.0, 0.4),
    ("scad", 100, 10.0, 0.4),
    ("mcp", 100, 10.0, 0.4),
    ("l1/2", 500, 10.0, None),
)
SCIENTIFIC = "import numpy, scipy.linalg, scipy.special"
FORBIDDEN = (
    "pandas",
    "patsy",
    "statsmodels",
    "dp_accounting",
    "matplotlib",
    "jinja2",
    "distributed",
    "numba",
    "pyarrow",
    "scipy.optimize",
    "scipy.stats",
)


def fit_lines(peer_python: str | None, repeats: int) -> list[Line]:
    """A private fit of a frame, against diffprivlib on the same rows as an array."""
    if not peer_python:
        print("skipped: fit against diffprivlib (no --peer-python; see studies/requirements-peers.txt)")
        return []
    own = Contestant(sys.executable, "own.py")
    with tempfile.TemporaryDirectory() as folder, own, Contestant(peer_python, "peer.py") as peer:
        rows, labels = str(Path(folder) / "rows.npy"), str(Path(folder) / "labels.npy")
        own.ask("simulate", rows=ROWS, columns=COLUMNS, seed=1, peer_rows=rows, peer_labels=labels)
        peer.ask("load", rows=rows, labels=labels)
        best = best_of(
            repeats,
            {
                "peer": (peer, "fit", {"epsilon": EPSILON, "seeds": SEEDS}),
                "fit": (own, "fit", {"epsilon": EPSILON, "penalty": "l2", "seeds": SEEDS}),
                "fit l1": (own, "fit", {"epsilon": EPSILON, "penalty": "l1", "seeds": SEEDS}),
                "solve": (own, "solve", {"epsilon": EPSILON, "penalty": "l2", "seeds": SEEDS}),
                "solve l1": (own, "solve", {"epsilon": EPSILON, "penalty": "l1", "seeds": SEEDS}),
                "read": (own, "read_once", {}),
            },
        )
    peer_seconds = f"diffprivlib {best['peer']:.3f} s"
    size = f"{ROWS:,} x {COLUMNS}"
    return [
        Line(f"fit {size} / diffprivlib", best["fit"] / best["peer"], 0.7, note=peer_seconds),
        Line(f"fit {size}, l1 / diffprivlib", best["fit l1"] / best["peer"]),
        Line(f"solve {size} / diffprivlib", best["solve"] / best["peer"]),
        Line(f"solve {size}, l1 / diffprivlib", best["solve l1"] / best["peer"]),
        Line(f"solve {size} / one read of the array", best["solve"] / best["read"]),
    ]


def design_lines(repeats: int) -> list[Line]:
    """From a formula and a frame in memory to coded rows, against patsy's evaluation of them."""
    lines = []
    for name in ("adult", "kddcup99"):
        if not available(name):
            print(f"skipped: {absence(name)}")
            continue
        with Contestant(sys.executable, "own.py") as own:
            own.ask("load", name=name)
            best = best_of(repeats, {"own": (own, "own_design", {}), "patsy": (own, "patsy_design", {})})
            apart = own.ask("difference")["difference"]
        ratio, seconds = best["own"] / best["patsy"], f"patsy {best['patsy']:.2f} s"
        lines.append(Line(f"design of {name} / patsy", ratio, 0.1, note=seconds))
        # A coded value is rounded to float32 once: 6e-8 of the row norm, a few times a column's range.
        lines.append(Line(f"design of {name}, difference from patsy", apart, 1e-5))
    return lines


def path_lines(repeats: int) -> list[Line]:
    """Paths of 100 strengths on the released quadratic: CPU seconds, and how exact they are."""
    lines, left = [], 0.0
    with Contestant(sys.executable, "own.py") as own:
        for penalty, columns, condition, bar in PATHS:
            task = {"columns": columns, "condition": condition, "penalty": penalty}
            found = [own.ask("path", **task) for _ in range(repeats if columns <= 100 else 1)]
            least = min(float(one["cpu"]) for one in found)
            left = max(left, found[0]["residual"])
            lines.append(Line(f"path of {penalty}, p = {columns}, condition {condition:.0e}, s", least, bar))
    return [*lines, Line("paths, largest residual / largest gradient", left, 1e-10)]


def import_lines(repeats: int) -> list[Line]:
    """Fresh interpreters: importing the package, and what it is made of."""
    base, own = fresh_cpu(max(repeats, 8), SCIENTIFIC, "import dpglm")
    loaded = subprocess.run(
        [sys.executable, "-c", "import json, sys, dpglm; print(json.dumps(list(sys.modules)))"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    found = sorted(set(json.loads(loaded.stdout)) & set(FORBIDDEN))
    return [
        Line("import dpglm - import numpy, scipy.linalg, .special, s", own - base, 0.1, note=f"{base:.2f} s"),
        Line("heavy modules loaded by import dpglm", len(found), 0, note=", ".join(found)),
    ]


KDD_READ = """
import sys, time
import pandas
start = time.process_time()
pandas.read_csv(sys.argv[1])
print(time.process_time() - start)
"""
KDD_FIT = """
import json, resource, sys
import dpglm
from pathlib import Path
path, formula, schema = sys.argv[1:]
dpglm.fit(formula, path, schema=schema, penalty="l2", privacy=1.0, progress=False)
used = resource.getrusage(resource.RUSAGE_SELF)
# The peak of this program alone: ru_maxrss would still hold the parent's size from before the start.
status = Path("/proc/self/status")
peak = used.ru_maxrss
if status.exists():
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "megabytes": peak / 1024}))
"""


def kdd_lines(repeats: int) -> list[Line]:
    """KDD Cup 99 from the CSV path in a fresh process, imports included, against pandas reading the file."""
    if not available("kddcup99"):
        print(f"skipped: {absence('kddcup99')}")
        return []
    kdd = table("kddcup99")
    environment = {**os.environ, **ONE_THREAD}
    reading, fits = float("inf"), []
    for _ in range(max(2, repeats // 2)):
        done = subprocess.run(
            [sys.executable, "-c", KDD_READ, str(kdd.path)],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        reading = min(reading, float(done.stdout))
        done = subprocess.run(
            [sys.executable, "-c", KDD_FIT, str(kdd.path), kdd.formula(), str(kdd.schema_path)],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            cwd=ROOT,
        )
        fits.append(json.loads(done.stdout))
    least = min(fit["cpu"] for fit in fits)
    return [
        Line("KDD 494,021 rows from CSV, peak MB", max(fit["megabytes"] for fit in fits), 1000),
        Line("KDD from CSV / pandas.read_csv", least / reading, note=f"{least:.2f} s and {reading:.2f} s"),
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m studies speed", description=__doc__)
    parser.add_argument("--peer-python", help="interpreter of the environment with diffprivlib")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=("fit", "design", "path", "import", "kdd"), action="append")
    arguments = parser.parse_args(words)
    parts: dict[str, Callable[[], list[Line]]] = {
        "fit": lambda: fit_lines(arguments.peer_python, arguments.repeats),
        "design": lambda: design_lines(arguments.repeats),
        "path": lambda: path_lines(arguments.repeats),
        "import": lambda: import_lines(arguments.repeats),
        "kdd": lambda: kdd_lines(arguments.repeats),
    }
    lines = [line for part in arguments.only or parts for line in parts[part]()]
    if lines:
        print(table_text("Speed: ratios of CPU seconds measured in this run, one BLAS thread", lines))
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
