"""Profiles of several sites: charged as fits are, pooled exactly, in classes that all sites share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.curator.curator import Curator
from dpglm.errors import BudgetExceeded, SchemaError
from dpglm.postprocessing.profile import OVERALL
from tests.silence import Silence

AGE = {"bounds": (0, 100), "missing": 50}
SCHEMA = dpglm.Schema.of({"age": AGE, "ill": ["no", "yes"]}, unit="one patient")
DISJOINT = dpglm.Schema.of(SCHEMA, sites="disjoint")


def frame(seed: int, rows: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {"age": draw.normal(40 + 10 * seed, 12, rows).round(), "ill": draw.choice(["no", "yes"], rows)}
    )


TABLES = {"north": frame(1, 3000), "south": frame(2, 2000)}


def describe(data: Any = TABLES, **options: Any) -> Any:
    return dpglm.describe(data, **{"schema": SCHEMA, "privacy": (1.0, 1e-6), "seed": 1} | options)


def test_each_site_has_a_profile_and_all_have_one() -> None:
    told = describe()
    assert list(told) == ["north", "south"]
    assert told.pooled.groups == ("north", "south")
    assert (told["north"].n_rows, told["south"].n_rows, told.pooled.n_rows) == (3000, 2000, 5000)
    text = str(told.summary())
    assert all(words in text for words in ("north", "south", "overall", "NOT PRIVATE"))
    columns = told.pooled.tidy().set_index(["column", "level", "group", "statistic"])["estimate"]
    for site, profile in told.items():
        own = profile.tidy().set_index(["column", "level", "group", "statistic"])["estimate"]
        assert columns["age", "", site, "mean"] == own["age", "", OVERALL, "mean"]
    assert told.pooled.means["age"] == pytest.approx(
        (3000 * told["north"].means["age"] + 2000 * told["south"].means["age"]) / 5000
    )


@pytest.mark.parametrize("by", [None, "ill"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_pooled_numbers_are_those_of_all_rows_within_their_errors(by: str | None, relation: Any) -> None:
    # 15 draws of some 15 numbers: each is within two standard errors of noise with .95, and the share of all
    # has a standard error below .03 with what depends within a draw.
    whole = pd.concat(TABLES.values())
    inside = []
    for seed in range(15):
        told = describe(by=by, privacy=dpglm.Privacy(1.0, 1e-6, relation), seed=seed, quartiles=True)
        for row in told.pooled.tidy().itertuples():
            part = whole if row.group == OVERALL else TABLES.get(row.group)
            part = whole[whole["ill"] == row.group] if part is None else part
            if row.statistic in ("mean", "sd") and row.privacy_se > 0.0:
                truth = part["age"].mean() if row.statistic == "mean" else part["age"].std(ddof=0)
                inside.append(abs(row.estimate - truth) <= 2.0 * row.privacy_se)
            if row.statistic == "median":
                inside.append(row.conf_low <= part["age"].quantile(0.5) <= row.conf_high)
    assert np.mean(inside) > 0.9


def test_classes_are_shared_and_found_in_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the pooled quartiles are those of all rows, which no site has alone."""
    monkeypatch.setattr("dpglm.spec.describe.noise_of", lambda seed: Silence())
    told = describe(quartiles=True)
    assert np.array_equal(told["north"]._record.classes.edges, told["south"]._record.classes.edges)
    truth = pd.concat(TABLES.values())["age"].quantile([0.25, 0.5, 0.75])
    assert told.pooled.quartiles.loc["age"].to_numpy() == pytest.approx(truth.to_numpy(), abs=1.0)


def test_budgets_add_up_unless_everybody_is_at_one_site(tmp_path: Path) -> None:
    for schema, spent, lines in ((SCHEMA, 2.0, 2), (DISJOINT, 1.0, 1)):
        ledger = dpglm.Ledger(tmp_path / f"{lines}", budget=(2.0, 1e-5), dataset="ward")
        told = describe(schema=schema, seed=None, ledger=ledger, quartiles=True)
        # Classes of one site follow from the answers of all: it promises what all promise together.
        assert (told.privacy.epsilon, told["north"].privacy.epsilon) == (spent, spent)
        alone = describe(schema=schema, seed=None)
        assert (alone.privacy.epsilon, alone["north"].privacy.epsilon) == (spent, 1.0)
        assert (
            dpglm.Profile.load(told["north"].save(tmp_path / "north.json"))._record == told["north"]._record
        )
        assert (ledger.spent.epsilon, len(ledger.entries)) == (spent, lines)
        assert told.pooled.privacy.private
        # The same share at each of two sites, or half of it where both are paid for.
        assert told.pooled.spend["share"].sum() == pytest.approx(2.0 / lines)
        told.pooled.report(tmp_path / "page.html")
        saved = told.pooled.save(tmp_path / "pooled.json")
        assert dpglm.Profile.load(saved)._record == told.pooled._record


def test_all_is_charged_before_a_row_of_any_site_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    asked, charged = Curator.ask, dpglm.Ledger.charge_all

    def asking(self: Curator, *args: Any) -> Any:
        seen.append("ask")
        return asked(self, *args)

    def charging(self: dpglm.Ledger, *args: Any, **options: Any) -> Any:
        seen.append("charge")
        return charged(self, *args, **options)

    monkeypatch.setattr(Curator, "ask", asking)
    monkeypatch.setattr(dpglm.Ledger, "charge_all", charging)
    ledger = dpglm.Ledger(tmp_path / "ledger", budget=(2.0, 1e-5), dataset="ward")
    describe(ledger=ledger, quartiles=True, seed=None)
    assert seen == ["charge", *["ask"] * 8]
    with pytest.raises(BudgetExceeded):
        describe(ledger=ledger, seed=None)
    assert len(seen) == 10
    assert sum(entry.status == "charged" for entry in ledger.entries) == 2


@pytest.mark.parametrize(
    ("data", "schema"),
    [
        ({"north": TABLES["north"], OVERALL: TABLES["south"]}, SCHEMA),
        ({"north": TABLES["north"], "south": TABLES["north"]}, DISJOINT),
        ({"north": TABLES["north"], "south": TABLES["south"][["ill"]]}, SCHEMA),
        ({"north": TABLES["north"], "south": 3}, SCHEMA),
        ({}, SCHEMA),
    ],
)
def test_what_cannot_be_told_at_a_site_is_refused_before_a_charge(
    data: Any, schema: Any, tmp_path: Path
) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger", budget=(2.0, 1e-5), dataset="ward")
    with pytest.raises(SchemaError):
        describe(data, schema=schema, ledger=ledger)
    assert not ledger.entries


def test_a_pooled_profile_is_the_scale_of_a_fit() -> None:
    told = describe()
    fit = dpglm.fit(
        "ill ~ age", TABLES["north"], schema=SCHEMA, privacy=(1.0, 1e-6), profile=told.pooled, seed=1
    )
    assert fit._record.scales is not None
    assert fit._record.scales.moments["age"] == pytest.approx(
        (told.pooled.means["age"], told.pooled.sds["age"]), rel=0.01
    )


def test_what_sites_declare_differently_is_left_out_of_the_pooled_schema() -> None:
    tables = {
        site: dpglm.declare(frame.copy(), dpglm.Schema.of(SCHEMA, rows=len(frame)))
        for site, frame in TABLES.items()
    }
    told = describe(tables, schema=None)
    assert told["north"]._record.schema["rows"] == 3000
    assert "rows" not in told.pooled._record.schema
    assert told.pooled._record.schema["unit"] == "one patient"
