"""Checks of a saved result: what was promised, paid and told, computed again from what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from dpglm.data.schema.schema import Schema
from dpglm.errors import DpglmError, MethodError, PrivacyError
from dpglm.glm.penalties import Penalty
from dpglm.ledger.ledger import Ledger
from dpglm.postprocessing import refits
from dpglm.postprocessing.joint_sites import JointSites, site_lines
from dpglm.postprocessing.profile import OVERALL, ProfileRecord
from dpglm.postprocessing.record import FitRecord, Record, SpendLine
from dpglm.postprocessing.restriction import equation_of, paid_specification
from dpglm.postprocessing.site_pool import PooledSites
from dpglm.postprocessing.spending import parallel_lines
from dpglm.privacy.budget import Privacy
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import with_options
from dpglm.spec.arguments import for_unit
from dpglm.spec.charging import at_scales
from dpglm.spec.levels import LevelPlan
from dpglm.spec.model_spec import ModelSpec
from dpglm.spec.plan import Plan
from dpglm.spec.profile_plan import ProfilePlan
from dpglm.tables.table import budget
from dpglm.verification.result import Check, Outcome

PLAN, ESTIMATES, LEDGER = "privacy and price", "coefficients", "ledger"
TOGETHER: Final = "privacy and price of all equations"
ROUNDING: Final = 1e-6  # of a coefficient that is computed again, in its standard errors or its own size
LIST: Final = "none; list by FDR at "


def record_checks(record: Record, ledger: Ledger | None = None) -> Iterator[Check]:
    """All checks of a saved result whose fields agree with each other."""
    yield Check("saved result", "agrees", "fields that follow from each other agree, sizes and ranges too")
    yield _privacy(record)
    if isinstance(record, FitRecord):
        yield _estimates(record)
    yield from _charge(record, ledger)


Promised = tuple[Guarantee, MethodDescription, tuple[SpendLine, ...], str]


def _privacy(record: Record) -> Check:
    """Epsilon, delta, mu, noise scales and shares from the specification, as before any row was read."""
    try:
        guarantee, description, lines, fingerprint = _promised(record)
    except DpglmError as error:
        return Check(PLAN, "not checked", f"the plan cannot be made again: {error.found}")
    own = record.guarantee
    told = record.description
    if own.reason == "seeded":
        guarantee = guarantee.seeded()
    if told.penalty_applied == refits.FREE:  # another penalty on the same releases
        description = replace(description, penalty_applied=refits.FREE)
    if isinstance(record, FitRecord) and isinstance(record.part, JointSites):
        sites = record.part.sites
        # The total was found to be that of the sites when the file was read.
        if any(site.guarantee != guarantee for site in sites):
            return Check(PLAN, "not checked", "sites have plans of their own, which this file does not hold")
        guarantee = own
        if len(sites) > 1:
            lines = site_lines({site.name: lines for site in sites}, once=record.part.disjoint)
    for what, found, expected in (
        ("epsilon", own.epsilon, guarantee.epsilon),
        ("delta", own.delta, guarantee.delta),
        ("mu", own.mu, guarantee.mu),
        ("the guarantee", own, guarantee),
        ("releases, with sensitivity and noise", told, description),
        ("prices of the releases", record.spend_lines, lines),
        ("fingerprint of the plan", record.plan_fingerprint, fingerprint),
    ):
        if found != expected:
            numbers = f": {found!r} instead of {expected!r}" if isinstance(expected, float) else ""
            return Check(PLAN, "DIFFERS", f"{what} of the plan, made again{numbers}")
    if not own.private:
        return Check(PLAN, "agrees", "the plan, made again, is that of the file; it makes no promise here")
    pair = f"epsilon {budget(own.epsilon)}, delta {budget(own.delta)}"
    mu = "" if own.mu is None else f", mu {budget(own.mu)}"
    return Check(
        PLAN, "agrees", f"{pair}{mu}, noise of every release and its price, from the plan made again"
    )


def _promised(record: Record) -> Promised:
    """What the plan of a record promises and costs today."""
    if isinstance(record, ProfileRecord):
        if record.plan_fingerprint == "" or record.guarantee.theorem.endswith("over the sites"):
            raise _unplanned("a profile of several sites, each with a plan of its own")
        columns = [name for name in record.names if name != OVERALL]
        asked, schema = _asked(record.guarantee), Schema.from_dict(record.schema)
        more = {"quartiles": record.classes is not None, "correlations": record.products is not None}
        profile = ProfilePlan.of(schema, columns, record.by, asked, **more)
        guarantee = profile.priced.guarantee
        lines = parallel_lines(profile.priced.parallel(), guarantee)
        return guarantee, profile.description, lines, profile.fingerprint
    if not isinstance(record, FitRecord):
        raise _unplanned("a ranking keeps no specification")
    if isinstance(record.part, PooledSites):
        raise _unplanned("a pooled fit released nothing itself; verify the fits of its sites")
    plan = _plan(record)
    return (
        plan.guarantee,
        plan.description,
        parallel_lines(plan.releases.parallel(), plan.guarantee),
        plan.fingerprint,
    )


def _asked(own: Guarantee) -> Privacy:
    """The budget that a guarantee spends."""
    mu = own.mu if own.definition in ("gdp", "zcdp") else None
    unit = None if own.persons else own.unit
    return Privacy(own.epsilon, own.delta, own.relation, unit, own.definition, mu)


def joint_check(records: Mapping[str, FitRecord]) -> Check:
    """What all equations of a multinomial fit promise together, from their plans, which were made again."""
    part = equation_of(next(iter(records.values())))
    assert part is not None
    try:
        plans = {level: _plan(record) for level, record in records.items()}
        asked = for_unit(_asked(part.together), next(iter(plans.values())).specification.schema)
        again = LevelPlan.priced(plans, asked)
    except DpglmError as error:
        outcome: Outcome = "DIFFERS" if isinstance(error, PrivacyError) else "not checked"
        return Check(TOGETHER, outcome, f"the plans of all, made again: {error.found}")
    whole = again.guarantee.seeded() if part.together.reason == "seeded" else again.guarantee
    if whole != part.together or again.fingerprint != part.plan:
        return Check(TOGETHER, "DIFFERS", "the guarantee or the fingerprint of all plans, made again")
    pair = f"epsilon {budget(whole.epsilon)}, delta {budget(whole.delta)}"
    return Check(TOGETHER, "agrees", f"{pair}, from the releases of all {len(plans)} plans, made again")


def _plan(record: FitRecord) -> Plan:
    return ModelSpec.of_document(paid_specification(record)).plan(n=record.n_rows or None)


def _unplanned(found: str) -> MethodError:
    return MethodError(found, expected="a fit or a profile of one plan", remedy="Verify what has a plan.")


def _estimates(record: FitRecord) -> Check:
    """Names and the map to the user's scale from the formula; coefficients from what was released."""
    try:
        model = at_scales(ModelSpec.of_document(record.specification).coded_model, record)
    except DpglmError as error:
        return Check(ESTIMATES, "not checked", f"the formula cannot be read again: {error.found}")
    coding = model.coding
    if coding.names != record.names or coding.terms != record.terms or coding.row_norm != record.row_norm:
        return Check(
            ESTIMATES, "DIFFERS", "names, terms or lengths of rows are not those of formula and schema"
        )
    if not isinstance(record.part, PooledSites) and not _close(
        coding.user_from_coded, record.user_from_coded, np.abs(coding.user_from_coded)
    ):
        return Check(ESTIMATES, "DIFFERS", "the map to the original scale is not that of formula and schema")
    if record.contrasts is None or record.predictor is not None:
        return Check(
            ESTIMATES,
            "not checked",
            "released as they are: they fit the map to the original scale; else the SHA-256 alone holds them",
        )
    try:
        again = _refitted(record)
    except DpglmError as error:
        return Check(ESTIMATES, "not checked", f"from the information matrix: {error.found}")
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(record.estimates), np.nan_to_num(record.standard_errors))
    if (
        not _close(record.estimates, again.estimates, size)
        or (record.selected_mask != again.selected_mask).any()
    ):
        return Check(ESTIMATES, "DIFFERS", "coefficients do not follow from the released information matrix")
    return Check(
        ESTIMATES,
        "agrees",
        "computed again from the released estimate and information matrix; of the noise in their standard "
        "errors, the SHA-256 alone holds the scale",
    )


