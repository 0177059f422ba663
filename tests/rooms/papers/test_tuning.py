"""A choice among candidates: its price, its law, what it refuses, and what it is without noise."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, mean_squared_error, zero_one_loss

import dpglm
from dpglm.auditing.neighbours import Table
from dpglm.errors import BudgetExceeded, FormulaError, MethodError, PrivacyError
from dpglm.glm.families import families
from dpglm.mechanisms.noise import SeededNoise
from dpglm.papers.stacking.parts import Part
from dpglm.papers.tuning import random_stopping
from dpglm.papers.tuning.held_out import GRID, HeldOutErrors
from dpglm.papers.tuning.random_stopping import (
    MEAN,
    PRICE,
    STOP,
    Attempt,
    RandomStopping,
    attempts_made,
    packed,
    unpacked,
)
from dpglm.papers.tuning.tune import Tune
from dpglm.privacy.accountant import basic_composition
from dpglm.rows import ArrayChunk

SCHEMA = {"y": ["no", "yes"], "a": (-3, 3), "b": (-3, 3)}
FORMULA = "y ~ a + b"
GRID6 = {"penalty": ["l1", "l2"], "strength": [0.001, 0.03, 0.3]}
HOLDOUT = Part((0.0, 0.8, 1.0), 1)


def table(rows: int = 600, seed: int = 1) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 2)).clip(-3, 3)
    y = np.where(generator.random(rows) < 1.0 / (1.0 + np.exp(-1.5 * X[:, 0] + 0.5)), "yes", "no")
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=y)


def tuned(privacy: Any, grid: Any = None, **options: Any) -> dpglm.FitResult:
    options = {"seed": 1, "progress": False, "schema": SCHEMA} | options
    return dpglm.tune(FORMULA, table(), grid=grid or GRID6, privacy=privacy, **options)


def derivative(s: Any, stop: int = STOP) -> Any:
    """G' of the number of attempts, up to a factor."""
    return 1.0 / (1.0 - (1.0 - 1.0 / stop) * s)


def generating(s: Any) -> Any:
    return np.log(1.0 - (1.0 - 1.0 / STOP) * s) / math.log(1.0 / STOP)


def best_of(law: Any) -> Any:
    """Exact law of the best attempt; outcomes from the best to the worst, ties impossible."""
    edges = np.append(np.cumsum(law[::-1])[::-1], 0.0)  # probability of this outcome or a worse one
    values = generating(np.clip(edges, 0.0, 1.0))
    return values[:-1] - values[1:]


def close_laws(generator: Any, epsilon: float, size: int) -> tuple[Any, Any]:
    """Two random laws that are epsilon-close, in random order of rank."""
    first = generator.dirichlet(np.full(size, 0.5))
    second = first * np.exp(generator.choice([-1.0, 1.0], size) * epsilon)
    # Moved to where it adds up to one, within the ratios: all of them the other way are on the other side.
    rest = 1.0 - second.sum()
    room = first * np.exp(np.sign(rest) * epsilon) - second
    return first, second + room * rest / room.sum()


def test_the_best_attempt_costs_at_most_twice_and_nearly_twice_the_epsilon_of_one() -> None:
    """Exact laws of 1,000 random pairs of attempts, and of the pair that comes nearest."""
    generator, worst = np.random.default_rng(1), 0.0
    for _ in range(1000):
        epsilon = float(generator.choice([0.1, 0.5, 1.0, 2.0]))
        laws = close_laws(generator, epsilon, int(generator.integers(2, 7)))
        with np.errstate(all="ignore"):
            losses = np.abs(np.log(best_of(laws[0]) / best_of(laws[1])))
        assert np.nanmax(losses[np.isfinite(losses)]) <= PRICE * epsilon * (1.0 + 1e-6)
    more = math.exp(0.1)
    first, second = np.array([0.1, 1e-3, 0.899]), np.array([0.1 * more, 1e-3 / more, 0.0])
    second[2] = 1.0 - second.sum()
    worst = float(np.log(best_of(first) / best_of(second))[1])
    assert 1.85 * 0.1 < worst < 2.0 * 0.1  # no smaller price would do


def test_a_delta_of_one_attempt_costs_at_most_the_expected_number_of_times() -> None:
    generator = np.random.default_rng(2)
    for _ in range(1000):
        epsilon, delta = float(generator.choice([0.1, 1.0])), float(generator.choice([1e-3, 0.02]))
        size = int(generator.integers(2, 6))
        close = close_laws(generator, epsilon, size)
        bad = [generator.dirichlet(np.ones(size)) for _ in range(2)]
        laws = [(1.0 - delta) * law + delta * other for law, other in zip(close, bad, strict=True)]
        first, second = map(best_of, laws)
        found = np.maximum(first - math.exp(2.0 * epsilon) * second, 0.0).sum()
        assert found <= MEAN * delta
    # An attempt that tells the table and is the best whenever it does: nearly all of it.
    told = 1.0 - generating(1.0 - 1e-4)
    assert 0.99 * MEAN * 1e-4 < told <= MEAN * 1e-4


