"""Formulas: patsy parses them, a whitelist reads each factor, and no row of data is ever involved.

The door of patsy. It splits the formula into terms and factors, and from public template rows made of the
declared levels it says which contrasts each term needs and how the columns are called. The text of a factor
is never evaluated, neither by patsy nor by us: patsy sees stand-ins, our `Reader` sees the syntax tree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpglm.data.formula.errors import Span, refuse
from dpglm.data.formula.expressions import Expression
from dpglm.data.formula.factors import Factor, LevelFactor, SimplexFactor
from dpglm.data.formula.limits import MOST_COLUMNS, check_growth, check_response, check_terms, refuse_size
from dpglm.data.formula.model import Model, Subterm, Term, Usage
from dpglm.data.formula.patsy_tree import balanced, leaves
from dpglm.data.formula.reader import Reader, Reading
from dpglm.errors import FormulaError

if TYPE_CHECKING:
    from dpglm.data.schema.schema import Schema

__all__ = ["Model", "parse"]

MOST_CHARACTERS = 20_000

_SYNTAX = "response ~ term + term, with terms made of factors by + - * : / **"


def parse(formula: str, schema: Schema) -> Model:
    """Read a formula against the public schema.

    Parameters
    ----------
    formula : str
        In patsy's language, with one declared column left of ``~``.
    schema : Schema
        Bounds and levels of the columns. Nothing else is known, and nothing else is asked for.

    Returns
    -------
    Model
        Terms, factors, offsets and column names; a function of the two arguments only.

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
    reader = Reader(text, schema.variables)
    try:
        return _parse(text, reader)
    except RecursionError:
        # Public: the depth of the text. Python's limit, not ours, so the place is unknown.
        raise refuse(
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
    if len(formula) > MOST_CHARACTERS:
        raise FormulaError(
            f"a formula of {len(formula):,} characters",
            expected=f"at most {MOST_CHARACTERS:,}",
            remedy="Use fewer or shorter terms.",
        )
    if not formula.isascii() and any("\ud800" <= letter <= "\udfff" for letter in formula):
        raise FormulaError(
            "a formula with half a character (a lone surrogate)",
            expected="text of whole characters",
            remedy="Write the formula anew, or rename the column that its text was taken from.",
        )
    return "".join(" " if letter in "\n\r\f\v\t" else letter for letter in formula).rstrip()


def _parse(text: str, reader: Reader) -> Model:
    left, right = _sides(text)
    response = reader.response((left.origin.start, left.origin.end))
    terms, offsets, readings = _read_terms(text, right, reader)
    check_response(text, response, readings)
    factors: dict[Any, Factor] = {}
    for reading in readings.values():
        if reading.factor is not None:
            factors.setdefault(reading.factor.key, reading.factor)
    place = {key: position for position, key in enumerate(factors)}
    check_terms(text, terms, readings)
    names, found = _designed(text, terms, readings, place)
    return Model(text, response, names, found, tuple(factors.values()), offsets)


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


def _sides(text: str) -> tuple[Any, Any]:
    """Parse trees left and right of ``~``."""
    _import_patsy()
    from patsy import PatsyError
    from patsy.parse_formula import parse_formula

    try:
        tree = parse_formula(text)
    except PatsyError as error:
        raise _from_patsy(error, text) from None
    except RecursionError:
        raise
    except Exception:  # the tokenizer's own errors differ from one Python version to the next
        raise _unsplit(text) from None
    if tree.type != "~" or len(tree.args) != 2:
        raise refuse(
            "There is no response.",
            text,
            (0, max(1, text.find("~") + 1)),
            expected="one declared column left of ~",
            remedy="Write y ~ x1 + x2.",
        )
    left, right = tree.args
    if left.type != "PYTHON_EXPR":
        raise refuse(
            "The response is not a single column.",
            text,
            (left.origin.start, left.origin.end),
            expected="one declared column left of ~",
            remedy="Declare the response as it is to be modelled, and write its name.",
        )
    return left, right


def _from_patsy(error: Any, text: str) -> FormulaError:
    origin = error.origin
    span = (0, len(text)) if origin is None else (origin.start, origin.end)
    problem = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
    return refuse(problem, text, span, expected=_SYNTAX, remedy="Mend the formula at the caret.")


def _unsplit(text: str) -> FormulaError:
    return refuse(
        "This cannot be split into terms.",
        text,
        (0, len(text)),
        expected=_SYNTAX,
        remedy="Look for an open quote, an open bracket or an odd character.",
    )


def _read_terms(
    text: str, tree: Any, reader: Reader
) -> tuple[list[Any], tuple[Expression, ...], dict[str, Reading]]:
    """Terms of the right-hand side without offsets, the offsets, and a reading of each factor by its code."""
    from patsy import ModelDesc, PatsyError
    from patsy.infix_parser import ParseNode

    check_growth(text, tree)
    try:
        root = ParseNode("~", None, [balanced(tree)], tree.origin)
        terms = ModelDesc.from_formula(root).rhs_termlist
    except PatsyError as error:
        raise _from_patsy(error, text) from None
    except RecursionError:
        raise
    except Exception:  # patsy normalises white space by assertions of its own: y ~ %
        raise _unsplit(text) from None
    readings: dict[str, Reading] = {}
    kept, offsets = [], []
    for term in terms:
        for factor in term.factors:
            if factor.code not in readings:
                readings[factor.code] = reader.read(_span(factor), factor.code)
        added = [factor for factor in term.factors if readings[factor.code].offset is not None]
        if not added:
            kept.append(term)
        elif len(term.factors) > 1:
            raise refuse(
                "An offset has no coefficient, so it cannot interact.",
                text,
                _span(added[0]),
                expected="offset(...) as a term of its own",
                remedy="Join it by +.",
            )
        else:
            offsets.append(readings[added[0].code].offset)
    read = {_span(factor) for term in terms for factor in term.factors}
    for leaf in [leaf for leaf in leaves(tree) if _span(leaf) not in read]:
        reader.read(_span(leaf), leaf.token.extra)  # what a minus takes out must be allowed, too
    return kept, tuple(offset for offset in offsets if offset is not None), readings


def _span(factor: Any) -> Span:
    return factor.origin.start, factor.origin.end


# --- contrasts and names, from template rows ---


@dataclass(frozen=True)
class _StandIn:
    """What patsy sees of a factor: its name and what it gives on the template rows."""

    code: str
    origin: Any
    template: Any

    def __hash__(self) -> int:
        return hash(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StandIn) and other.code == self.code

    def name(self) -> str:
        return self.code

    def memorize_passes_needed(self, state: dict[str, Any], eval_env: Any) -> int:
        return 0

    def eval(self, state: dict[str, Any], data: Any) -> Any:
        return self.template


def _designed(
    text: str, terms: list[Any], readings: Mapping[str, Reading], place: Mapping[Any, int]
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Column names, and terms with the contrasts that patsy chooses for the template rows."""
    import patsy

    stand_ins = {
        factor.code: _StandIn(factor.code, factor.origin, _template(readings[factor.code]))
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
        raise _from_patsy(error, text) from None
    if len(info.column_names) > MOST_COLUMNS:
        refuse_size(text, len(info.column_names))
    found, start = [], 0
    for term, subterms in info.term_codings.items():
        read = tuple(_subterm(subterm, readings, place) for subterm in subterms)
        found.append(Term(term.name(), start, read))
        start = found[-1].stop
    return tuple(info.column_names), tuple(found)


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


def _subterm(subterm: Any, readings: Mapping[str, Reading], place: Mapping[Any, int]) -> Subterm:
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
        usages.append(Usage(place[factor.key], table))
    return Subterm(tuple(usages))
