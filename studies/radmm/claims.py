"""What the paper says of its figures, asked of this study's numbers; verdicts follow from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from studies.radmm.summary import Cell, Fits, Share
from studies.radmm.tables import REAL, TITLES

OWN: tuple[float | None, ...] = (None,)
EVERY: tuple[float | None, ...] = (None, *STRENGTHS)
# "Low epsilon", which the paper does not define.
LOW = 0.5
CLOSE = 0.01


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what was counted here, and whether that bears it out."""

    statement: str
    evidence: str
    verdict: str
    printed: str = "-"  # the same of the printed calibration, whose epsilon is not what it costs

    @property
    def row(self) -> tuple[str, str, str]:
        """As a line of a table."""
        return self.statement, self.evidence, self.verdict


def verdict(share: Share) -> str:
    """By definition: reproduces where it holds in more than half of the cells.

    Does not where its contrary holds in at least half of them; else it is not told apart.
    """
    if not share.of:
        return "not asked"
    return "reproduces" if share.most else "does not" if share.least else "not told apart"


def on_real_tables(fits: Fits) -> list[Claim]:
    """Of figures 1 and 2."""
    cells, own = fits.cells(), fits.cells(strengths=OWN)
    rivals = [name for name in ITERATIVE if name != "ssadmm"]
    given = fits.above("ssadmm", rivals, cells, "accuracy")
    default = fits.above("ssadmm", rivals, own, "accuracy")
    sampled = fits.above("samples", rivals, cells, "accuracy")
    printed = fits.above("samples-printed", rivals, cells, "accuracy")
    objective = fits.above("dpsgd", ["mpadmm"], cells, "objective")
    accuracy = fits.above("dpsgd", ["mpadmm"], cells, "accuracy")
    behind = [_behind(fits, cell) for cell in cells]
    asked = [one for one in behind if one is not None]
    worse = Share(asked.count(1), asked.count(-1), len(asked))
    found = [
        Claim(
            "ssADMM has the best accuracy of all private methods in most cases",
            f"all rows, paper's strengths: {given}; default strengths: {default}; on samples: {sampled}",
            verdict(given),
            f"ssADMM on samples with printed noise: {printed}",
        ),
        Claim(
            "DP-SGD has a larger objective than mpADMM usually, though better accuracy in some cases",
            f"larger objective in {objective}, better accuracy in {accuracy}",
            verdict(objective),
            _printed(lambda name: f"larger objective in {fits.above('dpsgd', [name], cells, 'objective')}"),
        ),
        Claim(
            "DP-ADMM and ADMM-objP are behind the best of ssADMM, mpADMM and DP-SGD",
            f"both behind in accuracy in {worse}",
            verdict(worse),
        ),
    ]
    adult, brazil = (_gap(fits, "mpadmm", name) for name in REAL)
    if adult is not None and brazil is not None:
        text = _losses(fits, "mpadmm")
        found.append(
            Claim(
                "mpADMM does better on Adult than on IPUMS-BR",
                f"mean accuracy lost against the fit without privacy, paper's strengths: {text}",
                "reproduces" if adult < brazil else "does not",
                _printed(lambda name: _losses(fits, name)),
            )
        )
    return found


def on_simulation(fits: Fits) -> list[Claim]:
    """Of figures 3 and 4."""
    cells = fits.cells(tables=["simulated"], strengths=EVERY)
    low = fits.cells(tables=["simulated"], strengths=EVERY, most=LOW)
    spreads = []
    for cell in cells:
        three = [fits.mean(name, cell, "accuracy") for name in ("ssadmm", "mpadmm", "dpsgd")]
        values = [mean.value for mean in three if mean is not None]
        if len(values) == len(three):
            spreads.append(max(values) - min(values))
    if not spreads:
        return []
    within = sum(spread <= CLOSE for spread in spreads)
    close = Share(within, len(spreads) - within, len(spreads))
    more = fits.above("mpadmm", ["ssadmm", "dpsgd"], low, "xi20")
    selects = fits.above("dpsc", ["ssadmm", "dpsgd"], low, "xi20")
    classifies = fits.above("dpsc", ["ssadmm", "dpsgd"], low, "accuracy")
    return [
        Claim(
            "ssADMM, mpADMM and DP-SGD have similar accuracy on the simulation",
            f"within {CLOSE:g} of each other in {close}; largest distance {max(spreads):.3f}",
            verdict(close),
        ),
        Claim(
            "mpADMM finds more relevant columns, at low epsilon above all",
            f"xi_20 above those of ssADMM and DP-SGD in {more} with epsilon <= {LOW:g}",
            verdict(more),
            _printed(lambda name: str(fits.above(name, ["ssadmm", "dpsgd"], low, "xi20"))),
        ),
        Claim(
            "ADMM-objP selects better than ssADMM and DP-SGD at low epsilon",
            f"xi_20 above both in {selects} with epsilon <= {LOW:g}",
            verdict(selects),
        ),
        Claim(
            "and its accuracy is behind theirs",
            f"accuracy not above both in {_rest(classifies)} with epsilon <= {LOW:g}",
            verdict(_rest(classifies)),
        ),
    ]


