"""Formulas: what may be written, and errors that point at the culprit; no data anywhere."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpglm.data.coding.coding import Coding
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError

SCHEMA = Schema.of(
    {
        "y": ["no", "yes"],
        "x": (1, 5),
        "z": (-2, 3),
        "age": (18, 95),
        "g": ["a", "b", "c"],
        "h": ["u", "v"],
        "odd name": (0, 1),
        "été": (0, 1),
    }
)


def refused(formula: str) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        parse(formula, SCHEMA)
    return caught.value


def culprit(error: FormulaError) -> str:
    """The text above the carets."""
    *_, shown, carets = error.found.split("\n")
    return "".join(letter for letter, caret in zip(shown, carets, strict=False) if caret == "^")


@pytest.mark.parametrize("term", ["np.where(x > 3, 1, 0)", "where(x > 3, 1, 0)", "pd.cut(x, [0, 3])"])
def test_a_column_that_a_formula_cannot_make_is_to_be_made_before(term: str) -> None:
    error = refused(f"y ~ z + {term}")
    assert culprit(error) == term
    assert error.found.startswith(f"{term[: term.index('(')]}() is not allowed")
    assert error.remedy.startswith(
        "Make the column before the fit, row by row, and declare it in the schema."
    )
    assert "fixed number" in refused("y ~ I(x - x.mean())").remedy


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ x + g", ("Intercept", "g[T.b]", "g[T.c]", "x")),
        ("y~x-1", ("x",)),
        ("y ~ 0 + g", ("g[a]", "g[b]", "g[c]")),
        ("y ~ C(g, Treatment('b'))", ("Intercept", "C(g, Treatment('b'))[T.a]", "C(g, Treatment('b'))[T.c]")),
        ("y ~ C(h, Sum())", ("Intercept", "C(h, Sum())[S.u]")),
        ('y ~ Q("odd name")', ("Intercept", 'Q("odd name")')),
        ("y ~ été", ("Intercept", "été")),
        ("y ~ np.log(x) + numpy.sqrt(x) + log1p(x)", ("Intercept", "np.log(x)", "numpy.sqrt(x)", "log1p(x)")),
        ("y ~ center(age, at=50)", ("Intercept", "center(age, at=50)")),
        ("y ~ scale(age, center=50, by=10)", ("Intercept", "scale(age, center=50, by=10)")),
        ("y ~ standardize(age, center=50, by=-10)", ("Intercept", "standardize(age, center=50, by=-10)")),
        ("y ~ bs(x, df=3)", ("Intercept", "bs(x, df=3)[0]", "bs(x, df=3)[1]", "bs(x, df=3)[2]")),
        ("y ~ I(x > 2)", ("Intercept", "I(x > 2)[T.True]")),
        ("y ~ clip(x, 2, 3) + minimum(x, 4)", ("Intercept", "clip(x, 2, 3)", "minimum(x, 4)")),
        ("y ~ x + offset(log(x)) + offset(z)", ("Intercept", "x")),
        ("y ~\n  x +\n  z", ("Intercept", "x", "z")),
        ("y ~ 1", ("Intercept",)),
    ],
)
def test_whitelisted_formulas_are_read(formula: str, names: tuple[str, ...]) -> None:
    assert parse(formula, SCHEMA).names == names


def test_needed_columns_include_offsets_and_leave_out_the_response() -> None:
    model = parse("y ~ g:x + offset(log(age) - z)", SCHEMA)
    assert set(model.columns) == {"g", "x", "age", "z"}
    assert model.response == "y"


@pytest.mark.parametrize(
    ("formula", "under_carets"),
    [
        ("y ~ x + wage", "wage"),
        ("wages ~ x", "wages"),
        ("y ~ center(age) + g", "center(age)"),
        ("y ~ x + scale(z)", "scale(z)"),
        ("y ~ standardize(age)", "standardize(age)"),
        ("y ~ scale(age, center=50)", "scale(age, center=50)"),
        ("y ~ x + cr(z, df=3)", "cr(z, df=3)"),
        ("y ~ np.mean(x)", "np.mean(x)"),
        ("y ~ I(x - x.mean())", "x.mean"),
        ("y ~ x.__class__", "x.__class__"),
        ("y ~ C(g).cat", "C(g).cat"),
        ("y ~ C(x)", "C(x)"),
        ("y ~ C(x + 1)", "x + 1"),
        ("y ~ C(g, Treatment('q'))", "'q'"),
        ("y ~ C(g, Treatment(reference=3))", "3"),
        ("y ~ C(g, Custom)", "Custom"),
        ("y ~ I(2 * g)", "g"),
        ("y ~ log(z)", "log(z)"),
        ("y ~ x + I(x / z)", "z"),
        ("y ~ sqrt(z)", "sqrt(z)"),
        ("y ~ I(z ** 0.5)", "z ** 0.5"),
        ("y ~ exp(exp(age))", "exp(exp(age))"),
        ("y ~ __import__('os')", "__import__('os')"),
        ("y ~ I((lambda: 1)())", "(lambda: 1)()"),
        ("y ~ [i for i in x]", "[i for i in x]"),
        ('y ~ eval("x")', 'eval("x")'),
        ('y ~ open("f")', 'open("f")'),
        ("y ~ f'{x}'", "f'{x}'"),
        ("y ~ x[0]", "x[0]"),
        ("y ~ x if z else age", "x if z else age"),
        ("y ~ I(1 < x < 3)", "1 < x < 3"),
        ("y ~ I((x > 2) * z)", "x > 2"),
        ("y ~ bs(x)", "bs(x)"),
        ("y ~ bs(x, df=2)", "2"),
        ("y ~ bs(x, knots=[9])", "[9]"),
        ("y ~ bs(x, df=4, include_intercept=True)", "include_intercept=True"),
        ("y ~ I(bs(x, df=4))", "bs(x, df=4)"),
        ("y ~ offset(x):z", "offset(x)"),
        ("y ~ x:I(x)", "I(x)"),
        ("y ~ I(x * 0)", "I(x * 0)"),
        ("y ~ x +* z", "*"),
        ("y ~ (x + z", "("),
        ("y ~ 2", "2"),
        ("y ~ été + wage", "wage"),
        ("y ~ I(été + wage)", "wage"),
        ("y ~ y + x", "y"),
        ("log(y) ~ x", "log(y)"),
        ("x + z ~ g", "x + z"),
        ("y ~ 0", "y ~ 0"),
        ("y ~ log(**x)", "**x"),
    ],
)
def test_the_caret_stands_under_the_culprit(formula: str, under_carets: str) -> None:
    error = refused(formula)
    assert culprit(error) == under_carets
    assert error.expected
    assert error.remedy


@pytest.mark.parametrize(
    "formula",
    ["y ~ (lambda: 1)()", "y ~ lambda: x", "y ~ @x", "y ~ .", "y ~ 'abc", "y ~ \0", "y ~ x # z", "~ x",
     "x + z", "", "y ~", "y ~ x ~ z", "y ~ x := 3", "y ~ log(x", "y ~ {x}", "y ~ x; z", "y ~ `x`",
     "y ~ 1e999*x", "y ~ I(1e999 * x)", "y ~ True", "y ~ 1j"],
)  # fmt: skip
def test_broken_syntax_is_a_formula_error(formula: str) -> None:
    assert "^" in refused(formula).found


@pytest.mark.parametrize(
    "formula",
    ["y ~ " + "(" * 3000 + "x" + ")" * 3000, "y ~ I(" + "(" * 3000 + "x" + ")" * 3000 + ")",
     "y ~ I(" + "-" * 3000 + "x)", "y ~ " + "-" * 3000 + "1", "y ~ I(" + "+".join(["x"] * 3000) + ")",
     "y ~ " + "log1p(" * 500 + "x" + ")" * 500, "y ~ x" + " - z" * 2000, "y ~ " + ":".join(["x"] * 3000),
     "y ~ x" * 5000, "y ~ " + "9" * 6000, "y ~ I(x ** " + "9" * 6000 + ")"],
)  # fmt: skip
def test_very_deep_or_long_formulas_are_formula_errors(formula: str) -> None:
    assert len(str(refused(formula))) < 1000


def test_formulas_that_multiply_out_are_refused_before_they_do() -> None:
    many = Schema.of({"y": ["no", "yes"], **{f"x{i}": (0, 1) for i in range(60)}})
    names = [f"x{i}" for i in range(60)]
    for formula in (
        " * ".join(names),
        f"({' + '.join(names)}) ** 9",
        f"({' + '.join(names)}) ** {'9' * 400}",
    ):
        with pytest.raises(FormulaError, match="multiplies out"):
            parse(f"y ~ {formula}", many)


def test_a_design_with_too_many_columns_is_refused() -> None:
    wide = Schema.of({"y": ["no", "yes"], **{name: [str(i) for i in range(80)] for name in "ab"}})
    with pytest.raises(FormulaError, match="columns"):
        parse("y ~ a * b", wide)


def test_eight_hundred_columns_are_read() -> None:
    names = [f"p{i}" for i in range(800)]
    wide = Schema.of({"y": ["no", "yes"], **dict.fromkeys(names, (0, 255))})
    assert parse("y ~ " + " + ".join(names) + " - 1", wide).names == tuple(names)


def test_a_formula_that_is_no_text_is_refused() -> None:
    with pytest.raises(FormulaError, match="string"):
        parse(3, SCHEMA)  # type: ignore[arg-type]


def test_errors_do_not_run_what_they_refuse() -> None:
    # A factor's text must reach neither eval nor patsy's namespace: the import below would leave a trace.
    code = (
        "import sys\nfrom dpglm.data.formula.parse import parse\n"
        "from dpglm.data.schema.schema import Schema\n"
        "from dpglm.errors import FormulaError\n"
        "try:\n parse('y ~ __import__(\"this\")', Schema.of({'y': ['a', 'b'], 'x': (0, 1)}))\n"
        "except FormulaError:\n pass\nprint('this' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_parsing_imports_patsy_only_when_asked() -> None:
    code = "import sys, dpglm.data.formula.parse; print('patsy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize("formula", ["y ~ g + C(g, Sum)", "y ~ x + I(x)", "y ~ g + C(g):h"])
def test_columns_that_cannot_be_told_apart_are_named(formula: str) -> None:
    model = parse(formula, SCHEMA)
    with pytest.raises(FormulaError, match="combinations"):
        Coding.of(model)


def test_parsing_is_deterministic() -> None:
    one, two = (parse("y ~ g * x + bs(age, df=5) + h:z", SCHEMA) for _ in range(2))
    assert one.names == two.names
    assert one.factors == two.factors


@pytest.mark.parametrize("formula", ["y ~ bs(x, df=7)", "y ~ bs(x, knots=[1000000000000000.125])"])
def test_a_spline_whose_pieces_collapse_in_rounding_is_refused(formula: str) -> None:
    """Its basis would be 0/0 in some rows: one row could then spoil the fit for all."""
    with pytest.raises(FormulaError, match="too narrow"):
        parse(formula, Schema.of({"x": (1e15, 1e15 + 0.25), "y": ["no", "yes"]}))


@pytest.mark.parametrize("bounds", [(0, 1e-200), (1e-170, 2e-170), (0, 5e-324), (0, 1e200)])
@pytest.mark.parametrize("kind", ["centred", "clipped"])
@pytest.mark.filterwarnings("error")
def test_ranges_that_a_double_cannot_square_are_refused(bounds: tuple[float, float], kind: str) -> None:
    schema = Schema.of({"x": bounds, "y": ["no", "yes"]})
    with pytest.raises(FormulaError, match=r"too large or too small|too narrow"):
        Coding.of(parse("y ~ x", schema), kind=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "removed", ["x.mean()", "nosuch", "open('f')", "offset(nosuch)", "(z + x.sum())", "z:nosuch", "scale(x)"]
)
def test_a_term_that_a_minus_takes_out_is_read_as_strictly_as_others(removed: str) -> None:
    schema = Schema.of({"y": (0, 1), "x": (0, 1), "z": (0, 1)})
    with pytest.raises(FormulaError):
        parse(f"y ~ x - {removed}", schema)


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ x - 1", ("x",)),
        ("y ~ x - x + z", ("Intercept", "z")),
        ("y ~ x - z", ("Intercept", "x")),
        ("y ~ x*g - x:g", ("Intercept", "g[T.b]", "x")),
    ],
)
def test_a_minus_takes_terms_out(formula: str, names: tuple[str, ...]) -> None:
    model = parse(formula, Schema.of({"y": (0, 1), "x": (0, 1), "z": (0, 1), "g": ["a", "b"]}))
    assert model.names == names
    assert {column for factor in model.factors for column in factor.expression.columns} <= set(
        "".join(names)
    ) & set("xzg")


@pytest.mark.parametrize("right", ["Intercept", "0 + Intercept", "x:Intercept", "x - Intercept"])
def test_a_column_called_intercept_must_be_quoted(right: str) -> None:
    schema = Schema.of({"y": (0, 1), "x": (0, 1), "Intercept": (0, 1)})
    with pytest.raises(FormulaError, match='Q\\("Intercept"\\)'):
        parse(f"y ~ {right}", schema)
    assert parse('y ~ Q("Intercept")', schema).names == ("Intercept", 'Q("Intercept")')


@pytest.mark.parametrize("bounds", [(0, 1e-308), (1e-310, 2e-310), (-5e-324, 5e-324)])
@pytest.mark.parametrize("right", ["bs(x, df=5)", "0 + x:z", "x"])
def test_a_range_too_narrow_for_a_number_is_refused(bounds: tuple[float, float], right: str) -> None:
    with pytest.raises(FormulaError, match="too narrow for a number"):
        parse(f"y ~ {right}", Schema.of({"y": (0, 1), "x": bounds, "z": (0, 1e300)}))


def test_an_interrupt_amid_the_import_of_patsy_leaves_no_piece_of_it() -> None:
    script = """
import sys
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "patsy.build":
            raise KeyboardInterrupt
schema = Schema.of({"y": (0, 1), "x": (0, 1)})
sys.meta_path.insert(0, Interrupt())
try:
    parse("y ~ x", schema)
except KeyboardInterrupt:
    print([name for name in sys.modules if name.startswith("patsy")])
del sys.meta_path[0]
print(parse("y ~ x", schema).names)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n('Intercept', 'x')\n"
