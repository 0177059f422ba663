"""The plan of releases that were calibrated to a whole budget, and what it promises."""

from __future__ import annotations

from dpglm.curator.priced_releases import PricedReleases
from dpglm.mechanisms.base import Release
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee


def budgeted_plan(
    releases: tuple[Release, ...],
    privacy: Privacy,
    *,
    mu: float | None,
    curve: tuple[tuple[float, float], ...] = (),
    more: tuple[str, ...] = (),
) -> PricedReleases:
    """The budget as a guarantee, with the assumptions of all releases.

    Parameters
    ----------
    releases : tuple of Release
    privacy : Privacy
    mu : float or None
        Where all of it is Gaussian private; checked by the plan.
    curve : tuple of (epsilon, delta)
        Other points that hold at once.

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
        curve=curve,
    )
    return PricedReleases(releases, guarantee, privacy)
