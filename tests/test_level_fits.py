"""What a multinomial fit says beyond its equations: tables, hints, folders, checks, exports; and its name."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpglm
from dpglm.errors import MethodError, StoreError
from dpglm.postprocessing import restriction
from dpglm.results.fit_result import FitResult
from tests.oracles.test_multinomial import LEVELS, SCHEMA, fitted, noiseless, people
from tests.test_multinomial import BUDGET, BUDGETS

__all__ = ["noiseless"]


@pytest.fixture(scope="module")
def fits() -> dpglm.LevelFits:
    return fitted(people(9000), privacy=BUDGET, seed=1)


def test_tables_by_level_are_those_of_the_equations(fits: dpglm.LevelFits) -> None:
    for level, fit in fits.items():
        pd.testing.assert_frame_equal(fits.conf_int(0.9).loc[level], fit.conf_int(0.9), check_names=False)
        own = fits.odds_ratios().query("level == @level").drop(columns="level").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, fit.odds_ratios())
    told = fits.glance()
    assert list(told["level"]) == LEVELS[1:]
    assert told["epsilon"].isna().all()  # seeded
    assert list(fits.glance(style="broom").columns[:2]) == ["y.level", "logLik"]
    for frame in (fits.conf_int(), fits.odds_ratios(), told, fits.tidy()):
        assert "NOT PRIVATE" in frame.attrs["privacy"]


@pytest.mark.usefixtures("noiseless")
def test_every_price_in_a_table_is_that_of_all_equations() -> None:
    fits = fitted(people(3000), privacy=BUDGET)
    found = fits.glance()
    assert set(found["epsilon"]) == {BUDGET.epsilon}
    assert set(found["delta"]) == {BUDGET.delta}
    assert found.attrs["privacy"] == fits.privacy.statement()


@pytest.mark.parametrize("name", ["wald_test", "anova", "contrast", "cov_params", "margins"])
def test_what_needs_covariances_between_equations_says_so(name: str, fits: dpglm.LevelFits) -> None:
    with pytest.raises(AttributeError, match="between equations are not released") as caught:
        getattr(fits, name)
    assert f"fits[level].{name}(" in str(caught.value)
    assert not hasattr(fits, name)


@pytest.mark.parametrize("name", ["grid", "path", "plot", "formula", "select"])
def test_what_is_of_one_equation_says_so(name: str, fits: dpglm.LevelFits) -> None:
    with pytest.raises(AttributeError, match=rf"Remedy: Use fits\[level\]\.{name}\."):
        getattr(fits, name)
    getattr(fits["care"], name)


def test_names_of_other_packages_lead_to_one_equation_and_copies_are_equal(fits: dpglm.LevelFits) -> None:
    with pytest.raises(AttributeError, match=r"fit = fits\[level\]: Use fit\.cov_params\(\)"):
        _ = fits.vcov
    with pytest.raises(AttributeError, match=r"^'LevelFits' object has no attribute 'nonsense'$"):
        _ = fits.nonsense
    assert copy.deepcopy(fits) == pickle.loads(pickle.dumps(fits)) == fits


def test_the_most_probable_level_and_no_errors_of_probabilities(fits: dpglm.LevelFits) -> None:
    new = people(20)
    pd.testing.assert_series_equal(fits.predict(new, "class"), fits.predict(new, what="class"))
    assert list(fits.predict(new, "class")) == list(fits.predict(new).idxmax(axis=1))
    for options in ({"se": True}, {"interval": 0.95}):
        with pytest.raises(MethodError, match=r"fits\[level\]\.predict"):
            fits.predict(new, **options)  # type: ignore[arg-type]


def test_a_folder_is_loaded_and_a_name_of_a_file_is_refused(fits: dpglm.LevelFits, tmp_path: Path) -> None:
    saved = fits.save(tmp_path / "jobs")
    assert dpglm.load(saved) == dpglm.load(str(saved)) == fits
    for write, name in ((fits.save, "m.json"), (fits.report, "m.HTML")):
        with pytest.raises(StoreError, match="it is the name of a file"):
            write(tmp_path / name)
        assert not (tmp_path / name).exists()
    (saved / "1-care.json").unlink()
    for folder in (saved, tmp_path):
        with pytest.raises(StoreError, match="does not hold a multinomial fit"):
            dpglm.load(folder)
        with pytest.raises(StoreError, match="does not hold a multinomial fit"):
            dpglm.verify(folder)


@pytest.mark.parametrize("title", BUDGETS)
def test_a_folder_is_verified_with_the_price_of_all(title: str, tmp_path: Path) -> None:
    fits = fitted(people(600), privacy=BUDGETS[title], seed=1)
    found = dpglm.verify(fits.save(tmp_path / "jobs"))
    assert found.passed
    assert found.checks[-1].outcome == "agrees"
    assert len([check for check in found.checks if check.what.endswith(": privacy and price")]) == 3
    assert "NOT PRIVATE" in str(found)


def test_a_promise_to_persons_is_verified(tmp_path: Path) -> None:
    schema = dpglm.Schema.of(SCHEMA, unit={"column": "who"})
    fits = fitted(people(600).assign(who=range(600)), schema=schema, privacy=BUDGET, seed=1)
    assert dpglm.verify(fits.save(tmp_path / "persons")).checks[-1].outcome == "agrees"


def test_equations_without_privacy_do_not_say_what_they_belong_to(tmp_path: Path) -> None:
    saved = fitted(people(600), privacy=None).save(tmp_path / "open")
    for read in (dpglm.load, dpglm.verify):
        with pytest.raises(StoreError, match="Name a file in it"):
            read(saved)
    assert isinstance(dpglm.load(saved / "1-care.json"), FitResult)


@pytest.mark.usefixtures("noiseless")
def test_a_smaller_promise_of_all_equations_differs(tmp_path: Path) -> None:
    """Also where every file agrees with itself: what all cost follows from the plans."""
    fits = fitted(people(3000), privacy=BUDGET)

    def told(**changed: Any) -> dpglm.Verification:
        records = [fit._record for fit in fits.values()]
        part = restriction.equation_of(records[0])
        assert part is not None
        parts = replace(part, **changed)
        found = dpglm.LevelFits.of(FitResult(replace(record, part=parts)) for record in records)
        return dpglm.verify(found.save(tmp_path / str(len(list(tmp_path.iterdir())))))

    assert told().passed
    for changed in (
        {"together": replace(fits.privacy, epsilon=1.9)},
        {"together": replace(fits.privacy, theorem="none")},
        {"plan": "0" * 64},
    ):
        assert [check.outcome for check in told(**changed).checks][-1] == "DIFFERS"


@pytest.mark.usefixtures("noiseless")
def test_exports_open_with_the_price_of_all_equations(tmp_path: Path) -> None:
    fits = fitted(people(3000), privacy=BUDGET)
    whole = "ε = 2, δ = 1e-6 for all equations together"
    for fit in (fits["care"], fits["care"].refit(merge={"arm": {"old": ["a", "c"]}})):
        first = fit.export("methods", tmp_path / "a").read_text(encoding="utf-8").split(". ")[0]
        assert "care against office, one of 3 equations of a multinomial fit" in first
        assert whole in first
        risk = fit.export("dpia", tmp_path / "a").read_text(encoding="utf-8").split("Risk to one row: ")[1]
        assert risk.startswith(whole)
        assert f"{math.ceil(1000 * fits.privacy.guess()) / 10:.1f} %" in risk
        filed = json.loads(fit.export("registry", tmp_path / "a").read_text(encoding="utf-8"))
        assert filed["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    text = fits.export("methods", tmp_path / "a").read_text(encoding="utf-8")
    assert "each level of job against office, 3 equations of a multinomial fit" in text.split(". ")[0]
    assert whole in text.split(". ")[0]
    assert "12 of 12 coefficients" in text
    assert "perturbed minimiser (3 times)" in text
    sparse = fits.refit("l1")
    told = sparse.export("methods", tmp_path / "a").read_text(encoding="utf-8")
    assert told.count("enalty: l1") == len({fit._record.strength_sum for fit in sparse.values()})
    assert all(f"or {level}: penalty: l1" in told for level in LEVELS[1:])
    with pytest.raises(MethodError, match="crate of several equations"):
        fits.export("ro-crate", tmp_path / "a.zip")
    with pytest.raises(MethodError, match="NOT PRIVATE"):
        fitted(people(600), privacy=BUDGET, seed=1).export("dpia", tmp_path / "b")


@pytest.mark.parametrize("name", ["negative_binomial", "NegativeBinomial", "nb", "negbin", "quasipoisson"])
def test_overdispersed_counts_are_led_to_poisson(name: str) -> None:
    with pytest.raises(MethodError, match=r"'multinomial'.*\n.*Use family='poisson'"):
        dpglm.plan("job ~ x", SCHEMA, family=name, privacy=1.0)


def test_a_name_without_a_class_is_not_its_own_remedy() -> None:
    with pytest.raises(MethodError) as caught:
        dpglm.families.families["multinomial"]
    assert "'multinomial'" not in caught.value.expected
    assert "dpglm.fit" in caught.value.remedy
    with pytest.raises(AttributeError, match="family='multinomial'"):
        _ = dpglm.families.Multinomial
