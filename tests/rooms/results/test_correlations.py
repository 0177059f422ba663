"""Correlations of a profile: right within their errors, paid for, kept, pooled, absent if not asked for."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dpglm
from dpglm.cli import main
from dpglm.errors import MethodError, SchemaError, StoreError
from dpglm.postprocessing.correlations import ColumnProducts, ProfiledColumn, indicators
from dpglm.report.sample import sample
from dpglm.spec.profile_plan import MOST_COORDINATES, ProfilePlan

SCHEMA = {
    "a": {"bounds": [-5, 8]},
    "b": {"bounds": [0, 12]},
    "h": {"levels": list("pqrs")},
    "s": {"levels": ["F", "M"]},
}
ROWS = 4000


def table(rows: int = ROWS, seed: int = 0, missing: float = 0.0) -> pd.DataFrame:
    """A number off the middle of its range, a skewed one, a factor that follows it, and two groups."""
    draw = np.random.default_rng(seed)
    a, left = draw.normal(1.0, 1.2, rows), draw.normal(size=(3, rows))
    b = np.exp(0.3 * a + 0.5 * left[0])
    h = np.digitize(b + left[1], [0.5, 1.5, 3.0])
    frame = pd.DataFrame(
        {
            "a": np.clip(a, -5.0, 8.0),
            "b": np.clip(b, 0.0, 12.0),
            "h": np.array(list("pqrs"))[h],
            "s": np.where(a + left[2] > 2.5, "M", "F"),
        }
    )
    frame.loc[draw.random(rows) < missing, "a"] = np.nan
    return frame


def exact(frame: pd.DataFrame) -> pd.DataFrame:
    """What pandas says of the rows that have a value in each column."""
    frame = frame.dropna()
    columns = {"a": frame["a"], "b": frame["b"]}
    columns |= {f"h[{level}]": frame["h"] == level for level in "pqrs"}
    columns |= {f"s[{level}]": frame["s"] == level for level in "FM"}
    return pd.DataFrame(columns).astype(float).corr()


def profile(privacy: Any = (1.0, 1e-6), seed: int = 1, **options: Any) -> dpglm.Profile:
    chosen = {"data": table(), "schema": SCHEMA, "correlations": True, **options}
    return dpglm.describe(privacy=privacy, seed=seed, **chosen)


@pytest.mark.parametrize(
    ("privacy", "missing", "by"),
    [
        ((1.0, 1e-6), 0.0, None),
        ((1.0, 1e-6), 0.4, None),
        ((1.0, 1e-6), 0.0, "s"),
        (dpglm.Privacy(1.0, 1e-6, "replace-one"), 0.0, None),
        (20.0, 0.0, None),
    ],
    ids=["plain", "missing", "by", "replace-one", "pure"],
)
def test_noise_is_within_two_of_its_standard_errors_in_95_percent(
    privacy: Any, missing: float, by: Any
) -> None:
    # 60 draws of up to 27 pairs, dependent within a draw: a share of .95 has a standard error near .01; with
    # errors that are a fifth too small it would be .89.
    inside = []
    for seed in range(60):
        frame = table(seed=seed, missing=missing)
        told = profile(privacy, seed, data=frame, by=by)
        truth = exact(frame).loc[told.correlations.index, told.correlations.index].to_numpy()
        found, errors = told.correlations.to_numpy(), told.correlation_errors.to_numpy()
        sampling = (1.0 - found**2) / math.sqrt(len(frame.dropna()))
        noise = np.sqrt(np.maximum(errors**2 - sampling**2, 0.0))
        pairs = np.triu(np.ones_like(truth, dtype=bool), 1) & np.isfinite(found) & (np.abs(found) < 0.999)
        inside += (np.abs(found - truth) <= 2.0 * noise)[pairs].tolist()
    assert len(inside) > 600
    assert 0.925 < np.mean(inside) < 0.995


def test_variances_of_numbers_are_within_two_of_their_noise_in_95_percent() -> None:
    # 120 draws of 2 numbers: .95 has a standard error of .014; without the noise of the mean it is .82.
    inside = []
    for seed in range(120):
        products = profile((1.0, 1e-6), seed)._record.products
        assert products is not None
        for name in ("a", "b"):
            found, noise = products.variance(name)
            inside.append(abs(found - table()[name].var(ddof=0)) <= 2.0 * noise)
    assert 0.90 < np.mean(inside) <= 0.99
    assert products.variance("s") is None
    assert products.variance("unknown") is None


def test_they_are_those_of_pandas_where_noise_is_small() -> None:
    for by in (None, "s"):
        told = profile((200.0, 1e-6), by=by).correlations
        assert set(told.index) == set(exact(table()).index)
        assert told.to_numpy() == pytest.approx(
            exact(table()).loc[told.index, told.index].to_numpy(), abs=0.01
        )


def test_rows_without_a_value_may_be_unlike_the_others() -> None:
    # Numbers lie low in their ranges, and the lowest of one are missing: means of all values are not those of
    # complete rows, by which correlations were wrong by .6 and twenty of their standard errors.
    draw = np.random.default_rng(0)
    a = draw.normal(-1.0, 0.6, 20_000)
    b = 1.0 + 0.5 * a + draw.normal(0.0, 0.4, len(a))
    frame = pd.DataFrame({"a": a.clip(-5.0, 8.0), "b": b.clip(0.0, 12.0), "s": np.where(b > 0.6, "M", "F")})
    frame.loc[b < np.quantile(b, 0.12), "b"] = np.nan
    schema = {name: SCHEMA[name] for name in frame}
    told = profile((8.0, 1e-6), data=frame, schema=schema)
    truth = frame.dropna().assign(s=frame["s"] == "M")[["a", "b", "s"]].corr().to_numpy()
    names = ["a", "b", "s[M]"]
    away = (told.correlations.loc[names, names] - truth) / (told.correlation_errors.loc[names, names] + 1e-9)
    assert away.abs().to_numpy().max() < 3.0


def test_a_column_with_one_level_in_use_has_none() -> None:
    frame = table().assign(s="F", h="p")
    for seed in range(4):
        told = profile(seed=seed, data=frame)
        assert told.correlations.loc["s[F]", "a"] != 1.0
        assert (told.correlations.isna() == told.correlation_errors.isna()).to_numpy().all()


def test_a_column_that_noise_hides_has_none() -> None:
    told = profile((0.2, 1e-6), data=table(300))
    assert told.correlations.isna().to_numpy().any()
    assert (told.correlations.isna() == told.correlation_errors.isna()).to_numpy().all()
    for rows in (1, 2):
        small = profile((1.0, 1e-6), data=table(300).iloc[:rows])
        assert small.correlations.shape == (8, 8)


def test_what_was_not_asked_for_is_not_paid_for() -> None:
    schema, privacy = dpglm.Schema.of(SCHEMA), dpglm.Privacy.gdp(0.5)
    plans = {
        (quartiles, both): ProfilePlan.of(schema, None, None, privacy, quartiles=quartiles, correlations=both)
        for quartiles in (False, True)
        for both in (False, True)
    }
    scales = {asked: plan.release.scale for asked, plan in plans.items()}
    assert plans[False, False].products == ()
    assert scales[False, True] == pytest.approx(math.sqrt(2.0) * scales[False, False])
    assert scales[True, True] == pytest.approx(math.sqrt(3.0) * scales[False, False])
    assert len({plan.fingerprint for plan in plans.values()}) == 4
    one = ProfilePlan.of(schema, ["a"], None, privacy, correlations=True)
    assert one.fingerprint == ProfilePlan.of(schema, ["a"], None, privacy).fingerprint
    with pytest.raises(MethodError, match="correlations=True"):
        _ = profile(correlations=False).correlations
    with pytest.raises(SchemaError, match="correlations of type int"):
        profile(correlations=1)
    many = {"f": {"levels": list(range(MOST_COORDINATES + 1))}, "x": (0, 1)}
    with pytest.raises(SchemaError, match=str(MOST_COORDINATES)):
        profile(data=pd.DataFrame({"f": [0], "x": [0.5]}), schema=many)


def test_they_are_saved_verified_reported_and_on_the_command_line(tmp_path: Path) -> None:
    told = profile()
    told.save(tmp_path / "sample.json")
    loaded = dpglm.Profile.load(tmp_path / "sample.json")
    pd.testing.assert_frame_equal(loaded.correlations, told.correlations)
    assert dpglm.verify(tmp_path / "sample.json").passed
    before = json.loads((tmp_path / "sample.json").read_text(encoding="utf-8"))
    assert before.pop("products")["rows"] == told._record.products.rows
    (tmp_path / "before.json").write_text(json.dumps(before), encoding="utf-8")
    assert dpglm.Profile.load(tmp_path / "before.json").n_rows == told.n_rows  # as of older versions
    told.report(tmp_path / "sample.html")
    page = (tmp_path / "sample.html").read_text(encoding="utf-8")
    assert "Correlations" in page
    table(500).to_csv(tmp_path / "rows.csv", index=False)
    dpglm.Schema.of(SCHEMA).to_yaml(tmp_path / "rows.schema.yaml")
    arguments = ["describe", str(tmp_path / "rows.csv"), "--correlations", "--privacy", "1.0,1e-6"]
    ran = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "told.json")])
    assert ran.exit_code == 0, ran.output
    assert dpglm.Profile.load(tmp_path / "told.json").correlations.shape == (8, 8)


@pytest.mark.parametrize(
    "broken",
    [
        lambda products: replace(products, sums=products.sums[1:]),
        lambda products: replace(products, products=products.products * math.nan),
        lambda products: replace(products, deviations=np.zeros(3)),
        lambda products: replace(products, columns=products.columns[1:]),
        lambda products: replace(products, rows=math.inf),
        lambda products: replace(
            products, columns=(replace(products.columns[0], high=9.0), *products.columns[1:])
        ),
    ],
)
def test_products_that_no_profile_has_are_refused(broken: Any) -> None:
    record = profile()._record
    with pytest.raises(StoreError):
        replace(record, products=broken(record.products))


def test_of_two_levels_the_second_is_in_a_report_whatever_it_is_called() -> None:
    frame = table().assign(s=lambda t: t["s"].map({"F": "no", "M": "a][no"}))
    told = profile((50.0, 1e-6), data=frame, schema={**SCHEMA, "s": {"levels": ["no", "a][no"]}})
    table_of_pairs = sample(told._record).content["correlations"]
    named = {name for row in table_of_pairs.rows for name in row[:2]}
    assert "s[a][no]" in named
    assert "s[no]" not in named


def test_sites_are_added_up() -> None:
    frame = table()
    sites = {"north": frame[:1000], "south": frame[1000:]}
    for by in (None, "s"):
        told = dpglm.describe(
            sites, schema=SCHEMA, by=by, correlations=True, privacy=(200.0, 1e-6), seed=1
        ).pooled
        found, truth = told.correlations, exact(frame)
        assert found.to_numpy() == pytest.approx(truth.loc[found.index, found.index].to_numpy(), abs=0.01)


def test_levels_are_merged_in_products_as_in_rows() -> None:
    draw = np.random.default_rng(0)
    number, codes = draw.uniform(-1.0, 1.0, 60), draw.integers(0, 4, 60)
    joins = [0, 1, 1, 0]

    def products(codes: Any, levels: str) -> ColumnProducts:
        columns = ProfiledColumn("x", False, -1.0, 1.0), ProfiledColumn("f", False, levels=tuple(levels))
        u = np.vstack([number, indicators(columns[1:])[codes].T])
        return ColumnProducts(columns, u @ u.T, u.sum(axis=1), 60.0, np.ones(3))

    merged = products(codes, "pqrs").merged("f", ("p or s", "q or r"), joins)
    expected = replace(products(np.array(joins)[codes], "AB"), columns=merged.columns)
    assert merged.columns[1].levels == ("p or s", "q or r")
    assert merged.products == pytest.approx(expected.products)
    assert merged.sums == pytest.approx(expected.sums)
