"""The loader of real tables: what happens without them, with other files, and what their schemas promise."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

import dpglm
from studies import real_tables
from studies.real_tables import TABLES, TableError, available, file_sha256, folder, require, table

SOURCES = Path(__file__).resolve().parents[2] / "data" / "SOURCES.md"
everywhere = pytest.mark.parametrize("name", sorted(TABLES))


def test_a_missing_table_skips_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPGLM_DATA", str(tmp_path))
    with pytest.raises(pytest.skip.Exception) as caught:
        require("adult")
    assert caught.value.msg == "real table 'adult' not found: set DPGLM_DATA, see data/SOURCES.md"


def test_a_missing_table_cannot_be_read_by_mistake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPGLM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(TableError, match="set DPGLM_DATA"):
        table("adult").frame()


def test_a_named_folder_hides_the_one_beside_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lay_beside(monkeypatch, tmp_path, b"")
    monkeypatch.setenv("DPGLM_DATA", str(tmp_path / "empty"))
    assert not available("sonar")


def test_the_folder_beside_the_checkout_is_the_fallback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside = _lay_beside(monkeypatch, tmp_path, b"")
    assert folder() == beside
    assert available("sonar")
    assert not available("adult")


def test_without_any_folder_nothing_is_available(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(real_tables, "ROOT", tmp_path / "project")
    monkeypatch.setenv("DPGLM_DATA", "")
    assert folder() is None
    assert not any(available(name) for name in TABLES)


def test_another_file_under_the_name_is_told_by_its_hash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside = _lay_beside(monkeypatch, tmp_path, b"band_01,label\n0.5,R\n")
    with pytest.raises(TableError) as caught:
        table("sonar").check()
    message = str(caught.value)
    assert file_sha256(beside / "sonar.csv.gz") in message
    assert table("sonar").sha256 in message
    assert "data/SOURCES.md" in message


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(KeyError, match="no real table 'adlut'; there are adult, "):
        table("adlut")


@everywhere
def test_the_sources_page_covers_the_table(name: str) -> None:
    """File name, hash, citation and licence, each in the table's own section."""
    page = SOURCES.read_text(encoding="utf-8")
    assert table(name).file in page
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    assert table(name).sha256 in section
    for heading in ("- Get it: ", "- Cite: ", "- Licence: ", "- Made so: "):
        assert heading in section


@everywhere
def test_every_bound_and_level_says_where_it_comes_from(name: str) -> None:
    variables = table(name).schema().variables
    assert [column for column, one in variables.items() if not one.source] == []


def test_bounds_read_off_a_file_are_marked() -> None:
    adult, ipums = table("adult").schema().variables, table("ipums_br").schema().variables
    assert {name for name, one in adult.items() if one.looked_at_data} == {"fnlwgt", "capital-loss"}
    assert {name for name, one in ipums.items() if not one.looked_at_data} == {"label"}


@everywhere
def test_the_response_is_binary(name: str) -> None:
    response = table(name).schema().variables[table(name).response]
    assert isinstance(response, dpglm.Categorical)
    assert len(response.levels) == 2


@everywhere
def test_the_formula_is_about_declared_columns_only(name: str) -> None:
    left, right = table(name).formula().split(" ~ ")
    terms = [term.removeprefix('Q("').removesuffix('")') for term in (left, *right.split(" + "))]
    assert terms[0] == table(name).response
    assert len(set(terms)) == len(terms)
    assert set(terms) <= set(table(name).schema().variables) - set(table(name).left_out)


@everywhere
def test_the_file_is_the_one_the_figures_were_made_with(name: str) -> None:
    require(name).check()


@pytest.mark.slow
@everywhere
def test_the_declared_bounds_and_levels_hold_in_the_file(name: str) -> None:
    """These tables are public, so here one may look: a misspelt level would silently spoil every study."""
    real = require(name)
    frame, variables = real.frame(), real.schema().variables
    assert len(frame) == real.rows
    assert set(variables) <= set(frame.columns)
    for column, one in variables.items():
        known = frame[column].dropna()
        if isinstance(one, dpglm.Numeric):
            numbers = pd.to_numeric(known, errors="coerce").dropna()
            assert len(numbers) >= len(known) - 1, column  # the one damaged cell of waveform
            assert one.low <= numbers.min(), column
            assert numbers.max() <= one.high, column
        elif one.other is None:
            assert (one.clean(known) >= 0).all(), column
        else:
            assert set(one.clean(known)) == {0, 1}, column


def _lay_beside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: bytes) -> Path:
    """A checkout with a data folder beside it that holds one table of the given text."""
    beside = tmp_path / "shared" / "data"
    beside.mkdir(parents=True)
    (beside / "sonar.csv.gz").write_bytes(gzip.compress(text, mtime=0))
    monkeypatch.setattr(real_tables, "ROOT", tmp_path / "project")
    monkeypatch.delenv("DPGLM_DATA", raising=False)
    return beside
