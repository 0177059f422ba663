"""Parsing of formulas: patsy splits them, a whitelist reads each factor, and no row of data is ever involved.

This is patsy's only door. It splits the formula into terms and factors. From public template rows made of the
declared levels it says which contrasts each term needs and how the columns are called. The text of a factor
is never evaluated, neither by patsy nor by us: patsy sees stand-ins, our `Reader` sees the syntax tree.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpglm.data.formula import limits
from dpglm.data.formula.expressions import Expression, FormulaText, one_line
from dpglm.data.formula.model import (
    Factor,
    LevelFactor,
    Model,
    NumericFactor,
    Subterm,
    Term,
    Treatment,
    Usage,
)
from dpglm.data.formula.reader import Reader
from dpglm.data.formula.stages import with_intercepts, with_stages
from dpglm.data.formula.survival import has_baseline, response_of, with_baseline
from dpglm.data.formula.wide_factors import NoReferenceError, few_levels, is_wide, treatment, wide_names
from dpglm.errors import FormulaError
from dpglm.typing import FloatMatrix

if TYPE_CHECKING:
    from dpglm.data.schema.schema import Schema

_MOST_NESTED_FACTORS = 64  # in one term, before repeated ones are merged

# What a factor was read as, by its text: a factor, or the expression of an offset.
Readings: TypeAlias = Mapping[str, Factor | Expression]

_SYNTAX = "response ~ term + term, with terms made of factors by + - * : / **"


def parse(formula: str, schema: Schema, *, ordinal: bool = False) -> Model:
    """Read a formula against the public schema.

    The formula is in patsy's language, with one declared column left of ``~``. The model (terms, factors,
    offsets and column names) is a function of the arguments only. An ``ordinal`` response has stages.

    Raises
    ------
    FormulaError
        Wrong syntax, unknown column, anything that is not row by row, a value that is not finite for some
        row within the bounds, too many columns; the text points at the culprit. These are 5,000, or 100,000
        with factors of many levels that stand alone in their terms, against a level of reference.

    Examples
    --------
    >>> from dpglm.data.schema.schema import Schema
    >>> schema = Schema.of({"y": ["no", "yes"], "age": (18, 95), "sex": ["F", "M"]})
    >>> parse("y ~ np.log(age) + C(sex, Sum)", schema).names
    ('Intercept', 'C(sex, Sum)[S.F]', 'np.log(age)')
    """
    reader = Reader(one_line(formula), schema.variables)
    try:
        left, right = sides(reader)
        if not ordinal:
            response, periods = response_of(reader, limits.span_of(left))
            reader = replace(reader, period="" if periods is None else periods.column)
        else:
            reader, response, periods = with_stages(reader, limits.span_of(left))
            _, right = sides(reader)
        terms, offsets, readings = _read_terms(reader, right)
        if not ordinal and periods is not None and not has_baseline(terms, readings, periods):
            return parse(with_baseline(reader, limits.span_of(left)), schema)
        limits.check_response(reader, "" if ordinal else response, readings)  # right of ~ it is the stage
        factors = {code: item for code, item in readings.items() if isinstance(item, Factor)}
        limits.check_terms(reader, terms, factors)
        distinct: dict[Any, Factor] = {}
        for factor in factors.values():
            distinct.setdefault(factor.key, factor)
        position = {key: place for place, key in enumerate(distinct)}
        names, designed = _designed(reader, terms, factors, position)
        model = Model(reader.formula, response, names, designed, tuple(distinct.values()), offsets, periods)
        return with_intercepts(model) if ordinal else model
    except RecursionError:
        # Public: the depth of the text. Python's limit, not ours, so the place is unknown.
        raise reader.error(
            None,
            "This is nested too deeply.",
            expected=_SYNTAX,
            remedy="Write it with fewer parentheses and fewer minus signs.",
        ) from None


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
        where = None if error.origin is None else limits.span_of(error)
        problem = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
        remedy = "Correct the formula at the caret."
        raise reader.error(where, problem, expected=_SYNTAX, remedy=remedy) from None
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


def sides(reader: Reader) -> tuple[Any, Any]:
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
    return tree.args[0], tree.args[1]


def _read_terms(reader: Reader, tree: Any) -> tuple[list[Any], tuple[Expression, ...], Readings]:
    """Terms of the right-hand side without offsets, the offsets, and what each factor was read as."""
    from patsy import ModelDesc
    from patsy.infix_parser import ParseNode

    _check_growth(reader, tree)
    with _patsy_errors(reader):
        root = ParseNode("~", None, [_balanced(tree)], tree.origin)
        terms = ModelDesc.from_formula(root).rhs_termlist
    # Also what a minus takes out must be allowed.
    leaves = sorted((node for node in nodes_of(tree) if node.type == "PYTHON_EXPR"), key=limits.span_of)
    read = {leaf.token.extra: reader.read(limits.span_of(leaf), leaf.token.extra) for leaf in leaves}
    readings: dict[str, Factor | Expression] = {}
    with_coefficients: list[Any] = []
    offsets: list[Any] = []
    for term in terms:
        readings |= {factor.code: read[factor.code] for factor in term.factors}
        own = [factor for factor in term.factors if isinstance(read[factor.code], Expression)]
        if own and len(term.factors) > 1:
            raise reader.error(
                limits.span_of(own[0]),
                "An offset has no coefficient, so it cannot interact.",
                expected="offset(...) as a term of its own",
                remedy="Join it by +.",
            )
        if own:
            offsets.append(read[own[0].code])
        else:
            with_coefficients.append(term)
    return with_coefficients, tuple(offsets), readings


def nodes_of(tree: Any) -> list[Any]:
    """All nodes of a tree of patsy's, each before those below it."""
    nodes = [tree]
    for node in nodes:
        nodes += node.args
    return nodes


