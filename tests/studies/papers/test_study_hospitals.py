"""The study of branches and their main hospital: its quick run, its splits, and what its page says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpglm
from studies import __main__ as command
from studies import real_tables
from studies.hospitals import claims
from studies.hospitals.grid import ALONE, FULL, METHODS, PRINTED, QUICK, jobs, seed_of
from studies.hospitals.study import STUDY
from studies.hospitals.summary import Areas
from studies.hospitals.tables import GUSTO_CHI_SQUARES, SOURCES, missing, network, sizes
from studies.jobs import Result, key_of
from studies.study import Findings

everywhere = pytest.mark.parametrize("name", list(SOURCES))


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hospitals")
    assert command.main(["run", "hospitals", "--quick", "--out", str(out)]) == 0
    return out


@pytest.mark.audit
def test_a_quick_run_makes_the_papers_table_for_every_network(quick: Path) -> None:
    page = (quick / "hospitals.html").read_text(encoding="utf-8")
    here = [name for name in QUICK.tables if missing(name) is None]
    assert page.count("<svg") == len(here)
    text = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    for name in here:
        assert f">{SOURCES[name].title}</h2>" in text
    assert all(label in text for label in METHODS.values())
    assert "QUICK RUN" in text
    assert not re.search(r"\bnan\b|None|inf\b", text), "a number that the page states was not found"
    assert not re.search(r"<script|<link|<img|src=|http", text)


@pytest.mark.audit
def test_every_fit_of_a_quick_run_ran(quick: Path) -> None:
    found = STUDY.findings(quick, quick=True).results
    here = [name for name in QUICK.tables if missing(name) is None]
    assert len(found) == len(jobs(QUICK, here))
    assert [one for one in found if "refused" in one] == []
    for one in found:
        assert len(one["auc"]) == QUICK.branches
        assert all(0.0 <= area <= 1.0 for area in one["auc"].values())
    # PPHTL starts from the very model that PLR(main) hands over as it is.
    by = {(one["table"], one["law"], one["repeat"], one["method"]): one for one in found}
    for (table, law, repeat, method), one in by.items():
        if method in ("pphtl", "pphtl-strong") and law != PRINTED:
            assert one["moved"] == by[table, law, repeat, "plr-main"]["auc"]


def test_networks_that_are_not_here_are_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(real_tables.VARIABLE, str(tmp_path))
    study = replace(STUDY, work=_stand_in)
    assert study.run(tmp_path / "out", quick=True) == []
    study.write(tmp_path / "hospitals.html", study.findings(tmp_path / "out", quick=True))
    text = (tmp_path / "hospitals.html").read_text(encoding="utf-8")
    assert "real table 'heart_disease' not found" in capsys.readouterr().err
    assert "heart_disease&#39; not found" in text
    assert ">Simulated cohort</h2>" in text
    assert ">Heart disease</h2>" not in text


@everywhere
def test_halves_share_no_row_and_each_has_its_share_of_positive_ones(name: str) -> None:
    if (absence := missing(name)) is not None:
        pytest.skip(absence)
    rows, known = network(name, 0), sizes(name)
    assert list(rows.sites) == list(known)
    assert rows.main == next(iter(known))
    assert known[rows.main][0] == max(size for size, _ in known.values())
    for label, site in rows.sites.items():
        size, share = known[label]
        assert len(site.train) + len(site.test) == size
        assert not set(site.train.index) & set(site.test.index)
        assert abs(len(site.train) - len(site.test)) <= 2
        assert abs(int(site.positive.sum()) - size * share / 2.0) <= 1.0
        assert 0 < site.positive.sum() < len(site.positive)
    assert not network(name, 1).sites[rows.main].train.equals(rows.sites[rows.main].train)
    network.cache_clear()


def test_rows_are_in_no_order_that_tells_the_response() -> None:
    """Stacks deal rows to parts by place: the first half of a half has its share of positive rows, too."""
    site = network("cohort", 0).sites["branch_06"]
    train = (site.train["diabetes"] == "yes").to_numpy()
    half = len(train) // 2
    # Six standard errors of a difference of two shares.
    bound = 6.0 * np.sqrt(2.0 * train.mean() * (1.0 - train.mean()) / half)
    assert abs(train[:half].mean() - train[half:].mean()) < bound
    network.cache_clear()


@everywhere
def test_weights_are_of_the_formulas_terms_and_say_where_they_come_from(name: str) -> None:
    source = SOURCES[name]
    if (absence := missing(name)) is not None:
        pytest.skip(absence)
    _, schema = source.load()
    assert set(source.importance) <= set(schema.variables)
    assert source.response not in source.importance
    weights = list(source.importance.values())
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0, abs=0.05)
    assert source.provenance.startswith(("expert: ", "literature: "))


def test_the_five_characteristics_of_the_literature_have_nine_tenths() -> None:
    weights = SOURCES["gusto"].importance
    assert list(weights)[:5] == ["age", "sysbp", "Killip", "pulse", "miloc"]
    assert sum(weights[name] for name in GUSTO_CHI_SQUARES) == pytest.approx(0.9)
    # Computed from other columns, or a site.
    assert not {"sho", "ant", "hig", "hyp", "hrt", "tpa", "regl"} & set(weights)


def test_jobs_are_distinct_and_transfers_start_from_one_main_model() -> None:
    found = jobs(FULL, list(FULL.tables))
    assert len({key_of(job) for job in found}) == len(found)
    seeds = {seed_of(job, "source") for job in found if job["method"] in ALONE}
    # One for each kind of budget, and PPHTL's as printed.
    assert len(seeds) == 3 * len(FULL.tables) * FULL.repeats
    assert len({seed_of(job, "branch") for job in found}) == len(found)


def _stand_in(job: Any) -> Result:
    """Areas as fits give them: PST-H(W) is best at every branch, PPHTL and PLR(target) hardly differ."""
    base = {"pst-h-w": 0.8, "pst-h-u": 0.7, "pphtl": 0.65, "plr-target": 0.65, "auto": 0.7}.get(
        job["method"], 0.6
    )
    wiggle = 0.01 * (-1) ** job["repeat"] if job["method"] == "pphtl" else 0.001 * job["repeat"]
    return {
        "auc": {"branch_01": base + wiggle, "branch_02": base - wiggle / 2.0},
        "main": 0.6,
        "seconds": 1.0,
    }


def test_verdicts_and_stars_follow_from_the_intervals() -> None:
    areas = Areas([{**job, **_stand_in(job)} for job in jobs(FULL, ["cohort"])])
    verdicts = {
        claim.statement: claim.verdict for claim in claims.claims(areas, (*claims.PAPER, *claims.OWN))
    }
    assert verdicts["PST-H(W) is better than PST-H(U)"] == "holds"
    assert verdicts[claims.CAN_BE] == "not told apart"
    assert (
        verdicts["PLR of all rows together, which nobody may run, is better than PST-H(W)"] == "does not hold"
    )
    assert areas.best("cohort", "pure", ["pst-h-w", "pphtl", "plr-target"]) == {"pst-h-w"}
    assert areas.best("cohort", "pure", ["pphtl", "plr-target"]) == {"pphtl", "plr-target"}
    assert claims.branches(areas, "pst-h-w", "pphtl", "cohort", "pure") == "2 / 0 / 0"
    without = areas.mean("cohort", "Gaussian", "nonprivate")
    assert without is not None
    assert without.count == FULL.repeats


def test_a_refusal_is_told_and_has_no_area() -> None:
    job = jobs(QUICK, ["cohort"])[0]
    results = [{**job, "refused": "a budget of no size"}]
    areas, label = Areas(results), METHODS[job["method"]]
    refusals = Findings(QUICK, True, results, {}).refusals(lambda result: METHODS[result["method"]])
    assert refusals == [(label, "a budget of no size", "1")]
    assert areas.mean("cohort", job["law"], job["method"]) is None


def test_the_study_uses_public_methods_only() -> None:
    assert dpglm.methods.PSTH.name == "pst-h"
    assert dpglm.methods.PPHTL.name == "pphtl"
