"""REDCap data dictionaries: every field type and validation, as projects and the API export them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dpglm.data.codebooks.files import Book, BookText, headings, opened, records
from dpglm.data.codebooks.missing import may_say_missing, says_missing
from dpglm.data.codebooks.told import Kind, Told, in_numbers, level_of, plain_words, unit_in
from dpglm.data.tables.cells import Level
from dpglm.errors import SchemaError

WHAT: Final = "a REDCap data dictionary (CSV)"
NAMES: Final = {
    "name": ["variablefieldname", "fieldname"],
    "type": ["fieldtype"],
    "form": ["formname"],
    "label": ["fieldlabel"],
    "choices": ["choicescalculationsorsliderlabels", "selectchoicesorcalculations", "choicesorcalculations"],
    "note": ["fieldnote"],
    "validation": ["textvalidationtypeorshowslidernumber", "textvalidationtype"],
    "low": ["textvalidationmin"],
    "high": ["textvalidationmax"],
    "identifier": ["identifier"],
    "branching": ["branchinglogicshowfieldonlyif", "branchinglogic"],
    "matrix": ["matrixgroupname"],
    "annotation": ["fieldannotation"],
}
_NO_VALUE: Final = {
    "descriptive": "a descriptive text, which has no values",
    "file": "an uploaded file",
    "signature": "a signature",
    "notes": "free text",
}
_PERSONAL: Final = (
    r"email|phone|zipcode|postalcode|postal_code|ssn|social|v?mrn|nhs|signature|password|alpha_only"
)
_TIME_ALONE: Final = r"time(?:_.*)?"
_FORMS: Final = ((0, "Incomplete"), (1, "Unverified"), (2, "Complete"))


def is_header(header: list[str]) -> bool:
    """Whether these are the headings of a dictionary of REDCap."""
    return {"name", "type", "choices"} <= set(headings(header, NAMES))


def read(book: Book) -> tuple[list[Told], BookText]:
    """What a dictionary says of each column of an export with raw values."""
    text = opened(book, WHAT)
    header, rows = records(text.text, WHAT)
    found = headings(header, NAMES)
    if not {"name", "type"} <= set(found):
        raise SchemaError(
            "a CSV file without the headings of a REDCap dictionary",
            expected='"Variable / Field Name" and "Field Type", or field_name and field_type',
            remedy="Download the dictionary again; for other files use Schema.from_csv_dictionary.",
        )
    told: list[Told] = []
    forms: dict[str, None] = {}
    matrices: dict[str, str] = {}
    for place, row in enumerate(rows):
        field = {column: row.get(heading, "") for column, heading in found.items()}
        field = {column: field.get(column, "") for column in NAMES}
        if not field["name"]:
            continue
        if field["matrix"]:  # a field of a matrix may leave its choices to the first one
            field["choices"] = field["choices"] or matrices.get(field["matrix"], "")
            matrices.setdefault(field["matrix"], field["choices"])
        if place == 0:
            field["identifier"] = "record"
        forms.setdefault(field["form"])
        told += _columns(field, f"{text.source('REDCap dictionary')}, field {field['name']}")
    for form in filter(None, forms):
        source = f"{text.source('REDCap dictionary')}, form {form}"
        told.append(Told(f"{form}_complete", source, "levels", f"{form} is complete", values=_FORMS))
    return told, text


def _columns(field: dict[str, str], source: str) -> Iterator[Told]:
    """The columns of one field: one each but for checkboxes."""
    kind, name = field["type"].lower().strip(), field["name"].lower()
    notes = []
    if field["branching"]:
        notes.append(
            f"shown only if {_cut(field['branching'])}: other rows have no value and contribute nothing"
        )
    common: dict[str, Any] = {
        "label": field["label"],
        "measured_in": unit_in("", plain_words(field["note"]))[1],
        "text": f"{field['note']}; {field['annotation']}",
        "notes": notes,
    }
    if field["identifier"] == "record":
        why = f"the name of the record; with several rows a person, unit: {{column: {name}}}"
        yield Told(name, source, left_out=why)
    elif field["identifier"].lower() in ("y", "yes", "true", "1"):
        yield Told(name, source, left_out="marked as an identifier")
    elif kind in _NO_VALUE:
        yield Told(name, source, left_out=_NO_VALUE[kind])
    elif kind == "checkbox":
        yield from _boxes(name, source, field, common)
    elif kind in ("dropdown", "radio"):
        yield Told(name, source, "levels", values=choices_of(field["choices"]), **common)
    elif kind == "yesno":
        yield Told(name, source, "levels", values=((0, "No"), (1, "Yes")), **common)
    elif kind == "truefalse":
        yield Told(name, source, "levels", values=((0, "False"), (1, "True")), **common)
    elif kind == "slider":
        ends = field["low"] or "0", field["high"] or "100"
        notes.append(f"a slider from {_cut(field['choices'])}" if field["choices"] else "a slider")
        yield Told(name, source, "number", low=ends[0], high=ends[1], **common)
    elif kind == "calc":
        reason = f"computed as {_cut(field['choices'])}: declare the bounds that follow from its parts"
        yield Told(name, source, "number", reason=reason, **common)
    elif kind == "sql":
        reason = "levels come from a query of the project: declare them"
        yield Told(name, source, "levels", reason=reason, **common)
    elif kind == "text":
        yield _text(name, source, field, common)
    else:
        reason = f"field type {_cut(kind) or 'is empty'}: declare bounds or levels"
        yield Told(name, source, reason=reason, **common)


def _boxes(name: str, source: str, field: dict[str, str], common: dict[str, Any]) -> Iterator[Told]:
    """A column for each choice, 1 where it is ticked."""
    choices = choices_of(field["choices"])
    if not choices:
        yield Told(name, source, reason="a checkbox without choices", **common)
    for code, label in choices:
        column = f"{name}___{re.sub('[^a-z0-9]', '_', str(code).lower())}"
        where = f"{source}, choice {code}"
        if says_missing(label):
            yield Told(column, where, left_out=f"ticked where the answer is missing: {plain_words(label)}")
        else:
            words = f"{plain_words(field['label'])}: {label}"
            box = {**common, "label": words, "text": "", "measured_in": ""}
            if may_say_missing(label):
                box["notes"] = [*common["notes"], f"{label}: this may say that the answer is missing"]
            yield Told(column, where, "levels", values=((0, "Unchecked"), (1, "Checked")), **box)


def _text(name: str, source: str, field: dict[str, str], common: dict[str, Any]) -> Told:
    """A text field, by its validation."""
    validation = field["validation"].lower().strip()
    low, high = field["low"] or None, field["high"] or None
    if re.match(_PERSONAL, validation):
        return Told(name, source, left_out=f"a text that may tell who somebody is ({validation})")
    if validation.startswith(("date_", "datetime_")) or validation in ("date", "datetime"):
        return Told(name, source, "date", low=_date(low, validation), high=_date(high, validation), **common)
    if re.fullmatch(_TIME_ALONE, validation):
        reason = (
            "a time of day is no date: make a number of it, such as minutes after midnight, and declare that"
        )
        return Told(name, source, "number", reason=reason, **common)
    if validation == "integer" or validation.startswith("number"):
        comma = "comma" in validation
        options = {"decimal": ","} if comma else {}
        told = Told(name, source, "number", low=low, high=high, options=options, **common)
        return in_numbers(told, "") if comma else told
    kind: Kind = "either"
    known = f"validated as {_cut(validation)}" if validation else "text without validation"
    reason = f"{known}: declare bounds if it holds numbers, levels if few words, or leave it out"
    return Told(name, source, kind, low=low, high=high, reason=reason, **common)


def _date(text: str | None, validation: str) -> str | None:
    """A date of a dictionary as ISO 8601 writes it, also where somebody edited it."""
    form = re.fullmatch(r"([0-9]{1,2})[-/.]([0-9]{1,2})[-/.]([0-9]{4})(.*)", text or "")
    if text is None or form is None:
        return text
    first, second, year, rest = form.groups()
    day, month = (second, first) if "mdy" in validation else (first, second)
    return f"{year}-{month.zfill(2)}-{day.zfill(2)}{rest}"


def choices_of(text: str) -> list[tuple[Level, str]]:
    """Codes and labels: "1, male | 2, female", or one a line.

    Examples
    --------
    >>> choices_of("1, Male | 2, Female, or other | 99, Unknown")
    [(1, 'Male'), (2, 'Female, or other'), (99, 'Unknown')]
    """
    pieces = [piece.strip() for piece in re.split(r"\||\n", text) if piece.strip()]
    pairs = [piece.partition(",") for piece in pieces]
    return [(level_of(code), plain_words(label)) for code, _, label in pairs if code.strip()]


def _cut(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:59]}…"
