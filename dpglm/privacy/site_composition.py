r"""Site composition: what fits at several sites promise together, by sequential and parallel composition.

Site s holds a table :math:`D_s` and releases :math:`M_s(D_s)` with noise of its own and parameters fixed
before any table was read; everything is published together, :math:`M = (M_1(D_1), \dots, M_S(D_S))`.

*Overlapping* sites: a person may have a row at each of them. Tables of such neighbours differ in at most one
row at every site, so the releases compose: the epsilons and the deltas add; where every site is Gaussian, the
squares of mu add. So does what the sites' assumptions leave out as improbable.

*Disjoint* sites: the schema declares that whoever a row stands for is at one site only. Neighbouring
collections then differ in one row of one site t:

* add-remove: the row is at t or nowhere;
* replace-one: the row of t is replaced by any other *at t*, so every site keeps its number of rows, which is
  public.

At every :math:`s \ne t` both collections hold the same table and :math:`M_s` has one and the same law. The
releases are independent, so M on one collection is a product of that law and :math:`M_t`, and so it is on the
other: to tell the collections apart is to tell the tables of t apart, and the trade-off curve of M is that of
:math:`M_t`. The whole keeps the worst of the sites' promises: the largest epsilon, delta and mu, once.

A person who *moves* from site s to site t is no neighbour under either relation: one table loses a row and
another gains one. Under replace-one both numbers of rows are public and change, so nothing is promised about
which site a person is at. Under add-remove it is one removal at s and one addition at t, two steps, and costs
as two sites do. The statement of the joint guarantee says so among its assumptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpglm.privacy.budget import Definition, exact_sum, rounded_up
from dpglm.privacy.gdp import gdp_epsilon, rho_from_mu
from dpglm.privacy.guarantee import Guarantee


def overlapping(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What a person is promised who may have one row at every site.

    One guarantee per site, at least one, of the same relation and unit. Sums are exact and rounded up.
    Gaussian ones (all with a mu, asked for as GDP or zCDP) add their squares of mu, at the delta they were
    asked for. No promise at all where one of them promises nothing.

    Raises
    ------
    PrivacyError
        The epsilons add up to more than a number can hold.

    Examples
    --------
    >>> one = Guarantee(1.0, 0.0, "pure", "replace-one", "one patient", theorem="Theorem A1")
    >>> both = overlapping([one, one])
    >>> both.epsilon, both.unit
    (2.0, 'one patient, with a row at each of the 2 sites')
    """
    first = _first(guarantees)
    if len(guarantees) == 1 or _promises_nothing(first):
        return first
    mus = [guarantee.mu for guarantee in guarantees if guarantee.mu is not None]
    gaussian = first.definition in ("gdp", "zcdp") and len(mus) == len(guarantees)
    delta = rounded_up(exact_sum(guarantee.delta for guarantee in guarantees))
    definition: Definition = "pure" if delta == 0.0 else "approximate"
    mu = None
    if gaussian:
        definition, delta = first.definition, max(guarantee.delta for guarantee in guarantees)
        mu = rounded_up(exact_sum(mus, squares=True), root=True)
        epsilon = gdp_epsilon(mu, delta)
    else:
        epsilon = rounded_up(exact_sum(guarantee.epsilon for guarantee in guarantees))
    return replace(
        first,
        epsilon=epsilon,
        delta=min(1.0, delta),
        definition=definition,
        unit=f"{first.unit}, with a row at each of the {len(guarantees)} sites",
        mu=mu,
        rho=rho_from_mu(mu) if mu is not None and definition == "zcdp" else None,
        theorem=_named(guarantees, "composition over the sites"),
        assumptions=(*_assumed(guarantees), "this holds at every site, where small probabilities add up"),
        curve=(),
    )


def disjoint(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What a person is promised who is at one site only, as the schema declares: the worst of the sites'.

    One guarantee per site, at least one, of the same relation, unit and definition.

    Examples
    --------
    >>> one = Guarantee(1.0, 0.0, "pure", "add-remove", "one patient", theorem="Theorem A1")
    >>> both = disjoint([one, one])
    >>> both.epsilon, both.theorem
    (1.0, 'Theorem A1 and parallel composition over the sites')
    """
    first = _first(guarantees)
    if len(guarantees) == 1 or _promises_nothing(first):
        return first
    mus = [guarantee.mu for guarantee in guarantees if guarantee.mu is not None]
    rhos = [guarantee.rho for guarantee in guarantees if guarantee.rho is not None]
    same = all(guarantee.curve == first.curve for guarantee in guarantees)
    moves = (
        "a row is replaced by another at its own site (the number of rows of each site is public, and which "
        "site somebody is at is not protected)"
        if first.relation == "replace-one"
        else "a row is present or absent at its own site (moving to another is two steps)"
    )
    return replace(
        first,
        epsilon=max(guarantee.epsilon for guarantee in guarantees),
        delta=max(guarantee.delta for guarantee in guarantees),
        mu=max(mus) if len(mus) == len(guarantees) else None,
        rho=max(rhos) if len(rhos) == len(guarantees) else None,
        curve=first.curve if same else (),
        theorem=_named(guarantees, "parallel composition over the sites"),
        assumptions=(
            *_assumed(guarantees),
            "whoever a row stands for is at one site only, as the schema declares",
            moves,
        ),
    )


def _first(guarantees: Sequence[Guarantee]) -> Guarantee:
    """The one that stands for the kind of all; they were planned for one budget."""
    assert guarantees, "at least one site"
    names = ("definition", "relation", "unit", "private", "reason")
    kinds = {tuple(getattr(guarantee, name) for name in names) for guarantee in guarantees}
    assert len(kinds) == 1, "every site is asked for the same budget"
    return guarantees[0]


def _promises_nothing(guarantee: Guarantee) -> bool:
    """Whether there are no numbers to combine: seeded ones have them and combine as if they were private."""
    return not guarantee.private and guarantee.reason != "seeded"


def _named(guarantees: Sequence[Guarantee], rule: str) -> str:
    return " and ".join(
        [*dict.fromkeys(guarantee.theorem for guarantee in guarantees if guarantee.theorem), rule]
    )


def _assumed(guarantees: Sequence[Guarantee]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for guarantee in guarantees for text in guarantee.assumptions))
