"""The sites behind a pooled fit: what each of them released and promised, and the model made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.coefficients import Scaling, scaling_of
from dpglm.inference.linear_model import LinearModel
from dpglm.inference.pooled_model import SiteRelease, pooled_model
from dpglm.inference.random_effects import fits_best, random_effects
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.consistency import check_released
from dpglm.postprocessing.joint_sites import SeveralSites
from dpglm.postprocessing.parts import parts
from dpglm.privacy.guarantee import Guarantee, disjoint, overlapping
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    from dpglm.postprocessing.record import FitRecord
    from dpglm.tables.table import Fact

Effects = Literal["common", "random"]
LEAST_SITES: Final = 3  # that tell a variance between sites
SLACK: Final = 1e-6  # of numbers that a saved pool and its sites both have


@dataclass(frozen=True, eq=False)
class Site:
    """What one site released and promised."""

    name: str
    guarantee: Guarantee
    released: ScoreAndInformation
    user_from_coded: FloatMatrix  # (p, p), of its own coding
    n_rows: int | None
    plan_fingerprint: str
    version: str

    @property
    def release(self) -> SiteRelease:
        """The part that the pooled model is made of."""
        return SiteRelease(self.released, self.user_from_coded)


@parts.register("sites")
@dataclass(frozen=True, eq=False)
class PooledSites(SeveralSites):
    """The sites of a pooled fit.

    Parameters
    ----------
    sites, disjoint
        As in `SeveralSites`, each a `Site`.
    effects : {"common", "random"}
        Whether all sites have the same coefficients, or their own around a mean.
    fixed : ndarray of bool, shape (p,)
        Coefficients that are the same at every site all the same.
    variances : ndarray, shape (p,)
        Of the user's coefficients between sites, by REML; zeros for a common effect. That of the intercept
        is one at the mean of the columns.
    """

    sites: tuple[Site, ...]
    effects: Effects
    fixed: BoolVector
    variances: FloatVector

    name: ClassVar[str] = "sites"

    @property
    def title(self) -> str:
        """What it is."""
        return f"a pool of {len(self.sites)} sites"

    def interval_model(self, record: FitRecord, *, without: int | None = None) -> LinearModel:
        """The linear model of all sites, or of all but the one at this place."""
        assert record.released is not None
        releases = [site.release for place, site in enumerate(self.sites) if place != without]
        between = None
        if self.effects == "random":
            along = directions(record.user_from_coded, record.names)
            between = (along * self.variances) @ along.T
        return pooled_model(record.released, record.user_from_coded, releases, between)

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        """Sites and their model, as a summary shows them."""
        model = "one coefficient for all sites"
        if self.effects == "random":
            model = "each site its own coefficients around a mean (REML)"
        return (self.listed, ("Between sites", model))

    def check(self, record: FitRecord) -> None:
        """Refuse a pool that does not follow from its sites."""
        super().check(record)
        size = len(record.names)
        for site in self.sites:
            if site.user_from_coded.shape != (size, size):
                raise store_error("a site with a map of another length", "one row per coefficient")
            check_released(site.released, record)
        if self.fixed.shape != (size,) or self.variances.shape != (size,):
            raise store_error("variances between sites of another length", "one per coefficient")
        free = ~self.fixed if self.effects == "random" else np.zeros(size, dtype=np.bool_)
        if not ((self.variances == 0.0) | (free & (self.variances > 0.0))).all():
            raise store_error("variances between sites below 0, or of fixed coefficients", "numbers >= 0")
        try:
            with np.errstate(all="ignore"):
                self._follows(record)
        except (np.linalg.LinAlgError, MethodError, AssertionError):
            raise store_error("sites that make no model", "sites as pool() takes them") from None

    def _follows(self, record: FitRecord) -> None:
        if record.guarantee != combined(own_guarantees(record), self.names, disjoint_sites=self.disjoint):
            raise store_error("a guarantee that is not that of the sites together", "their composition")
        counts = [site.n_rows for site in self.sites]
        if record.n_rows is not None and (None in counts or record.n_rows != sum(filter(None, counts))):
            raise store_error("n_rows that is not the sum of the sites'", "the sum")
        if record.released is None:
            raise store_error("a pool without released numbers", "the sites' together")
        releases = [site.release for site in self.sites]
        again = reference(record.released.term_columns, record.user_from_coded, releases)
        for name in ("centre", "information", "prior_variance", "score", "initial_variance", "known_part"):
            one, other = (getattr(each, name) for each in (again, record.released))
            if not np.allclose(one, other, rtol=SLACK, atol=SLACK * float(np.abs(one).max(initial=0.0))):
                raise store_error(f"released {name} that does not follow from the sites", "their sum")
        if record.released.ridge is not None:
            raise store_error("a pool with a ridge", "none: each site has its own")
        for name in ("score_scale", "information_scale", "dispersion", "third_derivative_bound"):
            if not np.isclose(getattr(again, name), getattr(record.released, name), rtol=SLACK, atol=0.0):
                raise store_error(f"released {name} that does not follow from the sites", "their sum")
        if self.effects == "random":
            if len(self.sites) < LEAST_SITES:
                raise store_error("random effects of too few sites", f"at least {LEAST_SITES}")
            along = directions(record.user_from_coded, record.names)[:, ~self.fixed]
            if not fits_best(self.interval_model(record), along, self.variances[~self.fixed]):
                raise store_error("variances between sites that do not follow from them", "those of REML")


def own_guarantees(record: FitRecord) -> tuple[Guarantee, ...]:
    """What each site of a fit of several promised, or what another fit did."""
    of_sites = () if record.part is None else record.part.site_guarantees
    return of_sites or (record.guarantee,)


def pool_of(record: FitRecord, what: str) -> PooledSites:
    """The sites of a pooled fit; a MethodError names what another fit cannot do."""
    if isinstance(record.part, PooledSites):
        return record.part
    raise MethodError(
        f"{what} of a fit that pools no sites",
        expected="a fit made by dpglm.pool",
        remedy='Use dpglm.pool(["north.json", "south.json"]) first.',
    )


def pooled_sites(
    sites: Sequence[Site],
    released: ScoreAndInformation,
    user_from_coded: FloatMatrix,
    names: tuple[str, ...],
    *,
    effects: Effects,
    fixed: BoolVector,
    disjoint_sites: bool,
) -> PooledSites:
    """The part of a pooled record, with the variances between sites that REML finds."""
    variances = np.zeros(len(names))
    if effects == "random":
        along = directions(user_from_coded, names)[:, ~fixed]
        releases = [site.release for site in sites]
        variances[~fixed] = random_effects(released, user_from_coded, releases, along)
    return PooledSites(tuple(sites), disjoint_sites, effects, fixed, variances)


def directions(user_from_coded: FloatMatrix, names: tuple[str, ...]) -> FloatMatrix:
    """What one unit of each of the user's coefficients is in coded ones, shape (p, p).

    The intercept takes up its share of a slope, so that a site with another slope has the same predictor at
    the mean of the columns.
    """
    scaling: Scaling = scaling_of(user_from_coded, names)
    return scaling.mixing * scaling.lengths


def reference(
    terms: tuple[TermColumns, ...], user_from_coded: FloatMatrix, sites: Sequence[SiteRelease]
) -> ScoreAndInformation:
    """The released numbers of all sites in one coding: sums, and prior variances that are means.

    ``terms`` are those of the coding that ``user_from_coded``, shape (p, p), belongs to. That of a single
    site in this coding is its own.
    """
    if len(sites) == 1 and np.array_equal(sites[0].user_from_coded, user_from_coded):
        return sites[0].released
    size = len(user_from_coded)
    # The pool's coded coefficients from a site's, and back.
    maps = [np.linalg.solve(user_from_coded, site.user_from_coded) for site in sites]
    links = [np.linalg.solve(site.user_from_coded, user_from_coded) for site in sites]
    releases = [site.released for site in sites]
    grams = [link.T @ each.information @ link for link, each in zip(links, releases, strict=True)]
    sizes = [float(np.trace(link.T @ link)) / size for link in links]
    noises = [each.information_scale * length for each, length in zip(releases, sizes, strict=True)]
    traces = np.maximum([np.trace(gram) for gram in grams], noises)
    shares = traces / traces.sum()

    def moved(vectors: list[FloatVector]) -> FloatMatrix:
        return np.array([matrix @ vector for matrix, vector in zip(maps, vectors, strict=True)])

    def mean_variance(variances: list[FloatVector]) -> FloatVector:
        each = [matrix**2 @ variance for matrix, variance in zip(maps, variances, strict=True)]
        return np.asarray(np.mean(each, axis=0))

    known = moved([site.released.known_part for site in sites]).mean(axis=0)
    centres = moved([site.released.known_part + site.released.centre for site in sites])
    prior = np.sqrt(mean_variance([each.prior_variance for each in releases]))
    return ScoreAndInformation(
        term_columns=tuple(replace(term, prior=prior[term.columns]) for term in terms),
        centre=shares @ centres - known,
        score=np.zeros(size),
        information=np.sum(grams, axis=0),
        score_scale=float(
            np.sqrt(sum(each.score_scale**2 * length for each, length in zip(releases, sizes, strict=True)))
        ),
        information_scale=float(np.linalg.norm(noises)),
        dispersion=float(shares @ [each.dispersion for each in releases]),
        initial_variance=mean_variance([each.initial_variance for each in releases]),
        third_derivative_bound=max(each.third_derivative_bound for each in releases),
        logistic=all(each.logistic for each in releases),
        exponential=all(each.exponential for each in releases),
        origin=None if all(each.origin is None for each in releases) else known,
    )


def combined(guarantees: Sequence[Guarantee], names: Sequence[str], *, disjoint_sites: bool) -> Guarantee:
    """What a person is promised by all sites together; a MethodError names one that promises otherwise.

    Sites may have other budgets. NOT PRIVATE if one of them is.
    """
    first = guarantees[0]
    for name, each in zip(names, guarantees, strict=True):
        for what in ("relation", "unit", "persons"):
            if getattr(each, what) != getattr(first, what):
                raise MethodError(
                    f"site {name!r}, whose guarantee has another {what} than that of site {names[0]!r}",
                    expected="sites that promise the same kind of thing to the same kind of person",
                    remedy="Declare one unit and one relation at all sites.",
                )
        if not each.private and each.reason != "seeded":
            return Guarantee.none(f"site {name}: {each.reason}")
    if not all(each.private for each in guarantees):
        guarantees = [each.seeded() for each in guarantees]
    if len({each.definition for each in guarantees}) > 1:
        guarantees = [replace(each, definition="approximate", mu=None, rho=None) for each in guarantees]
    return disjoint(guarantees) if disjoint_sites else overlapping(guarantees)
