"""Consistency of a saved result: fields that follow from each other, so that no changed price is shown."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpglm.glm.penalties.base import TermColumns
from dpglm.inference.score_and_information import ScoreAndInformation
from dpglm.postprocessing.codec import store_error
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import FloatMatrix

PRICE_SLACK = 1e-9  # rounding of sums of a few doubles
PRODUCT_SLACK = 1e-6  # of the summands' size: zeros of what was not selected are exact, the product is not
SIMPLEX_SLACK = 1e-6
MOST_STRENGTHS = 200  # of a saved path


def check_consistency(record: FitRecord) -> None:
    """Refuse a record that no fit could have given, with a StoreError.

    Such as: sizes or signs out of range; releases that cost more than the guarantee says; a result made
    without privacy that says it is private; estimates that are not those of ``coded``; or a score of a
    minimiser that is not a ridge times the minimiser, where there is no second one.
    """
    _amounts(record)
    _prices(record)
    _guarantee(record)
    if record.released is not None:
        check_released(record.released, record)
    _scales(record)
    _exact_path(record)
    if record.part is not None:
        record.part.check(record)
    with np.errstate(over="ignore", invalid="ignore"):
        product = record.user_from_coded @ record.coded
        size = np.abs(record.user_from_coded) @ np.abs(record.coded)
        agree = np.abs(record.estimates - product) <= PRODUCT_SLACK * size
    if not agree.all():
        raise store_error("estimates that do not fit coded and user_from_coded", "user_from_coded @ coded")


def _amounts(record: FitRecord) -> None:
    """Numbers in their ranges."""
    if len(record.names) > record.most_names:
        raise store_error("too many names", f"at most {record.most_names} coefficients")
    for name in ("n_rows", "strength", "strength_sum", "row_norm", "residual"):
        value = getattr(record, name)
        if value is not None and (not math.isfinite(value) or (value < 0 and "strength" not in name)):
            raise store_error(f"{name} that is not finite, or below 0", "a finite number")
    for name, value in _prices_of(record):
        if value is not None and not 0.0 <= value < math.inf:
            raise store_error(f"{name} that is not finite, or below 0", "a finite number >= 0")
    for what in ("budget", "spent", "remaining") if record.ledger is not None else ():
        for name in (f"{what}_epsilon", f"{what}_delta"):
            if not math.isfinite(getattr(record.ledger, name)):
                raise store_error(f"ledger.{name} that is not finite", "a finite number")


def _prices_of(record: FitRecord) -> Iterator[tuple[str, float | None]]:
    for line in record.spend_lines:
        for name in ("epsilon", "delta", "mu", "share", "part"):
            yield f"spend_lines.{name}", getattr(line, name)
    for entry in record.ledger.entries if record.ledger is not None else ():
        for name in ("epsilon", "delta", "mu"):
            yield f"ledger.entries.{name}", getattr(entry, name)


def _prices(record: FitRecord) -> None:
    guarantee, asked = record.guarantee, record.specification.privacy
    if asked is not None and guarantee.private and guarantee.persons != asked.persons:
        raise store_error("a guarantee for persons, or for rows, that was not asked for", "the budget's")
    if asked is not None and record.n_rows is not None and not asked.rows_are_public:
        raise store_error("n_rows where the number of rows is private", "none")
    parts = {line.part for line in record.spend_lines}
    if parts - {0} and not (record.part is not None and record.part.deals_rows):
        raise store_error("spend_lines of parts of the rows, which the method does not deal", "part 0")
    for part in parts:  # a row is in one part, and in what reads all rows
        lines = [line for line in record.spend_lines if line.part in (0, part)]
        epsilon = sum(line.epsilon for line in lines if line.epsilon is not None)
        if epsilon > guarantee.epsilon * (1.0 + PRICE_SLACK):
            raise store_error("guarantee.epsilon below the sum of spend_lines", "releases that cost no more")
        mu = math.hypot(*(line.mu for line in lines if line.mu is not None))
        if guarantee.mu is not None and mu > guarantee.mu * (1.0 + PRICE_SLACK):
            raise store_error("guarantee.mu below that of spend_lines", "releases that cost no more")


def _guarantee(record: FitRecord) -> None:
    """A promise can be said, has no reason against it, and its noise came from the operating system."""
    guarantee = record.guarantee
    try:
        guarantee.statement()
    except (ValueError, TypeError, ArithmeticError):
        raise store_error("a guarantee that means nothing", "a guarantee as fit() gave it") from None
    seeded = record.random_source != "operating system"
    exact = record.specification.privacy is None or record.specification.method.name == "nonprivate"
    if guarantee.private and (guarantee.reason or seeded or exact):
        raise store_error("a private guarantee of a fit that was made without privacy", "private: false")


def check_released(released: ScoreAndInformation, record: FitRecord, size: int | None = None) -> None:
    """Refuse released numbers of this record, or of one of its sites, that no fit could have given.

    Those of the whole model of a submodel have another ``size`` than its names.
    """
    size = len(record.names) if size is None else size
    for name in ("centre", "score", "initial_variance", "origin", "ridge"):
        array = getattr(released, name)
        if not (name in ("origin", "ridge") and array is None) and array.shape != (size,):
            raise store_error(f"released {name} of another length than names", "one entry per coefficient")
    if released.exponential and (record.link != "log" or released.logistic):
        raise store_error("released exponential of a link that is not", "false, or a fit of counts")
    for name in ("information", "score_covariance"):
        matrix = getattr(released, name)
        if not (name == "score_covariance" and matrix is None) and matrix.shape != (size, size):
            raise store_error(f"released {name} of another length", "a row and a column per coefficient")
    for name in ("score_scale", "information_scale", "third_derivative_bound", "level_error"):
        if not 0.0 <= getattr(released, name) < math.inf:
            raise store_error(f"released {name} that is not finite, or below 0", "a finite number >= 0")
    if not 0.0 < released.weighting <= 1.0:
        raise store_error("released weighting that is no share", "a number above 0, at most 1")
    if not 0.0 < released.dispersion < math.inf:
        raise store_error("released dispersion that is not positive", "a finite number > 0")
    if (released.initial_variance < 0.0).any():
        raise store_error("released initial_variance below 0", "numbers >= 0")
    ends = [0, *(term.stop for term in released.term_columns)]
    columns = zip(ends, released.term_columns, strict=False)
    if any(not end == term.start < term.stop <= size for end, term in columns):
        raise store_error("released term_columns that do not follow each other", "the columns in their order")
    if ends[-1] != size:
        raise store_error("released term_columns of fewer columns than names", "all columns, once each")
    if sum(term.kind == "intercept" for term in released.term_columns) > 1:
        raise store_error("released term_columns with two intercepts", "one intercept")
    starts = {term.start: term for term in released.term_columns}
    for term in released.term_columns:
        if term.product is not None and not _is_product(term, *map(starts.get, term.product)):
            raise store_error("a product of term_columns of others", "that of a factor and a number")
        _term_columns(term)
        _stationary(released, record, term)


def _scales(record: FitRecord) -> None:
    scales = record.scales
    if scales is None:
        return
    size = len(scales.names)
    if len(set(scales.names)) < size or not scales.means.shape == scales.deviations.shape == (size,):
        raise store_error("scales of another length than their names", "one mean and deviation per name")
    if not (scales.deviations > 0.0).all() or not 0.0 < scales.longer < math.inf:
        raise store_error("scales that are not positive", "numbers > 0")
    if not 0.0 <= (scales.weight_lost or 0.0) <= 1.0:
        raise store_error("scales.weight_lost that is no share", "a number from 0 to 1")
    if scales.residual_cut is not None and not 0.0 < scales.residual_cut < math.inf:
        raise store_error("scales.residual_cut that is not positive", "a finite number > 0")
    if not 1.0 <= scales.steepness < math.inf:
        raise store_error("scales.steepness below 1", "a finite number, 1 for the logistic loss")


def _term_columns(term: TermColumns) -> None:
    width = term.stop - term.start
    if not 0.0 <= term.bound < math.inf:
        raise store_error("the bound of term_columns below 0", "a finite number >= 0")
    if term.prior.shape != (width,) or not (term.prior > 0.0).all():
        raise store_error("a prior of term_columns that is not positive", "a number > 0 per column")
    rows = {"intercept": 1, "slope": 1, "levels": width + 1, "other": width}[term.kind]
    single = term.kind in ("intercept", "slope")
    if term.table.shape != (rows, width) or (single and (width != 1 or term.table[0, 0] == 0.0)):
        raise store_error(f"a table of {term.kind} of another shape, or 0", "the coded values of each cell")
    if term.kind == "levels" and not _simplex(term.table):
        raise store_error("a table of levels that is no simplex", "orthogonal columns that sum to 0")
    if term.kind == "other" and not np.array_equal(term.table, np.eye(width)):
        raise store_error("a table of other columns", "the identity")


def _is_product(term: TermColumns, factor: TermColumns | None, number: TermColumns | None) -> bool:
    if factor is None or number is None or not min(term.bound, factor.bound * number.bound) > 0.0:
        return False
    kinds = (term.kind, factor.kind, number.kind)
    return kinds == ("other", "levels", "slope") and term.stop - term.start == factor.stop - factor.start


def _simplex(table: FloatMatrix) -> bool:
    """Whether columns sum to 0, are orthogonal and have one length, up to rounding."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = table.T @ table
        length = float(np.trace(square)) / len(square)
        apart = np.abs(square - length * np.eye(len(square))).max() <= SIMPLEX_SLACK * length
        centred = np.abs(table.sum(axis=0)).max() <= SIMPLEX_SLACK * length**0.5
        return bool(0.0 < length < np.inf and apart and centred)