def _check_growth(text: FormulaText, tree: Any) -> None:
    """Bound the number of terms and of factors in one before patsy multiplies anything out."""
    sizes: dict[int, tuple[int, int]] = {}  # node -> (terms, factors in the largest)
    for node in reversed(nodes_of(tree)):
        below = [sizes[id(child)] for child in node.args]
        count, order = 1, 1
        if node.type == "**":
            (terms, factors), power = below[0], _exponent(node.args[1])
            power = min(power, terms)
            count = sum(math.comb(terms, k) for k in range(1, min(power, 16) + 1))
            order = factors * power
        elif len(below) == 2 and node.type in "*:/":
            (a, m), (b, n) = below
            count = {"*": a + b + a * b, ":": a * b, "/": a + b}[node.type]
            order = m + n if node.type != "/" else a * m + n
        elif below:
            count, order = sum(terms for terms, _ in below), max(factors for _, factors in below)
        if count > limits.MOST_COLUMNS or order > _MOST_NESTED_FACTORS:
            raise text.error(
                limits.span_of(node),
                "This multiplies out to too many terms.",
                expected=f"at most {limits.MOST_COLUMNS:,} columns",
                remedy="Name the interactions wanted.",
            )
        sizes[id(node)] = count, order


def _exponent(node: Any) -> int:
    text = node.token.extra if node.type in ("ONE", "NUMBER") else "1"
    try:
        return max(1, int(text))
    except (TypeError, ValueError):
        return 1  # patsy says what is wrong with it


