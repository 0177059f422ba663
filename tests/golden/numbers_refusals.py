"""Releases with one number out of its range, and the messages that they are refused with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.gradient import Gradient
from dpglm.mechanisms.information import Information
from dpglm.privacy.guarantee import Guarantee
from tests.golden.numbers import Case, Section, told
from tests.golden.numbers_releases import (
    BINOMIAL,
    BOTH,
    COUNTS,
    CURVATURES,
    GRADIENTS,
    INF,
    MINIMISERS,
    MOMENTS,
    NAN,
    OUTPUTS,
    RIDGES,
    SHORTENED,
    SPANS,
    free,
    minimiser,
    moments,
    output,
)


def refused_releases() -> Iterator[Case]:
    scad, l1 = penalties["scad"](0.1), penalties["l1"](0.1)
    wrong: dict[Any, list[dict[str, Any]]] = {
        minimiser: [
            {"penalty": scad},
            {"family": families["gaussian"]()},
            {"family": COUNTS, "claimed_epsilon": 1.0},
            *(
                {name: value}
                for name in ("scale", "tolerance", "residual_noise_scale")
                for value in (0.0, INF, NAN)
            ),
            *(
                {"ridge": ridge}
                for ridge in (0.0, -1.0, INF, NAN, np.eye(2), np.zeros(0), np.array([1.0, 0.0]))
            ),
            {"ridge": RIDGES},
            *(
                {"ridge": RIDGES, "reach": max_leverage}
                for max_leverage in (NAN, 0.2, 0.24974, 0.24976, 0.25)
            ),
            *({"reach": max_leverage} for max_leverage in (NAN, 0.3333, 0.3334)),
        ],
        output: [
            {"penalty": scad},
            {"family": families["gaussian"]()},
            {"plain_rows": 5, "penalty": l1},
            {"plain_rows": 5, "family": COUNTS},
            *({name: value} for name in ("scale", "tolerance", "ridge") for value in (0.0, INF, NAN)),
        ],
        moments: [
            *(
                {f"{name}_weight": value}
                for name in ("gram", "cross", "square", "count")
                for value in (0.0, INF)
            ),
            {"scale": 0.0},
            {"scale": NAN},
            {"square_weight": 1.3},
            {"square_weight": 1.25},
            {"count_weight": 1.1},
            {"count_weight": 1.0},
        ],
    }
    for make, changes in wrong.items():
        for change in changes:
            shown = {key: getattr(value, "name", value) for key, value in change.items()}
            yield told(f"{make.__name__}: {shown}", lambda make=make, change=change: make(**change).name)
    for scale in (0.0, INF, NAN, 1e11, 1e13):
        yield told(
            f"curvature {scale}", lambda s=scale: Information(BINOMIAL, s, "gaussian", SPANS["free"]).name
        )
        yield told(
            f"curvature {scale}, gamma", lambda s=scale: Information(BINOMIAL, s, "gamma", SPANS["free"]).name
        )
        yield told(f"gradient {scale}", lambda s=scale: Gradient(BINOMIAL, s).name)
        yield told(f"moments {scale}", lambda s=scale: moments(scale=s).name)
        yield told(f"output {scale}", lambda s=scale: output(scale=s).name)
        yield told(f"length {scale}", lambda s=scale: replace(SHORTENED["count"], length_scale=s).name)
    yield from _coarsest()
    yield told("curvature of squares", lambda: Information(families["gaussian"](), 1.0, "gamma", free()).name)
    for change in (
        *({"clip": value} for value in (0.0, INF, NAN)),
        *({"sampling": "poisson", "rate": value} for value in (0.0, 1.0, 1.1, NAN)),
        {"rate": 0.5},
        {"sampling": "shuffled"},
        {"parts": 0},
        {"parts": 2, "sampling": "fixed"},
    ):
        yield told(f"gradient {change}", lambda change=change: replace(GRADIENTS["all"], **change).name)
    for change in (
        *({"margin": value} for value in (0.9e-3, 1e-3, 1e3, 1001.0)),
        *({"most": value} for value in (0.9, 1.0, 1e6, 1000001.0, NAN)),
        {"minimiser": MINIMISERS["claimed"]},
    ):
        shown = {key: getattr(value, "name", value) for key, value in change.items()}
        yield told(f"length {shown}", lambda change=change: replace(SHORTENED["count"], **change).name)
    yield f"none: {Guarantee.none('x').reason}", 1


def _coarsest() -> Iterator[Case]:
    """Just below and above the noise for which no grid is fine enough."""
    least = min(MOMENTS["gaussian, free, 0.9"].sensitivity(relation) for relation in BOTH)
    for name, release, field, count, sensitivity in (
        ("curvature", CURVATURES["gaussian, free, binomial, curvature"], "scale", 6, 0.25),
        ("score", CURVATURES["gaussian, free, binomial, score"], "scale", 6, 1.0),
        ("gradient", GRADIENTS["cut"], "scale", 1, 0.2),
        ("moments", MOMENTS["gaussian, free, 0.9"], "scale", 11, least),
        ("output", OUTPUTS["gaussian"], "scale", 3, OUTPUTS["gaussian"].sensitivity("add-remove")),
        ("length", SHORTENED["count"], "length_scale", 2, math.sqrt(0.5)),
    ):
        for share in (0.999, 1.001):
            changed = {field: share * 2.0**40 * sensitivity / math.sqrt(count)}
            yield told(f"coarse {name}, {share}", lambda r=release, more=changed: replace(r, **more).name)


SECTIONS: dict[str, Section] = {"refused releases": refused_releases}
