"""What a fit will release and what that costs, known before any row is read."""

from __future__ import annotations

from dataclasses import dataclass

from dpglm.privacy.budget import Privacy
from dpglm.privacy.composition import Event, basic_composition
from dpglm.privacy.guarantee import Guarantee
from dpglm.releases import Release


@dataclass(frozen=True)
class Plan:
    """The releases of one fit, in order, and the guarantee they add up to.

    Parameters
    ----------
    releases : tuple of Release
        Each may be run once.
    guarantee : Guarantee
        What is promised for all of them together; checked against the releases' own events.
    privacy : Privacy or None
        What was asked; None for a fit without privacy.

    Examples
    --------
    >>> Plan((), Guarantee.none("no privacy asked"), None).costs()
    ()
    """

    releases: tuple[Release, ...]
    guarantee: Guarantee
    privacy: Privacy | None

    def __post_init__(self) -> None:
        if self.privacy is None:
            return
        # The calibration found the noise; this reads the price off the releases themselves.
        events = [event for _, event in self.costs()]
        spent = basic_composition(events, self.privacy.delta)
        assert spent <= self.privacy.epsilon * (1 + 1e-9), "the plan costs more than was asked"

    def costs(self) -> tuple[tuple[str, Event], ...]:
        """Named events of all releases, in order."""
        if self.privacy is None:
            return ()
        return tuple(cost for release in self.releases for cost in release.events(self.privacy.relation))
