"""Profiles: right within their standard errors, consistent, and charged before a row is read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import BudgetExceeded, MethodError, PrivacyError, SchemaError, StoreError
from dpglm.postprocessing.profile import OVERALL
from tests.rooms.report.reading import Page

SCHEMA = {
    "x": {"bounds": [0, 20], "missing": 1.0},
    "z": {"bounds": [-6, 6]},
    "f": {"levels": list("abcd"), "missing": "a"},
    "s": {"levels": ["F", "M"]},
}
WITH_OVERALL = SCHEMA | {"s": {"levels": ["F", "overall"]}}
BUDGETS = [
    1.0,
    (1.0, 1e-6),
    dpglm.Privacy(0.3, 1e-6, "add-remove"),
    dpglm.Privacy(0.5, 0.0, "add-remove"),
    dpglm.Privacy.gdp(0.3),
]


def table(rows: int = 3000) -> pd.DataFrame:
    """Skewed numbers, numbers with gaps, rare levels, two groups; some cells are no values at all."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": np.clip(draw.lognormal(0.0, 0.5, rows), 0.0, 20.0),
            "z": draw.normal(size=rows),
            "f": draw.choice(list("abcd"), rows, p=[0.7, 0.2, 0.09, 0.01]),
            "s": draw.choice(["F", "M"], rows),
        }
    )
    frame.loc[draw.random(rows) < 0.1, "z"] = np.nan
    return frame


def truth(frame: pd.DataFrame) -> dict[tuple[str, str, str, str], float]:
    """What pandas says of each group and of all."""
    found = {}
    for group, part in [(OVERALL, frame), *frame.groupby("s")]:
        found["", "", group, "n"] = float(len(part))
        for name in ("x", "z"):
            found[name, "", group, "mean"] = float(part[name].mean())
            found[name, "", group, "sd"] = float(part[name].std(ddof=0))
        for level in "abcd":
            found["f", level, group, "share"] = float((part["f"] == level).mean())
    return found


def profile(privacy: Any = (1.0, 1e-6), seed: int = 1, **options: Any) -> dpglm.Profile:
    return dpglm.describe(table(), schema=SCHEMA, privacy=privacy, seed=seed, **{"by": "s", **options})


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_noise_is_within_two_of_its_standard_errors_in_95_percent(privacy: Any) -> None:
    # 60 draws of 21 statistics, 1,260 in all (dependent within a draw): a share of .95 has a standard error
    # below .012; standard errors that are a fifth too small would give .89.
    expected, inside = truth(table()), []
    for seed in range(60):
        for each in profile(privacy, seed)._record.estimates:
            if np.isfinite(each.value) and each.noise > 0.0:
                key = each.column, each.level, each.group, each.statistic
                inside.append(abs(each.value - expected[key]) <= 2.0 * each.noise)
    assert 0.925 < np.mean(inside) < 0.985


def test_margins_are_consistent() -> None:
    told = profile(dpglm.Privacy(0.05, 1e-6, "add-remove"))
    frame = told.tidy()
    shares = frame[frame["statistic"] == "share"].groupby(["column", "group"])["estimate"]
    assert shares.sum().dropna().to_numpy() == pytest.approx(1.0)
    assert (shares.min().dropna() >= 0.0).all()
    rows = frame[frame["statistic"] == "n"].set_index("group")["estimate"]
    assert rows["F"] + rows["M"] == pytest.approx(rows[OVERALL])


def test_the_number_of_rows_is_exact_where_it_is_public() -> None:
    assert profile(1.0, by=None).n_rows == 3000.0
    assert profile(dpglm.Privacy(1.0, 0.0, "add-remove"), by=None).n_rows != 3000.0


