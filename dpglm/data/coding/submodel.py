"""Submodels of a formula and a schema: fewer terms, merged levels, and the public map to the whole model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.model import Model, Term
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric, variable_from_dict
from dpglm.errors import MethodError, SchemaError
from dpglm.typing import FloatMatrix

if TYPE_CHECKING:
    import pandas as pd

Merge = Mapping[str, Mapping[Any, Sequence[Any]]]

# Rows on which the map is found, for each column of the whole model, and at least.
_ROWS, _LEAST = 40, 400
# A column of a submodel is one of the whole model's if it is no further from them than this share of it.
_RESIDUAL: Final = 1e-7


@dataclass(frozen=True, eq=False)
class Submodel:
    """A submodel and its place in the whole model.

    Attributes
    ----------
    coding : Coding
        Of the submodel.
    schema : dict
        With merged levels, in full form.
    matrix : ndarray, shape (p, q)
        Coded coefficients of the whole model from those of the submodel.
    standardised : tuple of str
        Labels of the numbers that are coded in means and standard deviations.
    row_map : object
        Codes rows of the submodel.
    """

    coding: Coding
    schema: dict[str, Any]
    matrix: FloatMatrix
    standardised: tuple[str, ...]
    row_map: Any


def between(whole: FloatMatrix, part: FloatMatrix) -> FloatMatrix:
    """The matrix that makes coded rows of a submodel of those of the whole model, ``part = whole @ matrix``.

    A MethodError says that there is none.
    """
    found, _, rank, _ = np.linalg.lstsq(whole, part, rcond=None)
    apart = np.abs(whole @ found - part).max(axis=0) > _RESIDUAL * np.abs(part).max(axis=0)
    if rank < whole.shape[1] or apart.any():
        raise MethodError(
            "a model that is not within the released one",
            expected="fewer terms, or merged levels, of the fit",
            remedy="Fit it anew with dpglm.fit: it needs another release.",
        )
    # What is zero but for rounding is zero: the map is then that of whole terms.
    return np.where(np.abs(found) <= 1e-11 * np.abs(found).max(axis=0), 0.0, found)


def rows_of(schema: Schema, columns: Sequence[str], size: int) -> pd.DataFrame:
    """Rows anywhere the schema allows, always the same ones, enough for ``size`` coefficients."""
    import pandas as pd

    count = max(_LEAST, _ROWS * size)
    draw = np.random.default_rng(20)
    cells: dict[str, Any] = {}
    for name in columns:
        variable = schema.variables[name]
        if isinstance(variable, Categorical):
            cells[name] = [variable.levels[code] for code in draw.integers(0, len(variable.levels), count)]
        elif isinstance(variable, Numeric) and variable.date is None:
            cells[name] = draw.uniform(variable.low, variable.high, count)
        else:
            raise MethodError(
                f"a submodel of a formula that reads {name}, a date",
                expected="columns of numbers and levels",
                remedy="Fit it anew with dpglm.fit.",
            )
    return pd.DataFrame(cells) if cells else pd.DataFrame(index=range(count))


def without(model: Model, names: Sequence[str]) -> str:
    """The formula without terms: each name is a term, which goes with all terms that contain it, or a column,
    which goes with all terms that read it.

    Examples
    --------
    >>> from dpglm.data.formula.parse import parse
    >>> schema = Schema.of({"y": ["no", "yes"], "age": (18, 95), "sex": ["F", "M"], "job": ["a", "b", "c"]})
    >>> without(parse("y ~ age * sex + job", schema), ["sex"])
    'y ~ job + age'
    """
    gone = {at for name in names for at in _named(model, name)}
    kept = [term for at, term in enumerate(model.terms) if at not in gone]
    left, right = (side.strip() for side in model.formula.split("~", 1))
    if model.offsets:  # their text is in the formula alone
        return f"{left} ~ {right}{''.join(f' - {model.terms[at].name}' for at in sorted(gone))}"
    slopes = [term.name for term in kept if term.order]
    constant = any(term.order == 0 for term in kept)
    return f"{left} ~ {' + '.join([*([] if constant else ['0']), *slopes]) or '1'}"


def _named(model: Model, name: str) -> list[int]:
    """Places of the terms that go with a name."""
    exact = [term for term in model.terms if term.name == name and term.order]
    found = []
    for at, term in enumerate(model.terms):
        factors = _factors(term)
        if exact:
            goes = _factors(exact[0]) <= factors
        else:
            goes = any(name in model.factors[factor].expression.columns for factor in factors)
        if goes and term.order:
            found.append(at)
    if not found:
        terms = [term.name for term in model.terms if term.order]
        raise MethodError(
            f"drop={name!r}",
            expected=f"a term, {', '.join(terms) or 'of which there is none'}, or a data column",
            remedy="A level is not dropped but merged: merge={'job': {'other': ['x', 'y']}}.",
        )
    return found


def _factors(term: Term) -> set[int]:
    return {usage.factor for subterm in term.subterms for usage in subterm}


def merged(schema: Schema, column: str, groups: Mapping[Any, Sequence[Any]]) -> Schema:
    """The schema with levels of one column merged; a merged level is another spelling of the new one.

    Labels of levels that were merged are left out, as shares are: the new level is called by its name.

    Examples
    --------
    >>> schema = Schema.of({"job": ["a", "b", "c"]})
    >>> merged(schema, "job", {"other": ["b", "c"]}).variables["job"].clean(["a", "c", "other"])
    array([0, 1, 1], dtype=int32)
    """
    variable = schema.variables.get(column)
    if not isinstance(variable, Categorical) or not isinstance(groups, Mapping):
        raise MethodError(
            f"merge of {column!r}",
            expected="a column with declared levels, and the levels that become one",
            remedy="Write merge={'job': {'other': ['x', 'y']}}.",
        )
    target: dict[str, Any] = {}
    for new, old in groups.items():
        for level in [old] if isinstance(old, str) else old:
            label = _label(variable, level, column)
            if label in target:
                raise MethodError(
                    f"level {label} of {column} in two groups",
                    expected="one group each",
                    remedy="Correct it.",
                )
            target[label] = new
    place = dict(zip(variable.labels, variable.levels, strict=True))
    kept = [place[label] if label not in target else target[label] for label in variable.labels]
    levels = list(dict.fromkeys(kept))
    entry: dict[str, Any] = {key: value for key, value in variable.to_dict().items() if key != "shares"}
    renamed = {str(level): target.get(label, level) for label, level in place.items()}
    for rule in ("missing", "other"):
        if entry.get(rule, "omit") not in (None, "omit"):
            entry[rule] = renamed.get(str(entry[rule]), entry[rule])
    spelled = {text: renamed.get(str(level), level) for text, level in dict(entry.get("aliases", {})).items()}
    spelled |= {label: new for label, new in target.items() if label != str(new)}
    gone = {*target, *map(str, target.values())}
    entry |= {
        "levels": levels,
        "aliases": {text: new for text, new in spelled.items() if text not in map(str, levels)},
        "level_labels": {at: text for at, text in variable.level_labels.items() if at not in gone},
    }
    try:
        variable = variable_from_dict(entry)
    except SchemaError as error:
        raise MethodError(
            f"merge of {column}: {error.found}", expected=error.expected, remedy=error.remedy
        ) from None
    return replace(schema, variables={**schema.variables, column: variable})


def _label(variable: Categorical, level: object, column: str) -> str:
    for label, known in zip(variable.labels, variable.levels, strict=True):
        if level == known or str(level) == label:
            return label
    raise MethodError(
        f"level {level!r} of {column}" if isinstance(level, str | int | float) else f"a level of {column}",
        expected=f"declared levels: {', '.join(variable.labels)}",
        remedy="Check the spelling.",
    )
