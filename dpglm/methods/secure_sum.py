"""One model of several data holders by secure aggregation: a method whose releases are sums, no curator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, cast

from dpglm.curator.curator import PricedReleases
from dpglm.errors import MethodError, PrivacyError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty
from dpglm.inference.contrasts import Contrasts
from dpglm.inference.expectation import EstimateNoise, ExpectedRows
from dpglm.mechanisms.pairwise_masks import require_cryptography
from dpglm.mechanisms.secure_sum import MOST_HOLDERS, collusion_factor
from dpglm.methods.base import Estimate, Method, Problem, budgeted_plan, methods
from dpglm.methods.joint import JointMethod, Party
from dpglm.methods.moments import Moments
from dpglm.methods.objective import Objective
from dpglm.privacy.budget import Privacy
from dpglm.privacy.calibration import Target
from dpglm.privacy.events import TRUST, Fact, MethodDescription, gaussian_mu
from dpglm.registry import options_of, with_options

THEOREM = "sums of several holders under pairwise masks (secure_sum.md)"


@methods.register("secure-sum", "secure_sum")
@dataclass(frozen=True)
class SecureSum(JointMethod):
    """Secure aggregation: sites mask their sums, and whoever adds them up sees the noisy total and no more.

    Each site adds its share of the noise, and a mask for each other site, which that site takes off. The
    method runs on these totals as on one curator's releases. Noise is larger by sqrt(J / (J - t)) than a
    curator's, J sites of which t may tell what they know, since a site knows its own share of it.

    Parameters
    ----------
    method : str, Method or mapping
        Each of its releases is a sum over all rows with Gaussian noise: ``"moments"``, ``"dpsgd"``, or
        ``"objective"`` for counts with intervals. None: moments for a Gaussian response, otherwise objective.
        A saved specification has a mapping, ``{"name": "dpsgd", "options": {"steps": 50}}``.
    sites : int or None
        Their number J. `dpglm.fit` on tables by site counts them.
    colluding : int
        t, the most sites that join what they know with whoever adds up, from 0 to J - 1; 1 also keeps the
        promise against each of the sites by itself, which sees the result.

    References
    ----------
    Bonawitz et al. (2017), "Practical secure aggregation for privacy-preserving machine learning", CCS, for
    pairwise masks; ``mechanisms/secure_sum.md`` for the theorem used.

    Examples
    --------
    >>> SecureSum("dpsgd", sites=10).name
    'secure-sum'
    """

    method: str | Method | Mapping[str, Any] | None = None
    sites: int | None = None
    colluding: int = 1
    coding: Literal["centred", "clipped"] = field(default="centred", init=False)

    name: ClassVar[str] = "secure-sum"
    tunable: ClassVar[bool] = False
    reads_together: ClassVar[bool] = True
    masks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.method, Method):
            object.__setattr__(self, "method", _plain(self.method))
        if self._given is not None:
            object.__setattr__(self, "coding", self._given.coding)
        whole = all(type(value) is int for value in (self.colluding, self.sites or 1))
        if not whole or not 0 <= self.colluding < (self.sites or MOST_HOLDERS) <= MOST_HOLDERS:
            raise MethodError(
                f"sites={self.sites!r} with colluding={self.colluding!r}",
                expected=f"fewer colluding sites than sites, and at most {MOST_HOLDERS} sites",
                remedy="Use colluding=1, and leave sites out of a fit.",
            )

    @cached_property
    def _given(self) -> Method | None:
        """The method that was named, with its options."""
        if self.method is None:
            return None
        try:
            given = {"name": self.method} if isinstance(self.method, str) else self.method
            named = dict(cast(Mapping[str, Any], given))
            found = with_options(methods[named.pop("name")], named.pop("options", {}))
        except MethodError:
            raise
        except (TypeError, KeyError, ValueError):
            found, named = self, {}
        if named or isinstance(found, JointMethod):
            raise MethodError(
                "a method of secure sums that is joint itself, or no method",
                expected="the name of a method for one table, or an object of one",
                remedy='Use SecureSum("moments") or SecureSum("dpsgd").',
            )
        return found

    def _inner(self, family: Family) -> Method:
        """The method whose releases are formed together."""
        if self._given is not None:
            return self._given
        return Moments() if family.name == "gaussian" else Objective()

    def among(self, sites: int) -> Self:
        return replace(self, sites=sites) if self.sites is None else self

    def inside(self, penalty: Penalty, strength: object) -> Penalty:
        return penalty if self._given is None else self._given.inside(penalty, strength)

    def default_penalty(self, goal: str, family: Family) -> str:
        return self._inner(family).default_penalty(goal, family)

    def prepared(self, problem: Problem) -> Problem:
        return self._inner(problem.family).prepared(problem)

    def plan(self, problem: Problem, privacy: Privacy | None) -> PricedReleases:
        privacy = problem.require_budget(privacy, self.name, releases_rows=True)
        if self.sites is None:
            raise MethodError(
                "method='secure-sum' without a number of sites",
                expected="a table for each site, or how many there will be",
                remedy="Use dpglm.fit(formula, {site: table}, ...), or SecureSum(..., sites=10).",
            )
        if privacy.definition == "pure":
            raise MethodError(
                "a pure epsilon with method='secure-sum', where Gaussian noise is shared out",
                expected="a budget with a delta",
                remedy="Use privacy=(1.0, 1e-6).",
            )
        total = Target.of(privacy).ideal_mu
        factor = collusion_factor(self.sites, self.colluding)
        method = self._inner(problem.family)
        try:
            inner = method.plan(problem, _budget(privacy, total / factor))
        except (MethodError, PrivacyError):  # told of the budget that was asked for
            self._require_sums(method.plan(problem, privacy))
            raise
        self._require_sums(inner)
        mus = [gaussian_mu(event) for costs in inner.parallel() for _, event in costs]
        price = math.hypot(*(math.inf if mu is None else mu for mu in mus)) * factor
        assert price <= total * (1.0 + 1e-9), "the releases cost what they were given"
        own = budgeted_plan(inner.releases, privacy, mu=total).guarantee
        assumed = dict.fromkeys((*inner.guarantee.assumptions, *own.assumptions, self._assumed))
        guarantee = replace(own, theorem="; ".join([own.theorem, THEOREM]), assumptions=tuple(assumed))
        return PricedReleases(inner.releases, guarantee, privacy)

    def _require_sums(self, plan: PricedReleases) -> None:
        """Refuse releases that sites cannot form together, by a MethodError that names one."""
        for release in plan.releases:
            if release.summed is None or release.summed.sum_noise.law != "gaussian":
                raise MethodError(
                    f"a {release.name!r} with method='secure-sum'",
                    expected="releases that are sums over all rows, with Gaussian noise",
                    remedy="Use SecureSum('moments') with family='gaussian', SecureSum('objective') for "
                    "counts with intervals, or SecureSum('dpsgd'); or method='dlvp', or dpglm.pool.",
                )

    @property
    def _assumed(self) -> str:
        return (
            f"each of {self.sites} sites adds its share of the noise and has the public keys that the others "
            f"made; at most {self.colluding} of them tell others what they know; X25519, HKDF and ChaCha20 "
            "are secure"
        )

    def require_sites(self, sites: tuple[str, ...]) -> None:
        if len(sites) != self.sites:
            raise MethodError(
                f"tables of {len(sites)} sites, for a plan of {self.sites}",
                expected="as many tables as sites: each adds its share of the noise",
                remedy="Use dpglm.fit(formula, {site: table}, ...), or plan for as many sites as there are.",
            )
        require_cryptography()

    def join(self, problem: Problem, parties: Mapping[str, Party]) -> Estimate:
        (party,) = parties.values()  # who adds up: its answers are those of all sites together
        return self._inner(problem.family).solve(problem, party.plan, party.ask)

    def expected(
        self, problem: Problem, plan: PricedReleases, rows: ExpectedRows
    ) -> Contrasts | EstimateNoise | None:
        return self._inner(problem.family).expected(problem, plan, rows)

    def describe(self, problem: Problem, plan: PricedReleases) -> MethodDescription:
        found = self._inner(problem.family).describe(problem, plan)
        assert self.sites is not None, "checked when the method planned"
        trusted = (
            "every site with its own rows; whoever adds up the masked sums of all sites sees noisy totals "
            f"only, even together with what {self.colluding} of the {self.sites} sites know"
        )
        facts = (
            Fact(TRUST, trusted),
            Fact("Share of a site in the variance of the noise", f"1 of {self.sites}"),
            Fact("Noise, times that of one curator", collusion_factor(self.sites, self.colluding)),
        )
        return replace(
            found, algorithm=f"{found.algorithm}, by secure aggregation", facts=(*facts, *found.facts)
        )


def _plain(method: Method) -> str | dict[str, Any]:
    """A method as a saved specification keeps it."""
    options = options_of(method)
    return {"name": method.name, "options": options} if options else method.name


def _budget(privacy: Privacy, mu: float) -> Privacy:
    """All of a mu for the same unit and relation, printed at a delta at which an epsilon is above 0."""
    delta = min(privacy.delta, 0.1 * math.erf(mu / math.sqrt(8.0)))
    found = Privacy.gdp(mu, delta=delta, relation=privacy.relation)
    return replace(found, unit=privacy.unit, unit_rows=privacy.unit_rows)
