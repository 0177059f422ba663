"""The curator, the only reader of private rows, and its permit: the right to run what was charged, once."""

from __future__ import annotations

from collections import deque

import numpy as np

from dpglm.curator.priced_releases import PricedReleases
from dpglm.errors import PermitError
from dpglm.mechanisms.base import Release, Rows
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.typing import FloatVector


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
        """Cross the release off; one that is not the next of the plan is a PermitError."""
        if not self._waiting or self._waiting[0] is not release:
            planned = repr(self._waiting[0].name) if self._waiting else "no further release"
            raise PermitError(
                f"a release of {release.name!r}",
                expected=f"{planned}, as planned and charged",
                remedy="Plan every release before the fit: what was not paid for is not run.",
            )
        # Crossed off before it runs: an interrupt loses the release, never the count.
        self._waiting.popleft()


class Curator:
    """Holds the coded rows and runs the releases of one plan on them, each once and with fresh noise.

    A method is handed ``ask`` and nothing else: whatever it does with the answers is post-processing.
    """

    def __init__(self, rows: Rows, plan: PricedReleases, noise: NoiseSource) -> None:
        self._rows, self._noise = rows, noise
        self._permit = Permit(plan)

    def ask(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """Run a planned release; before a row is read, any other than the next one is a PermitError."""
        self._permit.use(release)  # proof: order
        # Overflow warnings would tell about rows; the arithmetic is finite for coded rows.
        with np.errstate(all="ignore"):  # proof: silence
            return release.run(self._rows, at, self._noise)
