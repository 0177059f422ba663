"""Releases and plans of stacks: groups of columns, parts of the rows, models of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise.source import SeededNoise
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.methods.base import Method, Problem
from dpglm.papers.stacking.meta_minimiser import MetaMinimiser
from dpglm.papers.stacking.parts import OnPart, Part
from dpglm.papers.stacking.pst_f import PSTF
from dpglm.papers.stacking.pst_s import PSTS
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from tests.golden.numbers import Case, Section, told
from tests.golden.numbers_releases import BINOMIAL, BOTH, COUNTS, TABLES, minimiser

HALVES, THIRDS = (0.0, 0.5, 1.0), (0.0, 0.25, 0.625, 1.0)


def small(size: int, **changed: Any) -> PerturbedMinimiser:
    """A minimiser of so many columns whose claim joins with others."""
    numbers = {"mixing": np.eye(size), "penalised": np.arange(size) > 0, "ridge": 9.0, "scale": 2.0}
    return minimiser(**(numbers | changed))


LOADINGS = np.array([[0.7, 1.5, 0.0], [0.7, 0.0, 2.5]])
RELEASES: dict[str, Release] = {
    "two groups": SubmodelMinimisers((small(2), small(2, ridge=12.0)), LOADINGS),
    "short rows": SubmodelMinimisers((small(2), small(2)), 4.0 * LOADINGS),
    "one group": SubmodelMinimisers((small(2),), LOADINGS[:1]),
    "one group, pure": SubmodelMinimisers((small(3, law="gamma"),), np.array([[1.0, 0.5, 3.0]])),
    "answers": MetaMinimiser(small(3)),
    "answers, pulled": MetaMinimiser(small(3, tolerance=1e-6), 2.5),
    "answers, pure": MetaMinimiser(small(3, law="gamma", tolerance=1e-6), -0.5),
    "second half": OnPart(SubmodelMinimisers((small(2), small(2)), LOADINGS), Part(HALVES, 1)),
    "a part of three": OnPart(small(3), Part(THIRDS, 1)),
    "answers of a part": OnPart(MetaMinimiser(small(3)), Part(THIRDS, 2)),
}


def runs() -> Iterator[Case]:
    for name, release in RELEASES.items():
        for at in (None, np.array([0.5, -1.0, 2.0, 0.25, 3.0, -2.0])):
            inner = release.inner if isinstance(release, OnPart) else release
            if isinstance(inner, MetaMinimiser) != (at is not None):
                continue
            noise = SeededNoise(11)
            yield name, release.run(TABLES["binomial"], at, noise)
    pulled = RELEASES["two groups"]
    yield (
        "two groups, pulled",
        pulled.run(TABLES["binomial"], np.array([1.0, 2.0, -1.0, 0.5]), SeededNoise(3)),
    )
    yield "weights", MetaMinimiser.weights(np.array([1.0, 2.0, -3.0]))


def costs() -> Iterator[Case]:
    for name, release in RELEASES.items():
        for relation in BOTH:
            yield told(f"{name}, {relation}", lambda r=release, to=relation: r.events(to))
            yield f"{name}, {relation}: sensitivity", release.sensitivity(relation)
            case = release.worst_case(relation, 3)
            for which, block in (("first", case.first), ("second", case.second)):
                place = np.arange(1.0, block.X.shape[1] + 1.0)
                yield (
                    f"{name}, {relation}, hardest {which}",
                    [*block.X.astype(float) @ place, float(block.y @ place)],
                )
            yield f"{name}, {relation}, hardest: direction", case.direction
        yield f"{name}: reads", str(release.reads)


def refusals() -> Iterator[Case]:
    wrong: dict[str, Any] = {
        "another size": lambda: SubmodelMinimisers((small(3),), LOADINGS[:1]),
        "one loading for two": lambda: SubmodelMinimisers((small(2), small(2)), LOADINGS[:1]),
        "negative": lambda: SubmodelMinimisers((small(2),), -LOADINGS[:1]),
        "huge": lambda: SubmodelMinimisers((small(2),), 1e50 * LOADINGS[:1]),
        "two scales": lambda: SubmodelMinimisers((small(2), small(2, scale=1.9)), LOADINGS),
        "a small ridge": lambda: SubmodelMinimisers((small(2), small(2, ridge=7.99)), LOADINGS),
        "gamma": lambda: SubmodelMinimisers((small(2, law="gamma"), small(2, law="gamma")), LOADINGS),
        "counts": lambda: SubmodelMinimisers((small(2, family=COUNTS), small(2, family=COUNTS)), LOADINGS),
        "claimed": lambda: SubmodelMinimisers((small(2, claimed_epsilon=1.0), small(2)), LOADINGS),
        "nothing": lambda: MetaMinimiser(small(1)),
        "far": lambda: MetaMinimiser(small(3), 1e9),
        "edges": lambda: Part((0.0, 0.6, 0.5, 1.0), 0),
        "open edges": lambda: Part((0.0, 0.5), 0),
        "no such part": lambda: Part(HALVES, 2),
    }
    for name, made in wrong.items():
        yield told(name, lambda made=made: str(made().name) if hasattr(made(), "name") else "made")
    yield "answers of one model", MetaMinimiser(small(2)).models
    yield "least ridge", SubmodelMinimisers((small(2, ridge=8.0), small(2, ridge=8.0)), LOADINGS).size


def plans() -> Iterator[Case]:
    schema = Schema.of({"y": ["no", "yes"], "a": (0, 4), "b": (-1, 1), "g": ["u", "v", "w"]})
    coding = Coding.of(parse("y ~ a + b + g", schema))
    problem = Problem(coding, BINOMIAL, penalties["l2"](), count_rows=lambda: 500)
    groups = {"numbers": ["a", "b"], "levels": ["g"]}
    weighed = {"importance": {"a": 1.0, "b": 2.0, "g": 1.0}, "provenance": "expert"}
    methods: dict[str, Method] = {
        "parts": PSTS(parts=3, holdout=0.25),
        "votes of parts": PSTS(parts=2, combine="majority"),
        "groups": PSTF(groups=groups),
        "weighed": PSTF(groups=groups, **weighed),  # type: ignore[arg-type]
        "votes": PSTF(groups=groups, combine="weighted", **weighed),  # type: ignore[arg-type]
        "at random": PSTF(groups=2, split_seed=4, ridge=500.0),
        "one": PSTF(groups=1),
    }
    for name, method in methods.items():
        for privacy in (dpglm.Privacy(1.5), dpglm.Privacy(1.5, 1e-6), dpglm.Privacy.gdp(0.5, delta=1e-6)):
            plan = method.plan(problem, privacy)
            what = f"{name}, {privacy.definition}"
            for number, part in enumerate(plan.parallel()):
                yield f"{what}, part {number}", part
            facts = {fact.label: fact.value for fact in method.describe(problem, plan).facts}
            yield what, [release.noise_scales for release in plan.releases]
            yield f"{what}: groups", str(facts.get("Groups of columns"))
            yield f"{what}, of all", str([release.reads for release in plan.releases])
            for number, release in enumerate(plan.releases):
                inner = release.inner if isinstance(release, OnPart) else release
                if isinstance(inner, SubmodelMinimisers):
                    yield f"{what}, loadings {number}", inner.loadings.ravel()


SECTIONS: dict[str, Section] = {
    "solved stacks": runs,
    "stacks cost": costs,
    "stacks refused": refusals,
    "stacks planned": plans,
}