def _refitted(record: FitRecord) -> FitRecord:
    """The same coefficients once more, from what was released."""
    if record.penalty.startswith(LIST):
        return refits.select(record, "fdr", float(record.penalty.removeprefix(LIST)), None)
    asked, penalty = ModelSpec.of_document(record.specification).penalty, None
    name = record.penalty.split(";")[0]
    if asked.name == name:
        penalty = with_options(type(asked), record.specification.penalty.options, without=["strength"])
    chosen: Penalty | None = penalty
    rows = record.n_rows or record.specification.rows
    strength = record.strength if rows else record.strength_sum
    return refits.refit(record, chosen, strength)


def _close(first: np.ndarray, second: np.ndarray, size: np.ndarray) -> bool:
    return first.shape == second.shape and bool((np.abs(first - second) <= ROUNDING * size).all())


def _charge(record: Record, ledger: Ledger | None) -> Iterator[Check]:
    """Whether the ledger, where it is at hand, holds the charge of this result."""
    if ledger is None:
        named = (
            "none was used" if record.ledger is None else f"{record.ledger.dataset!r}, which is not at hand"
        )
        yield Check(LEDGER, "not checked", named)
        return
    ledger.verify()
    part = record.part if isinstance(record, FitRecord) else None
    plan, own = (part.paid_with if part else None) or (record.plan_fingerprint, record.guarantee)
    paid = [
        entry for entry in ledger.entries if entry.status == "charged" and entry.plan and entry.plan == plan
    ]
    if not any((entry.epsilon, entry.delta) == (own.epsilon, own.delta) for entry in paid):
        yield Check(LEDGER, "DIFFERS", f"{ledger.dataset!r} holds no charge of this plan and price")
        return
    lines = {entry.index for entry in paid}
    yield Check(
        LEDGER,
        "agrees",
        f"{ledger.dataset!r} is unbroken and was charged on line {', '.join(map(str, sorted(lines)))}",
    )