def _balanced(tree: Any) -> Any:
    """The same sum as a shallow tree: patsy's evaluator is recursive, and 800 columns are not unusual."""
    from patsy.infix_parser import ParseNode

    steps = []
    while tree.type in ("+", "-") and len(tree.args) == 2:
        steps.append(tree)
        tree = tree.args[0]

    def added(left: Any, right: Any) -> Any:
        return ParseNode("+", None, [left, right], left.origin)

    def adds_terms(step: Any) -> bool:
        return step.type == "+" and step.args[1].type not in ("ZERO", "ONE")

    for terms_alone, run in itertools.groupby(reversed(steps), adds_terms):
        if terms_alone:
            nodes = [step.args[1] for step in run]
            while len(nodes) > 1:
                nodes = [*map(added, nodes[::2], nodes[1::2]), *nodes[len(nodes) // 2 * 2 :]]
            tree = added(tree, nodes[0])
        else:
            for step in run:
                tree = ParseNode(step.type, step.token, [tree, step.args[1]], step.origin)
    return tree


# --- contrasts and names, from template rows ---


def _designed(
    reader: Reader, terms: list[Any], factors: Mapping[str, Factor], position: Mapping[Any, int]
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """Column names, and terms with the contrasts that patsy chooses for the template rows."""
    wide = limits.wide_of(terms, factors)
    found = _named(reader, terms, factors, position, wide)
    if wide and not is_wide(len(found[0])):  # some were counted with a column more than they have
        return _named(reader, terms, factors, position, set())
    return found


def _named(
    reader: Reader,
    terms: list[Any],
    factors: Mapping[str, Factor],
    position: Mapping[Any, int],
    wide: set[str],
) -> tuple[tuple[str, ...], tuple[Term, ...]]:
    """See `_designed`; the factors that are ``wide`` have no contrast matrix."""
    import patsy

    # Looked up by its text in the template rows, which no text is evaluated for.
    known = [
        patsy.Term([patsy.LookupFactor(factor.code, origin=factor.origin) for factor in term.factors])
        for term in terms
    ]
    rows = {code: _template(factor, short=code in wide) for code, factor in factors.items()}
    # Poly of many levels may overflow; the coding refuses it.
    with _patsy_errors(reader), np.errstate(over="ignore", invalid="ignore"):
        (info,) = patsy.design_matrix_builders([known], lambda: iter([rows]), patsy.EvalEnvironment([]))
    designed: list[Term] = []
    names: list[str] = []
    start = 0
    for term, subterms in info.term_codings.items():
        try:
            read = tuple(_subterm(subterm, factors, position, wide) for subterm in subterms)
        except NoReferenceError:
            raise limits.size_error(reader, sum(factors[code].level_count for code in wide)) from None
        designed.append(Term(term.name(), start, read))
        start = designed[-1].stop
        own = info.column_names[info.term_slices[term]]
        names += wide_names(factors[term.name()], term.name()) if designed[-1].wide else own
    if len(names) > (limits.MOST_WIDE if wide else limits.MOST_COLUMNS):
        raise limits.size_error(reader, len(names))
    return tuple(names), tuple(designed)


def _template(factor: Factor, *, short: bool = False) -> Any:
    """All declared levels, or some of those of a wide factor, or a row of zeros; never a row of data."""
    import patsy
    from patsy.builtins import C

    if not isinstance(factor, LevelFactor):
        return np.zeros((1, factor.level_count - 1))
    levels = few_levels(factor) if short else list(factor.levels)
    name, *option = factor.contrast or ("Treatment",)
    return C(levels, getattr(patsy, name)(*option), levels=levels)


def _subterm(
    subterm: Any, factors: Mapping[str, Factor], position: Mapping[Any, int], wide: set[str]
) -> Subterm:
    usages = []
    for stand_in in subterm.factors:
        factor = factors[stand_in.name()]
        table: FloatMatrix | Treatment | None = None
        if stand_in.name() in wide:
            table = treatment(factor, subterm.contrast_matrices[stand_in].matrix.shape)
        elif stand_in in subterm.contrast_matrices:
            table = np.asarray(subterm.contrast_matrices[stand_in].matrix, dtype=np.float64)
        elif not isinstance(factor, NumericFactor):
            # A spline's first column is left out, as patsy and R do: the basis adds up to 1.
            table = np.eye(factor.level_count)[:, 1:]
        usages.append(Usage(position[factor.key], table))
    return tuple(usages)
