"""Algorithm 4 of the STACK paper as it is printed, and the methods beside it. NOT PRIVATE.

The main hospital trains one model for each of K groups of columns, each with the whole epsilon: its patients
pay K epsilons. Strengths are chosen on a third of the rows, and rows are divided by the longest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpglm.typing import FloatMatrix, FloatVector, IntVector
from studies.hospitals.grid import EPSILON, K, seed_of
from studies.hospitals.tables import Network, Site
from studies.jobs import Job, Result
from studies.paired import auc
from studies.stacking.grid import ranked_groups
from studies.stacking.printed import STRENGTHS, Fitted, Rows, indicators, longest, plr, split, stacked


@dataclass(frozen=True, eq=False)
class Plan:
    """Columns of each group, and their shares q_k, equation (6)."""

    columns: Sequence[IntVector]
    shares: FloatVector


def judged(job: Job, rows: Network) -> Result:
    """Areas on the branches' test rows, of the strength that is best on validation rows."""
    names = list(rows.importance)
    _, places = indicators(rows.sites[rows.main].train[:1], rows.schema, names)
    plan = _plan(job, rows, places)
    sources = None
    if job["method"] != "plr-target":
        _, own = _matrices(rows, rows.sites[rows.main])
        noise = np.random.default_rng(seed_of(job, "source"))
        sources = _source(own, plan, noise)
    branches = {name: site for name, site in rows.sites.items() if name != rows.main}
    found = {name: _branch(job, rows, site, name, plan, sources) for name, site in branches.items()}
    return {"auc": found}


def _branch(
    job: Job, rows: Network, site: Site, name: str, plan: Plan, sources: Sequence[FloatVector] | None
) -> float:
    """The area at one branch."""
    noise = np.random.default_rng(seed_of(job, name))
    test, whole = _matrices(rows, site)
    checked, fitted = split(whole, noise)
    fits = []
    for strength in STRENGTHS:
        if job["method"].startswith("pst-h"):
            fit = stacked(fitted, plan.columns, plan.shares, EPSILON, strength, noise, sources)
        else:
            scale = 1.0 / longest(fitted.X)
            centre = None if sources is None else sources[0]
            model = plr(Rows(scale * fitted.X, fitted.signs), EPSILON, strength, noise, centre)
            fit = Fitted(plan.columns, [scale], [model], None)
        fits.append(fit)
    areas = [auc(checked.signs > 0.0, fit.scores(checked.X)) for fit in fits]
    return auc(site.positive, fits[int(np.argmax(areas))].scores(test))


def _source(rows: Rows, plan: Plan, noise: np.random.Generator) -> list[FloatVector]:
    """Steps 1 to 4: a PLR with the whole epsilon for each group; its strength is that of the best areas."""
    checked, fitted = split(rows, noise)
    candidates = []
    for strength in STRENGTHS:
        models = []
        for own in plan.columns:
            scale = 1.0 / longest(fitted.X[:, own])
            models.append(plr(Rows(scale * fitted.X[:, own], fitted.signs), EPSILON, strength, noise))
        votes = sum(checked.X[:, own] @ model for own, model in zip(plan.columns, models, strict=True))
        candidates.append((auc(checked.signs > 0.0, np.asarray(votes)), models))
    return max(candidates, key=lambda one: one[0])[1]


def _plan(job: Job, rows: Network, places: Sequence[str]) -> Plan:
    names = list(rows.importance)
    if not job["method"].startswith("pst-h"):
        return Plan([np.arange(len(places))], np.ones(1))
    if job["method"] == "pst-h-u":
        order = np.random.default_rng(job["repeat"]).permutation(len(names))
        groups = [[names[at] for at in part] for part in np.array_split(order, K)]
        shares = np.full(K, 1.0 / K)
    else:
        groups = list(ranked_groups(names, K).values())
        shares = np.array([sum(rows.importance[name] for name in own) for own in groups])
    columns = [np.flatnonzero([name in own for name in places]) for own in groups]
    return Plan(columns, shares / shares.sum())


def _matrices(rows: Network, site: Site) -> tuple[FloatMatrix, Rows]:
    """Test rows and training rows, centred at the means of these."""
    names = list(rows.importance)
    train, _ = indicators(site.train, rows.schema, names)
    test, _ = indicators(site.test, rows.schema, names)
    centre = train.mean(axis=0)
    return test - centre, Rows(train - centre, np.where(site.answers, 1.0, -1.0))
