"""One model of several sites: what it equals without noise, promises, refuses and keeps."""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpglm
from dpglm.errors import MethodError, SitesDiffer, StoreError
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.pooled_model import SiteRelease, pooled_model
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.site_pool import reference
from dpglm.privacy.guarantee import disjoint, overlapping

TRUTH = np.array([-0.5, 1.0, -0.8, 0.5, 0.0, 0.3])
NAMES = [f"x{place}" for place in range(5)]
FORMULA = f"y ~ {' + '.join(NAMES)}"


def rows(seed: int, n: int = 2000, bound: float = 3.0, shift: float = 0.0) -> pd.DataFrame:
    random = np.random.default_rng([7, seed])
    numbers = np.clip(random.normal(size=(n, 5)), -bound, bound)
    chance = 1.0 / (1.0 + np.exp(-(TRUTH[0] + shift + numbers @ TRUTH[1:])))
    return pd.DataFrame(numbers, columns=NAMES).assign(y=(random.random(n) < chance).astype(int))


def fitted(seed: int, *, bound: float = 3.0, shift: float = 0.0, **options: Any) -> dpglm.FitResult:
    schema = dpglm.Schema.of({"y": [0, 1], **dict.fromkeys(NAMES, (-bound, bound))}, rows=2000)
    chosen: dict[str, Any] = {"privacy": (1.0, 1e-6), "penalty": "none", "seed": seed} | options
    if chosen.pop("unseeded", False):
        chosen["seed"] = None
    return dpglm.fit(FORMULA, rows(seed, bound=bound, shift=shift), schema=schema, **chosen)


@cache
def three() -> Mapping[str, dpglm.FitResult]:
    return {"north": fitted(1), "south": fitted(2, bound=4.0), "west": fitted(3, shift=0.8)}


@cache
def pooled(effects: Any = "common") -> dpglm.FitResult:
    return dpglm.pool(three(), effects=effects)


def without_noise(record: FitRecord, part: pd.DataFrame, centre: np.ndarray[Any, Any]) -> SiteRelease:
    """What a site would release next to no noise: score and information of its rows at a point."""
    assert record.released is not None
    assert record.row_map is not None
    coded, _ = record.row_map.coded(part)
    weight = 1.0 / (1.0 + np.exp(-coded @ centre))
    score = coded.T @ (part["y"].to_numpy() - weight)
    information = (coded * (weight * (1.0 - weight))[:, None]).T @ coded
    released = dataclasses.replace(
        record.released,
        centre=centre,
        score=score,
        information=information,
        score_scale=1e-9,
        information_scale=1e-9,
    )
    return SiteRelease(released, record.user_from_coded)


def common_model(sites: list[SiteRelease]) -> LinearModel:
    released = sites[0].released
    base = reference(released.term_columns, sites[0].user_from_coded, sites)
    return pooled_model(base, sites[0].user_from_coded, sites)


def test_a_pool_of_one_site_is_its_fit() -> None:
    fit = three()["north"]
    alone = dpglm.pool({"north": fit})
    assert alone.params.equals(fit.params)
    assert alone.bse.equals(fit.bse)
    assert alone.conf_int().equals(fit.conf_int())
    assert alone.privacy == fit.privacy
    assert alone.spend.equals(fit.spend)


def test_gaussian_sites_without_noise_are_least_squares_on_all_rows() -> None:
    """Normal equations as one release of exact moments has them: sums, whatever the residual variances."""
    random = np.random.default_rng(5)
    released = three()["north"]._record.released
    assert released is not None
    sites, grams, crosses = [], [], []
    for n, deviation in ((400, 0.5), (900, 1.0), (2000, 3.0)):
        design = random.normal(size=(n, 6)) @ np.diag(random.uniform(0.5, 2.0, 6))
        response = design @ TRUTH + deviation * random.normal(size=n)
        moments = ScoreAndInformation(
            term_columns=released.term_columns,
            centre=np.zeros(6),
            score=design.T @ response,
            information=design.T @ design,
            score_scale=1e-9,
            information_scale=1e-9,
            dispersion=deviation**2,
            initial_variance=np.ones(6),
            third_derivative_bound=0.0,
        )
        sites.append(SiteRelease(moments, np.eye(6)))
        grams.append(design.T @ design)
        crosses.append(design.T @ response)
    model = common_model(sites)
    # The prior has a weight of 1 beside the rows: least squares is where the pooled equations hold.
    found = np.linalg.solve(model.design, model.response)
    assert found == pytest.approx(np.linalg.solve(sum(grams), sum(crosses)), rel=1e-8, abs=1e-8)


