"""What was not planned is not run."""

from __future__ import annotations

import numpy as np
import pytest

from dpglm.curator.curator import Curator, PricedReleases
from dpglm.errors import PermitError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.exact import ExactMinimiser
from dpglm.mechanisms.noise import SeededNoise
from dpglm.privacy.guarantee import Guarantee
from dpglm.rows import ArrayChunk


class CountedRows:
    """Three rows that count how often they are read."""

    size = 1
    reads = 0

    def chunks(self) -> list[ArrayChunk]:
        self.reads += 1
        return [ArrayChunk(np.ones((1, 3), dtype=np.float32), np.array([0.0, 1.0, 1.0]), None)]

    def row_count(self) -> int:
        return 3


def release() -> ExactMinimiser:
    return ExactMinimiser(
        family=families["binomial"](),
        penalty=penalties["none"](),
        mixing=np.eye(1),
        penalised=np.array([True]),
    )


def curator(*planned: ExactMinimiser) -> tuple[Curator, CountedRows]:
    rows = CountedRows()
    return Curator(rows, PricedReleases(planned, Guarantee.none("test"), None), SeededNoise(0)), rows


def test_a_planned_release_runs_once_and_one_more_is_refused() -> None:
    planned = release()
    keeper, rows = curator(planned)
    keeper.ask(planned)
    reads = rows.reads
    with pytest.raises(PermitError, match="no further release"):
        keeper.ask(planned)
    assert rows.reads == reads


def test_another_release_than_the_planned_one_is_refused_before_reading() -> None:
    planned = release()
    keeper, rows = curator(planned)
    with pytest.raises(PermitError):
        keeper.ask(release())
    assert rows.reads == 0
    # A coefficient coded and scaled, strength, residual, two counts and the sum of weights.
    assert keeper.ask(planned).shape == (7,)


def test_a_release_that_fails_half_way_is_not_run_again() -> None:
    planned = release()
    keeper, rows = curator(planned)
    rows.chunks = lambda: (_ for _ in ()).throw(KeyboardInterrupt)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        keeper.ask(planned)
    with pytest.raises(PermitError):
        keeper.ask(planned)
