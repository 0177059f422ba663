"""What the paper says of its figures, asked of this study's numbers; verdicts follow from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studies.paired import Mean
from studies.radmm.grid import EPSILONS, ITERATIVE, LONG, SELECT, SELECTING, STRENGTHS
from studies.radmm.summary import Cell, Fits, Share
from studies.radmm.tables import REAL, TITLES

BAR_XI, BAR_ACCURACY, BAR_EPSILON = 0.95, 0.01, 1.0
OWN: tuple[float | None, ...] = (None,)
EVERY: tuple[float | None, ...] = (None, *STRENGTHS)
# Of a mean of shares, so that a bar that is reached exactly is met.
ROUNDING = 1e-9
# "Low epsilon", which the paper does not define.
LOW = 0.5
CLOSE = 0.01


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what was counted here, and whether that bears it out."""

    statement: str
    evidence: str
    verdict: str

    @property
    def row(self) -> tuple[str, str, str]:
        """As a line of a table."""
        return self.statement, self.evidence, self.verdict


def verdict(share: Share) -> str:
    """By definition: reproduces where it holds in more than half of the cells."""
    if not share.of:
        return "not asked"
    return "reproduces" if share.most else "does not"


def on_real_tables(fits: Fits) -> list[Claim]:
    """Of figures 1 and 2."""
    cells, own = fits.cells(), fits.cells(strengths=OWN)
    rivals = [name for name in ITERATIVE if name != "ssadmm"]
    given = fits.above("ssadmm", rivals, cells, "accuracy")
    default = fits.above("ssadmm", rivals, own, "accuracy")
    sampled = fits.above("samples", rivals, cells, "accuracy")
    objective = fits.above("dpsgd", ["mpadmm"], cells, "objective")
    accuracy = fits.above("dpsgd", ["mpadmm"], cells, "accuracy")
    behind = [_behind(fits, cell) for cell in cells]
    asked = [one for one in behind if one is not None]
    worse = Share(sum(asked), len(asked))
    found = [
        Claim(
            "ssADMM has the best accuracy of all private methods in most cases",
            f"all rows, paper's strengths: {given}; default strengths: {default}; on samples: {sampled}",
            verdict(given),
        ),
        Claim(
            "DP-SGD has a larger objective than mpADMM usually, though better accuracy in some cases",
            f"larger objective in {objective}, better accuracy in {accuracy}",
            verdict(objective),
        ),
        Claim(
            "DP-ADMM and ADMM-objP are behind the best of ssADMM, mpADMM and DP-SGD",
            f"both behind in accuracy in {worse}",
            verdict(worse),
        ),
    ]
    gaps = {name: _gap(fits, name) for name in REAL}
    adult, brazil = gaps["adult"], gaps["ipums_br"]
    if adult is not None and brazil is not None:
        text = "; ".join(f"{TITLES[name]} {share(gap)}" for name, gap in gaps.items() if gap is not None)
        found.append(
            Claim(
                "mpADMM does better on Adult than on IPUMS-BR",
                f"mean accuracy lost against the fit without privacy, paper's strengths: {text}",
                "reproduces" if adult < brazil else "does not",
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
    close = Share(sum(spread <= CLOSE for spread in spreads), len(spreads))
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
                "holds" if best.most else "does not",
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


@dataclass(frozen=True)
class Bar:
    """A bar of the simulation at one setting, a strength or a goal, and epsilon 1."""

    setting: str
    method: str
    xi: Mean
    behind: dict[str, float]

    @property
    def xi_met(self) -> bool:
        """Best xi_20 of ssADMM and mpADMM."""
        return self.xi.value >= BAR_XI - ROUNDING

    @property
    def accuracy_met(self) -> bool:
        """Both within .01 of DP-SGD."""
        return all(abs(distance) <= BAR_ACCURACY + ROUNDING for distance in self.behind.values())


def bars(fits: Fits, epsilon: float = BAR_EPSILON) -> list[Bar]:
    """xi_20 of the better of ssADMM and mpADMM, and their accuracy less DP-SGD's, from the same run."""
    found = []
    settings = {"default": (None, ""), "default, to select": (None, SELECT)}
    settings |= {f"{strength:g}": (strength, "") for strength in STRENGTHS}
    for setting, (strength, suffix) in settings.items():
        cell = Cell("simulated", "binomial", strength, epsilon)
        two = [name + suffix for name in ("ssadmm", "mpadmm")]
        best = fits.best(two, cell, "xi20")
        other = fits.mean("dpsgd" + suffix, cell, "accuracy")
        if best is None or other is None:
            continue
        pairs = {name: fits.mean(name, cell, "accuracy") for name in two}
        distances = {name: mean.value - other.value for name, mean in pairs.items() if mean is not None}
        found.append(Bar(setting, *best, distances))
    return found


def _behind(fits: Fits, cell: Cell) -> bool | None:
    two = fits.best(("dp-admm", "dpsc"), cell, "accuracy")
    three = fits.best(("ssadmm", "mpadmm", "dpsgd"), cell, "accuracy")
    return None if two is None or three is None else two[1].value < three[1].value


def _gap(fits: Fits, table: str) -> float | None:
    """Mean accuracy that mpADMM loses, over epsilons, families and the paper's strengths."""
    lost = []
    for cell in fits.cells(tables=[table]):
        one, most = fits.mean("mpadmm", cell, "accuracy"), fits.ceiling(cell, "accuracy")
        if one is not None and most is not None:
            lost.append(most.value - one.value)
    return sum(lost) / len(lost) if lost else None


def _rest(share: Share) -> Share:
    return Share(share.of - share.held, share.of)


def _holds(share: Share) -> str:
    return "not asked" if not share.of else "holds" if share.most else "does not"


def ranked(fits: Fits, table: str, family: str, methods: Sequence[str], measure: str) -> list[list[str]]:
    """One line per epsilon: means and standard errors of methods at default strengths."""
    lines = []
    for epsilon in EPSILONS:
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