def test_binomial_sites_without_noise_are_maximum_likelihood_on_all_rows() -> None:
    """Taken at the maximum of all rows, and near it: the linear model leaves a second-order term."""
    fits, parts = three(), [rows(1), rows(2, bound=4.0), rows(3)]
    records = [fit._record for fit in fits.values()]
    together = pd.concat(parts)
    design = np.column_stack([np.ones(len(together)), together[NAMES]])
    best = np.zeros(6)
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-design @ best))
        hessian = (design * (chance * (1.0 - chance))[:, None]).T @ design
        best += np.linalg.solve(hessian, design.T @ (together["y"] - chance))
    for distance, tolerance in ((0.0, 1e-5), (0.1, 0.01)):
        start = best * (1.0 - distance)
        sites = [
            without_noise(record, part, np.linalg.solve(record.user_from_coded, start))
            for record, part in zip(records, parts, strict=True)
        ]
        model = common_model(sites)
        found = sites[0].user_from_coded @ np.linalg.solve(model.design, model.response)
        assert found == pytest.approx(best, abs=tolerance)


@pytest.mark.parametrize("apart", [1.5, 3.0])
def test_sites_with_levels_far_apart_are_maximum_likelihood_on_all_rows(apart: float) -> None:
    """At epsilon 50 noise is small beside sampling errors of .06. Normal predictors were up to .3 off."""
    parts = {}
    for seed, (site, effect) in enumerate((("north", -apart), ("south", apart))):
        random = np.random.default_rng([8, seed])
        g = random.choice(["a", "b", "c"], 4000, p=[0.4, 0.3, 0.3])
        eta = np.select([g == "a", g == "b"], [-0.5, -0.1], -0.5 + effect)
        y = np.where(random.random(4000) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
        parts[site] = pd.DataFrame({"y": y, "g": g})
    options: dict[str, Any] = {"schema": {"y": ["no", "yes"], "g": ["a", "b", "c"]}, "progress": False}
    exact = dpglm.fit("y ~ g", pd.concat(parts.values()), privacy=None, penalty="none", **options)
    fits = dpglm.fit("y ~ g", parts, privacy=dpglm.Privacy(50.0, 1e-6, "add-remove"), seed=1, **options)
    np.testing.assert_allclose(fits.pool().params, exact.params, atol=0.02)


def test_intervals_of_a_pool_cover() -> None:
    """12 pools of 6 sites and 6 coefficients: 72 intervals.

    At a coverage of .93 to .98 fewer than 59 of them cover with probability 4e-4, up to the correlation of
    coefficients; intervals of half the width would cover .67, and give 59 or more with probability .007.
    """
    covered = 0
    for trial in range(12):
        sites = {f"site {place}": fitted(1000 + 10 * trial + place) for place in range(6)}
        ends = dpglm.pool(sites).conf_int().to_numpy()
        covered += int(((ends[:, 0] < TRUTH) & (ends[:, 1] > TRUTH)).sum())
    assert covered >= 59


def test_a_pool_says_more_than_each_site_and_depends_on_no_order() -> None:
    whole = pooled()
    for fit in three().values():
        assert (whole.bse < fit.bse.fillna(np.inf)).all()
    back = dpglm.pool(dict(reversed(three().items())))
    assert back.params.to_numpy() == pytest.approx(whole.params.to_numpy(), rel=1e-6)
    assert back.bse.to_numpy() == pytest.approx(whole.bse.to_numpy(), rel=1e-6)


def test_everything_of_a_fit_works_on_a_pool() -> None:
    fit = pooled()
    assert fit.refit("l1").privacy == fit.privacy
    assert fit.path("l1").coefficients.shape == (100, 6)
    assert fit.wald_test("x0 = 0").p_value < 1e-6
    assert fit.predict(rows(9).head(4), interval=0.95).shape == (4, 3)
    # Between the widest bounds that a site declared.
    far = fit.predict(pd.DataFrame({name: [3.5, 4.0, 9.0] for name in NAMES}), what="link")
    assert far[0] < far[1] == far[2]
    page = fit.to_html()
    assert "forest" in page
    assert "x0 by site" in page
    assert "Sites:" in str(fit.summary())
    with pytest.raises(MethodError, match="audit of a pooled fit"):
        dpglm.audit(fit)


def test_random_effects_are_wider_and_tell_how_sites_differ() -> None:
    common, random = pooled(), pooled("random")
    assert random.bse["Intercept"] > 2.0 * common.bse["Intercept"]  # one site is .8 away
    table = random.heterogeneity().set_index("term")
    assert table.loc["Intercept", "tau"] > 0.1
    assert table.loc["Intercept", "pred_low"] < table.loc["Intercept", "pred_high"]
    assert table["i_squared"].between(0.0, 1.0).all()
    fixed = dpglm.pool(three(), effects="random", fixed=NAMES).heterogeneity().set_index("term")
    assert (fixed.loc[NAMES, "tau"] == 0.0).all()
    assert fixed.loc["Intercept", "tau"] > 0.1
    assert common.heterogeneity()["tau"].isna().all()


def test_a_site_can_be_left_out() -> None:
    frame = pooled().leave_one_out().set_index(["without", "term"])
    others = dpglm.pool({site: fit for site, fit in three().items() if site != "west"})
    # In the coding and under the priors of all sites, not of two of them.
    assert frame.loc["west"]["estimate"].to_numpy() == pytest.approx(others.params.to_numpy(), abs=0.02)
    assert pooled().plot("sites", "x1").get_yticklabels()[-1].get_text() == "all sites"
    with pytest.raises(MethodError, match="a coefficient"):
        pooled().plot("sites", "x9")
    with pytest.raises(MethodError, match="pools no sites"):
        three()["north"].heterogeneity()


@pytest.mark.parametrize("once", [True, False])
def test_the_guarantee_is_that_of_the_sites_together(once: bool) -> None:
    fit = dpglm.pool(three(), disjoint=once)
    sites = [each.privacy for each in three().values()]
    assert fit.privacy == (disjoint(sites) if once else overlapping(sites))
    assert [line.split(", site ")[1] for line in fit.spend["release"]][::6] == list(three())
    assert not fit.private  # seeded sites


def test_one_site_without_privacy_leaves_none() -> None:
    promised = [fitted(place, unseeded=True) for place in (1, 2)]
    both = dpglm.pool(promised, disjoint=True)
    assert both.private
    assert both.privacy.epsilon == 1.0
    assert "one curator per site" in both.to_html()
    assert "Each line names its site" in both.to_html()
    mixed = dpglm.pool([*promised, fitted(3)])
    assert not mixed.private
    assert "NOT PRIVATE" in str(mixed.summary())


def test_a_saved_pool_is_read_checked_and_the_same(tmp_path: Path) -> None:
    for effects in ("common", "random"):
        fit = pooled(effects)
        again = dpglm.load(fit.save(tmp_path / f"{effects}.json"))
        assert again == fit
        assert again.conf_int().equals(fit.conf_int())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("guarantee", "epsilon"), 0.5),
        (("part", "sites", 0, "guarantee", "epsilon"), 0.5),
        (("part", "sites", 1, "name"), "north"),
        (("part", "sites", 1, "released", "score_scale"), 1.0),
        (("part", "variances"), [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]),
        (("released", "information_scale"), 0.1),
        (("n_rows",), 5),
    ],
)
def test_a_changed_pool_is_refused(tmp_path: Path, path: tuple[Any, ...], value: object) -> None:
    document = json.loads(pooled("random").save(tmp_path / "pool.json").read_text())
    inside = document
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    (tmp_path / "changed.json").write_text(json.dumps(document))
    with pytest.raises(StoreError):
        dpglm.load(tmp_path / "changed.json")


