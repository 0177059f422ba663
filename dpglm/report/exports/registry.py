"""Record for the registry of deployments of differential privacy, after the registry's public schema.

The schema is that of https://github.com/opendp/deployments-registry-data, in the sections ``basic``,
``dp_variant``, ``privacy_loss``, ``deployment_model``, ``implementation`` and ``administrative``. What only
people can state comes from the facts of a report: free text is "not stated" without them, a date or a choice
from the registry's lists is left out and named, so that the registry's own check asks for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.store import fingerprint
from dpglm.report.crosswalk import accuracy, looked_at, neighbours, spent, unprotected
from dpglm.report.exports import words
from dpglm.report.facts import NOT_STATED, ReportFacts
from dpglm.report.section import Subject, shown

VARIANTS: Final = {
    "pure": "Pure DP",
    "approximate": "Approximate DP",
    "gdp": "Custom",
    "zcdp": "Zero-concentrated DP",
}
DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
# Choices from the registry's lists, which no fact of a report answers.
OPEN: Final = ("basic.data_curators.data_curator_type", "basic.data_product_sector")


def registry(records: Sequence[FitRecord], subject: Subject, facts: ReportFacts) -> str:
    """The record as JSON, which is YAML, too."""
    record, prints = records[0], ", ".join(map(fingerprint, records))
    dated = DATE.fullmatch(facts.date) is not None
    date = {"publication_date": facts.date} if dated else {}
    left_out = [*OPEN, *([] if dated else ["basic.publication_date"])]
    deployment: dict[str, Any] = {
        "basic": _basic(records, facts) | date,
        "dp_variant": {
            "variant_name": VARIANTS[record.guarantee.definition],
            "data_domain": _domain(record),
            "unprotected_quantities": unprotected(record, subject),
        },
        "privacy_loss": _loss(records),
        "deployment_model": {
            "model_name": "Central" if subject.curators == "one curator" else "Federated",
            "trust_assumptions": words.trust(record, subject),
            "release_type": "One release",
            "release_type_details": words.sentences("this record is of one fit", spent(record)),
            "access_type": "Non-interactive",
        },
        "implementation": _implementation(records),
        "administrative": {"status": "Draft", "registry_authors": [NOT_STATED], "tier": 2},
    }
    deployment["implementation"]["additional_information"] = (
        f"Written by dpglm {record.version} from a saved fit with SHA-256 {prints}. "
        f"Left out, for people to state: {', '.join(left_out)}."
        + (" The date of publication is that of the signature under the report." if dated else "")
    )
    content = {"url_slug": f"dpglm-{fingerprint(record)[:12]}", "deployment": deployment}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _basic(records: Sequence[FitRecord], facts: ReportFacts) -> dict[str, Any]:
    """Tier 1: what it is, and who answers for it."""
    name, formula = words.data_name(records[0]), shown(records[0].specification.formula, 600)
    return {
        "name": words.model(*records) + (f", {name}" if name else ""),
        "data_curators": [{"data_curator_name": facts.stated("organisation")}],
        "description": f"Coefficients of a {words.model(*records)}: {formula}",
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


def _loss(records: Sequence[FitRecord]) -> dict[str, Any]:
    """The unit and the price."""
    guarantee = words.charge(records[0])[1]
    parameters = {"epsilon": guarantee.epsilon}
    if guarantee.delta > 0.0:
        parameters["delta"] = guarantee.delta
    if guarantee.definition == "zcdp" and guarantee.rho is not None:
        parameters["rho"] = guarantee.rho
    units = words.public_units(records[0])
    return {
        "privacy_unit": guarantee.unit,
        "privacy_unit_details": neighbours(guarantee),
        **({} if units is None else {"number_of_privacy_units": units}),
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"{words.cost(*records)}. {guarantee.statement()}",
    }


def _implementation(records: Sequence[FitRecord]) -> dict[str, str]:
    """Mechanisms, accounting and what follows from the releases."""
    record = records[0]
    theorems = "; ".join(dict.fromkeys(one.theorem for one in record.description.releases if one.theorem))
    rows = words.public_rows(record)
    return {
        "preprocessing_and_hyperparameter_tuning": words.sentences(
            looked_at(record), "whether anybody explored the data before is not known to software"
        ),
        "mechanisms": words.sentences(
            f"releases: {words.releases(*records)}",
            theorems,
            f"software: dpglm {record.version}",
            f"source of noise: {record.random_source}",
            words.NOT_COVERED,
        ),
        "composition": words.sentences(spent(record), f"plan: {words.charge(record)[0] or NOT_STATED}"),
        "post_processing": words.sentences(
            "coefficients, standard errors and tests follow from the releases",
            *words.told(records, words.penalties),
        ),
        "justification": NOT_STATED,
        "utility": words.sentences(
            accuracy(*records), *words.told(records, words.meant), f"fitted to {rows}" if rows else ""
        ),
    }
