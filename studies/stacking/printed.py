"""Algorithms 1 to 3 of the STACK paper as they are printed. NOT PRIVATE: they tune and scale on the rows.

Strengths are chosen on a third of the rows by their areas, rows are divided by the longest one, columns are
the principal components of the fitted rows where a table comes in components, and so are their weights. The
paper does all of this, and says of its weights that it costs privacy. Of an intercept it says nothing:
columns are centred at their means, and answers at 1/2, so that none is needed to rank rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

import dpglm
from dpglm.typing import FloatMatrix, FloatVector, IntVector
from studies.jobs import Job, Result
from studies.paired import auc
from studies.stacking.grid import HOLDOUT, VARIANCE, K, ranked_groups, seed_of, weights_of
from studies.stacking.tables import Sample

if TYPE_CHECKING:
    import pandas as pd

# The paper does not say among which strengths it chose.
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
VALIDATION = 1 / 3


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the paper reads them.

    Parameters
    ----------
    X : ndarray, shape (n, p)
    signs : ndarray, shape (n,)
        The response, -1 or 1.
    """

    X: FloatMatrix
    signs: FloatVector

    def part(self, which: IntVector) -> Rows:
        """Some of the rows."""
        return Rows(self.X[which], self.signs[which])


@dataclass(frozen=True, eq=False)
class Fitted:
    """Models of groups of columns, or of parts of the rows, and the high-level model of their answers."""

    columns: Sequence[IntVector]  # of each model
    scales: Sequence[float]  # by which its rows are multiplied
    models: Sequence[FloatVector]
    high: FloatVector | None  # None for one model without a high-level one

    def answers(self, X: FloatMatrix) -> FloatMatrix:
        """Probabilities by each model less 1/2, shape (n, K)."""
        models = zip(self.columns, self.scales, self.models, strict=True)
        return np.column_stack([expit(scale * X[:, own] @ model) - 0.5 for own, scale, model in models])

    def scores(self, X: FloatMatrix) -> FloatVector:
        """What rows are ranked by, shape (n,)."""
        answers = self.answers(X)
        return answers[:, 0] if self.high is None else np.asarray(answers @ self.high)


def work(job: Job, rows: Sample) -> Result:
    """Areas on test rows of the strength that is best on validation rows."""
    noise = np.random.default_rng(seed_of(job))
    whole, test, names = _matrices(rows)
    checked, fitted = split(whole, noise)
    candidates = [_fit(job, rows, names, fitted, strength, noise) for strength in STRENGTHS]
    areas = [auc(checked.signs > 0.0, fit.scores(checked.X)) for fit, _ in candidates]
    best, weights = candidates[int(np.argmax(areas))]
    found: Result = {"auc": auc(rows.positive, best.scores(test))}
    if best.high is not None:
        answers = best.answers(test)
        found["negative"] = float(np.mean(best.high < 0.0))
        if job["method"] == "pst-f-w" and (job["models"], job["weights"]) == (K, VARIANCE):
            found["alone"] = {f"C-{at}": auc(rows.positive, one) for at, one in enumerate(answers.T)}
            found["majority"] = auc(rows.positive, (answers > 0.0).mean(axis=1))
            found["weighted"] = auc(rows.positive, (answers > 0.0) @ weights)
    return found


def plr(
    rows: Rows,
    epsilon: float,
    strength: float,
    noise: np.random.Generator,
    centre: FloatVector | None = None,
) -> FloatVector:
    """Algorithm 1, lines 1 to 9, on rows of norm at most 1: coefficients, shape (p,)."""
    count = len(rows.X)
    room = epsilon - np.log1p(1.0 / (2.0 * count * strength) + 1.0 / (16.0 * (count * strength) ** 2))
    if room > 0.0:
        return perturbed(rows, room, strength, 0.0, noise, centre)
    more = 1.0 / (4.0 * count * np.expm1(epsilon / 4.0)) - strength
    return perturbed(rows, epsilon / 2.0, strength, more, noise, centre)


