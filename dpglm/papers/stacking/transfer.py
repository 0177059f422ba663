"""Hypothesis transfer: fits that start from another organisation's released models."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.methods.base import Ask, Estimate, Geometry, Problem, budgeted_plan, methods, require_positive
from dpglm.papers.stacking.budget_split import BudgetSplit, RidgeModels
from dpglm.papers.stacking.pst import PSTF
from dpglm.papers.stacking.stack import Combine, Stack
from dpglm.papers.stacking.stacked import Grouping, distances, linear_estimate, whole_rows
from dpglm.papers.stacking.submodel_minimisers import SubmodelMinimisers
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.store import fingerprint
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import Fact, MethodDescription
from dpglm.registry import with_options
from dpglm.typing import FloatVector


@dataclass(frozen=True)
class _Transfer(RidgeModels):
    """A method that starts from a saved result.

    Parameters
    ----------
    source : path
        Of a result that ``save`` wrote, wherever it was fitted.
    digest : str
        The fingerprint of that result, read from it; another file of the same name is refused.
    """

    source: str | PathLike[str] = ""
    digest: str = ""
    _saved: FitRecord | None = field(default=None, repr=False, compare=False)

    def opened(self, load: Callable[[str | PathLike[str]], Any]) -> Self:
        if self._saved is not None:
            return self
        if not isinstance(self.source, str | PathLike) or not str(self.source):
            raise MethodError(
                f"method={self.name!r} without a source",
                expected="the path of a saved result",
                remedy=f"Use dpglm.methods.{type(self).__name__}(source='main.json').",
            )
        saved = load(self.source)
        digest = fingerprint(saved)
        if self.digest not in ("", digest):
            raise MethodError(
                "a source that is not the result which the specification names",
                expected="the saved result of that fingerprint",
                remedy="Find the file that the fit started from, or make the method anew from this one.",
            )
        # The name alone: results keep options, and no path of this machine.
        return replace(self, source=Path(self.source).name, digest=digest, _saved=saved)

    @property
    def saved(self) -> FitRecord:
        """The source, read."""
        assert self._saved is not None, "opened before it is planned"
        return self._saved

    def _require_match(self, problem: Problem) -> None:
        """Refuse a source whose columns are not these: its coefficients would mean something else.

        Raises
        ------
        MethodError
            Names the first column, or bound, that differs.
        """
        saved, names = self.saved, problem.geometry.names
        if saved.specification.family.name != problem.family.name:
            raise MethodError(
                f"a source of family {saved.specification.family.name!r}",
                expected=f"family {problem.family.name!r}",
                remedy="Fit the source with the same family.",
            )
        if saved.link != problem.family.link:
            raise MethodError(
                f"a source with the {saved.link} link, whose coefficients mean something else",
                expected=f"the {problem.family.link} link",
                remedy="Fit the source with goal='explain'.",
            )
        remedy = f"Use the formula of the source: {saved.specification.formula!r}."
        for name in (*saved.names, *names):
            if name not in saved.names or name not in names:
                raise MethodError(
                    f"column {name!r} in the {'source' if name in saved.names else 'formula'} only",
                    expected="the same formula and levels for source and target",
                    remedy=remedy,
                )
        if saved.names != names:
            raise MethodError(
                "the columns of the source in another order", expected="the same formula", remedy=remedy
            )

    def _require_bounds(self, geometry: Geometry) -> None:
        """Refuse a source whose bounds are not these, by which group models are scaled."""
        here = np.asarray(geometry.user_from_coded, dtype=np.float64)
        there = np.asarray(self.saved.user_from_coded, dtype=np.float64)
        for name, ours, theirs in zip(geometry.names, here, there, strict=True):
            if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-12 * float(np.abs(ours).max())):
                raise MethodError(
                    f"other bounds of {name!r}, or of what weighs beside it, than the source's",
                    expected="the same schema for source and target",
                    remedy="Use the schema that the source has: dpglm.load(source).schema.",
                )

    def _premise(self) -> str:
        """What the guarantee of a target takes for granted of its source."""
        if self.saved.guarantee.private:
            return "whoever is in the rows of the source as well pays its price, too"
        return "the source promises no privacy and was made without these rows"

    def _source_facts(self) -> tuple[Fact, ...]:
        source = f"{self.saved.specification.formula}  [{self.saved.specification.method.name}]"
        return (
            Fact("Source of the coefficients that the fit is pulled to", source),
            Fact("Price of that source, a budget of its own", self.saved.guarantee.statement()),
            Fact("On that source", "budgets of source and target are separate; a person in both pays both"),
        )


@methods.register("pst-h")
@dataclass(frozen=True)
class PSTH(_Transfer):
    """A stack at a branch whose models start from those of a main organisation, of which a file came over.

    Groups, importance and its provenance are those of the source, fitted with ``method=PSTF(...)``. The ridge
    of each model pulls to the source's: where the branch's rows say little, the source's model stays.

    Parameters
    ----------
    source : path
        Of the saved stack.
    combine, holdout : str, float
        As in `PSTF`, for the target.
    ridge : float or None
        How strongly each model is pulled, sum units. None: the least that privacy needs.
    stacking : str
        Options of the `PSTF` that the first source of a chain was fitted with; read from the source.

    References
    ----------
    The STACK paper, PST-H. Its source costs K times what it claims; here the source is a `PSTF`.

    Examples
    --------
    >>> PSTH(source="main.json").name
    'pst-h'
    """

    combine: Combine = "model"
    holdout: float = 0.5
    ridge: float | None = None
    stacking: str = ""

    name: ClassVar[str] = "pst-h"

    def _stacking(self, problem: Problem) -> tuple[PSTF, Stack]:
        """The source's groups with the target's options, and the source's models."""
        self._require_match(problem)
        saved = self.saved
        if saved.specification.method.name not in ("pst-f", "pst-h") or not isinstance(saved.part, Stack):
            raise MethodError(
                f"a source by method {saved.specification.method.name!r}, which is no stack of groups",
                expected="a fit with dpglm.methods.PSTF of two groups or more",
                remedy="Use dpglm.methods.PPHTL(source=...), which starts from one model.",
            )
        self._require_bounds(problem.geometry)
        chosen = with_options(PSTF, json.loads(self.stacking))
        return replace(chosen, combine=self.combine, holdout=self.holdout, ridge=self.ridge), saved.part

    def opened(self, load: Callable[[str | PathLike[str]], Any]) -> Self:
        if self._saved is not None:
            return self
        opened = super().opened(load)
        method = opened.saved.specification.method
        first = method.options.get("stacking", "{}") if method.name == "pst-h" else json.dumps(method.options)
        return replace(opened, stacking=str(first))

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        chosen, stack = self._stacking(problem)
        grouping, _ = chosen.grouping(problem, pure=False)
        if (grouping.names, grouping.terms) != (stack.names, stack.groups):
            raise MethodError(
                "a source whose models do not belong to its groups",
                expected="a file as written by save()",
                remedy="Save the source again from the fit itself.",
            )
        plan = chosen.plan(problem, privacy, stack.coefficients)
        with_premise = replace(plan.guarantee, assumptions=(*plan.guarantee.assumptions, self._premise()))
        return replace(plan, guarantee=with_premise)

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        chosen, stack = self._stacking(problem)
        return chosen.solve(problem, plan, ask, stack.coefficients)

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        return self._stacking(problem)[0].expected(problem, plan, rows)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        described = self._stacking(problem)[0].describe(problem, plan)
        return replace(
            described,
            algorithm="stacking of models that start from another organisation's (PST-H)",
            facts=(*described.facts, *self._source_facts()),
        )


