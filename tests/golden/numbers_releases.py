"""Every release on small fixed tables, from a seed; what it costs, and the tables that it finds hardest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dpglm.glm.families import Family, families
from dpglm.glm.penalties import penalties
from dpglm.glm.term_columns import TermColumns
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.exact import ExactMinimiser
from dpglm.mechanisms.first_rows import FirstRows
from dpglm.mechanisms.folds import fold
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.information import Information
from dpglm.mechanisms.leverage import WithinLeverage
from dpglm.mechanisms.moments import SecondMoments
from dpglm.mechanisms.noise.source import SeededNoise
from dpglm.mechanisms.norm_clipped import NormClippedMinimiser, NormClippedRows, length_sensitivity
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.mechanisms.output_perturbation import PerturbedOutput
from dpglm.mechanisms.span import Span
from dpglm.optim.rows import ArrayChunk
from dpglm.papers.printed import PrintedDPSC, PrintedMPADMM
from dpglm.privacy.budget import Relation
from tests.golden.numbers import Case, Section, told

BOTH: tuple[Relation, ...] = ("add-remove", "replace-one")
BINOMIAL = families["binomial"]()
COUNTS = families["poisson"]().with_bound(20.0)
MARGIN = families["huber_svm"]()
NAMED: dict[str, Family] = {"binomial": BINOMIAL, "counts": COUNTS}
RIDGES = np.array([2.0, 4.0, 3.0])
INF, NAN = math.inf, math.nan


class Table:
    """Rows of norm at most 1 with an intercept, two of three levels and unusable rows, in three blocks."""

    size = 3

    def __init__(self, most: float = 1.0, offsets: bool = True) -> None:
        self._chunks = []
        for block, count in enumerate((1, 20, 9)):
            place = np.arange(count) + 7 * block
            X = np.array([np.full(count, 0.5), 0.7 * np.sin(place), 0.45 * np.cos(2.3 * place)])
            y = np.floor(np.abs(most * np.sin(1.7 * place)) + 0.5)
            offset = np.cos(place) / 2.0
            unusable = place % 6 == 5
            X[:, unusable], y[unusable], offset[unusable] = 0.0, 0.0, 0.0
            self._chunks.append(ArrayChunk(X.astype(np.float32), y, offset if offsets else None))

    def chunks(self) -> list[ArrayChunk]:
        return self._chunks

    def row_count(self) -> int:
        return 30


TABLES = {"binomial": Table(), "counts": Table(6.0)}


def free(size: int = 3) -> Span:
    return Span((TermColumns("x", "other", 0, size, 1.0, np.eye(size), np.ones(size)),))


def tied() -> Span:
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]]) / np.sqrt([2.0, 6.0])
    one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.ones(1))
    return Span((one, TermColumns("g", "levels", 1, 3, 0.67, corners, np.ones(2))))


SPANS = {"free": free(), "tied": tied()}


def minimiser(**changed: Any) -> PerturbedMinimiser:
    numbers: dict[str, Any] = {
        "family": BINOMIAL,
        "ridge": 3.0,
        "law": "gaussian",
        "scale": 2.0,
        "tolerance": 1e-11,
        "residual_noise_scale": 1e-9,
        "penalty": penalties["none"](),
        "penalty_rows": 30.0,
        "mixing": np.eye(3) + np.diag([0.25, 0.0], 1),
        "penalised": np.array([False, True, True]),
    }
    return PerturbedMinimiser(**(numbers | changed))


def output(**changed: Any) -> PerturbedOutput:
    made = minimiser()
    names = ("family", "ridge", "law", "scale", "tolerance", "penalty", "penalty_rows", "mixing", "penalised")
    return PerturbedOutput(**({name: getattr(made, name) for name in names} | {"scale": 0.5} | changed))


def moments(**changed: Any) -> SecondMoments:
    numbers: dict[str, Any] = {"span": SPANS["tied"], "law": "gaussian", "scale": 2.0}
    weights = {"gram_weight": 1.0, "cross_weight": 1.25, "square_weight": 0.5, "count_weight": 0.75}
    return SecondMoments(**(numbers | weights | changed))


MINIMISERS: dict[str, PerturbedMinimiser] = {
    "gamma": minimiser(law="gamma"),
    "gamma, l1": minimiser(law="gamma", penalty=penalties["l1"](0.02), max_leverage=0.4),
    "gamma, ridges": minimiser(law="gamma", ridge=RIDGES, max_leverage=0.4),
    "gamma, counts": minimiser(law="gamma", family=COUNTS),
    "claimed": minimiser(claimed_epsilon=1.5),
    "claimed, ridges": minimiser(claimed_epsilon=1.5, ridge=RIDGES, max_leverage=0.4, penalty_rows=None),
    "gdp": minimiser(ridge=8.0, penalty=penalties["elastic_net"](0.05)),
    "gdp, small ridge": minimiser(ridge=1.0),
    "staged": minimiser(max_leverage=0.4),
    "staged, ridges": minimiser(ridge=RIDGES, max_leverage=0.35, penalty=penalties["l2"](0.01)),
    "gdp, ridges": minimiser(ridge=10.0 * RIDGES, max_leverage=0.04),
    "bounded": minimiser(family=COUNTS, max_leverage=0.4),
    "bounded, ridges": minimiser(family=COUNTS, ridge=RIDGES, max_leverage=0.4),
    "margin": minimiser(family=MARGIN),
}
SHORTENED: dict[str, NormClippedMinimiser] = {
    "count": NormClippedMinimiser(MINIMISERS["staged"], 1.5, True),
    "rows": NormClippedMinimiser(MINIMISERS["gdp, small ridge"], 0.5, False, margin=0.5, most=3.0),
    "gamma": NormClippedMinimiser(MINIMISERS["gamma"], 0.75, True, margin=0.9),
    "ridges": NormClippedMinimiser(MINIMISERS["staged, ridges"], 0.25, True, margin=0.7),
    "gamma, rows": NormClippedMinimiser(MINIMISERS["gamma, counts"], 0.25, False),
}
OUTPUTS: dict[str, PerturbedOutput] = {
    "gamma": output(law="gamma", penalty=penalties["l1"](0.02)),
    "gaussian": output(),
    "counts": output(family=COUNTS),
    "plain": output(plain_rows=25, law="gamma", penalty_rows=None),
}
CURVATURES: dict[str, Information] = {
    f"{law}, {span}, {family}, {what}": Information(NAMED[family], 0.8, law, SPANS[span], what)
    for law, span, family, what in product(("gaussian", "gamma"), SPANS, NAMED, ("curvature", "score"))
}
MOMENTS: dict[str, SecondMoments] = {
    f"{law}, {span}, {cross}": moments(law=law, span=SPANS[span], cross_weight=cross)
    for law, span, cross in product(("gaussian", "gamma"), SPANS, (0.9, 1.7))
}
GRADIENTS: dict[str, Gradient] = {
    "all": Gradient(BINOMIAL, 2.0),
    "cut": Gradient(BINOMIAL, 2.0, clip=0.2),
    "counts": Gradient(COUNTS, 2.0),
    "poisson": Gradient(BINOMIAL, 2.0, sampling="poisson", rate=0.3),
    "fixed": Gradient(BINOMIAL, 2.0, sampling="fixed", rate=1.0 / 3.0),
    "parts": Gradient(BINOMIAL, 2.0, parts=4),
    "squares": Gradient(families["gaussian"](), 2.0, clip=0.7),
}


def run_minimisers() -> Iterator[Case]:
    for name, release in MINIMISERS.items():
        for at in (None, np.array([0.5, -1.0, 2.0])):
            yield f"{name}, at {at}", _run(release, at)
        for price in (0.1, 1e-15):
            yield told(
                f"{name}, blur for {price}", lambda release=release, p=price: release.residual_noise_for(p)
            )
        yield f"{name}, moved", (release.moved, release.least_ridge)


def run_shortened() -> Iterator[Case]:
    for name, release in SHORTENED.items():
        yield f"{name}", _run(release)
        for sums, count in product(([-50.0, 20.0], [3.0, 500.0], [0.1, 0.0]), (0, 30)):
            cut = np.array(sums[: 1 + release.count_rows])
            yield f"{name}, factor of {cut}, {count}", release.factor(cut, count)


def run_outputs() -> Iterator[Case]:
    for name, release in OUTPUTS.items():
        yield name, _run(release, table=Table(offsets=False) if release.plain_rows else None)


def run_curvatures() -> Iterator[Case]:
    for name, release in CURVATURES.items():
        yield name, _run(release, np.array([0.5, -1.0, 2.0]))


def run_moments() -> Iterator[Case]:
    for name, release in MOMENTS.items():
        yield name, _run(release)
        yield f"{name}, no offsets", _run(release, table=Table(offsets=False))
        yield f"{name}, deviation", (release.deviation, release.dimension)


def run_gradients() -> Iterator[Case]:
    for name, release in GRADIENTS.items():
        yield name, _run(release, np.tile([0.5, -1.0, 2.0], release.parts) + np.arange(3.0 * release.parts))


def run_exact() -> Iterator[Case]:
    made = minimiser()
    shared: dict[str, Any] = {"family": BINOMIAL, "mixing": made.mixing, "penalised": made.penalised}
    lasso, scad = penalties["l1"](0.02), penalties["scad"](0.05)
    for name, release in (
        ("plain", ExactMinimiser(penalty=lasso, **shared)),
        ("path", ExactMinimiser(penalty=lasso, path=True, strengths=4, **shared)),
        ("folds", ExactMinimiser(penalty=penalties["l2"](None), folds=3, strengths=4, **shared)),
        ("stationary", ExactMinimiser(penalty=scad, strengths=3, **shared)),
    ):
        yield name, _run(release)


def run_printed() -> Iterator[Case]:
    made = minimiser()
    shared: dict[str, Any] = {"family": BINOMIAL, "mixing": made.mixing, "penalised": made.penalised}
    shared |= {"penalty": penalties["l1"](0.02), "scale": 0.25, "rounds": 4}
    yield "DPSC", _run(PrintedDPSC(**shared, c=1.5, inner=3, alpha=0.25))
    yield "DPSC, as it comes", _run(PrintedDPSC(**shared))
    yield "mpADMM, as it comes", _run(PrintedMPADMM(**shared))
    yield "mpADMM", _run(PrintedMPADMM(**shared, eta=0.5, rho=0.75))


def rows_read() -> Iterator[Case]:
    table = Table()
    for name, rows in (
        ("first 12", FirstRows(table, 12)),
        ("first 100", FirstRows(table, 100)),
        ("fold 1 of 3", fold(table, 3, 1, held=True)),
        ("but fold 1 of 3", fold(table, 3, 1, held=False)),
        ("within reach", WithinLeverage(table, RIDGES, 0.26)),
        ("not shortened", NormClippedRows(table, 1.0)),
        ("shortened", NormClippedRows(table, 1.75)),
        ("shortened to reach", NormClippedRows(table, 1.75, 1.0 / (RIDGES * 0.3))),
    ):
        # Read twice: the second time must be like the first.
        for _, blocks in enumerate([list(rows.chunks()), list(rows.chunks())][1:]):
            X = np.concatenate([block.X for block in blocks], axis=1)
            offset = [block.offset for block in blocks if block.offset is not None]
            told_of = [
                X.shape[1],
                *X.astype(float) @ np.arange(1.0, X.shape[1] + 1.0),
                np.abs(X).sum(dtype=float),
            ]
            told_of += [
                float(np.concatenate([block.y for block in blocks]).sum()),
                float(sum(map(np.sum, offset))),
            ]
            yield name, [rows.row_count(), rows.size, *told_of]


def projections() -> Iterator[Case]:
    matrix = np.arange(9.0).reshape(3, 3) ** 1.5
    for name, span in SPANS.items():
        yield name, (span.project(matrix), span.dimension, span.size)
        found = span.variances()
        yield f"{name}, variances", (found.total, [*found.levels], [*found.levels.values()])
    tables = {
        "gaps": (TermColumns("x", "other", 1, 3, 1.0, np.eye(2), np.ones(2)),),
        "no simplex": _levels(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])),
        "not centred": _levels(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])),
        "two levels for two columns": _levels(np.eye(2)),
        "zeros": _levels(np.zeros((3, 2))),
    }
    for name, blocks in tables.items():
        yield told(f"{name}", lambda blocks=blocks: Span(blocks).dimension)


def _levels(table: np.ndarray) -> tuple[TermColumns, ...]:
    one = TermColumns("Intercept", "intercept", 0, 1, 0.25, np.array([[0.5]]), np.ones(1))
    return (one, TermColumns("g", "levels", 1, 3, 1.0, table, np.ones(2)))


ALL: dict[str, dict[str, Any]] = {
    "minimiser": MINIMISERS,
    "shortened": SHORTENED,
    "output": OUTPUTS,
    "curvature": CURVATURES,
    "moments": MOMENTS,
    "gradient": GRADIENTS,
}


def costs() -> Iterator[Case]:
    for kind, releases in ALL.items():
        for name, release in releases.items():
            for relation in BOTH:
                yield told(f"{kind}, {name}, {relation}: events", lambda r=release, to=relation: r.events(to))
                yield f"{kind}, {name}, {relation}: sensitivity", release.sensitivity(relation)
            yield f"{kind}, {name}: assumptions", "; ".join(release.assumptions)
    yield "lengths", [length_sensitivity(relation) for relation in BOTH]


def hardest_tables() -> Iterator[Case]:
    for kind, releases in ALL.items():
        for name, release in releases.items():
            if kind in ("curvature", "moments") and not name.startswith("gaussian, free"):
                continue  # laws and spans make no difference
            for relation, size in product(BOTH, (1, 2, 3)):
                yield f"{kind}, {name}, {relation}, {size}", _worst(release, relation, size)


def _worst(release: Release, relation: Relation, size: int) -> list[Any]:
    """Both tables, a sum and a product each; the direction in full."""
    case = release.worst_case(relation, size)
    found: list[Any] = []
    for block in (case.first, case.second):
        X = block.X.astype(float)
        place = np.arange(1.0, X.shape[1] + 1.0)
        found += [str(block.X.dtype), str(block.X.shape), X @ place, float(block.y @ place)]
        found += [None if block.offset is None else float(block.offset @ place)]
    return [*found, case.direction, case.at]


def _run(release: Any, at: np.ndarray | None = None, table: Table | None = None) -> np.ndarray:
    """Released numbers, run twice on one stream: what a run leaves to the next is seen, too."""
    family = getattr(getattr(release, "minimiser", release), "family", None)
    rows = table or TABLES["counts" if family is COUNTS else "binomial"]
    noise = SeededNoise(11)
    return np.concatenate([release.run(rows, at, noise), release.run(rows, at, noise)[:2]])


SECTIONS: dict[str, Section] = {
    "solved minimisers": run_minimisers,
    "solved on shortened rows": run_shortened,
    "solved outputs": run_outputs,
    "released curvatures": run_curvatures,
    "released moments": run_moments,
    "released gradients": run_gradients,
    "solved exactly": run_exact,
    "solved as printed": run_printed,
    "rows read": rows_read,
    "projections": projections,
    "costs of releases": costs,
    "hardest tables": hardest_tables,
}
