"""Parsing of formulas: patsy splits them, a whitelist reads each factor, and no row of data is ever involved.

This is patsy's only door. It splits the formula into terms and factors. From public template rows made of the
declared levels it says which contrasts each term needs and how the columns are called. The text of a factor
is never evaluated, neither by patsy nor by us: patsy sees stand-ins, our `Reader` sees the syntax tree.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.model import Factor, LevelFactor, Model, NumericFactor, Subterm, Term, Usage
from dpglm.data.formula.reader import Reader, Reading
from dpglm.data.formula.syntax import (
    MOST_COLUMNS,
    balanced,
    check_growth,
    leaves,
    span_of,
)
from dpglm.errors import FormulaError

if TYPE_CHECKING:
    from dpglm.data.schema.schema import Schema

_MOST_CHARACTERS = 20_000
_MOST_FACTORS = 6  # in one interaction

_SYNTAX = "response ~ term + term, with terms made of factors by + - * : / **"


def parse(formula: str, schema: Schema) -> Model:
    """Read a formula against the public schema.

    The formula is in patsy's language, with one declared column left of ``~``. The model (terms, factors,
    offsets and column names) is a function of the two arguments only.

    Raises
    ------
    FormulaError
        Wrong syntax, unknown column, anything that is not row by row, a value that is not finite for some
        row within the bounds, more than 5,000 columns; the text points at the culprit.

    Examples
    --------
    >>> from dpglm.data.schema.schema import Schema
    >>> schema = Schema.of({"y": ["no", "yes"], "age": (18, 95), "sex": ["F", "M"]})
    >>> parse("y ~ np.log(age) + C(sex, Sum)", schema).names
    ('Intercept', 'C(sex, Sum)[S.F]', 'np.log(age)')
    """
    reader = Reader(_one_line(formula), schema.variables)
    try:
        return _parse(reader)
    except RecursionError:
        # Public: the depth of the text. Python's limit, not ours, so the place is unknown.
        raise reader.error(
            None,
            "This is nested too deeply.",
            expected=_SYNTAX,
            remedy="Write it with fewer parentheses and fewer minus signs.",
        ) from None


def _one_line(formula: str) -> str:
    if not isinstance(formula, str):
        raise FormulaError(
            f"formula of type {type(formula).__name__}",
            expected="a string such as 'y ~ x1 + x2'",
            remedy="Write the formula as a string.",
        )
    if len(formula) > _MOST_CHARACTERS:
        raise FormulaError(
            f"a formula of {len(formula):,} characters",
            expected=f"at most {_MOST_CHARACTERS:,}",
            remedy="Use fewer or shorter terms.",
        )
    if not formula.isascii() and any("\ud800" <= letter <= "\udfff" for letter in formula):
        raise FormulaError(
            "a formula with half a character (a lone surrogate)",
            expected="text of whole characters",
            remedy="Retype the formula, or rename the column that its text was taken from.",
        )
    return "".join(" " if letter in "\n\r\f\v\t" else letter for letter in formula).rstrip()


def _parse(reader: Reader) -> Model:
    left, right = _sides(reader)
    response = reader.response(span_of(left))
    terms, offsets, readings = _read_terms(reader, right)
    _check_response(reader, response, readings)
    _check_terms(reader, terms, readings)
    factors: dict[Any, Factor] = {}
    for reading in readings.values():
        if reading.factor is not None:
            factors.setdefault(reading.factor.key, reading.factor)
    position = {key: index for index, key in enumerate(factors)}
    names, designed = _designed(reader, terms, readings, position)
    return Model(reader.formula, response, names, designed, tuple(factors.values()), offsets)


# --- the formula language: patsy's parser, and limits on what it may unfold ---


def _import_patsy() -> None:
    """Import patsy wholly or not at all: an interrupt amid its import would break every later formula."""
    if "patsy" in sys.modules:
        return
    try:
        import patsy  # noqa: F401
    except BaseException:
        for name in [name for name in sys.modules if name.partition(".")[0] == "patsy"]:
            del sys.modules[name]
        raise


@contextmanager
def _patsy_errors(reader: Reader) -> Iterator[None]:
    """Errors of patsy's parser as errors that point into the formula."""
    from patsy import PatsyError

    try:
        yield
    except PatsyError as error:
        raise _patsy_error(error, reader) from None
    except (FormulaError, RecursionError):
        raise
    except Exception:
        # The tokenizer's errors differ by Python version, and patsy asserts on odd blanks: y ~ %.
        raise reader.error(
            None,
            "This cannot be split into terms.",
            expected=_SYNTAX,
            remedy="Look for an open quote, an open bracket or an odd character.",
        ) from None


def _patsy_error(error: Any, reader: Reader) -> FormulaError:
    where = None if error.origin is None else span_of(error)
    problem = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
    return reader.error(where, problem, expected=_SYNTAX, remedy="Correct the formula at the caret.")


def _sides(reader: Reader) -> tuple[Any, Any]:
    """Parse trees left and right of ``~``."""
    _import_patsy()
    from patsy.parse_formula import parse_formula

    with _patsy_errors(reader):
        tree = parse_formula(reader.formula)
    if tree.type != "~" or len(tree.args) != 2:
        raise reader.error(
            (0, max(1, reader.formula.find("~") + 1)),
            "There is no response.",
            expected="one declared column left of ~",
            remedy="Write y ~ x1 + x2.",
        )
    left, right = tree.args
    return left, right


