"""Linear restrictions on coefficients: ``"age = educ, religious = 0"`` as a matrix and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from dpglm.errors import MethodError
from dpglm.typing import FloatMatrix, FloatVector

Restriction: TypeAlias = (
    "str | Sequence[str] | Mapping[str, float] | FloatVector | FloatMatrix | tuple[Any, Any]"
)

NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
SIGNS = "+-*/=,"
REMEDY = 'Use a text such as "age = 0" or "age = educ, religious = 0", or a matrix with a row a restriction.'


class Token(NamedTuple):
    """A sign, or a number, or a coefficient at its place."""

    kind: Literal["sign", "number", "name"]
    sign: str = ""
    value: float = 1.0
    place: int = -1


def restrictions(asked: object, names: tuple[str, ...]) -> tuple[FloatMatrix, FloatVector, tuple[str, ...]]:
    """Rows R and values q of ``R @ coefficients = q``, and each restriction in words.

    Parameters
    ----------
    asked : str, sequence of str, mapping, array, or pair of arrays
        Text with restrictions apart by commas; a name alone is restricted to 0, ``a = b = c`` are two
        restrictions. Several such texts. A mapping of expressions to values. A matrix R, shape (k, p) or
        (p,), or a pair (R, q).
    names : tuple of str
        Of the coefficients.

    Returns
    -------
    rows : ndarray, shape (k, p)
        Linearly independent.
    values : ndarray, shape (k,)
    words : tuple of str

    Raises
    ------
    MethodError
        What cannot be read, an unknown name, or restrictions that follow from each other or contradict each
        other.

    Examples
    --------
    >>> names = ("age", "educ", "job[T.clerk]")
    >>> rows, values, _ = restrictions("age = educ, 2*job[T.clerk] - age = 1", names)
    >>> rows.tolist(), values.tolist()
    ([[1.0, -1.0, 0.0], [-1.0, 0.0, 2.0]], [0.0, 1.0])
    """
    if isinstance(asked, str):
        pairs = _equations(asked, names)
    elif isinstance(asked, Mapping):
        pairs = [_valued(left, value, names) for left, value in asked.items()]
    elif isinstance(asked, Sequence) and asked and all(isinstance(one, str) for one in asked):
        pairs = [pair for one in asked for pair in _equations(one, names)]
    else:
        pairs = _arrays(asked, len(names))
    if not pairs:
        _refuse("no restriction")
    rows, values = np.array([row for row, _ in pairs]), np.array([value for _, value in pairs])
    if not np.isfinite(rows).all() or not np.isfinite(values).all():
        _refuse("a restriction with a number that is not finite")
    with np.errstate(over="ignore"):
        lengths = np.sqrt((rows**2).sum(axis=1))
    if not lengths.all():
        _refuse("a restriction without a coefficient")
    if np.linalg.matrix_rank(rows / lengths[:, None]) < len(rows):
        _refuse("restrictions that follow from each other, or contradict each other")
    return rows, values, tuple(_words(row, value, names) for row, value in pairs)


def _equations(text: str, names: tuple[str, ...]) -> list[tuple[FloatVector, float]]:
    """Restrictions of a text, each a row and a value."""
    found: list[tuple[FloatVector, float]] = []
    sides: list[list[Token]] = [[]]
    for token in [*_tokens(text, names), Token("sign", ",")]:
        if token.sign == "=":
            sides.append([])
        elif token.sign == ",":
            if not any(sides):
                _refuse("a restriction without a coefficient" if text.strip() else "no restriction")
            expressions = [_expression(side, names) for side in sides]
            if len(expressions) == 1:
                expressions.append((np.zeros(len(names)), 0.0))
            for (left, constant), (right, other) in pairwise(expressions):
                found.append((left - right, other - constant))
            sides = [[]]
        else:
            sides[-1].append(token)
    return found


def _valued(left: object, value: object, names: tuple[str, ...]) -> tuple[FloatVector, float]:
    if not isinstance(left, str) or isinstance(value, bool) or not isinstance(value, int | float | np.number):
        _refuse("a mapping of something else than text to numbers")
    row, constant = _expression(_tokens(left, names), names)
    return row, float(value) - constant


def _arrays(asked: object, size: int) -> list[tuple[FloatVector, float]]:
    pair = isinstance(asked, tuple) and len(asked) == 2 and np.ndim(asked[0]) > 0
    try:
        rows = np.atleast_2d(np.asarray(asked[0] if pair else asked, dtype=np.float64))  # type: ignore[index]
        values = np.asarray(asked[1] if pair else np.zeros(len(rows)), dtype=np.float64)  # type: ignore[index]
    except (TypeError, ValueError):
        _refuse(f"a restriction of type {type(asked).__name__}")
    if rows.ndim != 2 or rows.shape[1] != size or not len(rows):
        _refuse(f"a matrix of shape {rows.shape} for {size} coefficients")
    if values.size not in (1, len(rows)):
        _refuse(f"{values.size} values for {len(rows)} restrictions")
    return list(zip(rows, np.broadcast_to(values.ravel(), len(rows)).tolist(), strict=True))


def _tokens(text: str, names: tuple[str, ...]) -> list[Token]:
    """Signs, numbers and coefficients; the longest name that fits is taken."""
    longest = sorted(range(len(names)), key=lambda j: -len(names[j]))
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        place = next((j for j in longest if names[j] and _stands(text, at, names[j])), None)
        number = NUMBER.match(text, at)
        if place is not None:
            found.append(Token("name", place=place))
            at += len(names[place])
        elif number and not (text[number.end() : number.end() + 1].isidentifier()):
            found.append(Token("number", value=float(number.group())))
            at = number.end()
        elif text[at] in SIGNS:
            found.append(Token("sign", text[at]))
            at += 1
        else:
            _refuse(f"{text[at:].split(',')[0].strip()!r} in a restriction, which is no coefficient")
    return found


def _stands(text: str, at: int, name: str) -> bool:
    """Whether ``name`` stands at this place and is not the beginning of a longer word."""
    if not text.startswith(name, at):
        return False
    after = text[at + len(name) : at + len(name) + 1]
    return not (after and (after in "[(:" or (f"_{after}".isidentifier() and f"_{name[-1]}".isidentifier())))


def _expression(tokens: list[Token], names: tuple[str, ...]) -> tuple[FloatVector, float]:
    """A sum of multiples of coefficients and numbers: its row and its constant."""
    row, constant = np.zeros(len(names)), 0.0
    terms: list[list[Token]] = []
    signs: list[float] = []
    for token in tokens:
        if token.sign in ("+", "-"):
            terms.append([])
            signs.append(-1.0 if token.sign == "-" else 1.0)
            continue
        if not terms:
            terms.append([])
            signs.append(1.0)
        terms[-1].append(token)
    if not terms:
        _refuse("an empty side of a restriction")
    for sign, term in zip(signs, terms, strict=True):
        place, value = _product(term)
        if place is None:
            constant += sign * value
        else:
            row[place] += sign * value
    return row, constant


def _product(term: list[Token]) -> tuple[int | None, float]:
    """A product of numbers and at most one coefficient: its place, and the numbers' product."""
    if len(term) % 2 == 0 or any(
        (one.sign not in ("*", "/")) if k % 2 else one.kind == "sign" for k, one in enumerate(term)
    ):
        _refuse("a restriction with two signs, or two coefficients, side by side")
    place: int | None = None
    value = 1.0
    for k in range(0, len(term), 2):
        divided = k > 0 and term[k - 1].sign == "/"
        if term[k].kind == "name":
            if place is not None or divided:
                _refuse("a restriction that is not linear")
            place = term[k].place
        elif divided and term[k].value == 0.0:
            _refuse("a restriction that divides by 0")
        else:
            value = value / term[k].value if divided else value * term[k].value
    return place, value


def _words(row: FloatVector, value: float, names: tuple[str, ...]) -> str:
    """A restriction as a reader would write it.

    Examples
    --------
    >>> _words(np.array([1.0, -2.0]), 0.5, ("age", "educ"))
    'age - 2*educ = 0.5'
    """
    parts: list[str] = []
    for j in np.flatnonzero(row):
        size = "" if abs(row[j]) == 1.0 else f"{abs(row[j]):g}*"
        sign = ("-" if row[j] < 0 else "") if not parts else (" - " if row[j] < 0 else " + ")
        parts.append(f"{sign}{size}{names[j]}")
    return f"{''.join(parts)} = {value:g}"


def _refuse(found: str) -> NoReturn:
    raise MethodError(found, expected="linear restrictions on the coefficients of this fit", remedy=REMEDY)
