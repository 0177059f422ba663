"""The plan of releases that were calibrated to a whole budget, and what it promises."""

from __future__ import annotations

import numpy as np

from dpglm.curator.priced_releases import PricedReleases, releases_profile
from dpglm.mechanisms.base import Release
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import pure_curve
from dpglm.privacy.guarantee import Guarantee

POINTS = 41


def budgeted_plan(
    releases: tuple[Release, ...],
    privacy: Privacy,
    *,
    mu: float | None,
    curve: bool = False,
    more: tuple[str, ...] = (),
) -> PricedReleases:
    """The budget as a guarantee, with the theorems and assumptions of all releases.

    Parameters
    ----------
    releases : tuple of Release
    privacy : Privacy
    mu : float or None
        Where all of it is Gaussian private; checked by the plan.
    curve : bool
        Whether to say what holds at other epsilons, too.
    more : tuple of str
        What the method takes for granted, beside its releases.

    Raises
    ------
    PrivacyError
        The releases cost more than the budget.
    """
    theorems = (release.describe(privacy.relation).theorem for release in releases)
    guarantee = Guarantee(
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        definition=privacy.definition,
        relation=privacy.relation,
        unit=str(privacy.unit),
        mu=mu,
        rho=privacy.rho,
        theorem="; ".join(dict.fromkeys(theorems)),
        assumptions=tuple(dict.fromkeys(text for release in releases for text in release.assumptions)) + more,
        curve=_curve(releases, privacy) if curve else (),
    )
    return PricedReleases(releases, guarantee, privacy)


def _curve(releases: tuple[Release, ...], privacy: Privacy) -> tuple[tuple[float, float], ...]:
    """Points (epsilon, delta) that hold all at once, up to 1.5 epsilon; a GDP guarantee is its own curve."""
    if privacy.mu is not None:
        return ()
    grid = np.linspace(0.0, 1.5 * privacy.epsilon, POINTS)
    if privacy.delta == 0.0:
        deltas = pure_curve(grid, privacy.epsilon)
    else:
        alone = len(releases) == 1 and releases[0].profile(grid, privacy.relation) is not None
        grid = grid if alone else grid[::2]  # each of these may be an integral
        deltas = releases_profile(releases, privacy.relation, grid.tolist())
    return tuple((float(e), float(d)) for e, d in zip(grid, deltas, strict=True) if d > 0.0)
