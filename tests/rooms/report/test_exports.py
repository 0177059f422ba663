"""What is exported holds the fit's own facts, says what is absent, and approves nothing."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dpglm
from dpglm.errors import MethodError
from dpglm.postprocessing.store import fingerprint, from_json
from dpglm.results.fit_result import FitResult
from tests.rooms.report import specimen

# The number of rows, and not digits of another number or of a hash.
COUNTED = re.compile(rb"(?<![\w.,-])6,?366(?![\w.])")
KINDS = ("registry", "dpia", "methods", "ro-crate")
FACTS = {
    "organisation": "Ward 7",
    "purpose": "audit of readmissions",
    "signatory": {"name": "A. Doe", "role": "head", "date": "2026-02-03"},
}


@cache
def fitted(relation: str = "replace-one") -> FitResult:
    women = dpglm.load_data("fair")
    privacy = dpglm.Privacy(1.0, 1e-6, relation)  # type: ignore[arg-type]
    return dpglm.fit("affair ~ age + religious", women, privacy=privacy, progress=False)


def text(fit: FitResult, kind: Any, folder: Path, facts: Any = FACTS) -> str:
    return fit.export(kind, folder / "export", facts=facts).read_text(encoding="utf-8")


def test_a_registry_record_has_the_price_and_the_unit(tmp_path: Path) -> None:
    found = json.loads(text(fitted(), "registry", tmp_path))["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert found["privacy_loss"]["privacy_unit"] == "one woman"
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    assert found["basic"]["publication_date"] == "2026-02-03"
    assert found["basic"]["data_curators"] == [{"data_curator_name": "Ward 7"}]
    assert found["implementation"]["justification"] == "not stated"
    assert fingerprint(fitted()._record) in found["implementation"]["additional_information"]
    assert (
        "publication_date"
        not in json.loads(text(fitted(), "registry", tmp_path, None))["deployment"]["basic"]
    )


def test_rows_are_unprotected_where_their_number_is_public(tmp_path: Path) -> None:
    for relation, public in (("replace-one", True), ("add-remove", False)):
        for kind in ("registry", "dpia"):
            assert ("the number of rows, " in text(fitted(relation), kind, tmp_path)) is public
        assert ("6,366 rows" in text(fitted(relation), "methods", tmp_path)) is public


def test_a_methods_paragraph_cites_what_it_rests_on(tmp_path: Path) -> None:
    found = text(fitted(), "methods", tmp_path)
    paragraph, _, references = found.partition("\n\n")
    cited = {mark for place in range(1, 9) if f"[{place}]" in references for mark in [place]}
    assert cited == {1, 2, 3, 4}
    assert all(str(place) in paragraph for place in cited)
    assert "3 of 3 coefficients" in paragraph
    assert "Benjamini" in text(fitted().select("fdr"), "methods", tmp_path)
    assert "applied to released numbers" in text(fitted().refit("l1"), "methods", tmp_path)


def test_bounds_that_were_read_off_the_data_are_told_in_every_text(tmp_path: Path) -> None:
    record = fitted()._record
    schema = json.loads(json.dumps(record.specification.schema))
    schema["variables"]["age"]["looked_at_data"] = True
    looked = FitResult(replace(record, specification=replace(record.specification, schema=schema)))
    for kind in ("registry", "dpia", "methods"):
        assert "levels of age were read off the data" in text(looked, kind, tmp_path)
        assert "read off the data" not in text(fitted(), kind, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_private_is_not_exported(kind: Any, tmp_path: Path) -> None:
    for fit in (specimen.seeded(), specimen.plain()):
        with pytest.raises(MethodError, match="NOT PRIVATE"):
            fit.export(kind, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="ro-crate"):
        fitted().export("pdf", tmp_path / "out")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_fit_gives_the_same_bytes(kind: Any, tmp_path: Path) -> None:
    first, second = (fitted().export(kind, tmp_path / name, facts=FACTS).read_bytes() for name in "ab")
    assert first == second


@pytest.mark.parametrize("name", ["wide", "gaussian", "approximate"])
@pytest.mark.parametrize("kind", KINDS)
def test_fits_of_all_kinds_are_exported(kind: Any, name: str, tmp_path: Path) -> None:
    fit = specimen.PAGES[name][0]()
    assert isinstance(fit, FitResult)
    assert fit.export(kind, tmp_path / "out").stat().st_size > 500


def opened(path: Path) -> tuple[dict[str, bytes], str]:
    """Files of a zip by path below its one folder, and that folder."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        (folder,) = {name.split("/")[0] for name in archive.namelist()}
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}, folder


def test_a_crate_is_a_whole_bag(tmp_path: Path) -> None:
    files, _ = opened(fitted().export("ro-crate", tmp_path / "c.zip", facts=FACTS))
    for manifest in ("manifest-sha512.txt", "tagmanifest-sha512.txt"):
        for line in files[manifest].decode().splitlines():
            digest, path = line.split("  ")
            assert hashlib.sha512(files[path]).hexdigest() == digest
    listed = {line.split("  ")[1] for line in files["manifest-sha512.txt"].decode().splitlines()}
    assert listed == {name for name in files if name.startswith("data/")}
    assert b"External-Identifier: urn:uuid:" in files["bag-info.txt"]


