"""What a fit without privacy knows beside its coefficients: its log-likelihood. NOT PRIVATE."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.parts import ResultPart, parts
from dpglm.tables.table import coefficient

if TYPE_CHECKING:
    from dpglm.postprocessing.record import FitRecord
    from dpglm.tables.table import Fact


@parts.register("exact fit")
@dataclass(frozen=True, eq=False)
class ExactFit(ResultPart):
    """The likelihood of a fit without privacy and without a penalty.

    Parameters
    ----------
    log_likelihood : float or None
        Of counts and of two levels. That of numbers follows from their residual variance.
    rows : float
        Rows that could be used, at least 1.
    """

    log_likelihood: float | None
    rows: float

    name: ClassVar[str] = "exact fit"

    @property
    def title(self) -> str:
        """What it is."""
        return "a fit without privacy"

    def check(self, record: FitRecord) -> None:
        """Refuse a likelihood beside a promise."""
        if not record.exact:
            raise store_error("a log-likelihood of a fit with noise", "fits with privacy=None only")
        if not math.isfinite(self.log_likelihood or 0.0) or not 1.0 <= self.rows < math.inf:
            raise store_error("a log-likelihood that is not finite, or of no rows", "finite numbers")

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        llf, aic, bic = (coefficient(criterion(record, name)) for name in ("llf", "aic", "bic"))
        return (("Likelihood", f"log-likelihood {llf}, AIC {aic}, BIC {bic}"),)


def criterion(record: FitRecord, name: str) -> float | None:
    """The log-likelihood, ``"llf"``, AIC or BIC, as statsmodels' GLM has them; None where there are none.

    The variance of a gaussian response is that of maximum likelihood in the likelihood, and no parameter in
    AIC and BIC; R counts it as one.
    """
    part = record.part
    if not isinstance(part, ExactFit) or record.released is None:
        return None
    llf, size = part.log_likelihood, len(record.names)
    if llf is None:
        share = (part.rows - size) / part.rows
        if not share > 0.0:
            return None
        variance = record.released.dispersion * share
        llf = -0.5 * part.rows * (math.log(2.0 * math.pi * variance) + 1.0)
    return {"llf": llf, "aic": -2.0 * llf + 2.0 * size, "bic": -2.0 * llf + math.log(part.rows) * size}[name]