def _stationary(released: ScoreAndInformation, record: FitRecord, term: TermColumns) -> None:
    """The released score of a minimiser is a ridge, >= 0 and one for each term, times the minimiser.

    Where it is averaged with another score, the ridge is stored.
    """
    if record.specification.method.name in ("moments", "secure-sum") or released.exponential:
        return  # normal equations have a score of their own, and holders form no minimiser together
    if released.ridge is not None:
        own = released.ridge[term.columns]
        if not (own > 0.0).all() or (own != own[0]).any():
            raise store_error("a ridge that is no number for each term", "numbers > 0, one for each term")
        return
    centre, score = released.centre[term.columns], released.score[term.columns]
    largest = int(np.argmax(np.abs(centre)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ridge = score[largest] / centre[largest] if centre.any() else 0.0
        gap = np.abs(score - ridge * centre) <= PRODUCT_SLACK * np.abs(score[largest])
    if not gap.all() or ridge < 0.0:
        raise store_error(
            "a released score that is no ridge times the centre", "score = ridge * centre by term"
        )


def _exact_path(record: FitRecord) -> None:
    path = record.exact_path
    if path is None:
        return
    steps = path.strengths.size
    if path.coefficients.shape != (steps, len(record.names)):
        raise store_error("exact_path.coefficients of another length", "one per strength and name")
    if path.folds < 0 or not 0 <= path.chosen < steps <= MOST_STRENGTHS:
        raise store_error("exact_path of another length", f"1 to {MOST_STRENGTHS} strengths")
    held_out = (steps if path.folds else 0,)
    if path.strengths.ndim != 1 or not path.losses.shape == path.errors.shape == held_out:
        raise store_error("exact_path.losses of another length", "one per strength where there are folds")
    if (np.diff(path.strengths) >= 0.0).any() or path.strengths.min() < 0.0 or (path.errors < 0.0).any():
        raise store_error("exact_path out of order", "falling strengths >= 0 and errors >= 0")
    if not path.whole > 0.0:
        raise store_error("exact_path.whole that is not above 0", "the weight of all rows")
    if not np.array_equal(path.coefficients[path.chosen], record.estimates):
        raise store_error("exact_path without the estimates", "the estimates at the chosen strength")
