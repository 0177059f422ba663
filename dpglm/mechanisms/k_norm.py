"""Noise of the K-norm mechanism, of density proportional to exp(-norm), drawn exactly.

A draw is a function of uniform real numbers whose bits are drawn as they are needed. Ball arithmetic bounds
what the first bits say of it; where that leaves two answers, more bits are drawn. So the answer is the one
that real numbers give, with no rounding; the proof is ``noise.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dpglm.mechanisms.exact_draws import Bytes
from dpglm.typing import FloatVector

if TYPE_CHECKING:
    from flint import arb

T = TypeVar("T")

# Bytes of each uniform number at first, and more each time that they do not settle the answer.
FIRST, MORE = 16, 8
# Bits beyond those of the numbers with which balls are computed.
GUARD = 32
# The working precision of python-flint is one number for all threads.
PRECISION = Lock()
# A process that is forked while another thread holds it would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=PRECISION._at_fork_reinit)  # type: ignore[attr-defined]


def floors(source: Bytes, size: int, steps: int) -> list[int]:
    """Integer parts of ``steps`` times a draw of density proportional to exp(-norm), ``size`` of them.

    Examples
    --------
    >>> from random import Random
    >>> floors(Random(1).randbytes, 3, 1000)
    [-916, -282, -382]
    """

    def whole(ball: arb) -> int | None:
        found = (ball * steps).floor().unique_fmpz()
        return None if found is None else int(found)

    return _settled(source, size, whole)


def doubles(source: Bytes, size: int) -> FloatVector:
    """A draw of density proportional to exp(-norm), shape (size,), each number within a share of 2^-52."""

    def nearest(ball: arb) -> float | None:
        return float(ball.mid()) if ball.is_finite() and ball.rel_accuracy_bits() > 60 else None

    return np.array(_settled(source, size, nearest), dtype=np.float64)


def _settled(source: Bytes, size: int, settle: Callable[[arb], T | None]) -> list[T]:
    """What ``settle`` makes of each coordinate, with as many bits as it needs; it says None for more."""
    from flint import ctx

    if size == 0:
        return []
    count, bits = size + 2 * ((size + 1) // 2), 0
    words = [0] * count
    while True:
        width = MORE if bits else FIRST
        fresh = source(width * count)
        for at in range(count):
            more = int.from_bytes(fresh[width * at : width * (at + 1)], "big")
            words[at] = words[at] << 8 * width | more
        bits += 8 * width
        with PRECISION, ctx.workprec(bits + GUARD):
            found = [settle(ball) for ball in _balls(words, bits, size)]
        settled = [one for one in found if one is not None]
        if len(settled) == size:
            return settled


def _balls(words: list[int], bits: int, size: int) -> list[arb]:
    """What the first ``bits`` bits of all uniform numbers say of the draw.

    Its norm is a sum of ``size`` exponentials, so a Gamma variable, and its direction that of independent
    normal numbers (Box and Muller 1958).
    """
    from flint import arb

    half, unit = arb(0.5, 0.5), arb(2) ** -bits
    uniforms = [(arb(word) + half) * unit for word in words]  # from word to word + 1, in units
    norm = -sum((one.log() for one in uniforms[:size]), arb(0))
    normals: list[arb] = []
    for first, second in zip(uniforms[size::2], uniforms[size + 1 :: 2], strict=True):
        radius = (-2 * first.log()).sqrt()
        sine, cosine = (2 * second).sin_cos_pi()
        normals += [radius * cosine, radius * sine]
    normals = normals[:size]
    length = sum((one * one for one in normals), arb(0)).sqrt()
    return [norm * one / length for one in normals]
