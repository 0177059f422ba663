"""Record for the registry of deployments of differential privacy, after the registry's public schema.

The schema is that of https://github.com/opendp/deployments-registry-data, in the sections ``basic``,
``dp_variant``, ``privacy_loss``, ``deployment_model``, ``implementation`` and ``administrative``. What only
people can state comes from the facts of a report: free text is "not stated" without them, a date or a choice
from the registry's lists is left out and named, so that the registry's own check asks for it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.store import fingerprint
from dpglm.report.claims import accuracy, composition, looked_at, neighbours, unprotected
from dpglm.report.exports.words import (
    NOT_COVERED,
    data_name,
    meant,
    model,
    penalty,
    public_rows,
    public_units,
    releases,
    sentences,
    trust,
)
from dpglm.report.facts import NOT_STATED, ReportFacts
from dpglm.report.section import Subject, price, shown

VARIANTS: Final = {
    "pure": "Pure DP",
    "approximate": "Approximate DP",
    "gdp": "Custom",
    "zcdp": "Zero-concentrated DP",
}
DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
# Choices from the registry's lists, which no fact of a report answers.
OPEN: Final = ("basic.data_curators.data_curator_type", "basic.data_product_sector")


def registry(record: FitRecord, subject: Subject, facts: ReportFacts) -> str:
    """The record as JSON, which is YAML, too."""
    dated = DATE.fullmatch(facts.date) is not None
    date = {"publication_date": facts.date} if dated else {}
    left_out = [*OPEN, *([] if dated else ["basic.publication_date"])]
    deployment: dict[str, Any] = {
        "basic": _basic(record, facts) | date,
        "dp_variant": {
            "variant_name": VARIANTS[record.guarantee.definition],
            "data_domain": _domain(record),
            "unprotected_quantities": unprotected(record, subject),
        },
        "privacy_loss": _loss(record),
        "deployment_model": {
            "model_name": "Central" if subject.curators == "one curator" else "Federated",
            "trust_assumptions": trust(record, subject),
            "release_type": "One release",
            "release_type_details": sentences("this record is of one fit", composition(record)),
            "access_type": "Non-interactive",
        },
        "implementation": _implementation(record),
        "administrative": {
            "status": "Draft",
            "registry_authors": [NOT_STATED],
            "tier": 2,
        },
    }
    deployment["implementation"]["additional_information"] = (
        f"Written by dpglm {record.version} from a saved fit with SHA-256 {fingerprint(record)}. "
        f"Left out, for people to state: {', '.join(left_out)}."
        + (" The date of publication is that of the signature under the report." if dated else "")
    )
    content = {"url_slug": f"dpglm-{fingerprint(record)[:12]}", "deployment": deployment}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _basic(record: FitRecord, facts: ReportFacts) -> dict[str, Any]:
    """Tier 1: what it is, and who answers for it."""
    name = data_name(record)
    return {
        "name": model(record) + (f", {name}" if name else ""),
        "data_curators": [{"data_curator_name": facts.stated("organisation")}],
        "description": f"Coefficients of a {model(record)}: {shown(record.specification.formula, 600)}",
        "intended_use": facts.stated("purpose"),
        "data_product_type": "Machine learning model",
        "data_product_region": NOT_STATED,
    }


def _domain(record: FitRecord) -> str:
    """The tables that are protected."""
    columns: Any = record.specification.schema.get("variables", {})
    unit = record.guarantee.unit
    names = shown(", ".join(columns), 600)
    return f"all tables with the columns {names}, within declared bounds and levels; protected: {unit}"


def _loss(record: FitRecord) -> dict[str, Any]:
    """The unit and the price."""
    guarantee = record.guarantee
    parameters = {"epsilon": guarantee.epsilon}
    if guarantee.delta > 0.0:
        parameters["delta"] = guarantee.delta
    if guarantee.definition == "zcdp" and guarantee.rho is not None:
        parameters["rho"] = guarantee.rho
    units = public_units(record)
    return {
        "privacy_unit": guarantee.unit,
        "privacy_unit_details": neighbours(guarantee),
        **({} if units is None else {"number_of_privacy_units": units}),
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"{price(guarantee)}. {guarantee.statement()}",
    }


def _implementation(record: FitRecord) -> dict[str, str]:
    """Mechanisms, accounting and what follows from the releases."""
    theorems = "; ".join(dict.fromkeys(one.theorem for one in record.description.releases if one.theorem))
    rows = public_rows(record)
    return {
        "preprocessing_and_hyperparameter_tuning": sentences(
            looked_at(record), "whether anybody explored the data before is not known to software"
        ),
        "mechanisms": sentences(
            f"releases: {releases(record)}",
            theorems,
            f"software: dpglm {record.version}",
            f"source of noise: {record.random_source}",
            NOT_COVERED,
        ),
        "composition": sentences(composition(record), f"plan: {record.plan_fingerprint or NOT_STATED}"),
        "post_processing": sentences(
            "coefficients, standard errors and tests follow from the releases", penalty(record)
        ),
        "justification": NOT_STATED,
        "utility": sentences(accuracy(record), *meant(record), f"fitted to {rows}" if rows else ""),
    }