def perturbed(
    rows: Rows,
    epsilon: float,
    strength: float,
    ridge: float,
    noise: np.random.Generator,
    centre: FloatVector | None = None,
) -> FloatVector:
    """The minimiser of equation (2), which ``strength`` pulls to the centre and ``ridge`` to zero.

    The objective is the mean logistic loss + b'w / n + ridge |w|^2 / 2 + strength |w - centre|^2 / 2; the
    density of b is proportional to exp(-epsilon |b| / 2).
    """
    count, size = rows.X.shape
    origin = np.zeros(size) if centre is None else centre
    direction = noise.standard_normal(size)
    b = direction / np.linalg.norm(direction) * noise.gamma(size, 2.0 / epsilon)

    def objective(w: FloatVector) -> tuple[float, FloatVector]:
        margins = rows.signs * (rows.X @ w)
        slope = -(rows.signs * expit(-margins)) @ rows.X / count
        away = w - origin
        value = np.logaddexp(0.0, -margins).mean() + b @ w / count
        value += 0.5 * ridge * (w @ w) + 0.5 * strength * (away @ away)
        return float(value), slope + b / count + ridge * w + strength * away

    return np.asarray(minimize(objective, np.zeros(size), jac=True, method="L-BFGS-B").x)


def stacked(
    fitted: Rows,
    columns: Sequence[IntVector],
    shares: FloatVector,
    epsilon: float,
    strength: float,
    noise: np.random.Generator,
    centres: Sequence[FloatVector] | None = None,
) -> Fitted:
    """Algorithm 3 on all rows, the first part of them for the models of groups of columns."""
    low, high = np.split(np.arange(len(fitted.X)), [int((1.0 - HOLDOUT) * len(fitted.X))])
    scales = [float(share) / longest(fitted.X[:, own]) for own, share in zip(columns, shares, strict=True)]
    count = len(low)
    ratios = shares**2 / (count * strength)
    room = epsilon - np.log1p(ratios / 2.0 + ratios**2 / 16.0).sum()
    models = []
    for place, (own, scale, share) in enumerate(zip(columns, scales, shares, strict=True)):
        more, spent = 0.0, room
        if not room > 0.0:
            more = share**2 / (4.0 * count * np.expm1(epsilon * share / 4.0)) - strength
            spent = epsilon / 2.0
        rows = Rows(scale * fitted.X[np.ix_(low, own)], fitted.signs[low])
        centre = None if centres is None else centres[place]
        models.append(perturbed(rows, spent, strength, more, noise, centre))
    return combined(fitted.part(high), columns, scales, models, epsilon, strength, noise)


def combined(
    rows: Rows,
    columns: Sequence[IntVector],
    scales: Sequence[float],
    models: Sequence[FloatVector],
    epsilon: float,
    strength: float,
    noise: np.random.Generator,
) -> Fitted:
    """The models with the high-level model of their answers on other rows."""
    meta = Fitted(columns, scales, models, None).answers(rows.X)
    weights = plr(Rows(meta / longest(meta), rows.signs), epsilon, strength, noise)
    return Fitted(columns, scales, models, weights)


