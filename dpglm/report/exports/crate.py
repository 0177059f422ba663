"""Five Safes RO-Crate of a fit: a zip with one BagIt bag, after https://w3id.org/5s-crate/0.4.

The fit is the completed run of a workflow, its plan. Sign-off and disclosure check are there as actions that
nobody has taken: a crate approves nothing. The private table is named and not inside.
"""

from __future__ import annotations

import hashlib
import io
import json
import uuid
import zipfile
from collections.abc import Mapping
from typing import Any, Final

from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.restriction import paid_specification
from dpglm.postprocessing.store import fingerprint, saved_text
from dpglm.report.exports.words import at_sites, data_name, model
from dpglm.report.facts import ReportFacts
from dpglm.report.page import render
from dpglm.report.section import Subject, shown

PROFILE: Final = "https://w3id.org/5s-crate/0.4"
WORKFLOW: Final = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
CRATE: Final = "https://w3id.org/ro/crate/1.2"
METADATA: Final = "ro-crate-metadata.json"
PYTHON: Final = "https://www.python.org/"
COMPLETED: Final = "http://schema.org/CompletedActionStatus"
PENDING: Final = "http://schema.org/PotentialActionStatus"
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # of all files in the zip: the same fit gives the same bytes
SCRIPT: Final = '''\
"""Runs the plan of this crate again: a new charge to the ledger, and fresh noise.

python fit.py ledger.db result.json {usage}
"""

import sys
from pathlib import Path

import dpglm

ledger, result, *tables = sys.argv[1:]
text = Path(__file__).with_name("specification.json").read_text(encoding="utf-8")
plan = dpglm.ModelSpec.from_json(text).plan({rows})
plan.fit({tables}, ledger=ledger).save(result)
'''
Entity = dict[str, Any]


def crate(record: FitRecord, subject: Subject, facts: ReportFacts) -> bytes:
    """The zip."""
    text, page = saved_text(record), render(record, subject, facts=facts)
    files = {
        "result.json": text,
        "report.html": page,
        "workflow/specification.json": paid_specification(record).to_json(),
        "workflow/fit.py": _script(record),
        f"workflow/{METADATA}": _json(_workflow(record)),
        METADATA: _json(_root(record, facts)),
    }
    mark = uuid.uuid5(uuid.NAMESPACE_URL, f"dpglm:{fingerprint(record)}")
    return _bag(f"dpglm-{fingerprint(record)[:12]}", mark, {path: files[path].encode() for path in files})


