"""One model of several sites, from what each of them released: the verb `pool`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpglm import __version__
from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError, SitesDiffer
from dpglm.glm.penalties import penalties
from dpglm.inference.coefficients import coefficients, scaling_of
from dpglm.postprocessing.between_sites import heterogeneity
from dpglm.postprocessing.joint_sites import site_lines
from dpglm.postprocessing.parts import MeasuredScales
from dpglm.postprocessing.record import Choice, FitRecord, ResponseFacts, SpendLine
from dpglm.postprocessing.site_pool import LEAST_SITES, Effects, Site, combined, pooled_sites, reference
from dpglm.privacy.events import MethodDescription
from dpglm.results.fit_result import FitResult
from dpglm.spec.charging import with_row_map
from dpglm.spec.pooled_fits import coded_of, opened_sites, poolable, require_alike
from dpglm.typing import BoolVector

# Level, over all coefficients together, at which sites that have a common one are said to differ.
DIFFERENT = 1e-3


def pool(
    fits: Mapping[str, FitResult | str | os.PathLike[str]] | Sequence[FitResult | str | os.PathLike[str]],
    *,
    effects: Effects = "common",
    fixed: Sequence[str] = (),
    disjoint: bool | None = None,
) -> FitResult:
    """One model of several sites, from what each of them released: post-processing, no further privacy.

    Each site fits the same formula on its own rows, under its own schema and budget, and sends the saved
    result. Scores and information matrices are brought to one coding and added up with weights that know the
    noise of each site, see ``docs/methods.md``. Sites may declare other bounds, and measure other scales.

    Parameters
    ----------
    fits : mapping of str to FitResult or path, or a sequence of them
        By site, or files that name the sites: ``["north.json", "south.json"]``. Results in a sequence are
        ``site 1``, ``site 2``, ... Each needs a released information matrix.
    effects : {"common", "random"}
        ``"common"``: one coefficient for all sites. ``"random"``: each site its own, normal around the pooled
        one; the variance of each between sites by REML. Needs 3 sites or more.
    fixed : sequence of str
        Coefficients that are the same at every site all the same, with random effects.
    disjoint : bool, optional
        True declares that nobody is at two sites: the guarantee is that of the worst site. False: prices add
        up. None: True if the schema of every site says ``sites: disjoint``.

    Returns
    -------
    FitResult
        Unpenalised, with intervals, tests, refits, paths, predictions and a report; also
        ``heterogeneity()``, ``leave_one_out()`` and ``plot("sites", name)``. NOT PRIVATE if one site is.

    Raises
    ------
    MethodError
        Another formula, family, levels, relation or unit at a site, which is named; a fit without an
        information matrix, one that is pooled itself, or the same one twice.
    StoreError
        A file that is no saved result.

    Warns
    -----
    SitesDiffer
        Common effects of sites that are told apart, by Q at level .001 over all coefficients. A coefficient
        is compared between sites that have an interval for it: one whose outcome hardly varies may differ
        unnoticed.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair").sample(frac=1.0, random_state=1)
    >>> tables = {"north": women[:3000], "south": women[3000:]}
    >>> sites = {
    ...     site: dpglm.fit("affair ~ age + religious", rows, penalty="none", privacy=(4.0, 1e-6), seed=seed)
    ...     for seed, (site, rows) in enumerate(tables.items())
    ... }
    >>> both = dpglm.pool(sites, disjoint=True)
    >>> both.names, both.n_rows, both.privacy.epsilon
    (('Intercept', 'age', 'religious'), 6366, 4.0)
    >>> both.heterogeneity().shape, len(both.leave_one_out())
    ((3, 9), 6)
    """
    records = opened_sites(fits)
    names = tuple(records)
    if effects not in ("common", "random"):
        raise MethodError(
            f"effects={effects!r}", expected="'common' or 'random'", remedy="Use effects='random'."
        )
    if effects == "random" and len(records) < LEAST_SITES:
        raise MethodError(
            f"random effects of {len(records)} sites",
            expected=f"{LEAST_SITES} sites or more: fewer say next to nothing of how sites differ",
            remedy="Use effects='common'.",
        )
    models = {site: poolable(site, record) for site, record in records.items()}
    require_alike(records, models)
    found = list(records.values())
    declared = [Schema.from_dict(record.specification.schema).sites == "disjoint" for record in found]
    once = all(declared) if disjoint is None else disjoint
    first = found[0]
    guarantee = combined([record.guarantee for record in found], names, disjoint_sites=once)
    sites = [
        Site(
            site,
            record.guarantee,
            record.released,
            record.user_from_coded,
            record.n_rows,
            record.plan_fingerprint,
            record.version,
        )
        for site, record in records.items()
        if record.released is not None
    ]
    specification = replace(
        first.specification,
        schema=_schema([record.specification.schema for record in found], models[names[0]], once=once),
        penalty=Choice("none"),
        strength=None,
    )
    scales = _scales([record.scales for record in found if record.scales is not None])
    model = coded_of(specification)
    placed = model if scales is None else model.standardised(scales.moments, scales.longer)
    coding = placed.coding
    released = reference(coding.term_columns, coding.user_from_coded, [site.release for site in sites])
    part = pooled_sites(
        sites,
        released,
        coding.user_from_coded,
        coding.names,
        effects=effects,
        fixed=_fixed(fixed, coding.names, effects),
        disjoint_sites=once,
    )
    counts = [record.n_rows for record in found]
    drafted = FitRecord(
        specification=specification,
        names=coding.names,
        link=first.link,
        penalty="none",
        strength=None,
        strength_sum=None,
        estimates=np.zeros(coding.size),
        selected_mask=np.ones(coding.size, dtype=np.bool_),
        coded=np.zeros(coding.size),
        user_from_coded=coding.user_from_coded,
        row_norm=coding.row_norm,
        rows_clipped="; ".join(dict.fromkeys(record.rows_clipped for record in found)),
        residual=None,
        terms=coding.terms,
        response=_response([record.response for record in found]),
        guarantee=guarantee,
        spend_lines=_spend(records, once=once),
        description=_description(found, effects),
        random_source="operating system"
        if all(record.random_source == "operating system" for record in found)
        else "seeded generator: NOT PRIVATE",
        n_rows=None if None in counts else sum(count for count in counts if count is not None),
        ledger=None,
        version=__version__,
        released=released,
        scales=scales,
        part=part,
    )
    record = _estimated(drafted)
    if effects == "common":
        _warn_of_differences(record)
    return FitResult(with_row_map(record, model))


def _warn_of_differences(record: FitRecord) -> None:
    """Say so where a common coefficient is an average of sites that are not alike: a post-processing."""
    tests = heterogeneity(record).p_value
    tested = np.isfinite(tests)
    differing = [
        name
        for name, test in zip(record.names, tests.tolist(), strict=True)
        if test * tested.sum() < DIFFERENT  # not of NaN, where there is no test
    ]
    if differing:
        more = f" and {len(differing) - 3} others" if len(differing) > 3 else ""
        warnings.warn(
            f"Sites differ in {', '.join(differing[:3])}{more}: a common coefficient may be none of theirs. "
            "See heterogeneity() and plot('sites', name), or pool with effects='random'.",
            SitesDiffer,
            stacklevel=3,
        )


def _estimated(record: FitRecord) -> FitRecord:
    """The record with its estimates."""
    if record.contrasts is None:
        raise MethodError(
            "released numbers of which no pooled model can be made",
            expected="information matrices that are neither empty nor beyond the range of numbers",
            remedy="Fit the sites again with a larger budget.",
        )
    scaling = scaling_of(record.user_from_coded, record.names)
    fitted = coefficients(record.contrasts, scaling, penalties["none"](), None)
    return replace(record, estimates=fitted.estimates, coded=fitted.coded)


def _schema(schemas: Sequence[Mapping[str, object]], model: CodedModel, *, once: bool) -> dict[str, Any]:
    """The first site's declarations of what the formula uses, between the widest bounds, and all rows."""
    if len(schemas) == 1:
        return dict(schemas[0])
    plain: list[Any] = [dict(schema) for schema in schemas]
    used = dict.fromkeys((model.response.name, *model.coding.columns))
    unit = plain[0].get("unit")
    if isinstance(unit, Mapping) and unit.get("column") in plain[0]["variables"]:
        used[unit["column"]] = None
    variables = {name: dict(plain[0]["variables"][name]) for name in used}
    for name, entry in variables.items():
        if "bounds" in entry:
            ends = [each["variables"][name]["bounds"] for each in plain]
            entry["bounds"] = [min(low for low, _ in ends), max(high for _, high in ends)]
        for key in ("mean", "sd", "shares", "source"):
            entry.pop(key, None)
        if any(each["variables"][name].get("looked_at_data") for each in plain):
            entry["looked_at_data"] = True
    joined = {key: plain[0][key] for key in ("unit",) if key in plain[0]} | {"variables": variables}
    rows = [each.get("rows") for each in plain]
    if None not in rows:
        joined["rows"] = sum(rows)
    titles = {each.get("title", "") for each in plain}
    if len(titles) == 1 and titles != {""}:
        joined["title"] = titles.pop()
    if once:
        joined["sites"] = "disjoint"
    return Schema.from_dict(joined).to_dict()


