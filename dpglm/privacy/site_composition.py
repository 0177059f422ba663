r"""Site composition: what fits at several sites promise together, by sequential and parallel composition.

Site s holds a table :math:`D_s` and releases :math:`M_s(D_s)` with noise of its own and parameters fixed
before any table was read; everything is published together.

*Overlapping* sites: a person may have a row at each of them, so the releases compose: epsilons and deltas
add; where every site is Gaussian, squares of mu add. So does what the sites' assumptions leave out as
improbable.

*Disjoint* sites: the schema declares that whoever a row stands for is at one site only. Neighbouring
collections differ in one row of one site t: present or absent (add-remove), or replaced by any other *at t*
(replace-one: every site keeps its number of rows, which is public). Every other :math:`M_s` has one and the
same law, and the releases are independent: to tell the collections apart is to tell the tables of t apart.
The whole keeps the worst of the sites' promises: the largest epsilon, delta and mu, once.

A person who *moves* between sites is no neighbour. Under replace-one nothing is promised about which site a
person is at; under add-remove it is one removal and one addition, and costs as two sites do. The assumptions
of a joint guarantee say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpglm.privacy.budget import exact_sum, rounded_up
from dpglm.privacy.gdp import gdp_epsilon, rho_from_mu
from dpglm.privacy.guarantee import Guarantee


def overlapping(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What a person is promised who may have one row at every site.

    One guarantee per site, at least one, of the same relation and unit. Sums are exact and rounded up.
    Gaussian ones (all with a mu, asked for as GDP or zCDP) add their squares of mu, at the delta they were
    asked for. No promise at all where one of them promises nothing. A PrivacyError where the epsilons add up
    to more than a number can hold.

    Examples
    --------
    >>> single = Guarantee(1.0, 0.0, "pure", "replace-one", "one patient", theorem="Theorem A1")
    >>> both = overlapping([single, single])
    >>> both.epsilon, both.unit
    (2.0, 'one patient, with a row at each of the 2 sites')
    """
    first, mu, definition = guarantees[0], None, guarantees[0].definition
    mus = [guarantee.mu for guarantee in guarantees if guarantee.mu is not None]
    if _nothing_to_combine(guarantees):
        return first
    if definition in ("gdp", "zcdp") and len(mus) == len(guarantees):
        delta = max(guarantee.delta for guarantee in guarantees)
        mu = rounded_up(exact_sum(mus, squares=True), root=True)
        epsilon = gdp_epsilon(mu, delta)
    else:
        delta = rounded_up(exact_sum(guarantee.delta for guarantee in guarantees))
        epsilon = rounded_up(exact_sum(guarantee.epsilon for guarantee in guarantees))
        definition = "pure" if delta == 0.0 else "approximate"
    return _joint(
        guarantees,
        "composition over the sites",
        "this holds at every site, where small probabilities add up",
        epsilon=epsilon,
        delta=min(1.0, delta),
        definition=definition,
        unit=f"{first.unit}, with a row at each of the {len(guarantees)} sites",
        mu=mu,
        rho=rho_from_mu(mu) if mu is not None and definition == "zcdp" else None,
        curve=(),
    )


def disjoint(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What a person is promised who is at one site only, as the schema declares: the worst of the sites'.

    One guarantee per site, at least one, of the same relation, unit and definition.

    Examples
    --------
    >>> single = Guarantee(1.0, 0.0, "pure", "add-remove", "one patient", theorem="Theorem A1")
    >>> both = disjoint([single, single])
    >>> both.epsilon, both.theorem
    (1.0, 'Theorem A1 and parallel composition over the sites')
    """
    first = guarantees[0]
    if _nothing_to_combine(guarantees):
        return first
    mus = [guarantee.mu for guarantee in guarantees if guarantee.mu is not None]
    rhos = [guarantee.rho for guarantee in guarantees if guarantee.rho is not None]
    moves = (
        "a row is replaced by another at its own site (the number of rows of each site is public, and which "
        "site somebody is at is not protected)"
        if first.relation == "replace-one"
        else "a row is present or absent at its own site (moving to another is two steps)"
    )
    return _joint(
        guarantees,
        "parallel composition over the sites",
        "whoever a row stands for is at one site only, as the schema declares",
        moves,
        epsilon=max(guarantee.epsilon for guarantee in guarantees),
        delta=max(guarantee.delta for guarantee in guarantees),
        mu=max(mus) if len(mus) == len(guarantees) else None,
        rho=max(rhos) if len(rhos) == len(guarantees) else None,
        curve=first.curve if all(guarantee.curve == first.curve for guarantee in guarantees) else (),
    )


def _nothing_to_combine(guarantees: Sequence[Guarantee]) -> bool:
    """One site, or no numbers: seeded guarantees have them, and combine as if they were private."""
    names = ("definition", "relation", "unit", "private", "reason")
    kinds = {tuple(getattr(guarantee, name) for name in names) for guarantee in guarantees}
    assert len(kinds) == 1, "every site is asked for the same budget"
    first = guarantees[0]
    return len(guarantees) == 1 or (not first.private and first.reason != "seeded")


def _joint(guarantees: Sequence[Guarantee], rule: str, *premises: str, **numbers: Any) -> Guarantee:
    """The first guarantee with other numbers, all theorems and the rule, all assumptions and the premises."""
    theorems = dict.fromkeys(guarantee.theorem for guarantee in guarantees if guarantee.theorem)
    assumptions = dict.fromkeys(text for guarantee in guarantees for text in guarantee.assumptions)
    return replace(
        guarantees[0],
        theorem=" and ".join([*theorems, rule]),
        assumptions=(*assumptions, *premises),
        **numbers,
    )