def test_a_file_and_a_frame_are_told_alike(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    table().to_csv(path, index=False)
    for_file = dpglm.describe(path, schema=SCHEMA, privacy=1.0, seed=4)
    for_frame = dpglm.describe(table(), schema=SCHEMA, privacy=1.0, seed=4)
    assert for_file.tidy()["estimate"].to_numpy() == pytest.approx(for_frame.tidy()["estimate"].to_numpy())


def test_the_summary_prints_rows_for_numbers_and_levels_and_columns_for_groups() -> None:
    text = str(profile().summary())
    for words in ("Sample characteristics", "NOT PRIVATE", "x, mean (sd)", "  b ", "overall", "F", "M", "+-"):
        assert words in text
    assert "<table" in profile()._repr_html_()


def test_levels_are_indented_below_their_factor_in_every_markup() -> None:
    table = profile().summary()
    assert '<th scope="row">\u2003b</th>' in table.to_html()
    assert "| &emsp;b |" in table.to_markdown()
    assert r"\quad b &" in table.to_latex()


def test_a_table_for_great_tables_has_the_numbers_the_levels_and_the_alarm() -> None:
    pytest.importorskip("great_tables", reason="great_tables, an optional extra, is not installed")
    told = profile()
    page = told.to_gt().as_raw_html()
    for row in told.summary().rows:
        for cell in row:
            assert cell in page
    assert page.count("NOT PRIVATE: seeded") >= 2
    assert page.count("gt_indent_2") >= 4


def test_without_great_tables_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(MethodError, match=r"dpglm\[gt\]"):
        profile().to_gt()


def test_values_that_are_no_values_are_read_as_the_schema_says() -> None:
    odd = table(500)
    odd = odd.astype(object)
    odd.loc[:9, "z"] = ["", "x", None, float("inf"), -1e300, 1e300, "1e3", [], {}, b"2"]
    odd.loc[:3, "s"] = ["?", None, 3, ""]
    told = dpglm.describe(odd, schema=SCHEMA, by="s", privacy=(1.0, 1e-6), seed=1)
    assert told.groups == ("F", "M")
    assert np.isfinite(told.means.to_numpy()).all()


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_no_row_or_one_have_the_same_shape(rows: int) -> None:
    privacy = dpglm.Privacy(1.0, 1e-6, "replace-one" if rows else "add-remove")
    told = dpglm.describe(table(5).head(rows), schema=SCHEMA, privacy=privacy, seed=1)
    assert len(told.tidy()) == len(profile(by=None).tidy())
    assert "-" in str(told)


def test_it_is_charged_before_a_row_is_read(tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger", budget=(1.0, 1e-5), dataset="ward")
    told = dpglm.describe(table(), schema=SCHEMA, privacy=(0.75, 1e-6), ledger=ledger)
    assert told.ledger is not None
    assert told.ledger.spent_epsilon == 0.75
    assert told.ledger.entries[-1].plan == told.plan_fingerprint
    assert told.privacy.private

    class Unread(pd.DataFrame):
        @property
        def iloc(self) -> Any:
            raise AssertionError("a row was read")

    with pytest.raises(BudgetExceeded):
        dpglm.describe(Unread(table()), schema=SCHEMA, privacy=(0.75, 1e-6), ledger=ledger)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"privacy": None}, PrivacyError),
        ({"by": "x"}, SchemaError),
        ({"by": "nobody"}, SchemaError),
        ({"columns": ["nobody"]}, SchemaError),
        ({"columns": []}, SchemaError),
        ({"columns": "x"}, SchemaError),
        ({"columns": ["s"], "by": "s"}, SchemaError),
        ({"schema": WITH_OVERALL, "by": "s"}, SchemaError),
    ],
)
def test_what_cannot_be_told_is_refused_before_a_charge(
    options: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger", budget=(1.0, 1e-5), dataset="ward")
    with pytest.raises(error):
        dpglm.describe(table(), ledger=ledger, **{"schema": SCHEMA, "privacy": 1.0, **options})
    assert not ledger.entries


@pytest.mark.parametrize("by", ["s", None])
def test_the_report_tells_the_table_and_draws_it(by: str | None, tmp_path: Path) -> None:
    told = dpglm.describe(table(), schema=SCHEMA, by=by, privacy=(1.0, 1e-6))
    page = Page(told.report(tmp_path / "profile.html", choices={"columns": "as planned"}).read_text())
    section = page.by_id("sample")
    for words in ("x, mean (sd)", "– b", "overall", "±", "place between the declared bounds"):
        assert words in section.words
    for slug in ("shares", "means"):
        assert f"{slug}-t" in {element.attributes.get("id") for element in section.walk()}
    assert "as planned" in page.by_id("choices").words
    assert "Price of this profile" in page.visible
    assert "fit" not in page.visible.replace("profile", "").split()


def test_a_plot_has_a_dot_and_a_bar_for_each_group_and_level() -> None:
    axes = profile().plot()
    frame = profile().tidy()
    shares = frame[(frame["statistic"] == "share") & (frame["group"] != OVERALL)]
    dots = {round(float(x), 6) for line in axes.lines if line.get_marker() == "o" for x in line.get_xdata()}
    assert dots == {round(100.0 * share, 6) for share in shares["estimate"]}
    bars = [line for line in axes.lines if line.get_marker() == "|"]
    assert len(bars) == len(shares)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["s = F", "s = M"]
    assert axes.get_title() == "NOT PRIVATE"


def test_a_plot_of_means_reaches_a_standard_deviation_to_each_side() -> None:
    told = profile(by=None, columns=["x"])
    axes = told.plot()  # no levels: means
    mean, sd = told.means["x"] / 10.0 - 1.0, told.sds["x"] / 10.0  # bounds 0 and 20, drawn at -1 and 1
    spread = next(line.get_xdata() for line in axes.lines if line.get_marker() == "")
    assert np.asarray(spread) == pytest.approx([max(mean - sd, -1.0), mean + sd])
    assert axes.get_yticklabels()[0].get_text() == "x, 0 to 20"


def test_plots_of_what_is_not_there_are_refused_with_what_is() -> None:
    with pytest.raises(MethodError, match="without levels"):
        profile(by=None, columns=["x"]).plot("shares")
    with pytest.raises(MethodError, match="NOT PRIVATE"):
        profile().plot("tradeoff")
    with pytest.raises(MethodError, match="'shares', 'means', 'quartiles', 'tradeoff' or 'profile'"):
        profile().plot("coef")  # type: ignore[arg-type]


def test_statistics_that_noise_hides_are_drawn_nowhere_and_break_nothing(tmp_path: Path) -> None:
    told = dpglm.describe(table(5), schema=SCHEMA, by="s", privacy=(0.1, 1e-6), seed=1)
    for kind in ("shares", "means"):
        told.plot(kind)
    assert "NOT PRIVATE" in told.to_html()


def test_it_is_saved_and_read_again_and_no_other_file_is(tmp_path: Path) -> None:
    told = profile()
    path = told.save(tmp_path / "profile.json")
    again = dpglm.Profile.load(path)
    assert again._record == told._record
    assert str(again) == str(told)
    with pytest.raises(StoreError):
        dpglm.load(path)
    content = json.loads(path.read_text())
    for key, value in (("groups", ["F"]), ("names", ["x", "y"]), ("deviations", [1.0]), ("columns", [])):
        path.write_text(json.dumps({**content, key: value}))
        with pytest.raises(StoreError):
            dpglm.Profile.load(path)


def test_tidy_has_the_names_of_broom_on_request() -> None:
    told = profile()
    renamed = {"std_error": "std.error", "conf_low": "conf.low", "conf_high": "conf.high"}
    frame = told.tidy(style="broom")
    pd.testing.assert_frame_equal(frame, told.tidy().rename(columns=renamed))
    assert frame.attrs == told.tidy().attrs
    with pytest.raises(MethodError, match="style='broom'"):
        told.tidy(style="R")  # type: ignore[arg-type]  # as a user might type