def test_a_crate_names_all_it_holds_and_approves_nothing(tmp_path: Path) -> None:
    files, _ = opened(fitted().export("ro-crate", tmp_path / "c.zip", facts=FACTS))
    for folder in ("data/", "data/workflow/"):
        entities = json.loads(files[f"{folder}ro-crate-metadata.json"])["@graph"]
        known = {entity["@id"]: entity for entity in entities}
        assert len(known) == len(entities)
        parts = {part["@id"] for part in known["./"]["hasPart"]} - {"workflow/"}
        assert all(folder + part in files for part in parts)
        for entity in entities:
            for value in entity.values():
                for target in value if isinstance(value, list) else [value]:
                    if isinstance(target, dict) and not target["@id"].startswith("https://"):
                        assert target["@id"] in known, target
    root = {entity["@id"]: entity for entity in json.loads(files["data/ro-crate-metadata.json"])["@graph"]}
    assert root["./"]["conformsTo"] == {"@id": "https://w3id.org/5s-crate/0.4"}
    checks = [entity for entity in root.values() if entity["@type"] == "AssessAction"]
    assert len(checks) == 2
    assert all(check["actionStatus"].endswith("PotentialActionStatus") for check in checks)


def test_a_crate_is_verified_and_its_plan_is_that_of_the_fit(tmp_path: Path) -> None:
    files, _ = opened(fitted().export("ro-crate", tmp_path / "c.zip", facts=FACTS))
    (tmp_path / "report.html").write_bytes(files["data/report.html"])
    assert dpglm.verify(tmp_path / "report.html").passed
    assert from_json(files["data/result.json"].decode()) == fitted()._record
    again = dpglm.ModelSpec.from_json(files["data/workflow/specification.json"].decode())
    assert again.plan(n=fitted().n_rows).fingerprint == fitted().plan_fingerprint
    compile(files["data/workflow/fit.py"], "fit.py", "exec")


