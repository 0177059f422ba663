"""Rankings that see one feature at a time, or a linear model: class differences, and coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpglm.curator.curator import PricedReleases
from dpglm.data.formula.model import NumericFactor
from dpglm.errors import FormulaError, MethodError
from dpglm.mechanisms.base import Rows
from dpglm.mechanisms.column_sums import ColumnSums
from dpglm.methods.base import Ask, budgeted_plan
from dpglm.methods.class_moments import class_moments, class_sums
from dpglm.postprocessing.labels import quoted
from dpglm.privacy.calibration import Target
from dpglm.spec.model_spec import ModelSpec
from dpglm.spec.plan import Plan
from dpglm.spec.ranking import RankingMethod, Weights, rankings


@rankings.register("marginal")
class Marginal(RankingMethod):
    """Differences of class means in standard deviations: one release of sums, and nothing else."""

    name = "marginal"

    def plan(self) -> PricedReleases:
        problem, privacy = self.problem, self.problem.privacy
        if privacy is None:
            raise MethodError(
                "method='marginal' with privacy=None",
                expected="a privacy budget: exact class means are a groupby",
                remedy="Use method='fwell' or method='objective', or pandas.",
            )
        pure = privacy.definition == "pure"
        mu = None if pure else Target.of(privacy).ideal_mu
        price = privacy.epsilon if mu is None else mu
        sums = class_sums(problem.box.may_be_missing, price, privacy.relation, pure=pure)
        return budgeted_plan((sums,), privacy, mu=mu)

    def weights(self, plan: PricedReleases, ask: Ask) -> Weights:
        (sums,) = plan.of_kind(ColumnSums)
        found = class_moments(sums, ask(plan.releases[0]))
        columns = np.abs(found.means[1] - found.means[0]) / found.units
        noise = np.hypot(found.noise[0], found.noise[1]) / found.units
        return Weights(self.problem.by_feature(columns), float(noise.max()))

    def algorithm(self) -> str:
        return "differences of the classes' means, in standard deviations, from one release of sums"


@rankings.register("objective")
@dataclass(frozen=True, eq=False)
class Coefficients(RankingMethod):
    """Coefficients of the linear model of ``goal="select"``, per standard deviation or per range."""

    name = "objective"

    @cached_property
    def _fit(self) -> Plan:
        """The plan of the fit whose coefficients rank features."""
        box = self.problem.box
        formula = f"{quoted(box.response)} ~ " + " + ".join(map(quoted, box.features))
        try:
            return ModelSpec.of(formula, box.schema, goal="select", privacy=self.problem.privacy).plan()
        except FormulaError as error:  # the text is ours: no more than its length can be wrong with it
            raise MethodError(
                f"{len(box.features):,} features for method='objective', which writes them as {error.found}",
                expected=error.expected,
                remedy="Name fewer features, or use method='fwell' or 'marginal', which take any number.",
            ) from None

    def plan(self) -> PricedReleases:
        return self._fit.releases

    def table(self, data: object) -> Rows:
        return self._fit.specification.coded_model.design(data)

    def weights(self, plan: PricedReleases, ask: Ask) -> Weights:
        fit = self._fit
        estimate = fit.specification.method.solve(fit.problem, plan, ask)
        model = fit.specification.coded_model.coding.model
        scales = {} if estimate.scales is None else estimate.scales.moments
        found = {}
        for term in model.terms:
            if term.order == 0:
                continue
            factor = model.factors[term.subterms[-1][0].factor]
            unit = 1.0
            if isinstance(factor, NumericFactor):
                unit = scales[factor.name][1] if factor.name in scales else factor.high - factor.low
            largest = float(np.abs(estimate.estimates[term.start : term.stop]).max())
            found[factor.expression.columns[0]] = unit * largest
        return Weights(np.array([found[name] for name in self.problem.box.features]), None)

    def algorithm(self) -> str:
        return f"coefficients of a linear model: {self._fit.description.algorithm}"