def test_the_number_of_attempts_follows_the_logarithmic_law() -> None:
    """Every bound fails with probability below 10^-6 (five standard deviations).

    The law before thinning, P(K = 1) = 1/128 instead of .204, is off by 48 of them.
    """
    noise, trials = SeededNoise(3), 10_000
    drawn = np.array([attempts_made(noise) for _ in range(trials)])
    for low, high in ((1, 1), (2, 2), (3, 5), (6, 20), (21, 100), (101, 10**9)):
        numbers = np.arange(low, min(high, 10_000) + 1)
        chance = float(((1 - 1 / STOP) ** numbers / numbers).sum() / math.log(STOP))
        found = float(((drawn >= low) & (drawn <= high)).mean())
        assert abs(found - chance) < 5.0 * math.sqrt(chance * (1.0 - chance) / trials), (low, found, chance)


def test_the_number_of_attempts_goes_on_in_the_next_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that a block cut off and forgot would be 10 on average: 8 standard errors less."""
    monkeypatch.setattr(random_stopping, "_BLOCK", 64)
    noise = SeededNoise(4)
    many = np.array([attempts_made(noise) for _ in range(1000)])
    # Standard deviation of a count: 52. Both bounds fail with probability below 10^-6.
    assert abs(float((many == 1).mean()) - 0.2045) < 5.0 * math.sqrt(0.2 * 0.8 / 1000)
    assert abs(float(many.mean()) - MEAN) < 5.0 * 52.0 / math.sqrt(1000)


def test_answers_are_unpacked_as_they_were_packed() -> None:
    answers = [np.arange(3.0), np.zeros(0), np.ones(1)]
    assert [one.tolist() for one in unpacked(packed(answers))] == [one.tolist() for one in answers]


@pytest.mark.parametrize("privacy", [1.0, (1.0, 1e-6), 0.1], ids=str)
def test_the_whole_price_is_promised_charged_spent_and_saved(privacy: Any, tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(1.0, 1e-5), dataset="ward")
    fit = tuned(privacy, ledger=ledger, seed=None)
    epsilon, delta = privacy if isinstance(privacy, tuple) else (privacy, 0.0)
    assert (fit.privacy.epsilon, fit.privacy.delta) == (epsilon, delta)
    assert random_stopping.SECRET in fit.privacy.statement()
    assert ledger.spent.epsilon == epsilon
    assert fit.spend["epsilon"].sum() == pytest.approx(epsilon, rel=1e-9)
    assert fit.spend["delta"].sum() == pytest.approx(delta, rel=1e-6)
    again = dpglm.load(fit.save(tmp_path / "fit.json"))
    assert str(again.summary()) == str(fit.summary())
    assert again.to_html() == fit.to_html()
    assert again.candidates().equals(fit.candidates())
    assert again.plan_fingerprint == fit.plan_fingerprint
    assert np.array_equal(again.predict(table()), fit.predict(table()))
    assert "The choice among candidates" in fit.to_html()


@pytest.mark.parametrize("privacy", [dpglm.Privacy(1.0), dpglm.Privacy(1.0, 1e-6)], ids=["pure", "delta"])
def test_two_candidates_are_both_fitted_and_more_are_drawn(privacy: dpglm.Privacy) -> None:
    two, many = tuned(privacy, {"penalty": ["l1", "l2"]}), tuned(privacy)
    assert two.candidates()["error"].notna().all()
    assert many.candidates()["error"].notna().sum() == 1
    assert many.candidates()["chosen"].sum() == two.candidates()["chosen"].sum() == 1
    frame = two.candidates()
    assert frame["chosen"].idxmax() == frame["error"].idxmin()


def test_all_candidates_together_cost_no_more_than_the_budget_and_errors_nothing_beside_them() -> None:
    privacy = dpglm.Privacy(1.0, 1e-6)
    spec = dpglm.ModelSpec.of(FORMULA, SCHEMA, goal="predict", method=_two(), privacy=privacy)
    parts = spec.plan().releases.parallel()
    assert len(parts) == 2
    for costs in parts:
        assert basic_composition([event for _, event in costs], 1e-6) <= 1.0 + 1e-9


def _two() -> Tune:
    option = {"method": "objective", "method_options": {}, "penalty_options": {}, "strength": None}
    return Tune(candidates=({**option, "penalty": "l1"}, {**option, "penalty": "l2"}))


def test_a_budget_that_is_too_small_buys_nothing_and_reads_nothing(tmp_path: Path) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(0.5, 0.0), dataset="ward")

    class Untouchable(pd.DataFrame):
        def __getitem__(self, key: Any) -> Any:
            raise AssertionError("read")

    with pytest.raises(BudgetExceeded):
        dpglm.tune(FORMULA, Untouchable(table()), schema=SCHEMA, grid=GRID6, privacy=1.0, ledger=ledger)
    assert ledger.spent.epsilon == 0.0


def test_a_choice_without_privacy_is_that_of_peers() -> None:
    """Maximum likelihood by scikit-learn on the rows that are not held out, and its Brier score."""
    data = table(4000)
    held = HOLDOUT.holds(0, len(data))
    training, rest = data[~held], data[held]
    fit = dpglm.tune(
        FORMULA,
        data,
        schema=SCHEMA,
        privacy=None,
        grid=[{"penalty": "none"}, {"penalty": "l2", "strength": 0.3}],
    )
    peer = LogisticRegression(C=math.inf, tol=1e-10, max_iter=1000).fit(training[["a", "b"]], training["y"])
    mean = peer.predict_proba(rest[["a", "b"]])[:, 1]
    errors = fit.candidates()["error"]
    assert errors[0] == pytest.approx(brier_score_loss(rest["y"] == "yes", mean), abs=2e-6)  # grid, float32
    strong = dpglm.fit(FORMULA, training, schema=SCHEMA, privacy=None, penalty="l2", strength=0.3)
    other = brier_score_loss(rest["y"] == "yes", strong.predict(rest))
    assert errors[1] == pytest.approx(other, abs=2e-6)
    assert errors[0] < errors[1]
    assert fit.candidates()["chosen"].tolist() == [True, False]
    expected = [*peer.intercept_, *peer.coef_[0]]
    assert fit.params.to_numpy() == pytest.approx(expected, abs=1e-4)
    assert not fit.private


@pytest.mark.parametrize("name", ["binomial", "huber_svm", "poisson", "gaussian"])
def test_errors_are_those_of_peers(name: str) -> None:
    generator = np.random.default_rng(4)
    family = families[name]().with_bound(6.0)
    low, high = family.response_bounds
    y = generator.choice([0.0, 1.0], 500) if high == 1.0 and low == 0.0 else generator.uniform(low, high, 500)
    X = generator.normal(size=(3, 500)).astype(np.float32)
    X[:, :7] = 0.0  # rows that cannot be used count nothing
    model = np.array([0.5, -1.0, 0.3])
    (found,) = HeldOutErrors((family,), 0.0).run(Table(ArrayChunk(X, y, None)), model, SeededNoise(1))
    eta = (model @ X)[7:]
    if name == "huber_svm":
        expected = zero_one_loss(y[7:] == 1.0, eta > 0.0, normalize=False)
    else:
        mean = np.clip(family.mean(eta), low, high)
        expected = mean_squared_error(y[7:] / (high - low), mean / (high - low)) * 493
    assert found == pytest.approx(expected, abs=500 / GRID)


def test_no_row_moves_an_error_by_more_than_one() -> None:
    """Coefficients that overflow, too."""
    errors = HeldOutErrors(tuple(families[name]() for name in families if name != "gaussian"), 0.0)
    generator = np.random.default_rng(5)
    for scale in (1.0, 1e6, 1e300, math.inf):
        models = generator.normal(size=3 * len(errors.families)) * scale
        X = generator.normal(size=(3, 4)).astype(np.float32)
        whole = Table(ArrayChunk(X, np.ones(4), None))
        less = Table(ArrayChunk(X[:, :3], np.ones(3), None))
        with np.errstate(all="ignore"):
            moved = errors.run(whole, models, SeededNoise(1)) - errors.run(less, models, SeededNoise(1))
        assert ((moved >= 0.0) & (moved <= 1.0)).all()


def test_a_fit_that_fails_inside_an_attempt_leaves_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    attempt = _stopping().attempts[0]

    def failing(ask: Any) -> Any:
        ask(attempt.plan.releases[0])
        warnings.warn("of a row", stacklevel=1)
        raise np.linalg.LinAlgError("of a row")

    failed = replace(attempt, solve=failing)
    rows = Table(ArrayChunk(np.full((3, 5), 0.3, dtype=np.float32), np.ones(5), None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error, answers = failed.run(rows, rows, SeededNoise(1))
    assert np.isfinite(error)
    assert len(answers) == 1
    assert capfd.readouterr() == ("", "")


def _stopping(privacy: Any = 1.0) -> RandomStopping:
    grid = [{"penalty": penalty, "strength": s} for penalty in ("l1", "l2") for s in (0.1, 0.2)]
    options = tuple(
        {"method": "objective", "method_options": {"scales": "declared"}, "penalty_options": {}, **each}
        for each in grid
    )
    spec = dpglm.ModelSpec.of(
        FORMULA, SCHEMA, goal="predict", method=Tune(candidates=options), privacy=privacy
    )
    (release,) = spec.plan().releases.releases
    assert isinstance(release, RandomStopping)
    return release


def test_the_price_of_random_stopping_is_read_off_its_attempts() -> None:
    release = _stopping((1.0, 1e-6))
    ((_, event),) = release.events("replace-one")
    assert event.epsilon == 1.0
    assert 0.999e-6 < event.delta <= 1e-6
    dearer = replace(release.attempts[0].errors, scale=release.attempts[0].errors.scale / 2)
    attempts = (*release.attempts[1:], replace(release.attempts[0], errors=dearer))
    ((_, event),) = replace(release, attempts=attempts).events("replace-one")
    assert event.epsilon == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(MethodError, match="add-remove"):
        release.events("add-remove")
    with pytest.raises(MethodError, match="rows that are fitted"):
        replace(release, held_out=release.training)


def test_no_count_of_attempts_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Five attempts of which the first wins, and that one alone, give the same file."""
    texts = []
    run = Attempt.run
    for count in (1, 5):
        made: list[int] = []

        def scripted(self: Attempt, training: Any, held: Any, noise: Any, made: Any = made) -> Any:
            made.append(1)
            error, answers = run(self, training, held, SeededNoise(7))
            return error + len(made), answers

        monkeypatch.setattr(Attempt, "run", scripted)
        monkeypatch.setattr(random_stopping, "attempts_made", lambda noise, count=count: count)
        fit = tuned(1.0, {"strength": [0.1, 0.2, 0.3]})
        assert len(made) == count
        texts.append(Path(fit.save(tmp_path / "fit.json")).read_text())
        monkeypatch.undo()
    assert texts[0] == texts[1]


REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ({"strength": [0.1]}, {}, MethodError, "fewer than two"),
    ({"strength": [0.1, 0.1]}, {}, MethodError, "same one twice"),
    ({"alpha": [0.1, 0.2]}, {}, MethodError, "other names"),
    (3, {}, MethodError, "other names"),
    ({"strength": [0.1, -1.0]}, {}, MethodError, "strength"),
    ({"strength": [0.1, "cv"]}, {}, MethodError, "cv"),
    ({"method": ["pst-f", "pst-s"]}, {}, MethodError, "one linear model"),
    ({"method": ["objective", "output"]}, {}, MethodError, "coded"),
    ({"method": ["tune", "objective"]}, {}, MethodError, "one linear model"),
    (GRID6, {"privacy": dpglm.Privacy(1.0, relation="add-remove")}, MethodError, "by their place"),
    (GRID6, {"privacy": dpglm.Privacy.gdp(1.0)}, MethodError, "epsilon and a delta"),
    (GRID6, {"holdout": 0.9}, MethodError, "holdout"),
    (GRID6, {"holdout": True}, MethodError, "holdout"),
    (GRID6, {"goal": "explain"}, MethodError, "free"),
    (GRID6, {"data": {"north": table()}}, MethodError, "sites|site"),
    (GRID6, {"schema": {"y": ["no", "yes"]}}, FormulaError, "column"),
    (GRID6, {"privacy": -1.0}, PrivacyError, "epsilon"),
]


