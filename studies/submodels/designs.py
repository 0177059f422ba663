"""Tables that submodels are judged on: dependent numbers and levels, terms that matter or not.

None of them is one of the 160 that the limits of acceptance were set and judged on before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

import dpglm
from dpglm.typing import FloatMatrix, FloatVector
from studies.coverage.designs.design import columns_of
from studies.coverage.designs.likelihood import maximum, standard_errors

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS, MOST_DROPS = 20, 5
# Predictors of counts stay below this, and counts below their declared largest one.
MOST_ETA, LARGEST = 3.0, 80
EPSILONS = (0.5, 1.0, 4.0)
Asked = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Judged:
    """One design: rows that stay, the true mean of each response, and the submodels that are asked for.

    ``idle`` has, for each submodel, whether nothing that it leaves out has an effect.
    """

    seed: int
    family: str
    frame: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    mean: FloatVector
    submodels: tuple[Asked, ...]
    idle: tuple[bool, ...]

    @property
    def epsilon(self) -> float:
        """The budgets take turns, for each family by itself."""
        return EPSILONS[self.seed // 2 % len(EPSILONS)]

    def response(self, number: int) -> FloatVector:
        """That of a replication."""
        random = np.random.default_rng([self.seed, 1, number])
        if self.family == "binomial":
            return (random.random(len(self.mean)) < self.mean).astype(np.float64)
        return np.minimum(random.poisson(self.mean), LARGEST).astype(np.float64)

    def columns(self, formula: str, asked: Asked) -> tuple[FloatMatrix, tuple[str, ...]]:
        """Columns of a submodel and their names."""
        import pandas as pd

        frame = self.frame.copy()
        for column, groups in asked.get("merge", {}).items():
            joined = {old: new for new, olds in groups.items() for old in olds}
            old = [str(level) for level in frame[column].cat.categories]
            levels = list(dict.fromkeys(joined.get(level, level) for level in old))
            frame[column] = pd.Categorical(frame[column].astype(str).replace(joined), categories=levels)
        return columns_of(formula.split(" ~ ")[1], frame)

    def likelihood(self, X: FloatMatrix, y: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Maximum likelihood of a response, or of its mean, and standard errors."""
        beta = maximum(X, y, self.family, np.zeros(X.shape[1]))
        return beta, standard_errors(X, y, self.family, beta)


def drawn(seed: int) -> Judged:
    """The design of a seed: even ones have two levels, odd ones counts."""
    random = np.random.default_rng([20_270, seed])
    family = "poisson" if seed % 2 else "binomial"
    n = round(float(np.exp(random.uniform(np.log(1_000), np.log(50_000)))))
    frame, declared = _frame(random, n)
    terms = list(frame.columns)
    numbers, factors = [t for t in terms if t[0] == "x"], [t for t in terms if t[0] == "f"]
    if random.random() < 0.6 and factors:
        terms.append(f"{random.choice(numbers)}:{random.choice(factors)}")
    elif random.random() < 0.4 and len(numbers) > 1:
        terms.append(":".join(random.choice(numbers, 2, replace=False)))
    X, names = columns_of(" + ".join(terms), frame)
    if X.shape[1] > MOST_COLUMNS:
        terms = [term for term in terms if ":" not in term]
        X, names = columns_of(" + ".join(terms), frame)
    nothing = [term for term in terms if random.random() < 0.3] or [str(random.choice(terms))]
    eta, zero = _predictor(random, X, names, terms, nothing, family)
    mean = expit(eta) if family == "binomial" else np.exp(eta)
    declared["y"] = [0, 1] if family == "binomial" else (0, LARGEST)
    submodels, idle = _submodels(random, terms, zero, frame)
    schema = dpglm.Schema.of(declared)
    return Judged(seed, family, frame, schema, "y ~ " + " + ".join(terms), mean, submodels, idle)


