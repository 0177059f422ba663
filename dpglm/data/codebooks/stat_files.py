"""Files of SPSS, Stata and SAS: their labels, value labels and missing values, and never their rows."""

from __future__ import annotations

import os
from typing import Any, Final

from dpglm.data.codebooks.files import existing
from dpglm.data.codebooks.told import Kind, Told, level_of, within
from dpglm.data.tables.cells import Level
from dpglm.errors import SchemaError

_READERS: Final = {
    "SPSS": {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por"},
    "Stata": {".dta": "read_dta"},
    "SAS": {".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"},
}
_DATES: Final = ("DATE", "ADATE", "EDATE", "SDATE", "JDATE", "YYMMDD", "MMDDYY", "DDMMYY", "%TD", "%D")
_TIMES: Final = ("DATETIME", "YMDHMS", "%TC", "E8601DT")
_LONGEST_RANGE: Final = 20


def read(
    path: str | os.PathLike[str], program: str, catalog: str | os.PathLike[str] | None = None
) -> tuple[list[Told], str]:
    """What a file of ``program`` says of its columns, and its title; rows are not read."""
    known = _READERS[program]
    what = f"a file of {program}: {', '.join(known)}"
    file = existing(path, what)
    reader = known.get(file.suffix.lower())
    if reader is None:
        raise SchemaError(f"the file {file.name}", expected=what, remedy="Correct the path.")
    try:
        import pyreadstat
    except ImportError:
        raise SchemaError(
            f"{program} metadata without the package pyreadstat",
            expected="pyreadstat, which reads them",
            remedy='Install it: pip install "dpglm[codebooks]".',
        ) from None
    options: dict[str, Any] = {"metadataonly": True}
    if reader in ("read_sav", "read_dta"):
        options["user_missing"] = True
    if catalog is not None:
        options["catalog_file"] = str(existing(catalog, "a SAS catalogue: .sas7bcat"))
    try:
        _, meta = getattr(pyreadstat, reader)(str(file), **options)
    except Exception as error:  # its text may quote what stands in the file
        raise SchemaError(
            f"the file {file.name}, which cannot be read ({type(error).__name__})",
            expected=what,
            remedy="Save it again from the program, or export its dictionary as CSV.",
        ) from None
    return [
        _column(meta, name, f"{program} file {file.name}, variable {name}") for name in meta.column_names
    ], (meta.file_label or "")


def _column(meta: Any, name: str, source: str) -> Told:
    label = meta.column_names_to_labels.get(name) or ""
    given = meta.variable_value_labels.get(name) or {}
    values = [(_plain(value), str(words)) for value, words in given.items()]
    spans = meta.missing_ranges.get(name, [])
    coded = [code for span in spans for code in (*_codes(span), *within(given, span["lo"], span["hi"]))]
    if meta.readstat_variable_types.get(name) != "string":  # .a of Stata and .A of SAS, which are no numbers
        coded += [code for code, _ in values if isinstance(code, str)]
    stata = meta.missing_user_values.get(name, []) if meta.missing_user_values else []
    form = str(meta.original_variable_types.get(name) or "").upper()
    common: dict[str, Any] = {"label": label, "values": values, "missing": [*coded, *map(str, stata)]}
    common["notes"] = [
        f"values {_span(span)} are missing: declare those that occur" for span in spans if not _codes(span)
    ]
    if form.startswith((*_DATES, *_TIMES)):
        return Told(name, source, "date", **common)
    if meta.readstat_variable_types.get(name) == "string" and not values:
        reason = "text without value labels: declare levels, or leave it out"
        return Told(name, source, reason=reason, **common)
    measure = meta.variable_measure.get(name)
    kind: Kind = "either"
    common["ordered"] = "measured" if measure == "ordinal" else ""
    if values and measure == "nominal":
        kind = "levels"
    elif measure == "scale":
        kind = "number"
        common["notes"].append(f"measured on a scale in {source.split()[0]}")
    return Told(name, source, kind, **common)


def _plain(value: Any) -> Level:
    """Whole numbers without a decimal point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, int | float) else level_of(str(value)) if value != "" else " "


def _codes(span: dict[str, Any]) -> list[Level]:
    """The codes of a range of missing values; none of one that is too long to list."""
    low, high = span["lo"], span["hi"]
    if low == high:
        return [_plain(low)]
    whole = isinstance(low, float) and isinstance(high, float) and abs(low) < 2**53 and abs(high) < 2**53
    if not whole or not 0 < high - low <= _LONGEST_RANGE:
        return []
    return list(range(int(-(-low // 1)), int(high // 1) + 1))


def _span(span: dict[str, Any]) -> str:
    return f"{span['lo']:.10g} to {span['hi']:.10g}" if isinstance(span["lo"], float) else "in a range"
