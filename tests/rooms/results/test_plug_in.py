"""Tables of other packages say what a fit promises, NOT PRIVATE before all, and mark what was not told."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from dpglm.errors import MethodError
from dpglm.maketables import etable, register
from dpglm.results.plug_in import MARK, UNRELIABLE
from tests.golden.examples import RESULTS, open_fit, private_fit, seeded_fit

ABSENT = "maketables, an optional extra, is not installed"
KINDS = ("tex", "gt", "typst")


@pytest.fixture(scope="module")
def told() -> dpglm.FitResult:
    women = dpglm.load_data("fair")
    # Levels of the occupation are not told, the numbers are.
    return dpglm.fit("affair ~ age + religious + C(occupation)", women, privacy=(0.8, 1e-6), seed=1)


@pytest.mark.parametrize("make", RESULTS.values())
def test_the_coefficient_table_is_that_of_tidy(make: Any) -> None:
    fit = make()
    frame, ours = fit.__maketables_coef_table__, fit.tidy()
    assert frame.index.name == "Coefficient"
    assert tuple(frame.index) == fit.names
    assert frame["b"].astype(float).tolist() == ours["estimate"].tolist()
    pairs = {"se": "std_error", "t": "statistic", "p": "p_value", "ci95l": "conf_low", "ci95u": "conf_high"}
    for token, name in pairs.items():
        np.testing.assert_array_equal(frame[token], ours[name])
    marked = [f"{value:.2f}".endswith(MARK) for value in frame["b"]]
    assert marked == (~ours["reliable"]).tolist()


@pytest.mark.parametrize("make", [seeded_fit, open_fit])
def test_a_fit_without_guarantee_says_so_in_header_and_rows(make: Any) -> None:
    fit = make()
    assert fit.endog_names == fit.__maketables_depvar__ == f"{fit._record.response.name} (NOT PRIVATE)"
    assert fit.__maketables_stat__("privacy") == f"NOT PRIVATE: {fit.privacy.reason}"
    assert "privacy" in fit.__maketables_default_stat_keys__
    assert fit.__maketables_stat__("se_type") is None


def test_a_private_fit_tells_its_price_and_what_is_public() -> None:
    fit = private_fit()
    assert "NOT PRIVATE" not in fit.endog_names
    line = fit.__maketables_stat__("privacy")
    assert line.startswith(f"epsilon = {fit.privacy.epsilon:g}, delta = ")
    assert not set(line) & set("_&%$#\\{}<>")  # other packages put it in LaTeX and HTML as it stands
    assert fit.__maketables_stat__("N") == fit.n_rows
    assert [fit.__maketables_stat__(key) for key in ("ll", "aic", "bic", "r2")] == [None] * 4
    exact = dpglm.fit("affair ~ age", dpglm.load_data("fair")[:400], penalty="none", privacy=None)
    assert exact.__maketables_stat__("aic") == exact.aic
    assert exact.__maketables_stat__("ll") == exact.llf


def test_labels_of_the_schema_are_labels_of_the_table() -> None:
    schema = {"y": ["a", "b"], "x": {"bounds": (0, 1), "label": "dose\nin mg"}}
    rows = {"y": ["a", "b"] * 50, "x": np.linspace(0, 1, 100)}
    fit = dpglm.fit("y ~ x", dpglm.declare(_frame(rows), schema), privacy=(1.0, 1e-6))
    assert fit.__maketables_var_labels__ == {"x": "dose\\nin mg"}


def _frame(rows: dict[str, Any]) -> Any:
    return importlib.import_module("pandas").DataFrame(rows)


def test_without_maketables_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "maketables", None)
    with pytest.raises(MethodError, match=r"dpglm\[maketables\]"):
        etable([private_fit()])


def rendered(table: Any) -> list[str]:
    made = [table.make(type=kind) for kind in KINDS]
    return [one if isinstance(one, str) else one.as_raw_html() for one in made]


def test_a_table_that_knows_nothing_of_us_says_not_private(told: dpglm.FitResult) -> None:
    maketables = pytest.importorskip("maketables", reason=ABSENT)
    for text in rendered(maketables.ETable([told])):
        assert "NOT PRIVATE" in text


def test_a_table_has_privacy_in_rows_and_notes_and_marks(told: dpglm.FitResult) -> None:
    pytest.importorskip("maketables", reason=ABSENT)
    told_less = told.tidy()["reliable"]
    assert told_less.any()
    assert not told_less.all()
    private = private_fit()
    table = etable([told, private])
    assert "(1): NOT PRIVATE: seeded." in table.notes
    assert f"(2): {private.__maketables_stat__('privacy')}." in table.notes
    assert UNRELIABLE in table.notes
    for text in rendered(table):
        assert text.count("NOT PRIVATE") == 3
        assert MARK in text.replace("&dagger;", MARK)
    mine = etable([told], notes="Women in 1974.", model_stats=["N"])
    assert mine.notes.startswith("Women in 1974. ")
    assert mine.notes.endswith("(1): NOT PRIVATE: seeded.")
    assert all(text.count("NOT PRIVATE") == 2 for text in rendered(mine))


def test_a_registered_extractor_is_first_and_there_once(told: dpglm.FitResult) -> None:
    pytest.importorskip("maketables", reason=ABSENT)
    extractors = importlib.import_module("maketables.extractors")
    register()
    before = len(extractors._EXTRACTOR_REGISTRY)
    register()
    assert len(extractors._EXTRACTOR_REGISTRY) == before
    assert type(extractors.get_extractor(told)).__name__ == "FitExtractor"
    table = importlib.import_module("maketables").ETable([told])
    assert all("NOT PRIVATE: seeded" in text for text in rendered(table))


def test_examples_and_the_page_of_neighbours_run() -> None:
    pytest.importorskip("maketables", reason=ABSENT)
    for function in (etable, register):
        text = str(inspect.getdoc(function)).replace("# doctest: +SKIP", "")
        example = doctest.DocTestParser().get_doctest(text, {}, function.__name__, None, 0)
        assert doctest.DocTestRunner().run(example).failed == 0
    page = (Path(__file__).parents[3] / "docs" / "neighbours.md").read_text(encoding="utf-8")
    for block in page.split("```py\n")[1:]:
        exec(block.split("```")[0], {})
