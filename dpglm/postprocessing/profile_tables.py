"""A profile as tables: a data frame of its statistics, and the table of sample characteristics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from dpglm.postprocessing.correlations import Told, column_names
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.profile import OVERALL, Estimate, Group, ProfileRecord, Statistic
from dpglm.postprocessing.quartiles import PROBABILITIES
from dpglm.tables.table import ABSENT, Column, Table, coefficient, count

if TYPE_CHECKING:
    import pandas as pd

# Means and spreads of all values stand for those of complete rows. Other rows may be so many standard
# deviations away: times their share this is an error beside the noise.
AWAY: Final = 3.0
KNOWN_GROUP: Final = "The table has {} rows, which is public; those with a known {} are counted with noise."


def tidy(record: ProfileRecord) -> pd.DataFrame:
    """A row for each statistic: estimate, standard errors by source, and the ends of a 95 % interval."""
    import pandas as pd

    rows = [
        (e.column, e.level, e.group, e.statistic, e.value, e.error, e.sampling, e.noise, *e.interval)
        for e in record.estimates
    ]
    names = ["column", "level", "group", "statistic", "estimate", "std_error", "sampling_se", "privacy_se"]
    return marked(pd.DataFrame(rows, columns=[*names, "conf_low", "conf_high"]), record)


def overall(record: ProfileRecord, statistic: Statistic) -> pd.Series[float]:
    """A statistic of all groups together, by column, and by level too where it is a share."""
    frame = tidy(record)
    frame = frame[(frame["group"] == OVERALL) & (frame["statistic"] == statistic)]
    index = ["column", "level"] if statistic == "share" else "column"
    return marked(frame.set_index(index)["estimate"].rename(statistic), record)


def quartile_table(record: ProfileRecord) -> pd.DataFrame:
    """Quartiles of all groups together, a row for each number."""
    frame = tidy(record)
    kept = (frame["group"] == OVERALL) & frame["statistic"].isin(list(PROBABILITIES))
    names = list(dict.fromkeys(frame.loc[kept, "column"]))
    wide = frame[kept].pivot(index="column", columns="statistic", values="estimate")
    return marked(wide.loc[names, list(PROBABILITIES)].rename_axis(columns=None), record)


def correlation_tables(record: ProfileRecord) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Correlations of numbers and of indicators of levels, and their standard errors."""
    import pandas as pd

    assert record.products is not None, "asked of profiles with products"
    told: dict[tuple[str, str], Told] = {}
    known = record.of(OVERALL)
    complete = record.products.rows / max(record.counts()[""][0], 1.0)
    away = AWAY * min(max(1.0 - complete, 0.0), 1.0)
    for (column, level, statistic), each in known.items():
        if statistic == "mean":
            sd, noise = known[column, "", "sd"].value, known[column, "", "sd"].noise
        elif statistic == "share":
            sd = math.sqrt(max(each.value * (1.0 - each.value), 0.0)) or math.nan  # at 0 or 1 nothing is told
            noise = abs(0.5 - each.value) * each.noise / sd
        else:
            continue
        told[column, level] = each.value, math.hypot(each.noise, away * sd), sd, math.hypot(noise, away * sd)
    labels = column_names(record.products.columns)
    estimates, errors = (
        marked(pd.DataFrame(each, index=labels, columns=labels), record)
        for each in record.products.correlations(told)
    )
    return estimates, errors


def summary(record: ProfileRecord) -> Table:
    """The table of sample characteristics: a row for each number and level, a column for each group."""
    labels = [*record.groups, *([OVERALL] if record.by is not None else [])]
    groups = [record.of(label) for label in labels]
    counted = "persons" if record.guarantee.persons else "rows"
    rows = [(counted, *(_plus_minus(group["", "", "n"]) for group in groups))]
    indented: list[int] = []
    known = {column.name: column for column in record.columns}
    for name in record.names:
        levels = known[name].levels
        if not levels:
            rows.append((f"{name}, mean (sd)", *(_mean_and_deviation(group, name) for group in groups)))
            if record.classes is not None:
                rows.append((f"{name}, median [Q1, Q3]", *(_median(group, name) for group in groups)))
        elif len(levels) == 2:
            rows.append((f"{name} = {levels[1]}", *(_share(group, name, levels[1]) for group in groups)))
        else:
            rows.append((name, *("" for _ in groups)))
            indented += range(len(rows), len(rows) + len(levels))
            rows += [(level, *(_share(group, name, level) for group in groups)) for level in levels]
    return Table(
        title="Sample characteristics",
        columns=(Column("", "left"), *map(Column, labels)),
        rows=tuple(rows),
        wide=(("Privacy", record.promise),),
        notes=(
            "Standard errors follow the sign +-; they hold sampling and the noise of the release. A number "
            "that its noise hides is absent (-).",
            *([KNOWN_GROUP.format(count(record.n_rows), record.by)] if record.n_rows and record.by else []),
        ),
        alarm=record.alarm,
        indented=tuple(indented),
    )


def _plus_minus(estimate: Estimate) -> str:
    if not math.isfinite(estimate.value):
        return ABSENT
    value = f"{estimate.value:,.0f}"
    return value if estimate.error == 0.0 else f"{value} +- {estimate.error:,.0f}"


def _share(group: Group, name: str, level: str) -> str:
    estimate = group[name, level, "share"]
    if not math.isfinite(estimate.value):
        return ABSENT
    return f"{100.0 * estimate.value:.1f} +- {100.0 * estimate.error:.1f} %"


def _mean_and_deviation(group: Group, name: str) -> str:
    mean, deviation = group[name, "", "mean"], group[name, "", "sd"]
    if not math.isfinite(mean.value):
        return ABSENT
    numbers = (_digits(value, mean.error) for value in (mean.value, mean.error, deviation.value))
    return "{} +- {} ({})".format(*numbers)


def _median(group: Group, name: str) -> str:
    quartiles = [group[name, "", each] for each in ("median", "q1", "q3")]
    if not math.isfinite(quartiles[0].value):
        return ABSENT
    numbers = [_digits(each.value, each.error) for each in quartiles]
    exact = [f"{each.value:.12g}" for each in quartiles]  # a whole number keeps no zeros behind its point
    median, first, third = (min(pair, key=len) for pair in zip(numbers, exact, strict=True))
    return f"{median} +- {_digits(quartiles[0].error, quartiles[0].error)} [{first}, {third}]"


def _digits(value: float, error: float) -> str:
    """As many decimals as two digits of the error need."""
    if not 0.0 < error < math.inf:
        return coefficient(value)
    return f"{value:.{min(max(1 - math.floor(math.log10(error)), 0), 12)}f}"
