"""`dpglm.tune`: a private choice of penalty, strength or method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from os import PathLike
from typing import Any, Final

from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import find_schema
from dpglm.errors import MethodError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties.base import strength_of
from dpglm.ledger.ledger import Ledger
from dpglm.methods.base import Method, methods
from dpglm.postprocessing.record import Goal
from dpglm.privacy.budget import Privacy
from dpglm.registry import options_of
from dpglm.results.fit_result import FitResult
from dpglm.results.profile import Profile
from dpglm.spec import arguments
from dpglm.spec.defaults import DEFAULT_FAMILY, DEFAULT_METHOD
from dpglm.spec.model_spec import ModelSpec
from dpglm.spec.profiled import informed

_NAMES: Final = ("method", "penalty", "strength")
_MOST: Final = 100


def tune(
    formula: str,
    data: object,
    *,
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None = None,
    family: str | Family = DEFAULT_FAMILY,
    privacy: float | tuple[float, float] | Privacy | arguments.Required | None = arguments.REQUIRED,
    goal: Goal = "predict",
    holdout: float = 0.2,
    profile: Profile | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    key: str | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> FitResult:
    """Choose a penalty, its strength or a method privately, by the error on rows held out.

    The whole search costs ``privacy``. Each fit therefore has about half of it, and reads fewer rows: most
    tables are predicted better by the default of `dpglm.fit`, see ``docs/methods.md``. Where an information
    matrix is released, every penalty and strength is free: use `FitResult.refit`.

    Parameters
    ----------
    formula, data, schema, family, profile, ledger, key, seed, progress
        As for `dpglm.fit`; one table, and replace-one neighbours.
    grid : mapping of lists, or list of mappings
        All combinations of ``method``, ``penalty`` and ``strength``, as for `dpglm.fit`; the candidates of a
        list of mappings are put together. 2 to 100 candidates.
    privacy : float, (epsilon, delta), Privacy or None
        Of the whole search, required. None chooses by exact errors, without privacy.
    goal : {"predict", "select", "explain"}
        Of each fit.
    holdout : float
        Share of the rows, from .05 to .5, on which fits are compared and which no fit reads.

    Returns
    -------
    FitResult
        The chosen fit, with the price of the whole search in its guarantee. ``candidates()`` lists what was
        tried, ``summary()`` says what was chosen and why.

    Raises
    ------
    PrivacyError, FormulaError, SchemaError, MethodError
        From public facts alone, before anything is charged or read.
    BudgetExceeded
        The ledger does not cover the search; nothing was read.

    Notes
    -----
    Two candidates, and sometimes three, are all fitted, and all errors are released. Of more, one is drawn at
    random, fitted and compared, a secret number of times, 26 on average: that costs twice the epsilon of one
    fit, however many candidates there are. The error is the mean squared error of predictions, of a binary
    response the Brier score.

    References
    ----------
    Liu and Talwar (2019), "Private selection from private candidates", STOC; Papernot and Steinke (2022),
    "Hyperparameter tuning with Renyi differential privacy", ICLR.

    Examples
    --------
    >>> import dpglm
    >>> data = dpglm.load_data("simulated")
    >>> grid = {"penalty": ["l1", "l2"], "strength": [0.001, 0.1]}
    >>> fit = dpglm.tune("y ~ x1 + x2", data, grid=grid, privacy=2.0, seed=1)
    >>> fit.privacy.epsilon, fit.candidates().shape
    (2.0, (4, 4))
    """
    budget = arguments.privacy_of(privacy)
    chosen_family = arguments.piece_of(families, Family, family, "family='binomial'")
    options = [_option(asked, budget, chosen_family, goal) for asked in _asked(grid)]
    if not 2 <= len(options) <= _MOST or any(option in options[:at] for at, option in enumerate(options)):
        raise MethodError(
            "a grid of fewer than two candidates, too many, or the same one twice",
            expected=f"2 to {_MOST} different candidates",
            remedy="Use grid={'strength': [0.001, 0.01, 0.1]}.",
        )
    if arguments.is_sites(data):
        raise MethodError(
            "tables by site", expected="one table to choose on", remedy="Tune at one site, fit at the others."
        )
    arguments.noise_of(seed)
    opened = arguments.ledger_of(ledger, key)
    kind: Any = methods["tune"]
    spec = ModelSpec.of(
        formula,
        informed(find_schema(data, schema, formula), profile),
        family=chosen_family,
        goal=goal,
        method=kind(candidates=tuple(options), holdout=holdout),
        privacy=budget,
    )
    return spec.plan().fit(data, ledger=opened, key=key, seed=seed, progress=progress)


def _asked(grid: object) -> list[dict[str, Any]]:
    """Arguments of each candidate, by name."""
    grids = [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(grids, list | tuple) or not all(
        isinstance(each, Mapping) and set(each) <= set(_NAMES) for each in grids
    ):
        raise MethodError(
            f"grid of type {type(grid).__name__}, or with other names",
            expected=f"a mapping of lists, or a list of mappings, with the names {', '.join(_NAMES)}",
            remedy="Use grid={'penalty': ['l1', 'l2'], 'strength': [0.001, 0.01, 0.1]}.",
        )
    candidates = []
    for each in grids:
        values = [value if isinstance(value, list | tuple) else [value] for value in each.values()]
        candidates += [dict(zip(each, chosen, strict=True)) for chosen in product(*values)]
    return candidates


def _option(
    asked: Mapping[str, Any], budget: Privacy | None, family: Family, goal: Goal
) -> dict[str, object]:
    """A candidate with all that its defaults stand for, as plain values."""
    method = asked.get("method", DEFAULT_METHOD)
    if isinstance(method, str) and method == DEFAULT_METHOD:
        method = arguments.auto(budget, family)
    chosen = arguments.piece_of(methods, Method, method, "method='auto'")
    penalty = arguments.penalty_of(asked.get("penalty"), goal, chosen, family)
    return {
        "method": chosen.name,
        "method_options": options_of(chosen),
        "penalty": penalty.name,
        "penalty_options": options_of(penalty, without=["strength"]),
        "strength": arguments.checked_strength(strength_of(asked.get("strength"), penalty)),
    }
