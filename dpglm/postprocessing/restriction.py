"""Submodels of a fit from what it released: fewer terms, merged levels, no further price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from scipy.linalg import null_space

from dpglm.errors import MethodError
from dpglm.glm.penalties.elastic_net import NoPenalty
from dpglm.inference.coefficients import coefficients, scaling_of
from dpglm.inference.contrasts import Contrasts, wald
from dpglm.inference.interval_model import interval_model
from dpglm.inference.restricted_model import Restricted, restricted
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.consistency import check_released
from dpglm.postprocessing.equation import Equation
from dpglm.postprocessing.exact_fit import ExactFit
from dpglm.postprocessing.functions import require_information
from dpglm.postprocessing.grid import row_map_of
from dpglm.postprocessing.parts import ResultPart, parts
from dpglm.postprocessing.record import FitRecord, SpecificationDocument
from dpglm.postprocessing.refits import FREE
from dpglm.postprocessing.wald import anova
from dpglm.privacy.guarantee import Guarantee
from dpglm.tables.table import plain_number
from dpglm.typing import FloatMatrix

if TYPE_CHECKING:
    from dpglm.glm.penalties.base import TermColumns
    from dpglm.inference.linear_model import LinearModel
    from dpglm.tables.table import Fact

Merge = Mapping[str, Mapping[Any, Sequence[Any]]]
# So many terms are looked at for one that can be left out; each takes the time of a refit.
MOST_TRIED: Final = 5
NO_DISTANCE: Final = "a formula with an intercept, and finite estimates of all that is left out"


@parts.register("submodel")
@dataclass(frozen=True, eq=False)
class SubmodelOf(ResultPart):
    """The released numbers that a submodel was made of, and how.

    Parameters
    ----------
    fitted : SpecificationDocument
        Of the fit that was planned and paid for.
    whole : ScoreAndInformation
        What that fit released.
    matrix : ndarray, shape (p, q)
        Its coded coefficients from those of the submodel.
    words : str
        What was left out and merged.
    rows : float or None
        Usable rows of a fit without privacy.
    equation : Equation or None
        Of a multinomial fit, where it is one.
    """

    fitted: SpecificationDocument
    whole: ScoreAndInformation
    matrix: FloatMatrix
    words: str
    rows: float | None
    equation: Equation | None = None

    name: ClassVar[str] = "submodel"

    @property
    def title(self) -> str:
        """What it is."""
        return "a submodel of another fit"

    @property
    def beside(self) -> str:
        return "" if self.equation is None else self.equation.beside

    @property
    def paid_with(self) -> tuple[str, Guarantee] | None:
        return None if self.equation is None else self.equation.paid_with

    def interval_model(self, record: FitRecord) -> LinearModel:
        assert record.released is not None
        return self.restricted(record.released.term_columns).model

    def restricted(self, term_columns: tuple[TermColumns, ...]) -> Restricted:
        """The linear model of the submodel."""
        return restricted(self.whole, self.matrix, term_columns, self.rows)

    def facts(self, record: FitRecord) -> tuple[Fact, ...]:
        own = () if self.equation is None else self.equation.facts(record)
        return (*own, ("Submodel", f"of {self.fitted.formula}: {self.words}; {FREE}"))

    def check(self, record: FitRecord) -> None:
        """Refuse a matrix and released numbers that do not belong together."""
        size = self.whole.size
        check_released(self.whole, record, size)
        fits = self.matrix.shape == (size, len(record.names))
        if not fits or record.released is None or self.whole.exact != record.released.exact:
            raise store_error("a submodel of other released numbers", "those of one fit")
        if self.equation is not None:
            self.equation.check(record)


def submodel(record: FitRecord, drop: object, merge: object) -> FitRecord:
    """The fit without terms and with levels merged; see :meth:`FitResult.refit`."""
    require_information(record, "a submodel")
    names, groups = _asked(drop, merge)
    if record.part is not None and not isinstance(record.part, ExactFit | SubmodelOf | Equation):
        raise MethodError(
            f"a submodel of {record.part.title}",
            expected="one fit at one site",
            remedy="Make the submodel of each site's fit, or fit it anew.",
        )
    found, part, terms = _part(record, names, groups)
    scales, coding, known = record.scales, found.coding, part.restricted(terms)
    if not (away := known.distance(coding.user_from_coded)) <= known.limit:
        raise _too_far(record, part, known, away)
    own = replace(known.model.released, term_columns=terms)
    contrasts = Contrasts(known.model, coding.user_from_coded)
    fit = coefficients(contrasts, scaling_of(coding.user_from_coded, coding.names), NoPenalty(), None)
    if scales is not None:
        kept = [scales.names.index(name) for name in found.standardised]
        scales = replace(
            scales, names=found.standardised, means=scales.means[kept], deviations=scales.deviations[kept]
        )
    return replace(
        record,
        names=coding.names,
        specification=replace(record.specification, formula=coding.model.formula, schema=found.schema),
        penalty="none",
        strength=None,
        strength_sum=None,
        estimates=fit.estimates,
        coded=fit.coded,
        selected_mask=fit.selected,
        user_from_coded=coding.user_from_coded,
        row_norm=coding.row_norm,
        terms=coding.terms,
        released=own,
        exact_path=None,
        residual=None,
        scales=scales if scales is not None and scales.names else None,
        part=part,
        row_map=found.row_map,
        description=replace(record.description, penalty_applied=FREE),
    )


def distance(record: FitRecord, drop: object = None, merge: object = None) -> tuple[float, float]:
    """How far a submodel is from its fit (see `Restricted.distance`), and how far it may be."""
    found, part, terms = _part(record, *_asked(drop, merge))
    known = part.restricted(terms)
    return known.distance(found.coding.user_from_coded), known.limit


def _part(
    record: FitRecord, names: list[str], groups: Merge
) -> tuple[Any, SubmodelOf, tuple[TermColumns, ...]]:
    """A submodel's coding, what it is made of, and its term columns in the units of what was released."""
    assert record.released is not None
    scales = record.scales
    moments = {} if scales is None else scales.moments
    found = row_map_of(record).submodel(names, groups, moments, 1.0 if scales is None else scales.longer)
    words = _words(names, groups)
    whole, matrix, fitted, rows = record.released, found.matrix, record.specification, None
    if isinstance(record.part, SubmodelOf):
        whole, matrix = record.part.whole, record.part.matrix @ matrix
        fitted, rows, words = record.part.fitted, record.part.rows, f"{record.part.words}, {words}"
    elif isinstance(record.part, ExactFit):
        rows = record.part.rows
    declared = row_map_of(record).term_columns
    terms = _in_units(found.coding.term_columns, declared, record.released.term_columns)
    return found, SubmodelOf(fitted, whole, matrix, words, rows, equation_of(record)), terms


