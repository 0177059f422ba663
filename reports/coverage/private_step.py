"""The one private step of the study: two releases, and intervals from them."""

from __future__ import annotations

import numpy as np

from dpglm.curator.curator import Curator
from dpglm.data.coding.coding import Coding
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.inference.contrasts import Contrasts, interval_decisions
from dpglm.inference.prior_scales import interval_model
from dpglm.mechanisms.noise.source import SeededNoise
from dpglm.methods.base import Problem
from dpglm.methods.estimate_and_information import released_by
from dpglm.methods.objective import Objective
from dpglm.privacy.budget import Privacy, Relation
from dpglm.typing import BoolVector, FloatVector
from reports.coverage.recipes import naive, plain
from reports.coverage.rows import StudyRows

# What a private fit gives, each of shape (p,), in the user's coefficients; `printed` is Boolean.
FIELDS = (
    "estimate",
    "sd",
    "printed",
    "naive_estimate",
    "naive_sd",
    "plain_estimate",
    "plain_sd",
    "variance_sampling",
    "variance_estimate",
    "variance_curvature",
    "variance_adjustment",
)


def private_fit(
    rows: StudyRows,
    coding: Coding,
    y: FloatVector,
    epsilon: float,
    delta: float,
    relation: Relation,
    seed: int,
) -> dict[str, FloatVector | BoolVector]:
    """One fit on one drawn response.

    Parameters
    ----------
    rows : StudyRows
        Coded rows; ``rows.answered(y)`` is what releases read, ``rows.schema`` and ``rows.model`` are public.
    coding : Coding
        Their public coding.
    y : ndarray, shape (n,)
        Response of this replication.
    epsilon, delta : float
        Budget of the whole fit; ``delta`` 0 is pure.
    relation : {"add-remove", "replace-one"}
        Which tables are neighbours.
    seed : int
        Seed of the noise, at least 0.

    Returns
    -------
    dict
        Arrays of shape (p,) under each name of `FIELDS`, the user's coefficients in the order of
        ``coding.names``. ``estimate`` and ``sd`` are given for every coefficient, printed or not; the four
        variances add up to ``sd ** 2``. `reports.coverage.recipes` makes the naive and the plain ones.
    """
    privacy = Privacy(epsilon, delta, relation)
    problem = Problem(coding, families["binomial"](), penalties["none"](), goal="explain")
    plan = Objective().plan(problem, privacy)
    released = released_by(problem, plan, Curator(rows.answered(y), plan, SeededNoise(seed)).ask)
    user = coding.user_from_coded
    found = Contrasts(interval_model(released), user)
    scale, curvature = released.score_scale, released.information
    floor = released.information_scale
    fitted = {
        "naive": naive(released.centre, curvature, user, floor=floor),
        "plain": plain(
            released.centre,
            curvature,
            np.broadcast_to(plan.releases[0].ridge, (coding.size,)),  # type: ignore[attr-defined]
            user,
            score_scale=scale,
            floor=floor,
        ),
    }
    sampling, estimate, noise, adjustment = found.parts.T
    return {
        "estimate": found.estimates,
        "sd": found.deviations,
        "printed": np.array([verdict.reported for verdict in interval_decisions(found)]),
        **{f"{recipe}_{name}": value for recipe, both in fitted.items() for name, value in both.items()},
        "variance_sampling": sampling,
        "variance_estimate": estimate,
        "variance_curvature": noise,
        "variance_adjustment": adjustment,
    }