def test_files_name_their_sites(tmp_path: Path) -> None:
    files = [fit.save(tmp_path / f"{site}.json") for site, fit in three().items()]
    assert dpglm.pool(files) == pooled()
    assert next(iter(dpglm.pool(files).spend["release"])).endswith("site north")
    (tmp_path / "other").mkdir()
    twin = three()["south"].save(tmp_path / "other" / "north.json")
    with pytest.raises(MethodError, match="two files of one name"):
        dpglm.pool([files[0], twin])
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(StoreError, match="at site 'bad'"):
        dpglm.pool([files[0], tmp_path / "bad.json"])


def test_fits_of_several_tables_pool_themselves() -> None:
    schema = dpglm.Schema.of({"y": [0, 1], **dict.fromkeys(NAMES, (-3, 3))}, sites="disjoint")
    tables = {"north": rows(1), "south": rows(2)}
    fits = dpglm.fit(FORMULA, tables, schema=schema, penalty="none", privacy=(1.0, 1e-6), seed=1)
    assert fits.pool().privacy == fits.privacy
    assert fits.pool() == dpglm.pool(fits)


def test_sites_that_do_not_fit_together_are_named() -> None:
    north = three()["north"]
    schema = dpglm.Schema.of({"y": [0, 1], "x0": (-3, 3)}, rows=2000)
    options: dict[str, Any] = {"penalty": "none", "privacy": (1.0, 1e-6), "seed": 1}
    other = dpglm.fit("y ~ x0", rows(4), schema=schema, **options)
    month = dpglm.fit("y ~ x0", rows(5), schema=dpglm.Schema.of(schema, unit="one month"), **options)
    wide = dpglm.fit("y ~ x0", rows(4), schema=schema, **options | {"penalty": "l1/2", "goal": "predict"})
    for sites, words in (
        ({"north": north, "east": other}, "site 'east', whose formula differs"),
        ({"north": north, "east": north}, "the same released numbers for the sites 'north' and 'east'"),
        ({"north": other, "east": month}, "site 'east', whose guarantee has another unit"),
        ({"north": north, "east": wide}, "site 'east', whose fit released no information matrix"),
        ({"north": north, "east": pooled()}, "site 'east', whose fit is pooled itself"),
        ({"north": north, "east": 3}, "site 'east' with int"),
        ({}, "without a list of results"),
    ):
        with pytest.raises(MethodError, match=words):
            dpglm.pool(sites)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(MethodError, match="random effects of 2 sites"):
        dpglm.pool(list(three().values())[:2], effects="random")
    with pytest.raises(MethodError, match="fixed='x9'"):
        dpglm.pool(three(), effects="random", fixed=["x9"])


def test_more_sites_tell_more() -> None:
    """Standard errors fall like one over the square root of the number of sites, up to a fifth."""
    fits = [fitted(30 + place) for place in range(8)]
    few, many = (dpglm.pool(fits[:count]).bse.to_numpy() for count in (2, 8))
    assert few / many == pytest.approx(2.0, rel=0.2)


def test_sites_that_are_not_alike_are_told_of_and_others_are_not() -> None:
    alike = {f"site {seed}": fitted(seed, privacy=(4.0, 1e-6)) for seed in (11, 12, 13)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", SitesDiffer)
        dpglm.pool(alike)
    other = fitted(14, shift=2.5, privacy=(4.0, 1e-6))
    with pytest.warns(SitesDiffer, match="differ in Intercept"):
        dpglm.pool({**alike, "far": other})
    with warnings.catch_warnings():
        warnings.simplefilter("error", SitesDiffer)
        dpglm.pool({**alike, "far": other}, effects="random")
