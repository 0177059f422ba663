"""Fields of a saved result that follow from each other: a changed file must not show a lower price."""

from __future__ import annotations

import math

import numpy as np

from dpglm.postprocessing.checks import fault
from dpglm.postprocessing.record import FitRecord

PRICE_SLACK = 1e-9  # rounding of sums of a few doubles
PRODUCT_SLACK = 1e-6  # of the summands' size: zeros of what was not selected are exact, the product is not


def check_agreement(record: FitRecord) -> None:
    """Compare the guarantee with the releases, the estimates with the coded ones, the score with the centre.

    Raises
    ------
    StoreError
        The releases cost more than the guarantee says, a result made without privacy says that it is private,
        the estimates are not those of ``coded``, or the score of a minimiser is not a ridge times the
        minimiser.
    """
    _prices(record)
    _promise(record)
    _stationary(record)
    path = record.exact_path
    if path is not None and not np.array_equal(path.coefficients[path.chosen], record.estimates):
        fault("an exact path without the estimates", "the estimates at the chosen strength")
    with np.errstate(over="ignore", invalid="ignore"):
        product = record.user_from_coded @ record.coded
        size = np.abs(record.user_from_coded) @ np.abs(record.coded)
        agree = np.abs(record.estimates - product) <= PRODUCT_SLACK * size
    if not agree.all():
        fault("estimates that do not fit coded and user_from_coded", "estimates = user_from_coded @ coded")


# Methods that deal rows to parts, whose prices do not add up.
DEALING = ("pst-f", "pst-h", "pst-s")


def _prices(record: FitRecord) -> None:
    promise = record.guarantee
    if any(line.part for line in record.spend_lines) and record.method not in DEALING:
        fault(f"parts of the rows by method {record.method!r}", "prices that add up")
    for part in {
        line.part for line in record.spend_lines
    }:  # a row is in one part, and in what reads all rows
        lines = [line for line in record.spend_lines if line.part in (0, part)]
        epsilon = sum(line.epsilon for line in lines if line.epsilon is not None)
        if epsilon > promise.epsilon * (1.0 + PRICE_SLACK):
            fault(
                "guarantee.epsilon below the sum of spend_lines", "releases that cost no more than promised"
            )
        mu = math.hypot(*(line.mu for line in lines if line.mu is not None))
        if promise.mu is not None and mu > promise.mu * (1.0 + PRICE_SLACK):
            fault("guarantee.mu below that of spend_lines", "releases that cost no more than promised")


def _promise(record: FitRecord) -> None:
    """A promise has no reason against it, and its noise came from the operating system."""
    promise = record.guarantee
    source = record.mechanism.get("random_source", "")
    seeded = isinstance(source, str) and source.endswith("NOT PRIVATE")
    if promise.private and (promise.reason or seeded or record.method == "nonprivate"):
        fault("a private guarantee of a fit that was made without privacy", "private: false, and the reason")


def _stationary(record: FitRecord) -> None:
    """The released score of a minimiser is a ridge, >= 0 and one for each block, times the minimiser."""
    released = record.released
    if released is None or not released.centre.any():
        return
    for block in released.term_columns:
        centre, score = released.centre[block.columns], released.score[block.columns]
        largest = int(np.argmax(np.abs(centre)))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ridge = score[largest] / centre[largest] if centre.any() else 0.0
            gap = np.abs(score - ridge * centre) <= PRODUCT_SLACK * np.abs(score[largest])
        if not gap.all() or ridge < 0.0:
            fault("a released score that is no ridge times the centre", "score = ridge * centre by block")