def split(rows: Rows, noise: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows that strengths are chosen on, and rows to fit."""
    order = noise.permutation(len(rows.X))
    cut = round(VALIDATION * len(order))
    return rows.part(order[:cut]), rows.part(order[cut:])


def _fit(
    job: Job,
    rows: Sample,
    names: Sequence[str],
    fitted: Rows,
    strength: float,
    noise: np.random.Generator,
) -> tuple[Fitted, FloatVector]:
    """One candidate, and the weights of its models."""
    epsilon, method = job["epsilon"], job["method"]
    if method in ("pst-f-u", "pst-f-w"):
        columns, shares = _groups(job, rows, names, fitted)
        return stacked(fitted, columns, shares, epsilon, strength, noise), shares
    every, scale = np.arange(fitted.X.shape[1]), 1.0 / longest(fitted.X)
    scaled = Rows(scale * fitted.X, fitted.signs)
    if method == "plr":
        return Fitted([every], [scale], [plr(scaled, epsilon, strength, noise)], None), np.ones(1)
    low, high = np.split(np.arange(len(fitted.X)), [int((1.0 - HOLDOUT) * len(fitted.X))])
    parts = np.array_split(low, job["models"])
    models = [plr(scaled.part(part), epsilon, strength, noise) for part in parts]
    count = len(parts)
    stack = combined(fitted.part(high), [every] * count, [scale] * count, models, epsilon, strength, noise)
    return stack, np.ones(count)


def _groups(
    job: Job, rows: Sample, names: Sequence[str], fitted: Rows
) -> tuple[list[IntVector], FloatVector]:
    """Columns of each model, and q_k of each, equation (6)."""
    if job["method"] == "pst-f-u":
        order = np.random.default_rng(job["repeat"]).permutation(len(names))
        return list(np.array_split(order, job["models"])), np.full(job["models"], 1.0 / job["models"])
    importance = _importance(rows, names, fitted)
    ranked = sorted(importance, key=lambda name: -importance[name])
    groups = ranked_groups(ranked, job["models"])
    weights = weights_of(ranked, job["weights"], importance)
    places = {name: np.flatnonzero([own == name for own in names]) for name in ranked}
    columns = [np.concatenate([places[name] for name in own]) for own in groups.values()]
    shares = np.array([sum(weights[name] for name in own) for own in groups.values()])
    return columns, shares / shares.sum()


def _importance(rows: Sample, names: Sequence[str], fitted: Rows) -> dict[str, float]:
    """Variances of the components of the fitted rows, or the doctors' weights of named columns."""
    if rows.provenance.startswith("public data"):
        return dict(zip(names, fitted.X.var(axis=0).tolist(), strict=True))
    return rows.importance


def longest(X: FloatMatrix) -> float:
    """Norm of the longest row; 1 where all are zero.

    Examples
    --------
    >>> longest(np.array([[3.0, 4.0], [1.0, 0.0]]))
    5.0
    """
    return float(np.sqrt((X**2).sum(axis=1).max())) or 1.0


def _matrices(rows: Sample) -> tuple[Rows, FloatMatrix, list[str]]:
    """Training rows, test rows, and the name of each column's variable; levels are indicators."""
    response = rows.formula.split(" ~ ")[0]
    train, names = indicators(rows.train, rows.schema, list(rows.importance))
    test, _ = indicators(rows.test, rows.schema, list(rows.importance))
    second: Any = rows.schema.variables[response].levels[1]
    signs = np.where((rows.train[response].astype(str) == str(second)).to_numpy(), 1.0, -1.0)
    train, test = train - train.mean(axis=0), test - train.mean(axis=0)
    if rows.provenance.startswith("public data"):
        directions = np.linalg.eigh(np.cov(train.T))[1][:, ::-1]
        train, test = train @ directions, test @ directions
    return Rows(train, signs), test, names


def indicators(
    frame: pd.DataFrame, schema: dpglm.Schema, columns: Sequence[str]
) -> tuple[FloatMatrix, list[str]]:
    """Columns as numbers, missing ones as 0, levels but the first as 0 or 1; and the column of each."""
    parts, names = [], []
    for name in columns:
        levels = getattr(schema.variables[name], "levels", None)
        if levels is None:
            parts.append(frame[name].to_numpy(dtype=np.float64)[:, None])
        else:
            told = frame[name].astype(str).to_numpy()
            parts.append(np.column_stack([told == str(level) for level in levels[1:]]).astype(np.float64))
        names += [name] * parts[-1].shape[1]
    return np.nan_to_num(np.hstack(parts)), names