def _bag(folder: str, mark: uuid.UUID, payload: Mapping[str, bytes]) -> bytes:
    """A BagIt bag (RFC 8493) as a zip."""
    files = {f"data/{path}": content for path, content in sorted(payload.items())}
    size = sum(map(len, files.values()))
    tags = {
        "bagit.txt": b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": f"External-Identifier: urn:uuid:{mark}\nPayload-Oxum: {size}.{len(files)}\n".encode(),
        "manifest-sha512.txt": _manifest(files),
    }
    tags["tagmanifest-sha512.txt"] = _manifest(tags)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in (tags | files).items():
            entry = zipfile.ZipInfo(f"{folder}/{path}", EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            entry.create_system = 3  # the same on every system
            archive.writestr(entry, content)
    return written.getvalue()


def _manifest(files: Mapping[str, bytes]) -> bytes:
    lines = (f"{hashlib.sha512(content).hexdigest()}  {path}\n" for path, content in files.items())
    return "".join(lines).encode()


def _json(graph: list[Entity]) -> str:
    return json.dumps({"@context": f"{CRATE}/context", "@graph": graph}, indent=1, ensure_ascii=False) + "\n"


def _script(record: FitRecord) -> str:
    """The workflow: it runs the plan on a table, or on a table for each site."""
    several = at_sites(record)
    return SCRIPT.format(
        usage="north=north.csv south=south.csv" if several else "table.csv",
        rows=f"n={record.n_rows}" if record.n_rows else "",
        tables='dict(table.split("=", 1) for table in tables)' if several else "tables[0]",
    )


def _root(record: FitRecord, facts: ReportFacts) -> list[Entity]:
    """The metadata of the crate."""
    name = f"Fit of a {model(record)}"
    run = f"#run-{fingerprint(record)[:12]}"
    parts = ["report.html", "result.json", "workflow/"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": name,
        "description": f"{shown(record.specification.formula, 600)}. {record.promise}",
        "conformsTo": {"@id": PROFILE},
        "hasPart": [{"@id": part} for part in parts],
        "mainEntity": {"@id": "workflow/"},
        "mentions": [{"@id": place} for place in (run, "#sign-off", "#disclosure")],
        "sourceOrganization": {"@id": "#project"},
    }
    return [
        _descriptor(),
        root,
        {"@id": PROFILE, "@type": "Profile", "name": "Five Safes RO-Crate profile"},
        *_files(record),
        {
            "@id": run,
            "@type": "CreateAction",
            "name": f"{name}: completed",
            "actionStatus": COMPLETED,
            "agent": {"@id": "#agent"},
            "instrument": {"@id": "workflow/"},
            "object": [{"@id": "#table"}],
            "result": [{"@id": "result.json"}, {"@id": "report.html"}],
        },
        {
            "@id": "#table",
            "@type": "Dataset",
            "name": " ".join(filter(None, ("The private table", data_name(record), "(not in this crate)"))),
        },
        *_people(facts),
        _check("#sign-off", "https://w3id.org/shp#SignOff", "Sign-off of the run: not recorded by software"),
        _check(
            "#disclosure",
            "https://w3id.org/shp#DisclosureCheck",
            "Disclosure check of the results: pending, for people to make",
        ),
    ]


def _files(record: FitRecord) -> list[Entity]:
    """What is in the crate beside its metadata."""
    return [
        {"@id": "report.html", "@type": "File", "name": "Privacy report", "encodingFormat": "text/html"},
        {
            "@id": "result.json",
            "@type": "File",
            "name": f"Saved result of dpglm {record.version}, SHA-256 {fingerprint(record)}",
            "encodingFormat": "application/json",
        },
        {
            "@id": "workflow/",
            "@type": "Dataset",
            "name": f"Plan {record.plan_fingerprint or 'without a fingerprint'} and the script that runs it",
            "conformsTo": {"@id": WORKFLOW},
        },
    ]


def _people(facts: ReportFacts) -> list[Entity]:
    """Who answers for the run, as far as people stated it."""
    return [
        {
            "@id": "#agent",
            "@type": "Person",
            "name": facts.stated("name"),
            "jobTitle": facts.stated("role"),
            "affiliation": {"@id": "#organisation"},
            "memberOf": [{"@id": "#project"}],
        },
        {"@id": "#organisation", "@type": "Organization", "name": facts.stated("organisation")},
        {
            "@id": "#project",
            "@type": "Project",
            "name": facts.stated("purpose"),
            "member": [{"@id": "#organisation"}],
        },
    ]


def _check(place: str, kind: str, name: str) -> Entity:
    """An assessment that nobody has made."""
    return {
        "@id": place,
        "@type": "AssessAction",
        "additionalType": {"@id": kind},
        "name": name,
        "object": [{"@id": "./"}],
        "actionStatus": PENDING,
    }


def _workflow(record: FitRecord) -> list[Entity]:
    """The metadata of the workflow inside."""
    return [
        _descriptor(),
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Plan of a {model(record)}",
            "conformsTo": {"@id": WORKFLOW},
            "hasPart": [{"@id": "fit.py"}, {"@id": "specification.json"}],
            "mainEntity": {"@id": "fit.py"},
        },
        {"@id": WORKFLOW, "@type": "Profile", "name": "Workflow RO-Crate profile"},
        {
            "@id": "fit.py",
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "Runs the plan on a table and charges a ledger",
            "programmingLanguage": {"@id": PYTHON},
            "softwareRequirements": f"dpglm=={record.version}",
        },
        {
            "@id": "specification.json",
            "@type": "File",
            "name": "All that was asked for: formula, schema, model, budget",
            "encodingFormat": "application/json",
        },
        {"@id": PYTHON, "@type": "ComputerLanguage", "name": "Python"},
    ]


def _descriptor() -> Entity:
    return {"@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": CRATE}}
