"""The guarantee of a plan at other epsilons, for plots and tables of what was promised."""

from __future__ import annotations

import numpy as np

from dpglm.mechanisms.base import Release
from dpglm.mechanisms.objective_perturbation import PerturbedMinimiser
from dpglm.privacy.accountant import composed_profile
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import ApproximateEvent
from dpglm.privacy.theorems import perturbed_profile, pure_curve
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
        if any(isinstance(event, ApproximateEvent) for event in events):
            (release,) = releases
            assert isinstance(release, PerturbedMinimiser)
            deltas = _alone(grid, release, privacy)
        else:
            grid = grid[::2]  # each of these may be an integral
            deltas = composed_profile(events, grid.tolist())
    return tuple((float(e), float(d)) for e, d in zip(grid, deltas, strict=True) if d > 0.0)


def _alone(grid: FloatVector, release: PerturbedMinimiser, privacy: Privacy) -> FloatVector:
    """One minimiser, whose residual is hidden by a pure stage."""
    assert release.claimed_epsilon is not None
    blur = privacy.epsilon - release.claimed_epsilon
    deltas = perturbed_profile(
        np.maximum(grid - blur, 0.0), release.scale, release.least_ridge, relation=privacy.relation
    )
    return np.where(grid < blur, 1.0, deltas)
