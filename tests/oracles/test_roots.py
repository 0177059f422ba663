"""Roots behind every price are those of SciPy, to the last bit."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy.optimize import brentq

from dpglm.privacy.gdp import crossing, log_ratio


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_crossings_are_those_of_brent_in_scipy_to_the_last_bit(seed: int, flip: bool) -> None:
    rng = np.random.default_rng(seed)
    root, shape = 10.0 ** rng.uniform(-6.0, 6.0), rng.uniform(0.01, 5.0)
    ends = (0.0, root * 10.0 ** rng.uniform(0.5, 4.0))
    low, high = ends[::-1] if flip else ends
    for function in (
        lambda x: x * x - root * root,
        lambda x: log_ratio(x, root),
        lambda x: math.tanh(shape * (x - root)),
        lambda x: (x - root) ** 3 * 1e-200,
        lambda x: math.inf if x > 2.0 * root else x - root,
        lambda x: -math.inf if x == 0.0 else x - root,
        lambda x: x - ends[0] if x > 0.0 else -1.0,
    ):
        expected = brentq(function, low, high, xtol=sys.float_info.min, rtol=1e-13, maxiter=10_000)
        assert crossing(function, low, high, 1e-13) == expected
