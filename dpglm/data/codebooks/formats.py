"""Kinds of code books by name, and by how their files end."""

from __future__ import annotations

from typing import Final

FORMATS: Final = ("redcap", "csv", "ddi", "table-schema", "pandera", "spss", "stata", "sas")
ENDS: Final = {
    **dict.fromkeys((".sav", ".zsav", ".por"), "spss"),
    ".dta": "stata",
    **dict.fromkeys((".sas7bdat", ".xpt"), "sas"),
    ".xml": "ddi",
    ".json": "table-schema",
    **dict.fromkeys((".yaml", ".yml"), "pandera"),
}
