"""What the paper says of its figures, asked of this study's numbers; verdicts follow from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from studies.paired import HOLDS, NOT, UNTOLD, Difference, difference
from studies.radmm.grid import (
    ETAS_PRINTED,
    ITERATIVE,
    LONG,
    METHODS,
    ROUNDS_NEEDED,
    SELECT,
    SELECTING,
    STRENGTHS,
)
from studies.radmm.means import EVERY, titled
from studies.radmm.summary import Cell, Fits, Share, sign
from studies.radmm.tables import REAL, TITLES
from studies.radmm.verdicts import Claim, Counted, verdict

OWN: tuple[float | None, ...] = (None,)
# "Low epsilon", which the paper does not define.
LOW = 0.5
CLOSE = 0.01
THREE = ("ssadmm", "mpadmm", "dpsgd")
# The step size at which the printed noise suffices, and the steps that it needs.
AS_TUNED = "mpadmm-eta1"


def on_real_tables(fits: Fits) -> list[Claim]:
    """Of figures 1 and 2."""
    cells, own = fits.cells(), fits.cells(strengths=OWN)
    rivals = [name for name in ITERATIVE if name != "ssadmm"]
    given = fits.above("ssadmm", rivals, cells, "accuracy")
    objective = _larger_objective(fits, "mpadmm", cells)
    behind = _behind(fits, cells)
    found = [
        Claim(
            "ssADMM has the best accuracy of all private methods in most cases",
            "accuracy of ssADMM less that of the best other iterative method",
            (
                ("all rows, paper's strengths", given),
                ("default strengths", fits.above("ssadmm", rivals, own, "accuracy")),
                ("on samples", fits.above("samples", rivals, cells, "accuracy")),
            ),
            verdict(given, most=True),
            (("samples, printed noise", fits.above("samples-printed", rivals, cells, "accuracy")),),
        ),
        Claim(
            "DP-SGD has a larger objective than mpADMM usually, though better accuracy in some cases",
            "objective or accuracy of DP-SGD less that of mpADMM",
            (
                (f"larger objective{_compared(objective, cells)}", objective),
                ("better accuracy", fits.above("dpsgd", ["mpadmm"], cells, "accuracy")),
            ),
            verdict(objective),
            _printed(lambda name: _larger_objective(fits, name, cells), "larger objective, "),
        ),
        Claim(
            "DP-ADMM and ADMM-objP are behind the best of ssADMM, mpADMM and DP-SGD",
            "accuracy of the best of the three less that of the better of the two",
            (("both behind in accuracy", behind),),
            verdict(behind),
        ),
    ]
    if (gap := _better_on_adult(fits, "mpadmm")) is not None:
        found.append(
            Claim(
                "mpADMM does better on Adult than on IPUMS-BR",
                "accuracy less that of the fit without privacy",
                (),
                HOLDS if gap.sign > 0 else NOT if gap.sign < 0 else UNTOLD,
                beside="mean accuracy less that of the fit without privacy, paper's strengths, Adult less "
                f"IPUMS-BR: {gap}",
                printed_beside="; ".join(
                    f"{_by_steps(name)}: {one}"
                    for name in PRINTED
                    if (one := _better_on_adult(fits, name)) is not None
                ),
            )
        )
    return found


def on_simulation(fits: Fits) -> list[Claim]:
    """Of figures 3 and 4."""
    cells = fits.cells(tables=["simulated"], strengths=EVERY)
    low = fits.cells(tables=["simulated"], strengths=EVERY, most=LOW)
    own = fits.cells(tables=["simulated"], strengths=OWN, most=LOW)
    first = fits.cells(tables=["simulated"], strengths=STRENGTHS[:1], most=LOW)
    close = _similar(fits, cells)
    if not close.of:
        return []
    rivals = ["ssadmm", "dpsgd"]
    to_select = [name + SELECT for name in rivals]
    more = fits.above("mpadmm", rivals, low, "xi20")
    tuned = fits.above(AS_TUNED, rivals, low, "xi20")
    selects = fits.above("dpsc", rivals, low, "xi20")
    classifies = fits.below("dpsc", rivals, low, "accuracy")
    tuned_name = f"eta 1, {ROUNDS_NEEDED} steps"
    return [
        Claim(
            "ssADMM, mpADMM and DP-SGD have similar accuracy on the simulation",
            "the largest of the three differences in accuracy",
            ((f"intervals of all differences within {CLOSE:g}", close),),
            verdict(close),
        ),
        Claim(
            "mpADMM finds more relevant columns, at low epsilon above all",
            f"xi_20 of mpADMM less that of the better of ssADMM and DP-SGD, epsilon <= {LOW:g}",
            (
                (tuned_name, tuned),
                (
                    f"{tuned_name}, against ssADMM of {LONG} steps",
                    fits.above(AS_TUNED, ["long"], first, "xi20"),
                ),
                ("dpglm's default steps", more),
            ),
            f"{verdict(tuned)}: with {tuned_name}; with default steps: {verdict(more)}"
            if tuned.of
            else verdict(more),
            _printed(lambda name: fits.above(name, rivals, low, "xi20")),
        ),
        Claim(
            "ADMM-objP selects better than ssADMM and DP-SGD at low epsilon",
            f"xi_20 of ADMM-objP less that of the better of the two, epsilon <= {LOW:g}",
            (
                ("as in the paper", selects),
                (
                    "against the two set to select, default strengths",
                    fits.above("dpsc", to_select, own, "xi20"),
                ),
            ),
            verdict(selects),
        ),
        Claim(
            "ADMM-objP is less accurate than ssADMM and DP-SGD there",
            f"accuracy of ADMM-objP less that of the worse of the two, epsilon <= {LOW:g}",
            (("accuracy below both", classifies),),
            verdict(classifies),
        ),
    ]


def beyond(fits: Fits) -> list[Claim]:
    """What the paper does not ask: the default against many, samples against all rows."""
    found = []
    for name in fits.tables():
        best = fits.above("auto", ITERATIVE, fits.cells(tables=[name], strengths=OWN), "accuracy")
        statement = f"the default is more accurate than every iterative method, {TITLES[name]}"
        found.append(_ours(statement, "accuracy less that of the best", "default strengths", best))
    rivals = [name + SELECT if name in SELECTING else name for name in ITERATIVE]
    own, few = fits.cells(tables=["simulated"], strengths=OWN), fits.cells(tables=fits.tables())
    return [
        *found,
        _ours(
            "the default, to select, is more accurate than every iterative method to select, simulation",
            "accuracy less that of the best",
            "default strengths",
            fits.above("select", rivals, own, "accuracy"),
        ),
        _ours(
            "the default, to select, has a larger xi_20 than every iterative method to select",
            "xi_20 less that of the best",
            "default strengths",
            fits.above("select", rivals, own, "xi20"),
        ),
        _ours(
            "ssADMM on samples is more accurate than on all rows, at their default number of steps",
            "accuracy on samples less that on all rows",
            f"strength {STRENGTHS[0]:g}",
            fits.above("samples", ["ssadmm"], few, "accuracy"),
        ),
        _ours(
            f"ssADMM on samples is more accurate than on all rows with {LONG} steps",
            "accuracy on samples less that on all rows",
            f"strength {STRENGTHS[0]:g}",
            fits.above("samples", ["long"], few, "accuracy"),
        ),
    ]


def _ours(statement: str, contrast: str, where: str, share: Share) -> Claim:
    return Claim(statement, contrast, ((where, share),), verdict(share))


def _similar(fits: Fits, cells: Iterable[Cell]) -> Share:
    """Held where no two of the three are further apart than `CLOSE`, against where two are."""
    held = against = 0
    widest = []
    for cell in cells:
        pairs = combinations(THREE, 2)
        gaps = [gap for one, other in pairs if (gap := fits.gap(one, other, cell, "accuracy")) is not None]
        if len(gaps) < len(THREE):
            continue
        ends = [(gap.low, gap.high) if gap.count > 1 else (gap.mean, gap.mean) for gap in gaps]
        held += all(low >= -CLOSE and high <= CLOSE for low, high in ends)
        against += any(low > CLOSE or high < -CLOSE for low, high in ends)
        widest.append((cell, max(gaps, key=lambda gap: abs(gap.mean))))
    return Share(held, against, len(widest), tuple(widest))


def _behind(fits: Fits, cells: Iterable[Cell]) -> Share:
    """Held where both are behind the best of the three, against where one of them is ahead of it."""
    held = against = 0
    nearest = []
    for cell in cells:
        best = fits.best(THREE, cell, "accuracy")
        if best is None:
            continue
        pairs = [fits.gap(best[0], name, cell, "accuracy") for name in ("dp-admm", "dpsc")]
        gaps = [gap for gap in pairs if gap is not None]
        if len(gaps) < len(pairs):
            continue
        held += min(map(sign, gaps)) > 0
        against += min(map(sign, gaps)) < 0
        nearest.append((cell, min(gaps, key=lambda gap: gap.mean)))
    return Share(held, against, len(nearest), tuple(nearest))


# As printed, with the rounds that it needs, by step size.
PRINTED = tuple(f"printed-{eta:g}-{ROUNDS_NEEDED}" for eta in ETAS_PRINTED)


def _printed(share: Callable[[str], Share], what: str = "") -> tuple[Counted, ...]:
    """Counts of mpADMM as printed; none where nothing can be compared."""
    shares = ((f"{what}{_by_steps(name)}", share(name)) for name in PRINTED)
    return tuple((text, one) for text, one in shares if one.of)


def _by_steps(name: str) -> str:
    return METHODS[name].label.removeprefix("mpADMM printed, ")


def _larger_objective(fits: Fits, method: str, cells: Iterable[Cell]) -> Share:
    """Where the objective of DP-SGD is the larger one, of cells in which both have one coding."""
    return fits.above("dpsgd", [method], fits.alike(["dpsgd", method], cells), "objective")


def _compared(share: Share, cells: Iterable[Cell]) -> str:
    """Of which tables and losses objectives could be compared, if not of all."""
    some, every = ({titled(one.table, one.family) for one in group} for group in (_cells(share), cells))
    return (
        f" ({' and '.join(sorted(some))} alone, as elsewhere codings differ)"
        if 0 < len(some) < len(every)
        else ""
    )


def _cells(share: Share) -> list[Cell]:
    return [cell for cell, _ in share.gaps]


def _better_on_adult(fits: Fits, method: str) -> Difference | None:
    """Accuracy against that without privacy, on Adult less on IPUMS-BR, over folds; None without both."""
    one, other = (fits.by_draw(method, fits.cells(tables=[name])) for name in REAL)
    both = sorted(one.keys() & other.keys())
    return difference([one[fold] for fold in both], [other[fold] for fold in both]) if both else None
