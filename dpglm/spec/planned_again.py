"""The plan of a fit, made again from the specification that its result keeps."""

from __future__ import annotations

from dpglm.errors import MethodError
from dpglm.postprocessing.restriction import paid_specification
from dpglm.postprocessing.site_pool import PooledSites
from dpglm.results.fit_result import FitResult
from dpglm.spec.model_spec import ModelSpec
from dpglm.spec.plan import Plan


def plan_of(fit: object) -> Plan:
    """The plan that a fit was run by, made again from the specification that it keeps.

    Raises
    ------
    MethodError
        Something that is no fit, or one whose plan is another one today.
    """
    if not isinstance(fit, FitResult):
        raise MethodError(
            f"audit of {type(fit).__name__}",
            expected="what dpglm.fit, dpglm.load or dpglm.plan gave back",
            remedy="Use dpglm.audit(fit), or dpglm.audit(dpglm.plan(...)).",
        )
    if isinstance(fit._record.part, PooledSites):
        raise MethodError(
            "audit of a pooled fit, which released nothing itself",
            expected="the fit of one site",
            remedy="Audit the result of each site.",
        )
    plan = ModelSpec.of_document(paid_specification(fit._record)).plan(n=fit.n_rows or None)
    if plan.fingerprint != fit.plan_fingerprint:
        raise MethodError(
            f"a fit by dpglm {fit.version} whose plan does not follow from its specification",
            expected="the plan that was charged",
            remedy="Audit it with the version of dpglm that made it, or audit dpglm.plan(...).",
        )
    return plan