def equation_of(record: FitRecord) -> Equation | None:
    """What a fit or a submodel is of a multinomial fit; None where it is no equation of one."""
    part = record.part
    return part if isinstance(part, Equation) else part.equation if isinstance(part, SubmodelOf) else None


def _asked(drop: object, merge: object) -> tuple[list[str], Merge]:
    names = [drop] if isinstance(drop, str) else list(drop) if isinstance(drop, list | tuple) else []
    groups = {} if merge is None else merge
    mappings = isinstance(groups, Mapping) and all(isinstance(group, Mapping) for group in groups.values())
    if (drop is not None and not names) or not all(isinstance(name, str) for name in names) or not mappings:
        raise MethodError(
            f"drop of type {type(drop).__name__}, merge of type {type(merge).__name__}",
            expected="names of terms or columns, and groups of levels by column",
            remedy="Write drop='age', or merge={'job': {'other': ['x', 'y']}}.",
        )
    return names, groups  # type: ignore[return-value]


def _words(names: list[str], groups: Merge) -> str:
    merged = [
        f"{column} {', '.join([old] if isinstance(old, str) else map(str, old))} as {new}"
        for column, group in groups.items()
        for new, old in group.items()
    ]
    parts = [f"without {', '.join(names)}"] if names else []
    return ", ".join([*parts, *merged])


def _in_units(
    terms: tuple[TermColumns, ...], declared: tuple[TermColumns, ...], released: tuple[TermColumns, ...]
) -> tuple[TermColumns, ...]:
    """Term columns with prior scales in the units of what was released, kind by kind."""
    ratios: dict[str, list[float]] = {}
    for before, after in zip(declared, released, strict=True):
        ratios.setdefault(before.kind, []).extend((after.prior / before.prior).tolist())
    every = float(np.median([ratio for each in ratios.values() for ratio in each]))
    factors = {kind: float(np.median(each)) for kind, each in ratios.items()}
    return tuple(replace(term, prior=term.prior * factors.get(term.kind, every)) for term in terms)


def _too_far(record: FitRecord, part: SubmodelOf, found: Restricted, away: float) -> MethodError:
    """Why a submodel is refused, in standard errors of the fit, and which terms can be left out instead."""
    left_out = null_space(part.matrix.T).T
    with np.errstate(all="ignore"):
        chi_squared, _ = wald(interval_model(part.whole), left_out, np.zeros(len(left_out)))
        errors = math.sqrt(max(chi_squared, 0.0))
        most = errors * math.sqrt(found.limit / away)  # the distance grows with the square of it
    least = [str(name) for name in anova(record, 2).sort_values("statistic", kind="stable")["term"]]
    near = list(takewhile(lambda name: _is_near(record, name), least[:MOST_TRIED]))
    each = ", each by itself" if len(near) > 1 else ""
    accepted = f"Near enough{each}: drop={' or '.join(map(repr, near))}."
    none = f"Not even drop={least[0]!r}, of the least statistic in anova(), is accepted."
    bound = f"a distance of at most {found.limit:g}, which is about {_two_digits(most)} standard errors here"
    return MethodError(
        f"a submodel too far from the fit for its released numbers: it is {_two_digits(errors)} standard "
        f"errors away, and coefficients could be off by more than a tenth of one: its distance is "
        f"{_two_digits(away)}, {_two_digits(away / found.limit)} times the limit",
        expected=bound if math.isfinite(away) else NO_DISTANCE,
        remedy=f"{accepted if near else none} Otherwise fit the submodel anew, at its price.",
    )


def _two_digits(value: float) -> str:
    return plain_number(float(f"{value:.2g}"))


def _is_near(record: FitRecord, name: str) -> bool:
    """Whether a submodel without one term would be accepted."""
    try:
        away, limit = distance(record, name)
    except MethodError:  # the baseline hazards
        return False
    return away <= limit


def paid_specification(record: FitRecord) -> SpecificationDocument:
    """The specification of the plan that was charged: of a submodel that of the whole fit."""
    return record.part.fitted if isinstance(record.part, SubmodelOf) else record.specification