def beyond(fits: Fits) -> list[Claim]:
    """What the paper does not ask: the default against many, samples against all rows."""
    found = []
    for name in fits.tables():
        best = fits.above("auto", ITERATIVE, fits.cells(tables=[name], strengths=OWN), "accuracy")
        found.append(
            Claim(
                f"the default is more accurate than every iterative method, {TITLES[name]}",
                f"default strengths: {best}",
                _holds(best),
            )
        )
    rivals = [name + SELECT if name in SELECTING else name for name in ITERATIVE]
    select = fits.above("select", rivals, fits.cells(tables=["simulated"], strengths=OWN), "xi20")
    accurate = fits.above("select", rivals, fits.cells(tables=["simulated"], strengths=OWN), "accuracy")
    few = fits.cells(tables=fits.tables(), strengths=STRENGTHS[:1])
    short = fits.above("samples", ["ssadmm"], few, "accuracy")
    long = fits.above("samples", ["long"], few, "accuracy")
    found += [
        Claim(
            "the default, to select, is more accurate than every iterative method to select, simulation",
            f"default strengths: {accurate}",
            _holds(accurate),
        ),
        Claim(
            "the default, to select, has a larger xi_20 than every iterative method to select",
            f"default strengths: {select}",
            _holds(select),
        ),
        Claim(
            "ssADMM on samples is more accurate than on all rows, at their default number of steps",
            f"strength {STRENGTHS[0]:g}: {short}",
            _holds(short),
        ),
        Claim(
            f"ssADMM on samples is more accurate than on all rows with {LONG} steps",
            f"strength {STRENGTHS[0]:g}: {long}",
            _holds(long),
        ),
    ]
    return found


def _behind(fits: Fits, cell: Cell) -> int | None:
    """1 where both are behind the best of the three, -1 where one of them is ahead of it, else 0."""
    three = fits.best(("ssadmm", "mpadmm", "dpsgd"), cell, "accuracy")
    if three is None:
        return None
    gaps = [fits.gap(three[0], name, cell, "accuracy") for name in ("dp-admm", "dpsc")]
    signs = [gap.sign for gap in gaps if gap is not None]
    return min(signs) if len(signs) == len(gaps) else None


def _printed(evidence: Callable[[str], str]) -> str:
    """Evidence of mpADMM as printed, with the rounds that it needs, by step size."""
    names = (f"printed-{eta:g}-{ROUNDS_NEEDED}" for eta in ETAS_PRINTED)
    return "; ".join(f"{METHODS[name].label}: {evidence(name)}" for name in names)


def _losses(fits: Fits, method: str) -> str:
    gaps = {name: _gap(fits, method, name) for name in REAL}
    return "; ".join(f"{TITLES[name]} {share(gap)}" for name, gap in gaps.items() if gap is not None)


def _gap(fits: Fits, method: str, table: str) -> float | None:
    """Mean accuracy that a method loses, over epsilons, families and the paper's strengths."""
    lost = []
    for cell in fits.cells(tables=[table]):
        one, most = fits.mean(method, cell, "accuracy"), fits.ceiling(cell, "accuracy")
        if one is not None and most is not None:
            lost.append(most.value - one.value)
    return sum(lost) / len(lost) if lost else None


def _rest(share: Share) -> Share:
    return Share(share.of - share.held, share.held, share.of)


def _holds(share: Share) -> str:
    return verdict(share).replace("reproduces", "holds")


def ranked(fits: Fits, table: str, family: str, methods: Sequence[str], measure: str) -> list[list[str]]:
    """One line per epsilon: means and standard errors of methods at default strengths."""
    lines = []
    for epsilon in fits.epsilons():
        cell = Cell(table, family, None, epsilon)
        means = [fits.mean(method, cell, measure) for method in methods]
        if any(mean is not None for mean in means):
            texts = ["-" if m is None else spread(m.value, m.error) for m in means]
            lines.append([f"{epsilon:g}", *texts])
    return lines


def spread(value: float, error: float) -> str:
    """A share and its standard error, without leading zeros: .845 (.002)."""
    text = share(value)
    return text if error != error else f"{text} ({share(error)})"


def share(value: float) -> str:
    """Three decimals, without a leading zero."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
