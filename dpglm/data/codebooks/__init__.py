"""Code books: what other programs' dictionaries say of a table's columns, as a draft of a schema."""

from typing import Final

FORMATS: Final = ("redcap", "csv", "ddi", "table-schema", "pandera", "spss", "stata", "sas")
