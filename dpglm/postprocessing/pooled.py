"""Profiles of several sites together: one of all their rows, and classes of numbers that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpglm.postprocessing.correlations import ColumnProducts
from dpglm.postprocessing.profile import OVERALL, ProfileRecord
from dpglm.postprocessing.quartiles import ClassCounts, first_edges, next_edges
from dpglm.privacy.guarantee import Guarantee
from dpglm.typing import FloatMatrix


def pooled(sites: Mapping[str, ProfileRecord], guarantee: Guarantee, *, disjoint: bool) -> ProfileRecord:
    """One profile of all sites, with what they promise together.

    Profiles by a factor are added up level by level. Others become one whose groups are the sites. Where a
    person is at one site only (``disjoint``), the sites are parts of the rows; else their prices add up.
    """
    records = list(sites.values())
    first = records[0]
    rows = [record.n_rows for record in records if record.n_rows is not None]
    together = first.by is None
    groups = [each for record in records for each in record.group_rows or ()]

    def joined(matrices: list[FloatMatrix]) -> FloatMatrix:
        return np.vstack(matrices) if together else np.sum(matrices, axis=0)

    louder = 1.0 if together else len(records) ** 0.5
    classes = first.classes
    if classes is not None:
        counts = [record.classes.counts for record in records if record.classes is not None]
        classes = ClassCounts(classes.edges, joined(counts), louder * classes.deviation)
    products = first.products
    if products is not None:
        products = ColumnProducts.added(
            [record.products for record in records if record.products is not None]
        )
    plans = {record.plan_fingerprint for record in records}
    return replace(
        first,
        # Sites may declare other titles and numbers of rows.
        schema={
            key: each for key, each in first.schema.items() if all(r.schema.get(key) == each for r in records)
        },
        by="site" if together else first.by,
        groups=tuple(sites) if together else first.groups,
        group_rows=tuple(groups) if together and groups else None,
        released=joined([record.released for record in records]),
        deviations=louder * first.deviations,
        classes=classes,
        products=products,
        n_rows=sum(rows) if rows else None,
        guarantee=guarantee,
        spend_lines=tuple(
            replace(
                line,
                release=f"{line.release}, site {site}",
                share=line.share if disjoint else line.share / len(records),
                part=place if disjoint else 0,
            )
            for place, (site, record) in enumerate(sites.items(), start=1)
            for line in record.spend_lines
        ),
        plan_fingerprint=plans.pop() if len(plans) == 1 else "",
    )


def edges_of_next_round(records: Sequence[ProfileRecord]) -> FloatMatrix:
    """Where the next round has its edges, by all that was told so far, shape (numbers, EDGES)."""
    sites = {str(place): record for place, record in enumerate(records)}
    whole = pooled(sites, records[0].guarantee, disjoint=False)
    counts = whole.counts()
    numbers = [column for column in whole.columns if not column.levels]
    if whole.classes is not None:
        known = whole.classes.distribution
        return np.array([next_edges(known(at, slice(None), *counts[c.name])) for at, c in enumerate(numbers)])
    told, found = whole.of(OVERALL), []
    for column in numbers:
        mean, deviation = told[column.name, "", "mean"], told[column.name, "", "sd"]
        place = mean.value / column.half - column.middle / column.half
        found.append(first_edges(place, (deviation.value + deviation.noise) / column.half))
    return np.array(found)
