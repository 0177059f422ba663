"""What reproduces and what does not, in words that the numbers choose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from studies.dpsc.fits import DEFAULT, EXACT, GAUSSIAN, PENALTIES, PREDICT, PRINTED, PURE, label
from studies.dpsc.summary import gap, levels, value
from studies.jobs import Result

# Epsilons at which errors are told in words.
TOLD = (0.5, 1.0, 2.0)
# Means that differ by less are printed as the same.
SAME = 5e-4


def percent(share: float) -> str:
    """A share as a percentage, a dash where there is none.

    Examples
    --------
    >>> percent(0.0512), percent(float("nan"))
    ('5.1 %', '-')
    """
    return "-" if math.isnan(share) else f"{100.0 * share:.1f} %"


def trend(heights: Sequence[float]) -> str:
    """How heights go from the first to the last.

    Examples
    --------
    >>> trend([0.5, 0.4, 0.1]), trend([0.5, 0.6, 0.1]), trend([1.0, 1.0])
    ('falls at every step', 'falls, but for 1 step', 'stays the same')
    """
    if len(heights) < 2 or math.isclose(heights[0], heights[-1], abs_tol=SAME):
        return "stays the same"
    sign = math.copysign(1.0, heights[-1] - heights[0])
    against = sum(sign * (after - before) < 0.0 for before, after in pairwise(heights))
    word = "rises" if sign > 0.0 else "falls"
    return f"{word}, but for {against} step{'s' * (against > 1)}" if against else f"{word} at every step"


def compared(
    results: Sequence[Result], metric: str, one: Mapping[str, object], other: Mapping[str, object]
) -> str:
    """Whether one mean is "smaller than", "larger than" or "not told apart from" another."""
    found = gap(results, metric, one, other)
    if found is None:
        return "not comparable with"
    sign = found.sign if found.count > 1 else (found.mean > 0.0) - (found.mean < 0.0)
    return {1: "larger than", -1: "smaller than", 0: "not told apart from"}[sign]


def guessing(errors: Sequence[float], constant: float) -> str:
    """How errors of a test set compare with a constant answer's.

    Examples
    --------
    >>> guessing([0.48, 0.47], 0.5), guessing([0.1, 0.49], 0.5), guessing([0.1], 0.5)
    ('no better than guessing', 'no better than guessing at 1 of 2', 'useful')
    """
    bad = [error > 0.9 * constant for error in errors if not math.isnan(error)]
    if not any(bad):
        return "useful"
    return "no better than guessing" + ("" if all(bad) else f" at {sum(bad)} of {len(bad)}")


def simulation(results: Sequence[Result]) -> list[str]:
    """Figures 1 to 4."""
    epsilons = levels(results, "epsilon")
    low = [epsilon for epsilon in epsilons if epsilon <= 1.0]
    texts = []
    for penalty in PENALTIES:
        at = {
            epsilon: value(results, "error", kind=PRINTED, penalty=penalty, epsilon=epsilon)
            for epsilon in epsilons
        }
        errors = ", ".join(f"{percent(error)} at {epsilon:g}" for epsilon, error in at.items())
        verdict = guessing([at[epsilon] for epsilon in low], 0.5)
        texts.append(
            f"{label(PRINTED, penalty)}: classification error {errors}; at epsilon of 1 or less it is "
            f"{verdict} (a constant answer errs on half of the rows), against "
            f"{percent(value(results, 'error', kind=EXACT, penalty=penalty))} without noise."
        )
    return [*texts, _corrected(results, epsilons), _zeros(results)]


def _zeros(results: Sequence[Result]) -> str:
    found = ", ".join(
        f"{label(kind, 'l1')} {value(results, 'can', kind=kind, penalty='l1'):.1f}"
        for kind in (EXACT, PRINTED, PURE, GAUSSIAN, DEFAULT, PREDICT)
    )
    return (
        f"True zeros found with l1, mean over epsilons: {found}. Cross-validation chooses for prediction and "
        "keeps many columns that say little; a strength that follows from the noise, or from the aim of a "
        "short list, keeps fewer. That C.A.N is lower with noise than without is a statement about strengths."
    )


def _corrected(results: Sequence[Result], epsilons: Sequence[float]) -> str:
    parts = []
    for epsilon in [one for one in epsilons if one in TOLD] or epsilons:
        here = [one for one in results if one.get("epsilon", epsilon) == epsilon]
        found = {
            kind: percent(value(here, "error", kind=kind, penalty="l1"))
            for kind in (PRINTED, PURE, GAUSSIAN, DEFAULT, PREDICT)
        }
        word = compared(
            here, "error", {"kind": DEFAULT, "penalty": "l1"}, {"kind": GAUSSIAN, "penalty": "l1"}
        )
        parts.append(
            f"epsilon {epsilon:g}: printed {found[PRINTED]}, pure {found[PURE]}, Gaussian {found[GAUSSIAN]}, "
            f"default {found[DEFAULT]} ({word} Gaussian; {found[PREDICT]} with goal='predict')"
        )
    return "Classification error with l1, printed against corrected, simulation: " + "; ".join(parts) + "."


def kdd(results: Sequence[Result], constant: float) -> str:
    """Figures 7 and 8."""
    epsilons = levels(results, "epsilon")
    parts = []
    for kind in (PRINTED, PURE, GAUSSIAN, DEFAULT, PREDICT):
        for penalty in PENALTIES:
            errors = [
                value(results, "error", kind=kind, penalty=penalty, epsilon=epsilon) for epsilon in epsilons
            ]
            listed = ", ".join(percent(error) for error in errors)
            parts.append(f"{label(kind, penalty)} {listed} ({guessing(errors, constant)})")
    exact = " and ".join(percent(value(results, "error", kind=EXACT, penalty=one)) for one in PENALTIES)
    return (
        f"KDD Cup 99: a constant answer errs on {percent(constant)} of test rows, LLA and LHA on {exact}. "
        f"Error at epsilon {', '.join(f'{one:g}' for one in epsilons)}: " + "; ".join(parts) + "."
    )