@methods.register("pphtl")
@dataclass(frozen=True)
class PPHTL(_Transfer):
    """One model that starts from another organisation's: hypothesis transfer without stacking.

    Our reading of the baseline that the STACK paper compares with: a ridge that pulls to the source's
    coefficients.

    Parameters
    ----------
    source : path
        Of any saved fit of the same formula; of a stack, its linear approximation is taken.
    ridge : float or None
        How strongly coefficients are pulled, sum units. None: the least that privacy needs.

    Examples
    --------
    >>> PPHTL(source="main.json").name
    'pphtl'
    """

    ridge: float | None = None

    name: ClassVar[str] = "pphtl"

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        split = BudgetSplit.of(problem, privacy, self.name)
        require_positive(self.ridge, "ridge")
        self._require_match(problem)
        grouping, (centre,) = self._grouping_and_centre(problem)
        (mask,), (far,) = grouping.masks(problem.geometry), distances([centre])
        model = SubmodelMinimisers((split.alone(problem, mask, self.ridge, far),), grouping.loadings)
        return budgeted_plan((model,), split.privacy, mu=split.mu, more=(self._premise(),))

    def _grouping_and_centre(self, problem: Problem) -> tuple[Grouping, list[FloatVector]]:
        """All columns, and the source's coefficients in their coordinates."""
        grouping = whole_rows(problem)
        coded = np.asarray(problem.geometry.coded_from_user, dtype=np.float64) @ self.saved.estimates
        return grouping, grouping.loaded(coded[None])

    def solve(self, problem: Problem, plan: PricedReleases, ask: Ask) -> Estimate:
        grouping, (centre,) = self._grouping_and_centre(problem)
        return linear_estimate(problem, grouping.coded([ask(plan.releases[0], centre)])[0])

    def expected(self, problem: Problem, plan: PricedReleases, rows: ExpectedRows) -> EstimateNoise:
        (release,) = plan.of_kind(SubmodelMinimisers)
        return release.expected_noise(rows)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        return MethodDescription(
            "objective perturbation around another organisation's model (PPHTL)",
            plan.describe(),
            "inside the objective",
            plan.why(),
            facts=self._source_facts(),
        )
