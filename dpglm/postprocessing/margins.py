r"""Means and effects of a fit on a public grid, and contrasts, with intervals by the delta method.

A mean of responses over rows i of a grid is computed at released coefficients b, and from there on to first
order:

.. math:: \bar\mu(\beta) \approx \frac1m \sum_i \mu(x_i'b) + \frac1m \sum_i \mu'(x_i'b) x_i'(\beta - b),

so that it is a linear function of the coefficients, whose estimate and interval are those of any other one.
It is taken on the scale of the link: intervals stay within the range of responses, and the mean of one row is
its prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpglm.errors import MethodError
from dpglm.postprocessing.frames import marked
from dpglm.postprocessing.functions import Functions, debiased_coded, functions, require_information
from dpglm.postprocessing.grid import bounds_of, declaration, grid, levels_of, periods_of, row_map_of
from dpglm.postprocessing.intervals import quantile
from dpglm.postprocessing.labels import labelled
from dpglm.postprocessing.links import Link, link_of
from dpglm.postprocessing.record import FitRecord
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

# Half the step of a derivative, as a share of the declared range.
STEP: Final = 1e-4


def margins(
    record: FitRecord,
    by: str | Sequence[str] | None,
    *,
    effect: str | None,
    at: Mapping[str, object] | None,
    rows: object,
    what: str,
    level: float,
) -> pd.DataFrame:
    """Means, or effects of a column, over a grid; see :meth:`FitResult.margins`."""
    import pandas as pd

    require_information(record, "margins")
    link = link_of(record.link, what)
    groups = [by] if isinstance(by, str) else list(by or ())
    frame = _grid(record, groups, effect, dict(at or {}), rows)
    apart = [name for name in at or () if name not in groups and frame[name].nunique() > 1]
    groups += [name for name in apart if name != effect or levels_of(record, name) is None]
    absent = [name for name in groups if name not in frame.columns]
    if absent:
        raise MethodError(
            f"by={absent[0]!r}, which is no column of the grid",
            expected=f"columns of the grid: {', '.join(map(str, frame.columns))}",
            remedy="Use the names of data columns.",
        )
    labels, place = _groups(frame, groups)
    if effect is None:
        found = _means(record, frame, place, len(labels), link, level)
        return _framed(record, groups, labels, found, [], tests=False)
    parts, words = [], []
    for word, high, low, width in _changes(record, frame, effect):
        parts.append(_effects(record, (high, low), width, place, len(labels), link, level))
        words.append(word)
    frames = [
        _framed(record, groups, labels, found, [effect, word], tests=True)
        for found, word in zip(parts, words, strict=True)
    ]
    return marked(pd.concat(frames, ignore_index=True), record)


def _grid(
    record: FitRecord, groups: list[str], effect: str | None, at: dict[str, object], rows: object
) -> pd.DataFrame:
    import pandas as pd

    if rows is not None:
        if not isinstance(rows, pd.DataFrame) or at:
            raise MethodError(
                f"a grid of type {type(rows).__name__}" if not at else "a grid and values at=",
                expected="a public frame, as fit.grid() gives one, or values at=",
                remedy="Use grid=fit.grid(age=[30, 60]), or at={'age': [30, 60]}.",
            )
        return rows.reset_index(drop=True)
    if effect is not None and effect not in at and (levels := levels_of(record, effect)) is not None:
        at = at | {effect: levels[:1]}  # it is changed from there
    for name in groups:
        if name not in at and levels_of(record, name) is None and periods_of(record, name) is None:
            raise _unlisted(record, name, [other for other in groups if other != name], effect)
    return grid(record, dict.fromkeys(groups) | at, all_levels=True)


def _unlisted(record: FitRecord, name: str, others: list[str], effect: str | None) -> MethodError:
    """Of a number or a date that stands where levels do: nobody said at which values."""
    date = "date" in declaration(record, name)
    values = "'2020-01-31'" if date else ", ".join(f"{end:g}" for end in bounds_of(record, name))
    asked = [repr(others)] if others else []
    asked += [f"effect={effect!r}"] if effect is not None else []
    own = "" if date or effect is not None else f"; fit.margins(effect={name!r}) is the effect of one unit"
    return MethodError(
        f"by={name!r}, a {'date' if date else 'number'}, without the values at which means are taken",
        expected="a column of levels, or values at=",
        remedy=f"Use fit.margins({', '.join([*asked, f'at={{{name!r}: [{values}]}}'])}){own}.",
    )


def _groups(frame: pd.DataFrame, groups: list[str]) -> tuple[list[tuple[Any, ...]], Any]:
    """Distinct values of the grouping columns in their order, and the group of each row."""
    keys = list(frame[groups].itertuples(index=False, name=None)) if groups else [()] * len(frame)
    labels = list(dict.fromkeys(keys))
    places = {label: place for place, label in enumerate(labels)}
    return labels, np.array([places[key] for key in keys], dtype=np.intp)


def _averaged(values: FloatMatrix, place: Any, count: int) -> FloatMatrix:
    """Means of rows by group, shape (count, p)."""
    total = np.zeros((count, values.shape[1]))
    np.add.at(total, place, values)
    return total / np.bincount(place, minlength=count)[:, None]


def _means(
    record: FitRecord, frame: pd.DataFrame, place: Any, count: int, link: Link, level: float
) -> Functions:
    """Mean response of each group."""
    coded, offset = row_map_of(record).coded(frame)
    centre = debiased_coded(record)
    with np.errstate(all="ignore"):
        eta = coded @ centre + offset
        mean = link.link(_averaged(link.mean(eta)[:, None], place, count)[:, 0])
        slope = link.slope(mean)
        rows = _averaged(link.slope(eta)[:, None] * coded, place, count) / slope[:, None]
        found = functions(record, rows, mean - rows @ centre, level)
        return on_mean_scale(found, link)


def on_mean_scale(found: Functions, link: Link) -> Functions:
    """Linear predictors as expected responses: ends are mapped, standard errors to first order."""
    with np.errstate(all="ignore"):
        return Functions(
            link.mean(found.estimates),
            link.slope(found.estimates) * found.errors,
            found.p_values,
            link.mean(found.ends),
            found.reliable,
            found.reasons,
        )


def _effects(
    record: FitRecord,
    ends: tuple[pd.DataFrame, pd.DataFrame],
    width: FloatVector,
    place: Any,
    count: int,
    link: Link,
    level: float,
) -> Functions:
    """Mean difference of two frames by group, in units of ``width``, shape (m,)."""
    coded = [row_map_of(record).coded(frame) for frame in ends]
    centre = debiased_coded(record)
    with np.errstate(all="ignore"):
        eta = [rows @ centre + offset for rows, offset in coded]
        change = (link.mean(eta[0]) - link.mean(eta[1])) / width
        steps = [link.slope(each)[:, None] * rows for each, (rows, _) in zip(eta, coded, strict=True)]
        rows = _averaged((steps[0] - steps[1]) / width[:, None], place, count)
        means = _averaged(change[:, None], place, count)[:, 0]
        left = means - rows @ centre
        # What is a contrast of coefficients, to rounding, is one exactly: separation and constants are seen.
        left[np.abs(left) <= 1e-9 * np.abs(means)] = 0.0
        return functions(record, rows, left, level)


def _changes(
    record: FitRecord, frame: pd.DataFrame, name: str
) -> list[tuple[str, pd.DataFrame, pd.DataFrame, FloatVector]]:
    """What a column is changed to and from, in words and as frames, and by how much."""
    declaration(record, name)
    levels = levels_of(record, name)
    ones = np.ones(len(frame))
    if levels is not None:
        low = frame.assign(**{name: [levels[0]] * len(frame)})
        return [
            (f"{level} - {levels[0]}", frame.assign(**{name: [level] * len(frame)}), low, ones)
            for level in levels[1:]
        ]
    if "date" in declaration(record, name):
        raise MethodError(
            f"the effect of {name}, a date",
            expected="a column of numbers or levels",
            remedy="Use fit.contrast of two rows of a grid.",
        )
    low_end, high_end = bounds_of(record, name)
    values = np.asarray(frame[name], dtype=np.float64)
    step = STEP * (high_end - low_end)
    upper, lower = np.minimum(values + step, high_end), np.maximum(values - step, low_end)
    return [("per unit", frame.assign(**{name: upper}), frame.assign(**{name: lower}), upper - lower)]


def _framed(
    record: FitRecord,
    groups: list[str],
    labels: list[tuple[Any, ...]],
    found: Functions,
    effect: list[str],
    *,
    tests: bool,
) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {name: [label[at] for label in labels] for at, name in enumerate(groups)}
    if effect:
        columns |= {"effect": effect[0], "change": effect[1]}
    cells = tuple(":".join(map("{}[{}]".format, groups, label)) for label in labels)
    if (shown := labelled(cells, record.specification.schema)) != cells:
        columns["label"] = list(shown)
    frame = pd.DataFrame(columns | _numbers(found, tests=tests), index=range(len(labels)))
    return marked(frame, record)


def _numbers(found: Functions, *, tests: bool) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        statistic = found.estimates / found.errors
    return {
        "estimate": found.estimates,
        "std_error": found.errors,
        **({"statistic": statistic, "p_value": found.p_values} if tests else {}),
        "conf_low": found.ends[:, 0],
        "conf_high": found.ends[:, 1],
        "reliable": found.reliable,
        "reason": list(found.reasons),
    }


def contrast_frame(record: FitRecord, words: list[str], found: Functions, exponentiate: bool) -> pd.DataFrame:
    """One row for each contrast."""
    import pandas as pd

    columns = _numbers(found, tests=True)
    if exponentiate:
        with np.errstate(over="ignore"):
            columns |= {name: np.exp(columns[name]) for name in ("estimate", "conf_low", "conf_high")}
    return marked(pd.DataFrame({"contrast": words} | columns, index=range(len(words))), record)


def predicted(
    record: FitRecord, rows: FloatMatrix, offset: FloatVector, what: str, level: float
) -> Functions:
    """Predictions of coded rows with their standard errors."""
    quantile(level)
    return on_mean_scale(functions(record, rows, offset, level), link_of(record.link, what))
