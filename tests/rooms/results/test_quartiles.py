"""Medians and quartiles of a profile: right within their intervals, exact at heaps, and in every output."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpglm
from dpglm.cli import main
from dpglm.errors import MethodError, SchemaError, StoreError
from dpglm.postprocessing.profile import OVERALL
from dpglm.spec.profile_plan import ProfilePlan
from tests.rooms.report.reading import Page

SCHEMA = {
    "x": {"bounds": [0, 40], "missing": 1.0},  # 26 standard deviations wide
    "z": {"bounds": [-6, 6]},
    "k": {"bounds": [0, 12], "missing": 0},
    "s": {"levels": ["F", "M"]},
}
NAMES = ("q1", "median", "q3")


def table(rows: int = 4000, seed: int = 0) -> pd.DataFrame:
    """A skewed number, one with gaps that differs between groups, and a count of children."""
    draw = np.random.default_rng(seed)
    group = draw.choice(["F", "M"], rows)
    frame = pd.DataFrame(
        {
            "x": np.clip(draw.lognormal(0.0, 0.9, rows), 0.0, 40.0),
            "z": draw.normal(size=rows) + (group == "M"),
            "k": draw.choice(5, rows, p=[0.1, 0.3, 0.2, 0.3, 0.1]),
            "s": group,
        }
    )
    frame.loc[draw.random(rows) < 0.1, "z"] = np.nan
    return frame


def profile(privacy: Any = (1.0, 1e-6), seed: int = 1, **options: Any) -> dpglm.Profile:
    chosen = {"data": table(), "schema": SCHEMA, "by": "s", "quartiles": True, **options}
    return dpglm.describe(privacy=privacy, seed=seed, **chosen)


def quartiles(told: dpglm.Profile) -> pd.DataFrame:
    frame = told.tidy()
    return frame[frame["statistic"].isin(NAMES)].set_index(["column", "group", "statistic"])


@pytest.mark.parametrize(
    "privacy",
    [(1.0, 1e-6), 2.0, dpglm.Privacy(1.0, 1e-6, "add-remove"), dpglm.Privacy.gdp(0.3)],
    ids=str,
)
def test_intervals_hold_the_quartiles_of_the_table_and_of_where_it_came_from(privacy: Any) -> None:
    # 25 draws of 27 quartiles, dependent within a draw: a share of .95 has a standard error below .015.
    # Intervals cover more than they say, as ends of classes are rounded outwards; too narrow ones by a fifth
    # would give .88 of the smooth columns.
    population = table(200_000, seed=9)
    parts = {OVERALL: population, **dict(list(population.groupby("s")))}
    shares = dict(zip(NAMES, (0.25, 0.5, 0.75), strict=True))
    truth = {
        (name, group, statistic): np.quantile(part[name].dropna(), share, method="inverted_cdf")
        for group, part in parts.items()
        for name in ("x", "z", "k")
        for statistic, share in shares.items()
    }
    inside = []
    for seed in range(25):
        frame = table(seed=seed)
        told = quartiles(
            dpglm.describe(frame, schema=SCHEMA, by="s", quartiles=True, privacy=privacy, seed=seed)
        )
        inside += [row["conf_low"] <= truth[key] <= row["conf_high"] for key, row in told.iterrows()]
    assert len(inside) == 25 * 27
    assert np.mean(inside) > 0.95


def test_whole_numbers_are_told_as_they_are() -> None:
    told = [profile(seed=seed, by=None, columns=["k"]).quartiles.loc["k"].tolist() for seed in range(20)]
    assert sum(each == [1.0, 2.0, 3.0] for each in told) >= 18
    assert "[1, 3]" in str(profile(by=None, columns=["k"]))


def test_quartiles_are_in_order_and_between_the_bounds_however_small_the_budget() -> None:
    for seed in range(10):
        told = profile((0.05, 1e-6), seed)
        wide = quartiles(told)["estimate"].unstack()
        for _, row in wide.dropna().iterrows():
            low, high = SCHEMA[row.name[0]]["bounds"]  # type: ignore[index]
            assert low <= row["q1"] <= row["median"] <= row["q3"] <= high


def test_a_constant_column_and_few_rows_are_told_or_absent_without_a_fault() -> None:
    for rows in (1, 200):
        frame = table(rows).assign(x=3.0)
        privacy = dpglm.Privacy(1.0, 1e-6, "replace-one" if rows else "add-remove")
        told = profile(privacy, data=frame, by=None)
        assert len(quartiles(told)) == 9
        assert set(told.quartiles.columns) == set(NAMES)
    assert profile(data=table(5000).assign(x=3.0)).quartiles.loc["x"].tolist() == [3.0, 3.0, 3.0]


def test_without_quartiles_nothing_is_paid_for_them() -> None:
    schema, privacy = dpglm.Schema.of(SCHEMA), dpglm.Privacy.gdp(0.5)
    plain, more = (ProfilePlan.of(schema, None, None, privacy, quartiles=each) for each in (False, True))
    assert plain.rounds == ()
    assert more.release.scale / plain.release.scale == pytest.approx(math.sqrt(2.0))
    factors = ProfilePlan.of(schema, ["s"], None, privacy, quartiles=True)
    assert factors.rounds == ()
    assert factors.fingerprint == ProfilePlan.of(schema, ["s"], None, privacy).fingerprint
    told = profile(quartiles=False)
    with pytest.raises(MethodError, match="quartiles=True"):
        _ = told.quartiles
    with pytest.raises(MethodError, match="without quartiles"):
        told.plot("quartiles")
    with pytest.raises(SchemaError, match="quartiles of type"):
        profile(quartiles="median")


def test_a_profile_has_no_formula_and_does_not_speak_of_one() -> None:
    told = dpglm.describe(table(), schema=SCHEMA, privacy=(1.0, 1e-6), quartiles=True)
    assert told.privacy.private
    assert "bounds, levels, columns and groups were chosen" in told.privacy.statement()
    assert "formula" not in told.privacy.statement()
    assert len(told.spend) == 4
    assert told.spend["share"].sum() == pytest.approx(1.0)
    fit = dpglm.fit("s ~ z", table(), schema=SCHEMA, privacy=(1.0, 1e-6))
    assert "formula and penalty strength were chosen" in fit.privacy.statement()
    assert "columns and groups" not in fit.privacy.statement()


def test_every_output_has_them(tmp_path: Path) -> None:
    told = profile()
    assert "x, median [Q1, Q3]" in str(told)
    frame = told.tidy()
    assert (frame["conf_low"].dropna() <= frame["estimate"].dropna()).all()
    assert (frame["conf_high"].dropna() >= frame["estimate"].dropna()).all()
    axes = told.plot("quartiles")
    dots = [float(x) for line in axes.lines if line.get_marker() == "o" for x in line.get_xdata()]
    medians = quartiles(told)["estimate"].xs("median", level="statistic")
    assert dots[0] == pytest.approx(medians["x", "F"] / 20.0 - 1.0)
    page = Page(told.report(tmp_path / "profile.html").read_text())
    section = page.by_id("sample")
    for words in ("x, median [Q1, Q3]", "Medians and quartiles", "29 classes", "released in rounds"):
        assert words in section.words
    again = dpglm.Profile.load(told.save(tmp_path / "profile.json"))
    assert again._record == told._record
    assert str(again) == str(told)


def test_a_saved_profile_with_other_classes_is_refused(tmp_path: Path) -> None:
    path = profile().save(tmp_path / "profile.json")
    content = json.loads(path.read_text())
    edges, counts = content["classes"]["edges"], content["classes"]["counts"]
    falling = {**edges, "values": edges["values"][::-1]}
    for change in ({"edges": counts}, {"edges": falling}, {"counts": edges}, {"deviation": 0.0}):
        path.write_text(json.dumps({**content, "classes": {**content["classes"], **change}}))
        with pytest.raises(StoreError):
            dpglm.Profile.load(path)
    for change in ({"group_rows": [4000]}, {"group_rows": []}):
        path.write_text(json.dumps({**content, **change}))
        with pytest.raises(StoreError):
            dpglm.Profile.load(path)


def test_the_command_line_tells_them(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    dpglm.Schema.of(SCHEMA).to_yaml(tmp_path / "t.schema.yaml")
    words = ["describe", str(tmp_path / "t.csv"), "--privacy", "1,1e-6"]
    assert "median" not in CliRunner().invoke(main, words).output
    assert "x, median [Q1, Q3]" in CliRunner().invoke(main, [*words, "--quartiles"]).output