def _frame(random: np.random.Generator, n: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    import pandas as pd

    count, factors = int(random.integers(1, 8)), int(random.integers(0, 3))
    along, common = float(random.choice([0.0, 0.3, 0.6, 0.9])), random.standard_normal(n)
    columns: dict[str, Any] = {}
    declared: dict[str, Any] = {}
    for j in range(max(count, 2 - factors)):
        latent = np.sqrt(along) * common + np.sqrt(1.0 - along) * random.standard_normal(n)
        shape = random.choice(["normal", "normal", "skewed", "heavy", "binary"])
        number = {
            "normal": latent,
            "skewed": np.exp(0.7 * latent),
            "heavy": latent * np.sqrt(5.0 / random.chisquare(5, n)),
            "binary": (latent > random.choice([0.0, 1.0, 1.8])) * 1.0,
        }[shape]
        bounds = (0.0, 1.0) if shape == "binary" else (0.0, 12.0) if shape == "skewed" else (-6.0, 6.0)
        columns[f"x{j}"], declared[f"x{j}"] = np.clip(number, *bounds), bounds
    for j in range(factors):
        size = int(random.integers(2, 13 if factors == 1 else 8))
        levels = [f"l{place:02d}" for place in range(size)]
        shares = np.maximum(random.dirichlet(np.full(size, random.choice([0.5, 2.0, 10.0]))), 0.004)
        places = random.random(n)
        if random.random() < 0.5:  # levels that go with the numbers
            places = (np.argsort(np.argsort(common + 0.7 * random.standard_normal(n))) + 0.5) / n
        codes = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], places)
        columns[f"f{j}"] = pd.Categorical(np.array(levels)[codes], categories=levels)
        declared[f"f{j}"] = levels
    return pd.DataFrame(columns), declared


def _predictor(
    random: np.random.Generator,
    X: FloatMatrix,
    names: tuple[str, ...],
    terms: list[str],
    nothing: list[str],
    family: str,
) -> tuple[FloatVector, dict[str, bool]]:
    """Predictors, and which terms have no effect: coefficients are of sizes by term, per deviation."""
    sizes = {t: 0.0 if t in nothing else float(random.choice([0.05, 0.15, 0.4, 0.8])) for t in terms}
    beta = np.zeros(len(names))
    deviations = X.std(axis=0)
    for j, name in enumerate(names):
        if name != "Intercept":
            term = ":".join(part.split("[")[0] for part in name.split(":"))
            known = term if term in sizes else ":".join(reversed(term.split(":")))
            numeric = "[" not in name and deviations[j] > 0.0
            beta[j] = sizes[known] * random.standard_normal() / (deviations[j] if numeric else 1.0)
    eta = X @ beta
    eta -= eta.mean()
    middle = random.normal(-0.5, 1.0) if family == "binomial" else random.normal(0.2, 0.7)
    most = float(np.abs(eta).max()) if family == "binomial" else float(eta.max())
    limit = 8.0 if family == "binomial" else MOST_ETA - middle
    eta *= min(1.0, limit / max(most, 1e-9))
    return middle + eta, {term: term in nothing for term in terms}


def _submodels(
    random: np.random.Generator, terms: list[str], zero: dict[str, bool], frame: pd.DataFrame
) -> tuple[tuple[Asked, ...], tuple[bool, ...]]:
    """Terms by themselves, with those that contain them; two of them; two levels as one."""
    found: list[tuple[Asked, bool]] = []
    chosen = [str(t) for t in random.permutation(terms)[:MOST_DROPS]]
    for term in chosen:
        inside = [t for t in terms if set(term.split(":")) <= set(t.split(":"))]
        if any(set(t.split(":")).isdisjoint(inside) for t in terms if t not in inside):
            found.append(({"drop": term}, all(zero[t] for t in inside)))
    if len(terms) > 3:
        pair = chosen[:2]
        gone = [t for t in terms if any(set(one.split(":")) <= set(t.split(":")) for one in pair)]
        if len(gone) < len(terms):
            found.append(({"drop": pair}, all(zero[t] for t in gone)))
    for factor in (t for t in terms if t[0] == "f" and ":" not in t):
        levels = list(frame[factor].cat.categories)
        if len(levels) > 2:
            two = [str(level) for level in random.choice(levels, 2, replace=False)]
            held = [t for t in terms if factor in t.split(":")]
            found.append(({"merge": {factor: {"both": two}}}, all(zero[t] for t in held)))
    return tuple(one for one, _ in found), tuple(idle for _, idle in found)
