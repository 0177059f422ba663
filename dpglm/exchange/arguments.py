"""Arguments of the two sides of a joint fit, checked before anything is sent or charged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from dpglm.errors import ExchangeError, MethodError, SchemaError
from dpglm.exchange.folder import Folder
from dpglm.exchange.sums import require_short
from dpglm.exchange.transport import Transport
from dpglm.mechanisms.pairwise_masks import require_cryptography
from dpglm.methods.joint import JointMethod
from dpglm.spec.arguments import number_of, row_count_of
from dpglm.spec.joint import require_disjoint
from dpglm.spec.model_spec import ModelSpec
from dpglm.spec.plan import Plan
from dpglm.spec.site_names import MOST_SITES, is_plain, require_site_names

LONGEST_RUN: Final = 80
# A plan, a specification, or a file of the text that `ModelSpec.to_json` gives.
PlanOption: TypeAlias = Plan | ModelSpec | str | os.PathLike[str]


def joint_plan(plan: object) -> Plan:
    """The plan of a joint fit whose messages may leave; a MethodError for any other one."""
    if isinstance(plan, str | os.PathLike):
        try:
            text = Path(plan).read_text(encoding="utf-8")
        except (OSError, ValueError):
            raise MethodError(
                f"a plan at {str(plan)!r} that cannot be read",
                expected="a file of the text that ModelSpec.to_json gives",
                remedy="Write plan.specification.to_json() to a file.",
            ) from None
        plan = ModelSpec.from_json(text)
    if isinstance(plan, ModelSpec):
        _require_count(plan.method)
        plan = plan.among([plan.schema]).plan()
    if not isinstance(plan, Plan):
        raise MethodError(
            f"a plan of type {type(plan).__name__}",
            expected="what dpglm.plan gives, a ModelSpec, or the path of one",
            remedy='Use dpglm.plan(formula, schema, method="dlvp", privacy=(1.0, 1e-6)).',
        )
    method = plan.specification.method
    apart = isinstance(method, JointMethod) and (method.masks or not method.reads_together)
    if not isinstance(method, JointMethod) or not apart or plan.specification.privacy is None:
        raise MethodError(
            f"method={method.name!r} over several processes",
            expected="a joint method whose messages are all released with noise, 'dlvp' or 'dp-admm', or "
            "under masks, 'secure-sum'",
            remedy="Use method='dlvp', or fit at each site and pool the results by dpglm.pool.",
        )
    if method.at_site != method:
        raise MethodError(
            f"a plan of method={method.name!r} on one table, which deals its rows to parties",
            expected="a plan for each site",
            remedy="Pass the specification, plan.specification, of which each site's plan is made.",
        )
    if method.masks:
        _require_count(method)
        require_disjoint(method, plan)
        require_cryptography()
        require_short(plan)
    return plan


def masks_of(plan: Plan) -> bool:
    """Whether answers are sums under masks."""
    method = plan.specification.method
    return isinstance(method, JointMethod) and method.masks


def _require_count(method: object) -> None:
    """Refuse sums under masks of nobody knows how many sites."""
    if isinstance(method, JointMethod) and method.masks and method.sites is None:
        raise MethodError(
            f"a plan of method={method.name!r} without a number of sites",
            expected="how many sites there are: each adds its share of the noise",
            remedy="Use method=dpglm.methods.SecureSum(..., sites=10).",
        )


def plan_at(plan: Plan, rows: int | None) -> Plan:
    """The plan of a site that declares this number of rows; None: what the schema says."""
    specification = plan.specification
    if rows is None or rows == specification.schema.rows:
        return plan
    if masks_of(plan):
        raise MethodError(
            f"rows of one site with method={specification.method.name!r}",
            expected="a schema with the declared number of rows of all sites together, or none",
            remedy="Leave rows out.",
        )
    return specification.under(replace(specification.schema, rows=row_count_of(rows))).plan()


def sites_of(sites: object, plan: Plan) -> tuple[str, ...]:
    """The names of the holders, in their order."""
    names = tuple(sites) if isinstance(sites, Sequence) and not isinstance(sites, str) else ()
    if not 1 <= len(names) <= MOST_SITES or any(not isinstance(name, str) for name in names):
        raise SchemaError(
            f"sites of type {type(sites).__name__}, or none, or too many",
            expected=f"the names of 1 to {MOST_SITES} sites",
            remedy='Write ["north", "south"].',
        )
    require_site_names(dict.fromkeys(names))
    method = plan.specification.method
    if len(set(names)) < len(names):
        raise SchemaError("a site that is named twice", expected="each site once", remedy="Name it once.")
    assert isinstance(method, JointMethod), "checked by `joint_plan`"
    method.require_sites(names)
    return names


def site_of(site: object) -> str:
    """The name of one holder."""
    require_site_names({site: None})
    return str(site)


def run_of(run: object) -> str:
    """The name of a run: public words, the same on all sides and at each try."""
    if not is_plain(run, LONGEST_RUN):
        raise ExchangeError(
            f"a run of type {type(run).__name__}, or one that is empty, too long or unprintable",
            expected=f"1 to {LONGEST_RUN} printable characters, the same on all sides",
            remedy='Agree on a name such as run="monday-run".',
        )
    return str(run)


def transport_of(transport: object) -> Transport:
    """A carrier of messages; a path is that of a folder."""
    if isinstance(transport, str | os.PathLike):
        return Folder(transport)
    if not isinstance(transport, Transport):
        raise ExchangeError(
            f"transport of type {type(transport).__name__}",
            expected="the path of a folder, or an object that can send and receive",
            remedy="Use transport='shared/folder'.",
        )
    return transport


def timeout_of(timeout: object) -> float:
    """Seconds to wait for a message."""
    if isinstance(timeout, float) and 0.0 < timeout < 1e9:
        return timeout
    remedy = "Use timeout=600, ten minutes."
    expected = "a number of seconds above 0"
    return number_of("timeout", timeout, low=1, high=10**9, whole=True, expected=expected, remedy=remedy)
