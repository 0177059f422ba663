"""Free submodels, `fit.refit(drop=..., merge=...)`, against the rows: ``python -m studies submodels``.

The rows of each design stay; responses and noise are drawn again and again, (epsilon, 1e-6), add-remove. A
submodel is to be within .1 standard errors of its maximum likelihood where it is accepted and there is no
noise, and its intervals are to cover the coefficients that maximise its expected likelihood.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import dpglm
from dpglm.errors import MethodError, PlanningAdvice
from dpglm.inference import restricted_model
from dpglm.postprocessing.restriction import distance
from dpglm.typing import FloatVector
from studies.coverage.grid import seed_of
from studies.submodels.designs import EPSILONS, Asked, Judged, drawn

ERROR_BAR, COVERAGE_BAR = 0.1, 0.93
# Refusals whose advice is followed, of each design: reading it takes the time of several refits.
FOLLOWED: Final = 2
# A design's own coverage is told where its submodels have so many intervals.
OFTEN: Final = 100
# A larger standard error is that of a coefficient without a finite maximum: a hundredth of what is known of
# it is the ridge of the likelihood.
MOST_ERROR: Final = 3.2
Found = dict[str, Any]


def judged(design: Judged, replications: int) -> list[Found]:
    """A line for each submodel of a design, and one for the whole model."""
    lines = [_line(design, place) for place in range(-1, len(design.submodels))]
    truth = _truth(design, {}, design.formula)
    _without_noise(design, lines)
    for number in range(replications):
        fit = _fit(design, number, design.epsilon)
        _count(lines[0], fit, truth)
        for place, (line, asked) in enumerate(zip(lines[1:], design.submodels, strict=True)):
            if (place + number) % 2:  # every second one: they take longer than the fit
                continue
            away, limit = distance(fit._record, **asked)
            line["distances"].append(away)
            if not away <= limit:
                if number < FOLLOWED:
                    line["advice"].append(followed(fit, asked))
                continue
            small = fit.refit(**asked)
            line["accepted"] += 1
            if "truth" not in line:
                line["truth"] = _truth(design, asked, small.formula).tolist()
            _count(line, small, np.array(line["truth"]))
    return lines


def _line(design: Judged, place: int) -> Found:
    public = {"seed": design.seed, "family": design.family, "epsilon": design.epsilon}
    public |= {"n": len(design.mean), "formula": design.formula, "submodel": None, "idle": False}
    if place >= 0:
        public |= {"submodel": design.submodels[place], "idle": design.idle[place]}
    counts = {"accepted": 0, "intervals": 0, "hits": 0, "marked": 0, "marked_hits": 0}
    return {**public, **counts, "distances": [], "advice": []}


def _fit(design: Judged, number: int, epsilon: float | None) -> dpglm.FitResult:
    found = dpglm.fit(
        design.formula,
        design.frame.assign(y=design.response(number).astype(np.int64)),
        schema=design.schema,
        family=design.family,
        penalty="none",
        privacy=None if epsilon is None else dpglm.Privacy(epsilon, 1e-6, "add-remove"),
        seed=None if epsilon is None else seed_of("submodels", design.seed, number, epsilon),
        progress=False,
    )
    assert isinstance(found, dpglm.FitResult)
    return found


def _without_noise(design: Judged, lines: Sequence[Found]) -> None:
    """Distances and errors of all submodels, accepted or not, of a fit to the rows without noise."""
    exact, y = _fit(design, 0, None), design.response(0)
    whole_errors = design.likelihood(design.columns(design.formula, {})[0], y)[1]
    limits = restricted_model.LOGISTIC_LIMIT, restricted_model.OTHER_LIMIT
    for line, asked in zip(lines[1:], design.submodels, strict=True):
        away, limit = distance(exact._record, **asked)
        restricted_model.LOGISTIC_LIMIT = restricted_model.OTHER_LIMIT = np.inf  # type: ignore[misc]
        try:
            small = exact.refit(**asked)
        except MethodError:
            assert not np.isfinite(away)
            line |= {"exact_distance": np.inf, "exact_error": np.nan, "near": False}
            continue
        finally:
            restricted_model.LOGISTIC_LIMIT, restricted_model.OTHER_LIMIT = limits  # type: ignore[misc]
        X, names = design.columns(small.formula, asked)
        assert tuple(small.params.index) == names, (names, tuple(small.params.index))
        beta, errors = design.likelihood(X, y)
        finite = errors < MOST_ERROR
        error = float(np.max((np.abs(small.params.to_numpy() - beta) / errors)[finite]))
        line |= {"exact_distance": away, "exact_error": error, "near": bool(away <= limit)}
        line["exact_width"] = float(np.max(np.abs(small.bse.to_numpy() / errors - 1.0)[finite]))
        line["separated"] = bool((whole_errors >= MOST_ERROR).any())


def _truth(design: Judged, asked: Asked, formula: str) -> FloatVector:
    X, _ = design.columns(formula, asked)
    return design.likelihood(X, design.mean)[0]


def _count(line: Found, fit: dpglm.FitResult, truth: FloatVector) -> None:
    """Intervals without a mark, and those that rest mostly on declared scales."""
    rows = fit.tidy()
    low, high = rows["conf_low"].to_numpy(), rows["conf_high"].to_numpy()
    told, given = rows["reliable"].to_numpy(dtype=bool), ~(np.isnan(low) | np.isnan(high))
    hit = (low <= truth) & (truth <= high)
    line["intervals"] += int(told.sum())
    line["hits"] += int((hit & told).sum())
    line["marked"] += int((given & ~told).sum())
    line["marked_hits"] += int((hit & given & ~told).sum())


def followed(fit: dpglm.FitResult, asked: Asked) -> Found:
    """What a refusal advises, and whether that is so: each term that it names is accepted."""
    try:
        fit.refit(**asked)
    except MethodError as refusal:
        names = re.findall(r"drop='([^']+)'", refusal.remedy) + re.findall(r"or '([^']+)'", refusal.remedy)
        least = refusal.remedy.startswith("Not even")
        return {"named": len(names), "least": least, "true": all(_accepted(fit, n) != least for n in names)}
    raise AssertionError("a submodel beyond the limit was accepted")


def _accepted(fit: dpglm.FitResult, name: str) -> bool:
    try:
        fit.refit(drop=name)
    except MethodError:
        return False
    return True


def summary(lines: Sequence[Found]) -> list[str]:
    """What is printed."""
    found = []
    for family in ("binomial", "poisson"):
        own = [one for one in lines if one["family"] == family and one["submodel"]]
        near = [one for one in own if one["near"]]
        needless = sum(not one["near"] and one["exact_error"] < ERROR_BAR for one in own)
        errors = [one["exact_error"] for one in near]
        found.append(
            f"{family}, without noise: {len(own)} submodels, {len(near)} accepted, largest error "
            f"{max(errors, default=np.nan):.3f}, {sum(e > ERROR_BAR for e in errors)} beyond {ERROR_BAR:g}; "
            f"{needless} refused without need"
        )
        for epsilon in EPSILONS:
            some = [one for one in own if one["epsilon"] == epsilon]
            found += [f"{family}, epsilon {epsilon:g}: {words}" for words in _with_noise(some, lines)]
    advice = [one for line in lines for one in line["advice"]]
    wrong = sum(not one["true"] for one in advice)
    none = sum(one["least"] for one in advice)
    found.append(f"{len(advice)} refusals followed: {wrong} with wrong advice, {none} name no term")
    return found


def _with_noise(own: Sequence[Found], lines: Sequence[Found]) -> list[str]:
    pairs = sum(len(one["distances"]) for one in own)
    idle = [one for one in own if one["idle"]]
    refused = 1.0 - sum(one["accepted"] for one in idle) / max(sum(len(o["distances"]) for o in idle), 1)
    far = max((one["exact_error"] for one in own if one["accepted"]), default=np.nan)
    seeds = {one["seed"] for one in own}
    whole = [one for one in lines if one["seed"] in seeds and not one["submodel"]]
    designs = {seed: [one for one in own if one["seed"] == seed] for seed in seeds}
    told = [(coverage(some), seed) for seed, some in designs.items() if total(some) >= OFTEN]
    least = min(told, default=(float("nan"), -1))
    return [
        f"{sum(one['accepted'] for one in own)} of {pairs} accepted, of idle ones {refused:.2f} refused; "
        f"coverage {coverage(own):.3f} of {total(own):,}, least design {least[0]:.3f} (seed {least[1]}), "
        f"whole fits {coverage(whole):.3f}; marked {coverage(own, 'marked'):.3f}; largest error without "
        f"noise of one ever accepted {far:.3f}"
    ]


def total(lines: Sequence[Found], kind: str = "intervals") -> int:
    """Number of intervals."""
    return sum(one[kind] for one in lines)


def coverage(lines: Sequence[Found], kind: str = "intervals") -> float:
    """Share of intervals that cover."""
    hits = "hits" if kind == "intervals" else "marked_hits"
    return total(lines, hits) / total(lines, kind) if total(lines, kind) else float("nan")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m studies submodels", description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--designs", type=int, default=90)
    parser.add_argument("--replications", type=int, default=40)
    parser.add_argument("--out", type=Path, help="a file for a line of JSON for each submodel")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", PlanningAdvice)
    lines: list[Found] = []
    for seed in range(asked.first, asked.first + asked.designs):
        lines += judged(drawn(seed), asked.replications)
        if asked.out is not None:
            asked.out.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    print("\n".join(summary(lines)))
    near = [one for one in lines if one["submodel"] and one["near"]]
    wrong = any(one["exact_error"] > ERROR_BAR for one in near)
    small = [one for one in lines if one["submodel"]]
    return int(wrong or coverage(small) < COVERAGE_BAR)


if __name__ == "__main__":
    sys.exit(main())
