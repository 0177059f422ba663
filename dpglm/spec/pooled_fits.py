"""The fits that a pool is made of: opened, checked one by one, and against each other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.schema.schema import Schema
from dpglm.errors import MethodError, StoreError
from dpglm.glm.families import families
from dpglm.methods.base import methods
from dpglm.postprocessing.exact_fit import ExactFit
from dpglm.postprocessing.record import FitRecord, SpecificationDocument
from dpglm.postprocessing.restriction import SubmodelOf
from dpglm.postprocessing.site_pool import PooledSites
from dpglm.postprocessing.store import read
from dpglm.registry import with_options
from dpglm.results.fit_result import FitResult
from dpglm.spec.site_names import MOST_SITES, require_site_names

# What sites may declare each in their own way; they agree on all else of a column that the formula uses.
_WORDS: Final = ("source", "looked_at_data", "label", "level_labels", "measured_in")
_OWN: Final = frozenset(("bounds", "effect", "mean", "sd", "shares", "missing", "missing_codes", *_WORDS))


def coded_of(document: SpecificationDocument) -> CodedModel:
    """The public model of a specification."""
    family = with_options(families[document.family.name], document.family.options)
    method = with_options(methods[document.method.name], document.method.options)
    schema = Schema.from_dict(document.schema)
    return CodedModel.of(document.formula, schema, family, coding=method.coding)


def opened_sites(fits: object) -> dict[str, FitRecord]:
    """The records by site."""
    if isinstance(fits, Mapping):
        named: dict[Any, Any] = dict(fits)
    elif isinstance(fits, Sequence) and not isinstance(fits, str):
        labels = [
            f"site {place}" if isinstance(fit, FitResult) else _stem(fit) for place, fit in enumerate(fits, 1)
        ]
        if len(set(labels)) < len(labels):
            raise MethodError(
                "two files of one name in pool",
                expected="a name of its own for each site",
                remedy='Name the sites: dpglm.pool({"north": "a/fit.json", "south": "b/fit.json"}).',
            )
        named = dict(zip(labels, fits, strict=True))
    else:
        named = {}
    if not 1 <= len(named) <= MOST_SITES:
        raise MethodError(
            f"pool of {len(named)} sites" if named else "pool without a list of results",
            expected=f"1 to {MOST_SITES} results of dpglm.fit, or their files",
            remedy='Use dpglm.pool(["north.json", "south.json"]).',
        )
    require_site_names(named)
    return {site: _record(site, fit) for site, fit in named.items()}


def _stem(path: object) -> str:
    return Path(path).stem if isinstance(path, str | os.PathLike) else ""


def _record(site: str, fit: object) -> FitRecord:
    if isinstance(fit, FitResult):
        return fit._record
    if not isinstance(fit, str | os.PathLike):
        raise MethodError(
            f"site {site!r} with {type(fit).__name__}",
            expected="a result of dpglm.fit, or the path of a saved one",
            remedy="Fit the site, and give its result or its file.",
        )
    try:
        return read(fit)
    except StoreError as error:
        raise StoreError(
            f"at site {site!r}, {error.found}", expected=error.expected, remedy=error.remedy
        ) from None


def poolable(site: str, record: FitRecord) -> CodedModel:
    """The public model of a site whose released numbers can be added to others."""
    lacking = ""
    if isinstance(record.part, PooledSites):
        lacking = "is pooled itself"
    elif isinstance(record.part, SubmodelOf | ExactFit) or (
        record.part is not None and (record.predictor is not None or record.part.deals_rows)
    ):
        lacking = f"is {record.part.title}"
    elif record.released is None:
        lacking = "released no information matrix"
    elif record.specification.weights is not None:
        lacking = "has rows with weights"
    if lacking:
        raise MethodError(
            f"site {site!r}, whose fit {lacking}",
            expected="one model per site with a released information matrix",
            remedy="Fit the site again with goal='explain', penalty='none' and privacy=(epsilon, delta).",
        )
    model = coded_of(record.specification)
    if model.coding.names != record.names:
        raise StoreError(
            f"at site {site!r}, coefficients that do not belong to the saved formula and schema",
            expected="a file as written by save()",
            remedy="Save the result again from the fit itself.",
        )
    return model


def require_alike(records: Mapping[str, FitRecord], models: Mapping[str, CodedModel]) -> None:
    """Refuse sites that fitted something else, or sent the same numbers."""
    (one, first), *others = records.items()
    used = (first.response.name, *models[one].coding.columns)
    for site, record in others:
        asked, own = first.specification, record.specification
        differing = [
            what
            for what, here, there in (
                ("formula", asked.formula.split(), own.formula.split()),
                ("family", asked.family, own.family),
                ("coefficients", first.names, record.names),
                ("response", first.response.levels, record.response.levels),
                ("link", first.link, record.link),
                *(
                    (f"column {name}", _column(asked.schema, name), _column(own.schema, name))
                    for name in used
                ),
            )
            if here != there
        ]
        if differing:
            raise MethodError(
                f"site {site!r}, whose {differing[0]} differs from that of site {one!r}",
                expected="the same formula, family, levels and units at every site; bounds may differ",
                remedy="Fit the site again as the others did, or leave it out.",
            )
    taken: dict[bytes, str] = {}
    for site, record in records.items():
        assert record.released is not None
        mark = record.released.information.tobytes()
        if mark in taken:
            raise MethodError(
                f"the same released numbers for the sites {taken[mark]!r} and {site!r}",
                expected="a fit of its own for each site",
                remedy="Leave one of them out.",
            )
        taken[mark] = site


def _column(schema: Mapping[str, object], name: str) -> dict[str, object]:
    """What all sites must declare alike of a column."""
    variables: Any = schema["variables"]
    return {key: value for key, value in variables.get(name, {}).items() if key not in _OWN}