@pytest.mark.parametrize(("grid", "changed", "kind", "words"), REFUSED)
def test_what_cannot_be_chosen_is_refused_before_anything_is_charged(
    grid: Any, changed: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(9.0, 1e-5), dataset="ward")
    options = {"schema": SCHEMA, "privacy": 1.0, "ledger": ledger, "data": table()} | changed
    with pytest.raises(kind, match=words):
        dpglm.tune(FORMULA, options.pop("data"), grid=grid, **options)
    assert ledger.spent.epsilon == 0.0


def test_methods_of_one_coding_are_compared() -> None:
    output = dpglm.methods.Output(coding="centred")  # type: ignore[attr-defined]
    grid = {"method": ["objective", output], "penalty": ["l2"], "strength": [0.01, 0.1]}
    fit = tuned((1.0, 1e-6), grid)
    assert fit.candidates()["candidate"].tolist()[0] == "method=objective, strength=0.01"


@pytest.mark.audit
def test_candidates_whose_answers_have_different_lengths_are_audited() -> None:
    output = dpglm.methods.Output(coding="centred")  # type: ignore[attr-defined]
    fit = tuned((1.0, 1e-6), {"method": ["objective", output], "penalty": ["l2"], "strength": [0.01, 0.1]})
    plan = dpglm.ModelSpec.of_document(fit.specification).plan()
    assert plan.audit(trials=200, seed=1, progress=False).passed


def test_a_fit_that_was_not_tuned_has_no_candidates() -> None:
    fit = dpglm.fit(FORMULA, table(), schema=SCHEMA, privacy=1.0, seed=1)
    with pytest.raises(MethodError, match=r"dpglm\.tune"):
        fit.candidates()