def _scales(scales: Sequence[MeasuredScales]) -> MeasuredScales | None:
    """Scales of the pool's coding, between those of the sites; None where none were measured."""
    if len(scales) < 2:
        return scales[0] if scales else None
    first = scales[0]
    means = np.array([each.means for each in scales])
    squares = np.array([each.deviations**2 for each in scales])
    middle = means.mean(axis=0)
    lost = [each.weight_lost for each in scales if each.weight_lost is not None]
    cuts = [each.residual_cut for each in scales if each.residual_cut is not None]
    return MeasuredScales(
        names=first.names,
        means=middle,
        deviations=np.sqrt((squares + (means - middle) ** 2).mean(axis=0)),
        longer=float(np.mean([each.longer for each in scales])),
        weight_lost=float(np.mean(lost)) if lost else None,
        shortened=any(each.shortened for each in scales),
        residual_cut=min(cuts) if cuts else None,
        steepness=max(each.steepness for each in scales),
    )


def _fixed(names: Sequence[str], known: tuple[str, ...], effects: Effects) -> BoolVector:
    listed = (names,) if isinstance(names, str) else tuple(names)
    strangers = [name for name in listed if name not in known]
    if strangers or (listed and effects != "random"):
        raise MethodError(
            f"fixed={strangers[0]!r}" if strangers else "fixed= without random effects",
            expected=f"names of coefficients: {', '.join(known[:8])}",
            remedy="Use effects='random' with fixed=['Intercept'], or leave fixed out.",
        )
    return np.array([name in listed for name in known], dtype=np.bool_)


def _response(responses: Sequence[ResponseFacts]) -> ResponseFacts:
    bounds = [each.bounds for each in responses if each.bounds is not None]
    if not bounds:
        return responses[0]
    return replace(responses[0], bounds=(min(low for low, _ in bounds), max(high for _, high in bounds)))


def _spend(records: Mapping[str, FitRecord], *, once: bool) -> tuple[SpendLine, ...]:
    """What each site paid, with its name."""
    if len(records) == 1:
        (record,) = records.values()
        return record.spend_lines
    return site_lines({site: record.spend_lines for site, record in records.items()}, once=once)


def _description(records: Sequence[FitRecord], effects: Effects) -> MethodDescription:
    """How the sites fitted, and how they were pooled."""
    algorithms = " or ".join(dict.fromkeys(record.description.algorithm for record in records))
    releases = tuple(dict.fromkeys(item for record in records for item in record.description.releases))
    kind = "a common coefficient" if effects == "common" else "random effects (REML)"
    return replace(
        records[0].description,
        algorithm=f"at each of {len(records)} sites: {algorithms}; then pooled with {kind}, without rows",
        releases=releases,
        penalty_applied="none; refits apply one to the released linear models together",
    )
