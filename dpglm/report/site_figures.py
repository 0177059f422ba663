"""Sites of a pooled fit: the forest plot of one coefficient, and their section of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.between_sites import heterogeneity, site_estimates
from dpglm.postprocessing.intervals import intervals, quantile
from dpglm.postprocessing.joint_sites import JointSite, JointSites
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.site_pool import PooledSites, Site, pool_of
from dpglm.postprocessing.summary import trust
from dpglm.report.figure import Figure, Intervals, Mark, Names, Points, Rows, Rule, padded
from dpglm.report.section import Section, shown
from dpglm.tables.table import ABSENT, budget, coefficient, count, interval_end, p_value, percent, statistic
from dpglm.typing import is_intercept

MOST_SITES: Final = 60
MOST_FIGURES: Final = 4  # of the page; plot() draws any
ALL: Final = "all sites"


def site_figure(record: FitRecord, name: str | None) -> Figure:
    """Estimates of one coefficient by site with 95 % intervals, above the pooled one."""
    pool = pool_of(record, "plot('sites')")
    slopes = [each for each in record.names if not is_intercept(each)] or list(record.names)
    chosen = slopes[0] if name is None else name
    if chosen not in record.names:
        raise MethodError(
            f"plot('sites', {name!r})",
            expected=f"a coefficient: {', '.join(record.names[:8])}",
            remedy=f"Use plot('sites', {slopes[0]!r}).",
        )
    at, found = record.names.index(chosen), site_estimates(record)
    drawn = min(len(pool.sites), MOST_SITES)
    values, reach = found.values[:drawn, at], quantile(0.95) * found.errors[:drawn, at]
    ends = np.vstack([np.column_stack([values - reach, values + reach]), intervals(record, 0.95)[at]])
    dots = np.append(values, record.debiased[at])
    given = np.isfinite(dots) & np.isfinite(ends).all(axis=1)
    labels = (*pool.names[:drawn], ALL)
    inside = ends[given] if given.any() else np.zeros((1, 2))
    low, high = min(0.0, float(inside.min())), max(0.0, float(inside.max()))
    lines = np.flatnonzero(given)
    last = lines[lines == drawn].tolist()
    marks: list[Mark] = [
        Intervals(lines.tolist(), ends[lines, 0].tolist(), ends[lines, 1].tolist()),
        Points(dots[lines[lines < drawn]].tolist(), lines[lines < drawn].tolist()),
    ]
    if last:
        marks += [Points(dots[last].tolist(), last, radius=6.0), Rule(float(dots[drawn]), "x")]
    left_out = f"; the first {drawn} of {len(pool.sites)} sites" if drawn < len(pool.sites) else ""
    rows = tuple(
        (shown(label), coefficient(float(dot)), *map(interval_end, line))
        for label, dot, line in zip(labels, dots, ends.tolist(), strict=True)
    )
    return Figure(
        f"sites-{at}",
        f"{shown(chosen, 60)} by site",
        "One line per site: a dot at its own estimate, and a bar over its interval. The last line, with a "
        "larger dot, is the pooled estimate, at which a dashed line is drawn.",
        x=padded(f"coefficient, {shown(record.link, 20)} scale", low, high),
        y=Names(labels, frozenset(np.flatnonzero(~given).tolist())),
        marks=(Rule(0.0, "x", "zero"), *marks),
        caption=f"{shown(chosen, 60)}: 95 % intervals of each site’s debiased estimate, its noise included, "
        f"and of the pooled one{left_out}. A site without a bar released too little for one.",
        twin=Rows("Estimates by site", ("site", "estimate", "lower end", "upper end"), rows, (1, 2, 3)),
    )


def site_section(record: FitRecord) -> Section | None:
    """Sites with their guarantees; of a pool also heterogeneity and forest plots. None for one curator."""
    if isinstance(record.part, JointSites):
        joint = record.part
        content: dict[str, Any] = {
            "disjoint": joint.disjoint,
            "apart": joint.apart,
            "masked": joint.masked,
            "trust": [shown(text) for _, text in trust(record)],
            "sites": _site_rows(joint.sites),
        }
        return Section("joint-sites", "Sites", content)
    if not isinstance(record.part, PooledSites):
        return None
    pool, found = record.part, heterogeneity(record)
    random = pool.effects == "random"
    columns: dict[str, Any] = {
        "coefficient": [shown(name, 120) for name in record.names],
        "sites": [f"{number:.0f}" for number in found.count],
        "Q": map(statistic, found.q),
        "P>Q": map(p_value, found.p_value),
        "I²": [percent(float(each)) if np.isfinite(each) else ABSENT for each in found.i_squared],
    }
    if random:
        columns |= {
            "tau": map(coefficient, found.tau),
            "lower": map(coefficient, found.low),
            "upper": map(coefficient, found.high),
        }
    ends = "; ends of 95 % prediction intervals of another site" if random else ""
    caption = f"How the sites differ{ends}"
    drawn = [name for name in record.names if not is_intercept(name)][:MOST_FIGURES]
    content = {
        "random": random,
        "disjoint": pool.disjoint,
        "sites": _site_rows(pool.sites),
        "heterogeneity": Rows.of_columns(caption, columns, tuple(range(1, len(columns)))),
        "figures": [site_figure(record, name) for name in drawn],
    }
    return Section("sites", "Sites", content)


def _site_rows(sites: Sequence[Site | JointSite]) -> Rows:
    """A row for each site: what it promised, and the plan that was charged."""
    rows = tuple(
        (
            shown(site.name, 100),
            ABSENT if site.n_rows is None else count(site.n_rows),
            budget(site.guarantee.epsilon) if math.isfinite(site.guarantee.epsilon) else ABSENT,
            budget(site.guarantee.delta),
            shown(site.plan_fingerprint[:12] or ABSENT),
        )
        for site in sites
    )
    return Rows("Sites", ("site", "rows", "ε", "δ", "plan"), rows, numeric=(1, 2, 3))
