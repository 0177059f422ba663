"""The right to run what was planned and paid for, once."""

from __future__ import annotations

from collections import deque

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import PermitError
from dpglm.mechanisms.base import Release


class Permit:
    """Counts down the releases of a plan.

    Examples
    --------
    >>> from dpglm.privacy.guarantee import Guarantee
    >>> Permit(PricedReleases((), Guarantee.none("no privacy asked"), None)).left
    0
    """

    def __init__(self, plan: PricedReleases) -> None:
        self._waiting = deque(plan.releases)

    @property
    def left(self) -> int:
        """Number of releases that may still be run."""
        return len(self._waiting)

    def use(self, release: Release) -> None:
        """Cross the release off.

        Raises
        ------
        PermitError
            The release is not the next one of the plan; nothing was read.
        """
        if not self._waiting or self._waiting[0] is not release:
            planned = repr(self._waiting[0].name) if self._waiting else "no further release"
            raise PermitError(
                f"a release of {release.name!r}",
                expected=f"{planned}, as planned and charged",
                remedy="PricedReleases every release before the fit: what was not paid for is not run.",
            )
        # Crossed off before it runs: an interrupt loses the release, never the count.
        self._waiting.popleft()