# Sections and fields of the registry's public schema, with the required ones of the first and the last.
REGISTRY = {
    "basic": "name data_curators description intended_use data_product_type data_product_region "
    "data_product_sector publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type "
    "release_type_details data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing "
    "justification utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}
LISTED = {
    ("dp_variant", "variant_name"): {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Custom"},
    ("deployment_model", "model_name"): {"Central", "Federated"},
    ("deployment_model", "release_type"): {"One release"},
    ("deployment_model", "access_type"): {"Non-interactive"},
    ("basic", "data_product_type"): {"Machine learning model"},
    ("administrative", "status"): {"Draft"},
    ("administrative", "tier"): {2},
}


@pytest.mark.parametrize(
    "name", ["wide", "gaussian", "approximate", pytest.param("joint", marks=pytest.mark.papers), "fit"]
)
def test_a_registry_record_has_the_fields_of_the_registry_and_tells_what_it_leaves_out(
    name: str, tmp_path: Path
) -> None:
    makers: dict[str, Any] = {"fit": fitted, "joint": joint}
    fit = makers[name]() if name in makers else specimen.PAGES[name][0]()
    found = json.loads(text(fit, "registry", tmp_path, None))
    assert set(found) == {"url_slug", "deployment"}
    assert set(found["deployment"]) == set(REGISTRY)
    left_out = found["deployment"]["implementation"]["additional_information"]
    for section, fields in REGISTRY.items():
        assert set(found["deployment"][section]) <= set(fields.split())
    for field in REGISTRY["basic"].split():
        assert field in found["deployment"]["basic"] or f"basic.{field}" in left_out
    for (section, field), choices in LISTED.items():
        assert found["deployment"][section][field] in choices
    parameters = found["deployment"]["privacy_loss"]["privacy_parameters"]
    assert parameters["epsilon"] == fit.privacy.epsilon
    assert set(parameters) <= {"epsilon", "delta", "rho"}


@cache
def joint() -> FitResult:
    women = dpglm.load_data("fair")
    fit = dpglm.fit(
        "affair ~ age",
        {"north": women[:3000], "south": women[3000:]},
        method="dlvp",
        privacy=(2.0, 1e-6),
        progress=False,
    )
    assert isinstance(fit, FitResult)
    return fit


@pytest.mark.papers
def test_a_fit_of_several_curators_is_federated_and_its_script_takes_their_tables(tmp_path: Path) -> None:
    found = json.loads(text(joint(), "registry", tmp_path))["deployment"]
    assert found["deployment_model"]["model_name"] == "Federated"
    files, _ = opened(joint().export("ro-crate", tmp_path / "c.zip"))
    assert b"south=south.csv" in files["data/workflow/fit.py"]


def test_a_number_of_rows_that_is_private_is_exported_where_it_was_declared(tmp_path: Path) -> None:
    women = dpglm.load_data("fair")
    columns = {"affair": ["no", "yes"], "age": {"bounds": (17, 42)}}
    for declared in (None, 6000):
        schema = {"variables": columns} | ({} if declared is None else {"rows": declared})
        privacy = dpglm.Privacy(1.0, 1e-6, "add-remove")
        fit = dpglm.fit("affair ~ age", women, schema=schema, privacy=privacy, progress=False)
        for kind in KINDS[:3]:
            found = text(fit, kind, tmp_path)
            assert not COUNTED.search(found.encode())
        assert ("6,000 rows (declared)" in text(fit, "methods", tmp_path)) is (declared is not None)
        units = json.loads(text(fit, "registry", tmp_path))["deployment"]["privacy_loss"]
        assert units.get("number_of_privacy_units") == declared


def test_rows_that_weigh_the_same_are_no_persons(tmp_path: Path) -> None:
    women = dpglm.load_data("fair").assign(who=lambda rows: [str(place // 2) for place in range(len(rows))])
    for weights in ("unit", "row"):
        unit = {"column": "who", "rows": 2, "weights": weights}
        columns = {"affair": ["no", "yes"], "age": {"bounds": (17, 42)}}
        schema = {"variables": columns, "rows": 3000, "unit": unit}
        fit = dpglm.fit("affair ~ age", women, schema=schema, privacy=(1.0, 1e-6), progress=False)
        words = "3,000 persons" if weights == "unit" else "3,000 rows"
        assert words in text(fit, "methods", tmp_path)
        units = json.loads(text(fit, "registry", tmp_path))["deployment"]["privacy_loss"]
        assert ("number_of_privacy_units" in units) is (weights == "unit")


def test_a_pooled_fit_is_not_exported(tmp_path: Path) -> None:
    women = dpglm.load_data("fair")
    sites = {"north": women[:3000], "south": women[3000:]}
    fits = dpglm.fit("affair ~ age", sites, privacy=(4.0, 1e-6), progress=False)
    assert isinstance(fits, dpglm.SiteFits)
    with pytest.raises(MethodError, match="each site"):
        fits.pool().export("methods", tmp_path / "out")
    assert "at site" not in text(fits["north"], "methods", tmp_path)


def test_what_people_state_stays_words(tmp_path: Path) -> None:
    hostile = {"organisation": 'Ward "7"\n# </script>\u202e', "signatory": {"date": "Tuesday"}}
    for kind in KINDS[:3]:
        assert "\u202e" not in text(fitted(), kind, tmp_path, hostile)
    found = json.loads(text(fitted(), "registry", tmp_path, hostile))["deployment"]["basic"]
    assert found["data_curators"][0]["data_curator_name"].startswith('Ward "7" # </script>')
    assert "publication_date" not in found
    fitted().export("ro-crate", tmp_path / "c.zip", facts=hostile)


def test_the_plan_of_a_crate_runs_again(tmp_path: Path) -> None:
    files, _ = opened(fitted().export("ro-crate", tmp_path / "c.zip"))
    for name in ("fit.py", "specification.json"):
        (tmp_path / name).write_bytes(files[f"data/workflow/{name}"])
    dpglm.load_data("fair").to_csv(tmp_path / "table.csv", index=False)
    ledger = dpglm.Ledger(tmp_path / "fair.db", budget=(3.0, 1e-5), dataset="fair")
    command = [sys.executable, "fit.py", "fair.db", "again.json", "table.csv"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    again = dpglm.load(tmp_path / "again.json")
    assert again.plan_fingerprint == fitted().plan_fingerprint == ledger.entries[0].plan


def test_what_becomes_of_counts_is_told(tmp_path: Path) -> None:
    schema = {"children": (0, 5), "age": (17, 42)}
    women = dpglm.load_data("fair")[[*schema]]
    fit = dpglm.fit(
        "children ~ age", women, schema=schema, family="poisson", privacy=(1.0, 1e-6), progress=False
    )
    for kind in ("registry", "methods"):
        assert "Counts above the declared bound of 5 are read as 5" in text(fit, kind, tmp_path)
        assert "Counts above" not in text(fitted(), kind, tmp_path)


def test_no_file_of_a_crate_tells_a_number_of_rows_that_is_private(tmp_path: Path) -> None:
    for relation, public in (("replace-one", True), ("add-remove", False)):
        files, _ = opened(fitted(relation).export("ro-crate", tmp_path / "c.zip", facts=FACTS))
        told = [name for name, content in files.items() if COUNTED.search(content)]
        assert bool(told) is public, told


def test_the_strength_of_a_penalty_is_told_where_there_is_one(tmp_path: Path) -> None:
    assert "strength: " in text(fitted().refit("l1", strength=0.01), "methods", tmp_path)
    for fit in (fitted(), dpglm.fit("affair ~ age", dpglm.load_data("fair"), privacy=1.0, progress=False)):
        assert "strength: " not in text(fit, "methods", tmp_path)
