"""The only reader of private rows."""

from __future__ import annotations

import numpy as np

from dpglm.curator.permit import Permit
from dpglm.curator.priced_releases import PricedReleases
from dpglm.mechanisms.base import Release, Rows
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.typing import FloatVector


class Curator:
    """Holds the rows and runs the releases of one plan on them, each once.

    A method is handed ``ask`` and nothing else: whatever it does with the answers is post-processing.

    Parameters
    ----------
    rows : Rows
        Coded rows of norm at most 1.
    plan : PricedReleases
        What was charged.
    noise : NoiseSource
        Drawn from afresh for every release.
    """

    def __init__(self, rows: Rows, plan: PricedReleases, noise: NoiseSource) -> None:
        self._rows, self._noise = rows, noise
        self._permit = Permit(plan)

    def ask(self, release: Release, at: FloatVector | None = None) -> FloatVector:
        """Run a planned release, shape (p,).

        Raises
        ------
        PermitError
            The release is not the next one of the plan; no row was read.
        """
        self._permit.use(release)  # proof: order
        # Overflow warnings would tell about rows; the arithmetic is finite for coded rows.
        with np.errstate(all="ignore"):  # proof: silence
            return release.run(self._rows, at, self._noise)
