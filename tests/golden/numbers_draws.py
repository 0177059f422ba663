"""Streams of a seeded source, one law after the other: a seed gives the numbers it always gave."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dpglm.mechanisms.noise import exact, lattice
from dpglm.mechanisms.noise.source import SeededNoise
from tests.golden.numbers import Case, Section, asked, told

# A seeded source draws 1024 normal numbers ahead.
AROUND = (0, 1, 3, 1023, 1024, 1025, 2500)


def source(seed: int) -> exact.Bytes:
    return np.random.Generator(np.random.PCG64(seed)).bytes


def told_short(name: str, drawn: np.ndarray) -> Case:
    """All of a few draws; of many the ends and the sum."""
    if drawn.size < 8:
        return name, drawn
    return name, (str(drawn.shape), drawn[:2], drawn[-2:], drawn.sum())


def normal_streams() -> Iterator[Case]:
    for seed, size in product((0, 12345), AROUND):
        noise = SeededNoise(seed)
        yield told_short(f"{seed}: {size} normal", noise.normal(size, scale=2.5))
        yield told_short(f"{seed}: {size} normal, then 2", noise.normal(2, scale=0.5))
        yield told_short(f"{seed}: {size} normal, then {size} whole", noise.whole_normal(size))
        yield told_short(f"{seed}: {size} normal, then bytes", np.frombuffer(noise.bytes(4), dtype=np.uint8))


def other_streams() -> Iterator[Case]:
    for seed, size in product((0, 12345), (0, 1, 3, 50, 1100)):
        noise = SeededNoise(seed)
        yield told_short(f"{seed}: {size} uniform", noise.uniform(size))
        yield told_short(f"{seed}: {size} whole Laplace", noise.whole_laplace(size))
        yield told_short(f"{seed}: {size} whole normal", noise.whole_normal(size))
        for rate in (0.0, 1e-3, 0.3, 1.0):
            yield told_short(f"{seed}: {size} chances of {rate}", noise.chances(size, rate))
        yield told_short(f"{seed}: {size} of {size + 5}", noise.subset(size + 5, size))
        yield told_short(f"{seed}: {size} of {size}", noise.subset(size, size))
        if size:
            yield told_short(f"{seed}: {size} gamma norm", noise.gamma_norm(size, rate=0.25))


def whole_laws() -> Iterator[Case]:
    tops, bottoms = np.array([0, 1, 5, 40, 41, 400, 1000]), (1, 7, 40, 2**49)
    for seed in (1, 2):
        yield told_short(f"{seed}: below", exact.below(source(seed), np.array([1, 2, 3, 1000, 2**40, 2**62])))
        for bottom in bottoms:
            draws = exact.exponential(source(seed), np.repeat(tops, 20), bottom)
            yield f"{seed}: exp of {bottom}ths", draws.reshape(-1, 20).sum(axis=1)
        for size in (0, 1, 40):
            cells, places = exact.normal_cells(source(seed), size)
            yield told_short(f"{seed}: {size} cells", cells)
            yield told_short(f"{seed}: {size} places", places)
            yield told_short(f"{seed}: {size} Laplace cells", exact.laplace_cells(source(seed), size))


def grids() -> Iterator[Case]:
    values = np.array([-3.25, 0.0, 1e-9, 2.5e5])
    for seed, scale in product((3, 4), (1e-6, 1.0, 300.0)):
        noise = SeededNoise(seed)
        for sensitivity in (0.5 * scale, 100.0 * scale):
            yield (
                f"{seed}: normal {scale}, {sensitivity}",
                lattice.add_normal(values, scale=scale, sensitivity=sensitivity, noise=noise),
            )
        yield f"{seed}: Laplace {scale}", lattice.add_laplace(values, scale=scale, noise=noise)
    for scale, sensitivity, count in product((1e-3, 1.0, 1e11, 2e12), (1e-3, 1.0, 2.0), (1, 4, 10_000)):
        yield asked(lattice.grid_step, scale, sensitivity, count)
    for distance, scale, count in product((0.0, 1e-9, 1.0), (1.0, 10.0), (0, 3, 1000)):
        yield asked(lattice.laplace_price, distance, scale, count)
    yield told("steps", lambda: (lattice.STEPS, lattice.SLACK, exact.WIDTH, exact.LAPLACE, exact.FINE))


SECTIONS: dict[str, Section] = {
    "normal streams": normal_streams,
    "other streams": other_streams,
    "whole laws": whole_laws,
    "grids": grids,
}
