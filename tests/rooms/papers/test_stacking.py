"""Stacks without noise against ridge logistic regression, and a transfer between two organisations."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import dpglm
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.response import Response
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.errors import DpglmError, MethodError
from dpglm.glm.families import families
from dpglm.glm.penalties import penalties
from dpglm.mechanisms.base import Release
from dpglm.mechanisms.noise import SeededNoise
from dpglm.methods.base import Method, Problem
from dpglm.methods.objective import Objective
from dpglm.papers.stacking.meta_minimiser import MetaMinimiser
from dpglm.papers.stacking.parts import OnPart, Part
from dpglm.papers.stacking.pst import PLR, PSTF, PSTS
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.papers.stacking.transfer import PPHTL, PSTH
from dpglm.typing import FloatMatrix, FloatVector
from tests.described import facts
from tests.golden.examples import changed

NAMES = ("a", "b", "c", "d", "e", "f")
FORMULA = "y ~ " + " + ".join(NAMES)
SCHEMA = Schema.of({"y": ["no", "yes"], **dict.fromkeys(NAMES, (-3, 3))})
PRIVACY = dpglm.Privacy(4.0)


def table(rows: int = 400, seed: int = 1) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, len(NAMES)))
    eta = 2.0 * X[:, 0] - 1.5 * X[:, 3] + X[:, 5] - 0.5
    y = np.where(generator.random(rows) < expit(eta), "yes", "no")
    return pd.DataFrame(X, columns=list(NAMES)).assign(y=y)


class Silent(SeededNoise):
    """A source whose draws are all zero."""

    def normal(self, size: int, scale: float = 1.0) -> FloatVector:
        return np.zeros(size)

    def k_norm(self, size: int, scale: float) -> FloatVector:
        return np.zeros(size)

    def whole_k_norm(self, size: int) -> Any:
        return np.zeros(size)

    def whole_normal(self, size: int) -> Any:
        return np.zeros(size)

    def whole_laplace(self, size: int) -> Any:
        return np.zeros(size)


def problem_and_rows(frame: pd.DataFrame) -> tuple[Problem, Design, FloatMatrix, FloatVector]:
    model = parse(FORMULA, SCHEMA)
    coding = Coding.of(model)
    design = Design(open_source(frame), SCHEMA, coding, Response.of(SCHEMA, "y", "binary"))
    asked = Problem(coding, families["binomial"](), penalties["l2"](), count_rows=design.row_count)
    X = np.concatenate([block.X.T.astype(float) for block in design.chunks()])
    return asked, design, X, np.concatenate([block.y for block in design.chunks()])


def solved(method: Method, asked: Problem, design: Design, privacy: dpglm.Privacy) -> Any:
    plan = method.plan(asked, privacy)
    noise = Silent(1)

    def ask(release: Release, at: FloatVector | None = None) -> FloatVector:
        return release.run(design, at, noise)

    return method.solve(asked, plan, ask)


def ridge_fit(X: FloatMatrix, y: FloatVector, ridge: float, centre: FloatVector | None = None) -> FloatVector:
    centre = np.zeros(X.shape[1]) if centre is None else centre

    def value(theta: FloatVector) -> tuple[float, FloatVector]:
        eta = X @ theta
        loss = float(np.logaddexp(0.0, eta).sum() - y @ eta + 0.5 * ridge * np.square(theta - centre).sum())
        return loss, X.T @ (expit(eta) - y) + ridge * (theta - centre)

    theta = np.zeros(X.shape[1])
    for _ in range(100):  # Newton, for the last digits
        weights = expit(X @ theta) * expit(-X @ theta)
        hessian = (X.T * weights) @ X + ridge * np.eye(len(theta))
        theta = theta - np.linalg.solve(hessian, value(theta)[1])
    assert minimize(value, theta, jac=True).fun >= value(theta)[0] - 1e-9
    return theta


@pytest.mark.parametrize("privacy", [PRIVACY, dpglm.Privacy(4.0, 1e-6)])
def test_a_stack_of_one_group_is_the_papers_plr_and_that_is_ridge_logistic_regression(
    privacy: dpglm.Privacy,
) -> None:
    asked, design, X, y = problem_and_rows(table())
    ridge = 30.0
    one = PSTF(groups=1, ridge=ridge)
    (release,) = one.plan(asked, privacy).releases
    assert isinstance(release, SubmodelMinimisers)
    (own,) = release.loadings
    factor = np.minimum(1.0, 1.0 / np.sqrt(np.square(X) @ np.square(own)))
    exact = ridge_fit(X * own * factor[:, None], y, ridge) * own
    stack = solved(one, asked, design, privacy)
    assert stack.part is None
    np.testing.assert_allclose(stack.coded, exact, atol=2e-5)
    named = PLR(ridge=ridge)
    np.testing.assert_allclose(solved(named, asked, design, privacy).coded, exact, atol=2e-5)
    assert named.plan(asked, privacy).guarantee.epsilon == one.plan(asked, privacy).guarantee.epsilon
    # With the rows as the objective method reads them: one model and no other.
    plain = replace(release, loadings=np.ones_like(release.loadings))
    noise = Silent(1)
    whole = plain.run(design, None, noise)
    (plr,) = Objective(ridge=ridge).plan(asked, privacy).releases
    np.testing.assert_allclose(whole, plr.run(design, None, noise), atol=1e-8)
    np.testing.assert_allclose(whole, ridge_fit(X, y, ridge), atol=1e-8)


@pytest.mark.parametrize("method", [PSTF(groups={"x": ["a", "b", "c"], "z": ["d", "e", "f"]}), PSTS(parts=2)])
@pytest.mark.parametrize("privacy", [PRIVACY, dpglm.Privacy(4.0, 1e-6)])
def test_without_noise_each_model_is_a_ridge_fit_of_its_rows_and_the_meta_model_one_of_their_answers(
    method: Any, privacy: dpglm.Privacy
) -> None:
    asked, design, X, y = problem_and_rows(table())
    plan = method.plan(asked, privacy)
    found = solved(method, asked, design, privacy).part
    parts = [(one.part.holds(0, len(y)), one.inner) for one in plan.releases if isinstance(one, OnPart)]
    assert len(parts) == len(plan.releases)
    place = 0
    for held, inner in parts:
        if not isinstance(inner, SubmodelMinimisers):
            continue
        total = np.square(inner.loadings).sum(axis=0)
        factor = np.minimum(1.0, 1.0 / np.sqrt(np.square(X) @ total))
        for minimiser, own in zip(inner.minimisers, inner.loadings, strict=True):
            columns = np.flatnonzero(own)
            rows = (X[:, columns] * own[columns] * factor[:, None])[held]
            exact = ridge_fit(rows, y[held], float(minimiser.ridge))
            np.testing.assert_allclose(found.coefficients[place, columns], exact * own[columns], atol=2e-5)
            place += 1
    held, meta = parts[-1]
    assert isinstance(meta, MetaMinimiser)
    answers = expit(X @ found.coefficients.T)
    rows = np.column_stack([np.full(len(y), 0.5), np.sqrt(0.75) * 2.0 / np.sqrt(place) * (answers - 0.5)])[
        held
    ]
    pulled = 2.0 * np.sqrt(place) if isinstance(method, PSTF) else 2.0 / np.sqrt(place)
    centre = np.array([0.0, *[pulled / np.sqrt(0.75)] * place])
    exact = ridge_fit(rows, y[held], float(meta.inner.ridge), centre)
    np.testing.assert_allclose(found.weights, exact * [0.5, *[np.sqrt(0.75)] * place], atol=2e-5)


@pytest.mark.parametrize("shares", [(0.5,), (0.2, 0.4), (0.1, 0.5, 0.9)])
def test_every_row_is_in_one_part_and_parts_have_their_shares(shares: tuple[float, ...]) -> None:
    edges = (0.0, *shares, 1.0)
    parts = [Part(edges, index) for index in range(len(edges) - 1)]
    held = np.array([part.holds(0, 10_000) for part in parts])
    assert (held.sum(axis=0) == 1).all()
    np.testing.assert_allclose(held.mean(axis=1), [part.share for part in parts], atol=1e-3)
    pieces = np.concatenate([parts[0].holds(first, 123) for first in range(0, 1230, 123)])
    np.testing.assert_array_equal(pieces, held[0, :1230])
    # No period of a table goes to one part only.
    for period in range(2, 50):
        assert 0.0 < held[0, ::period][:200].mean() < 1.0


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_groups_keep_their_length_together(seed: int) -> None:
    """Whatever rows and loadings: sums of squares over all groups stay at 1 or below, in float32 as well."""
    generator = np.random.default_rng(seed)
    size, count = 6, 3
    X = generator.normal(size=(size, 500)) * np.exp(generator.normal(scale=4.0, size=500))
    X[:, :3] = 0.0
    X[:, 3] = 1e30
    loadings = np.exp(generator.normal(scale=2.0, size=(count, size)))
    loadings *= generator.random((count, size)) < 0.7
    loadings[:, 0] = 1.0

    class Given:
        def chunks(self) -> Any:
            from dpglm.rows import ArrayChunk

            return [ArrayChunk(X.astype(np.float32), np.zeros(500), None)]

        size = 6

        def row_count(self) -> int:
            return 500

    from dpglm.papers.stacking.submodel_minimisers import _Group

    total = np.square(loadings).sum(axis=0)
    square = np.zeros(500)
    for own in loadings:
        (block,) = _Group(Given(), own, total).chunks()
        square += np.square(block.X.astype(np.float64)).sum(axis=0)
    assert square.max() <= 1.0
    assert (square[:3] == 0.0).all()
    assert square[3] > 0.999


GROUPS = {"x": ["a", "b", "c"], "z": ["d", "e", "f"]}


@pytest.mark.parametrize(
    ("method", "privacy", "match"),
    [
        (PSTF(groups=7), PRIVACY, "groups out of range"),
        (PSTF(groups={"x": ["a"]}), PRIVACY, "terms in no group: 'b'"),
        (PSTF(groups={"x": ["a", "b", "a"], "z": ["c"]}), PRIVACY, "twice in group 'x'"),
        (PSTF(groups={**GROUPS, "more": ["a"]}), PRIVACY, "'a' in two groups"),
        (PSTF(groups={**GROUPS, "more": ["g"]}), PRIVACY, "'g' in group 'more'"),
        (PSTF(groups=GROUPS, importance={"x": 1.0, "z": 2.0}), PRIVACY, "importance without provenance"),
        (PSTF(groups=GROUPS, provenance="expert"), PRIVACY, "provenance without importance"),
        (PSTF(groups=GROUPS, importance={"x": 1.0}, provenance="expert"), PRIVACY, "importance of 'x'"),
        (PSTF(groups=GROUPS, importance={"a": 1.0}, provenance="expert"), PRIVACY, "no importance for 'b'"),
        (PSTF(groups=GROUPS, importance={"x": -1.0, "z": 1.0}, provenance="expert"), PRIVACY, "another kind"),
        (PSTF(groups=GROUPS, importance={"x": 0, "z": 0}, provenance="expert"), PRIVACY, "of 0 throughout"),
        (PSTF(holdout=1.0), PRIVACY, "holdout"),
        (PSTF(combine="mean"), PRIVACY, "combine"),  # type: ignore[arg-type]
        (PSTF(ridge=-1.0), PRIVACY, "ridge"),
        (PSTF(ridge=1.0), dpglm.Privacy(1.0, 1e-6), "released together"),
        (PSTS(parts=1), PRIVACY, "parts out of range"),
        (PSTS(), dpglm.Privacy(1.0, relation="add-remove"), "add-remove"),
        (PSTF(), None, "privacy=None"),
        (PSTH(), PRIVACY, "without a source"),
        (PPHTL(source="nowhere.json"), PRIVACY, "nowhere.json"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_makes_no_sense_is_refused(method: Method, privacy: Any, match: str) -> None:
    with pytest.raises(DpglmError, match=match):
        dpglm.fit(FORMULA, table(40), schema=SCHEMA, method=method, privacy=privacy, seed=1, progress=False)


def fit(formula: str = FORMULA, schema: Any = SCHEMA, **more: Any) -> dpglm.FitResult:
    return dpglm.fit(formula, table(), schema=schema, progress=False, **{"privacy": 1.0, "seed": 1, **more})


def test_any_mapping_of_groups_is_kept_as_a_plain_copy() -> None:
    given = {name: tuple(own) for name, own in GROUPS.items()}
    method = PSTF(
        groups=MappingProxyType(given), importance=MappingProxyType({"x": 1, "z": 2}), provenance="x"
    )
    given["x"] = ()
    kept = fit(method=method).specification.method.options["groups"]
    assert kept["x"] == ["a", "b", "c"]


def test_groups_of_weight_zero_are_left_out_and_shares_add_up() -> None:
    method = PSTF(groups=GROUPS, importance={"x": 3.0, "z": 0.0}, provenance="expert")
    found = fit(method=method)
    assert found._record.part is None  # one group is left
    assert found.params[["d", "e", "f"]].tolist() == [0.0, 0.0, 0.0]
    weighed = {name: float(place + 1) for place, name in enumerate(NAMES)}
    found = fit(method=PSTF(groups=GROUPS, importance=weighed, provenance="expert"))
    assert facts(found)["Epsilon of each group"] == pytest.approx([6 / 21, 15 / 21])
    assert [line.part for line in found._record.spend_lines] == [1, 1, 1, 1, 2, 2]
    assert sum(line.epsilon or 0.0 for line in found._record.spend_lines if line.part == 1) == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("combine", ["model", "majority", "weighted"])
@pytest.mark.parametrize("method", [PSTF, PSTS])
def test_a_saved_stack_predicts_as_before(method: Any, combine: str, tmp_path: Path) -> None:
    found = fit(method=method(combine=combine), privacy=(4.0, 1e-6))
    found.save(tmp_path / "stack.json")
    back = dpglm.load(tmp_path / "stack.json")
    assert back == found
    frame = table(50, seed=2)
    np.testing.assert_array_equal(back.predict(frame), found.predict(frame))
    assert 0.0 < float(found.predict(frame).min()) < float(found.predict(frame).max()) < 1.0


def test_a_source_of_another_formula_schema_or_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    fit(method=PSTF(groups=GROUPS)).save(path)
    with pytest.raises(MethodError, match="column 'f' in the source only"):
        fit("y ~ a + b + c + d + e", method=PSTH(source=path))
    other = Schema.of({"y": ["no", "yes"], **dict.fromkeys(NAMES, (-3, 3)), "c": (-5, 5)})
    with pytest.raises(MethodError, match="other bounds of"):
        fit(schema=other, method=PSTH(source=path))
    fit(method=Objective(), penalty="l2").save(path)
    with pytest.raises(MethodError, match="no stack of groups"):
        fit(method=PSTH(source=path))
    assert fit(method=PPHTL(source=path)).specification.method.name == "pphtl"
    fit(method=PSTS()).save(path)
    with pytest.raises(MethodError, match="no stack of groups"):
        fit(method=PSTH(source=path))


def test_ridges_pull_to_the_source(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    source = fit(method=PSTF(groups=GROUPS), privacy=50.0)
    source.save(path)
    near = fit(method=PSTH(source=path, ridge=1e5), privacy=1.0)
    assert source._record.part is not None
    assert near._record.part is not None
    np.testing.assert_allclose(near._record.part.coefficients, source._record.part.coefficients, atol=0.02)
    one = fit(method=PPHTL(source=path, ridge=1e5))
    np.testing.assert_allclose(one.params, source.params, atol=0.02)
    with pytest.raises(MethodError, match="larger than double precision follows"):
        fit(method=PPHTL(source=path, ridge=1e15))


@pytest.mark.parametrize("method", [PPHTL, PSTH])
@pytest.mark.parametrize("far", [1e4, 1e9, 1e300])
def test_a_source_so_large_that_rounding_would_be_felt_is_refused(
    method: Any, far: float, tmp_path: Path
) -> None:
    """Rows along which a huge source vanishes would decide whether the solver gets its certificate."""
    source = fit(method=PSTF(groups=GROUPS))
    assert source._record.part is not None
    larger = replace(source._record.part, coefficients=far * np.sign(source._record.part.coefficients))
    estimates = far * np.ones(len(source.names)) * np.diagonal(source._record.user_from_coded)
    coded = np.linalg.solve(source._record.user_from_coded, estimates)
    changed(source, part=larger, estimates=estimates, coded=coded).save(tmp_path / "main.json")
    with pytest.raises(MethodError, match="too large to start from"):
        fit(method=method(source=tmp_path / "main.json"))


def test_a_target_says_what_it_takes_for_granted_of_its_source(tmp_path: Path) -> None:
    path = tmp_path / "main.json"
    fit(method=PSTF(groups=GROUPS), seed=None).save(path)
    found = fit(method=PSTH(source=path), seed=None)
    assert "whoever is in the rows of the source as well pays its price, too" in found.privacy.assumptions
    assert any("groups of columns" in text for text in found.privacy.assumptions)
    fit(privacy=None, penalty="l2", strength=0.01).save(path)
    found = fit(method=PPHTL(source=path), seed=None)
    assert "the source promises no privacy and was made without these rows" in found.privacy.assumptions


def test_a_release_of_groups_refuses_what_one_of_them_refuses_and_loadings_that_overflow() -> None:
    asked, *_ = problem_and_rows(table(40))
    (part, _) = PSTF(groups=GROUPS).plan(asked, dpglm.Privacy(1.0, 1e-6)).releases
    assert isinstance(part, OnPart)
    groups = part.inner
    assert isinstance(groups, SubmodelMinimisers)
    assert groups.events("replace-one")
    with pytest.raises(MethodError, match="add-remove"):
        groups.events("add-remove")  # the weight of a penalty by the table's own number of rows
    for bad in (1e50, np.inf, np.nan, -1.0):
        with pytest.raises(MethodError, match="loadings"):
            replace(groups, loadings=np.where(groups.loadings > 0.0, bad, 0.0))
    with pytest.raises(ValueError, match="read-only"):
        groups.loadings[0, 0] = 2.0


ORGANISATION = """
import sys
from pathlib import Path
import pandas as pd
import dpglm
rows, ledger, method, out = sys.argv[1:5]
method = eval(method, {"m": dpglm.methods})
book = dpglm.Ledger(ledger, 2.0, dataset=Path(ledger).stem)
fit = dpglm.fit(%r, pd.read_csv(rows), schema=%r, method=method, privacy=1.0, ledger=book, progress=False)
fit.save(out)
fit.report(Path(out).with_suffix(".html"))
"""


@pytest.mark.audit
def test_two_organisations_share_a_file_and_nothing_else(tmp_path: Path) -> None:
    """Two processes, two folders, two ledgers; only the JSON is copied."""
    script = ORGANISATION % (FORMULA, SCHEMA.to_dict())
    main, branch = tmp_path / "main", tmp_path / "branch"

    def run(place: Path, rows: pd.DataFrame, method: str) -> None:
        place.mkdir(exist_ok=True)
        rows.to_csv(place / "rows.csv", index=False)
        arguments = [sys.executable, "-c", script, "rows.csv", "own.ledger", method, "out.json"]
        done = subprocess.run(arguments, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    run(main, table(2000), f"m.PSTF(groups={GROUPS})")
    branch.mkdir()
    (branch / "main.json").write_bytes((main / "out.json").read_bytes())
    for path in main.iterdir():
        path.unlink()  # nothing else of theirs is there any more
    run(branch, table(300, seed=5), "m.PSTH(source='main.json')")
    found = dpglm.load(branch / "out.json")
    assert found.private
    assert found.specification.method.name == "pst-h"
    assert found.ledger is not None
    assert (found.ledger.dataset, found.ledger.spent_epsilon) == ("own", 1.0)
    assert "epsilon = 1" in facts(found)["Price of that source, a budget of its own"]
    page = (branch / "out.html").read_text(encoding="utf-8")
    assert "a person in both pays both" in page
    text = (branch / "main.json").read_text(encoding="utf-8")
    assert len(json.loads(text)) > 5
    assert found.auc(table(4000, seed=9)) > 0.6


def test_seeds_of_random_groups_are_public_and_repeat() -> None:
    first, again, other = (
        facts(fit(method=PSTF(groups=3, split_seed=seed)))["Groups of columns"] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert sorted(name for group in first for name in group.split(": ")[1].split(" + ")) == sorted(NAMES)


@pytest.mark.parametrize("method", [PSTS(), PSTF(), PPHTL(source="main.json")], ids=lambda one: one.name)
def test_an_intercept_alone_is_no_stack(
    method: Method, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"schema": SCHEMA, "privacy": PRIVACY, "seed": 1, "progress": False}
    dpglm.fit("y ~ 1", table(40), **asked).save("main.json")
    with pytest.raises(DpglmError, match="at least one term"):
        dpglm.fit("y ~ 1", table(40), method=method, **asked)
