"""What a reader sees of a schema: a line for each declaration, escaped, and never many screens."""

from __future__ import annotations

import dpglm
from dpglm.data.schema.overview import MOST_COLUMNS

DATE = {"bounds": [0, 365], "date": {"origin": "2015-01-01", "unit": "days"}}


def test_bounds_levels_codes_and_units_are_shown_whole() -> None:
    schema = dpglm.Schema.of(
        {
            "dose": {"bounds": [0.123456, 1e7], "measured_in": "mg", "missing": 5, "missing_codes": [999]},
            "job": {"levels": list("abcdefghij")},
            "seen": DATE,
        },
        unit={"column": "patient_id", "rows": 3},
        rows=5000,
    )
    cells = {row[0]: row[1:] for row in schema.summary().rows}
    assert cells["dose"] == ("0.123456 to 1e7 mg", "count as 5; also 999")
    assert cells["job"] == ("a, b, c, d, e, f and 4 more", "")
    assert cells["seen"][0] == "0 to 365 days after 2015-01-01"
    facts = dict(schema.summary().facts)
    assert "patient_id" in facts["A row"]
    assert facts["Rows"] == "5,000 (declared)"


def test_a_wide_schema_says_how_much_is_left_out() -> None:
    schema = dpglm.Schema.of({f"x{k}": (0, 1) for k in range(MOST_COLUMNS + 40)})
    assert len(schema.summary().rows) == MOST_COLUMNS
    assert "40 more columns are not shown" in str(schema)
    assert len(repr(schema)) < 80


def test_bounds_that_were_read_off_the_data_are_told() -> None:
    schema = dpglm.Schema.of({"x": {"bounds": [0, 1], "looked_at_data": True}, "y": (0, 1)})
    assert "Read off the private data, which no guarantee covers: x." in str(schema)


def test_names_and_labels_cannot_write_html_or_lines() -> None:
    schema = dpglm.Schema.of({"<b>x</b>\nforged": {"bounds": [0, 1], "label": "<script>"}}, title="<i>")
    page = schema._repr_html_()
    assert "<script>" not in page
    assert "<b>x" not in page
    assert "<i>" not in page
    assert "\nforged" not in str(schema)
