"""The guarantee of a plan at other epsilons, for plots and tables of what was promised."""

from __future__ import annotations

import numpy as np

from dpglm.mechanisms.base import Release
from dpglm.privacy.accountant import composed_profile
from dpglm.privacy.budget import Privacy
from dpglm.privacy.theorems import pure_curve
from dpglm.typing import FloatVector

POINTS = 41


def curve(releases: tuple[Release, ...], privacy: Privacy) -> tuple[tuple[float, float], ...]:
    """Points (epsilon, delta) that hold all at once, up to 1.5 epsilon.

    Empty where a Gaussian guarantee is its own curve.
    """
    if privacy.mu is not None:
        return ()
    grid: FloatVector = np.linspace(0.0, 1.5 * privacy.epsilon, POINTS)
    if privacy.delta == 0.0:
        deltas = pure_curve(grid, privacy.epsilon)
    else:
        events = [event for release in releases for _, event in release.events(privacy.relation)]
        known = releases[0].profile(grid, privacy.relation) if len(releases) == 1 else None
        if known is not None:
            deltas = known
        else:
            grid = grid[::2]  # each of these may be an integral
            deltas = composed_profile(events, grid.tolist())
    return tuple((float(e), float(d)) for e, d in zip(grid, deltas, strict=True) if d > 0.0)
