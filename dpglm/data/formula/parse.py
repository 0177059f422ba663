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

from dpglm.data.formula.errors import FormulaText, Span, formula_error
from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.model import Factor, LevelFactor, Model, SimplexFactor, Subterm, Term, Usage
from dpglm.data.formula.patsy_tree import MOST_COLUMNS, StandIn, balanced, check_growth, leaves
from dpglm.data.formula.reader import Reader, Reading
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
    text = _one_line(formula)
    reader = Reader(FormulaText(text), schema.variables)
    try:
        return _parse(text, reader)
    except RecursionError:
        # Public: the depth of the text. Python's limit, not ours, so the place is unknown.
        raise formula_error(
            "This is nested too deeply.",
            text,
            (0, len(text)),
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


def _parse(text: str, reader: Reader) -> Model:
    left, right = _sides(text)
    response = reader.response(_span(left))
    terms, offsets, readings = _read_terms(text, right, reader)
    _check_response(text, response, readings)
    _check_terms(text, terms, readings)
    factors: dict[Any, Factor] = {}
    for reading in readings.values():
        if reading.factor is not None:
            factors.setdefault(reading.factor.key, reading.factor)
    position = {key: index for index, key in enumerate(factors)}
    names, designed = _designed(text, terms, readings, position)
    return Model(text, response, names, designed, tuple(factors.values()), offsets)


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
def _patsy_errors(text: str) -> Iterator[None]:
    """Errors of patsy's parser as errors that point into the formula."""
    from patsy import PatsyError

    try:
        yield
    except PatsyError as error:
        raise _patsy_error(error, text) from None
    except (FormulaError, RecursionError):
        raise
    except (
        Exception
    ):  # the tokenizer's errors differ by Python version, and patsy asserts on odd blanks: y ~ %
        raise formula_error(
            "This cannot be split into terms.",
            text,
            (0, len(text)),
            expected=_SYNTAX,
            remedy="Look for an open quote, an open bracket or an odd character.",
        ) from None


def _patsy_error(error: Any, text: str) -> FormulaError:
    span = (0, len(text)) if error.origin is None else _span(error)
    problem = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
    return formula_error(problem, text, span, expected=_SYNTAX, remedy="Correct the formula at the caret.")


def _sides(text: str) -> tuple[Any, Any]:
    """Parse trees left and right of ``~``."""
    _import_patsy()
    from patsy.parse_formula import parse_formula

    with _patsy_errors(text):
        tree = parse_formula(text)
    if tree.type != "~" or len(tree.args) != 2:
        raise formula_error(
            "There is no response.",
            text,
            (0, max(1, text.find("~") + 1)),
            expected="one declared column left of ~",
            remedy="Write y ~ x1 + x2.",
        )
    left, right = tree.args
    return left, right


def _read_terms(
    text: str, tree: Any, reader: Reader
) -> tuple[list[Any], tuple[Expression, ...], dict[str, Reading]]:
    """Terms of the right-hand side without offsets, the offsets, and a reading of each factor by its code."""
    from patsy import ModelDesc
    from patsy.infix_parser import ParseNode

    check_growth(text, tree)
    with _patsy_errors(text):
        root = ParseNode("~", None, [balanced(tree)], tree.origin)
        terms = ModelDesc.from_formula(root).rhs_termlist
    readings: dict[str, Reading] = {}
    with_coefficients: list[Any] = []
    offsets: list[Expression] = []
    for term in terms:
        for factor in term.factors:
            if factor.code not in readings:
                readings[factor.code] = reader.read(_span(factor), factor.code)
            offset = readings[factor.code].offset
            if offset is not None and len(term.factors) > 1:
                raise formula_error(
                    "An offset has no coefficient, so it cannot interact.",
                    text,
                    _span(factor),
                    expected="offset(...) as a term of its own",
                    remedy="Join it by +.",
                )
            if offset is not None:
                offsets.append(offset)
        if all(readings[factor.code].offset is None for factor in term.factors):
            with_coefficients.append(term)
    read = {_span(factor) for term in terms for factor in term.factors}
    for leaf in leaves(tree):
        if _span(leaf) not in read:
            reader.read(_span(leaf), leaf.token.extra)  # what a minus takes out must be allowed, too
    return with_coefficients, tuple(offsets), readings


def _span(item: Any) -> Span:
    """Where a node, a factor or an error of patsy points."""
    return item.origin.start, item.origin.end


# --- limits: a response on one side only, no variable twice in a term, no more columns than can be fitted ---


def _check_response(text: str, response: str, readings: Mapping[str, Reading]) -> None:
    for code, reading in readings.items():
        if response in reading.columns:
            at = max(text.find(code, text.find("~")), 0)
            raise formula_error(
                f"The response {response!r} stands on both sides.",
                text,
                (at, at + len(code)),
                expected="other columns right of ~",
                remedy="Leave it out on the right.",
            )


def _check_terms(text: str, terms: list[Any], readings: Mapping[str, Reading]) -> None:
    if not terms:
        raise formula_error(
            "There is nothing to estimate.",
            text,
            (0, len(text)),
            expected="at least one column",
            remedy="Add a term, or leave the intercept in: y ~ 1.",
        )
    columns = 0
    for term in terms:
        factors = [factor for item in term.factors if (factor := readings[item.code].factor) is not None]
        span = _span(term.factors[-1]) if term.factors else (0, len(text))
        if len({factor.key for factor in factors}) < len(factors):
            raise formula_error(
                "One variable stands twice in an interaction.",
                text,
                span,
                expected="different variables",
                remedy="For a square write I(x ** 2).",
            )
        if len(factors) > _MOST_FACTORS:
            raise formula_error(
                "This interaction has too many factors.",
                text,
                span,
                expected=f"at most {_MOST_FACTORS}",
                remedy="Name the interactions wanted.",
            )
        columns += math.prod(factor.level_count for factor in factors if isinstance(factor, SimplexFactor))
        if columns > 2 * MOST_COLUMNS:
            raise _size_error(text, columns)


def _size_error(text: str, columns: int) -> FormulaError:
    return formula_error(
        f"The design would have {columns:,} columns.",
        text,
        (0, len(text)),
        expected=f"at most {MOST_COLUMNS:,}",
        remedy="Merge levels in the schema, or use fewer interactions.",
    )


# --- contrasts and names, from template rows ---


def _designed(
    text: str, terms: list[Any], readings: Mapping[str, Reading], position: Mapping[Any, int]
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Column names, and terms with the contrasts that patsy chooses for the template rows."""
    import patsy

    stand_ins = {
        factor.code: StandIn(factor.code, factor.origin, _template(readings[factor.code]))
        for term in terms
        for factor in term.factors
    }
    known = [patsy.Term([stand_ins[factor.code] for factor in term.factors]) for term in terms]

    def templates() -> Iterator[dict[str, Any]]:
        return iter([{}])

    try:
        with np.errstate(over="ignore", invalid="ignore"):  # Poly of many levels; the coding refuses it
            (info,) = patsy.design_matrix_builders([known], templates, patsy.EvalEnvironment([]))
    except patsy.PatsyError as error:
        raise _patsy_error(error, text) from None
    if len(info.column_names) > MOST_COLUMNS:
        raise _size_error(text, len(info.column_names))
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

    factor, contrast = reading.factor, reading.contrast
    if isinstance(factor, LevelFactor):
        levels = list(factor.levels)
        if contrast is None:
            return C(levels, levels=levels)
        coding = getattr(patsy, contrast.name)
        chosen = coding() if contrast.option is None else coding(contrast.option)
        return C(levels, chosen, levels=levels)
    return np.zeros((1, factor.level_count - 1 if isinstance(factor, SimplexFactor) else 1))


def _subterm(subterm: Any, readings: Mapping[str, Reading], position: Mapping[Any, int]) -> Subterm:
    usages = []
    for stand_in in subterm.factors:
        factor = readings[stand_in.code].factor
        assert factor is not None
        table = None
        if stand_in in subterm.contrast_matrices:
            table = np.asarray(subterm.contrast_matrices[stand_in].matrix, dtype=np.float64)
        elif isinstance(factor, SimplexFactor):
            # A spline's first column is left out, as patsy and R do: the basis adds up to 1.
            table = np.eye(factor.level_count)[:, 1:]
        usages.append(Usage(position[factor.key], table))
    return Subterm(tuple(usages))