def _read_terms(reader: Reader, tree: Any) -> tuple[list[Any], tuple[Expression, ...], dict[str, Reading]]:
    """Terms of the right-hand side without offsets, the offsets, and a reading of each factor by its code."""
    from patsy import ModelDesc
    from patsy.infix_parser import ParseNode

    check_growth(reader, tree)
    with _patsy_errors(reader):
        root = ParseNode("~", None, [balanced(tree)], tree.origin)
        terms = ModelDesc.from_formula(root).rhs_termlist
    readings: dict[str, Reading] = {}
    with_coefficients: list[Any] = []
    offsets: list[Expression] = []
    for term in terms:
        read = []
        for factor in term.factors:
            if factor.code not in readings:
                readings[factor.code] = reader.read(span_of(factor), factor.code)
            read.append(readings[factor.code].offset)
            if read[-1] is not None and len(term.factors) > 1:
                raise reader.error(
                    span_of(factor),
                    "An offset has no coefficient, so it cannot interact.",
                    expected="offset(...) as a term of its own",
                    remedy="Join it by +.",
                )
        offsets += [offset for offset in read if offset is not None]
        if not any(read):
            with_coefficients.append(term)
    spans = {span_of(factor) for term in terms for factor in term.factors}
    for leaf in leaves(tree):
        if span_of(leaf) not in spans:
            reader.read(span_of(leaf), leaf.token.extra)  # what a minus takes out must be allowed, too
    return with_coefficients, tuple(offsets), readings


# --- limits: a response on one side only, no variable twice in a term, no more columns than can be fitted ---


def _check_response(reader: Reader, response: str, readings: Mapping[str, Reading]) -> None:
    for code, reading in readings.items():
        if response in reading.columns:
            at = max(reader.formula.find(code, reader.formula.find("~")), 0)
            raise reader.error(
                (at, at + len(code)),
                f"The response {response!r} stands on both sides.",
                expected="other columns right of ~",
                remedy="Leave it out on the right.",
            )


def _check_terms(reader: Reader, terms: list[Any], readings: Mapping[str, Reading]) -> None:
    if not terms:
        raise reader.error(
            None,
            "There is nothing to estimate.",
            expected="at least one column",
            remedy="Add a term, or leave the intercept in: y ~ 1.",
        )
    columns = 0
    for term in terms:
        factors = [factor for item in term.factors if (factor := readings[item.code].factor) is not None]
        where = span_of(term.factors[-1]) if term.factors else None
        if len({factor.key for factor in factors}) < len(factors):
            raise reader.error(
                where,
                "One variable stands twice in an interaction.",
                expected="different variables",
                remedy="For a square write I(x ** 2).",
            )
        if len(factors) > _MOST_FACTORS:
            raise reader.error(
                where,
                "This interaction has too many factors.",
                expected=f"at most {_MOST_FACTORS}",
                remedy="Name the interactions wanted.",
            )
        weighted = (factor for factor in factors if not isinstance(factor, NumericFactor))
        columns += math.prod(factor.level_count for factor in weighted)
        if columns > 2 * MOST_COLUMNS:
            raise _size_error(reader, columns)


def _size_error(reader: Reader, columns: int) -> FormulaError:
    return reader.error(
        None,
        f"The design would have {columns:,} columns.",
        expected=f"at most {MOST_COLUMNS:,}",
        remedy="Merge levels in the schema, or use fewer interactions.",
    )


# --- contrasts and names, from template rows ---


def _designed(
    reader: Reader, terms: list[Any], readings: Mapping[str, Reading], position: Mapping[Any, int]
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Column names, and terms with the contrasts that patsy chooses for the template rows."""
    import patsy

    # Looked up by its text in the template rows, which no text is evaluated for.
    known = [
        patsy.Term([patsy.LookupFactor(factor.code, origin=factor.origin) for factor in term.factors])
        for term in terms
    ]
    rows = {factor.code: _template(readings[factor.code]) for term in terms for factor in term.factors}
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # Poly of many levels; the coding refuses it
            (info,) = patsy.design_matrix_builders([known], lambda: iter([rows]), patsy.EvalEnvironment([]))
    except patsy.PatsyError as error:
        raise _patsy_error(error, reader) from None
    if len(info.column_names) > MOST_COLUMNS:
        raise _size_error(reader, len(info.column_names))
    designed, start = [], 0
    for term, subterms in info.term_codings.items():
        read = tuple(_subterm(subterm, readings, position) for subterm in subterms)
        designed.append(Term(term.name(), start, read))
        start = designed[-1].stop
    return tuple(info.column_names), tuple(designed)


def _template(reading: Reading) -> Any:
    """All declared levels, or as many rows of zeros; never a row of data."""
    import patsy
    from patsy.builtins import C

    factor = reading.factor
    if isinstance(factor, LevelFactor):
        levels = list(factor.levels)
        if not reading.contrast:
            return C(levels, levels=levels)
        name, *option = reading.contrast
        return C(levels, getattr(patsy, name)(*option), levels=levels)
    assert factor is not None
    return np.zeros((1, factor.level_count - 1))


def _subterm(subterm: Any, readings: Mapping[str, Reading], position: Mapping[Any, int]) -> Subterm:
    usages = []
    for stand_in in subterm.factors:
        factor = readings[stand_in.name()].factor
        assert factor is not None
        table = None
        if stand_in in subterm.contrast_matrices:
            table = np.asarray(subterm.contrast_matrices[stand_in].matrix, dtype=np.float64)
        elif not isinstance(factor, NumericFactor):
            # A spline's first column is left out, as patsy and R do: the basis adds up to 1.
            table = np.eye(factor.level_count)[:, 1:]
        usages.append(Usage(position[factor.key], table))
    return Subterm(tuple(usages))
