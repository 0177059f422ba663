"""Hostile and half-sound inputs: formulas, plain values, declarations and YAML texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.documented import ATTACK

# --- formulas ---

NAMES = ("y", "z", "k", "x", "w", "g", "Intercept", "odd name", "nowhere", "np", "I", "C")
ATTACKS = (
    ATTACK,
    f"I({ATTACK})",
    f"Q({ATTACK})",
    f"x.__class__.__init__.__globals__['__builtins__']['eval']({ATTACK!r})",
    f"[{ATTACK} for _ in x]",
    f"(lambda: {ATTACK})()",
    f"(lambda q={ATTACK}: q)(x)",
    f"eval({ATTACK!r})",
    f"f'{{{ATTACK}}}'",
    f"(q := {ATTACK})",
    f"C(g, {ATTACK})",
    f"C(g, levels={ATTACK})",
    f"bs(x, df={ATTACK})",
    f"{{{ATTACK}: 1}}",
    f"x if {ATTACK} else w",
    f"np.load({ATTACK!r})",
    "x.__array__.__self__",
    "np.linalg.inv(x)",
    "open('/etc/passwd').read()",
    "().__class__.__bases__[0].__subclasses__()",
    "*x",
    "**x",
    "x @ w",
    "x[0]",
    "yield x",
    "await x",
    "...",
    "'text'",
    "b'bytes'",
    "1j",
    "not x",
    "x and w",
    "~x",
    "x // 2",
    "x % 2",
    "x << 9999",
    "9 ** 9 ** 9 ** 9",
    "I(10 ** 10 ** 10)",
    "Q('\\x00')",
)
TERMS = """
0 | 1 | -1 | 1e308 | 1e999 | 0x1f | 1_000 | 0.5 | x:w | g:x | C(g, Sum) | C(g, Poly) | C(g, Treatment('b'))
C(g, Treatment(99)) | bs(x, df=4) | bs(x, degree=99) | bs(x, df=1e9) | offset(w / 100) | offset(x):g
center(x, at=1) | scale(x, center=0, by=0) | np.log(w) | np.exp(w) | I(x ** 2) | I(x / 0) | I(1 / x) | sqrt(x)
clip(x, 1, 0) | x > 0 | 0 < x < 1 | Q('odd name') | minimum(x, w)
"""
PIECES = st.sampled_from((*NAMES, *ATTACKS, *TERMS.strip().replace("\n", " | ").split(" | ")))
JOINS = st.sampled_from((" + ", " - ", ":", "*", "/", " ** ", "~", " ", "", ", ", " ^ ", " | ", "\n", "%in%"))
WRAPS = (
    "({})",
    "I({})",
    "C({})",
    "-({})",
    "np.exp({})",
    "Q({})",
    "bs({}, df=4)",
    "({})**2",
    "({})**99",
    "offset({})",
    "[{}]",
    "{{{}}}",
)
SOUND = st.lists(
    st.sampled_from(
        ["x", "w", "g", "x:g", "I(x ** 2)", "bs(x, df=4)", "C(g, Sum)", "np.log1p(w)", "offset(x)", "0"]
    ),
    min_size=1,
    max_size=4,
).map(" + ".join)


@st.composite
def right_sides(draw: Callable[..., Any]) -> str:
    """Pieces of the grammar, joined and wrapped in ways that it knows and does not know."""
    text: str = draw(PIECES)
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            text = text + draw(JOINS) + draw(PIECES)
        else:
            text = draw(st.sampled_from(WRAPS)).format(text)
    return text


DEEP = st.builds(
    lambda opening, inner, closing, times: opening * times + inner + closing * times,
    st.sampled_from(["(", "I(", "-", "+", "~", "[", "np.exp(", "C(", "(x + ", "x:(", "lambda: "]),
    st.sampled_from(["x", "g", "1", ""]),
    st.sampled_from([")", "", "]", " + x)", " ** 2)"]),
    st.sampled_from([1, 5, 60, 99, 130, 400, 3000]),
)
LONG = st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(
        ["x + ", "x:", "x*", "(x + w) ** 9 + ", "g:x + ", " ", "\u0301", "é", "x**2", "'", '"', "\\"]
    ),
    st.sampled_from([3, 40, 700, 6000]),
)
FORMULAS = st.one_of(
    SOUND.map("y ~ {}".format),
    right_sides().map(lambda side: f"y ~ {side}"),
    right_sides(),
    st.builds("{} ~ {}".format, right_sides(), SOUND),
    DEEP.map(lambda text: f"y ~ {text}"),
    LONG.map(lambda text: f"y ~ {text}x"),
    st.text(max_size=40),
    st.text(max_size=30).map(lambda text: f"y ~ x + {text}"),
    st.text("xwg+-*:/()[]{}'\"~ \n\\#0.,=<>", max_size=30).map(lambda text: f"y ~ {text}"),
)

# --- plain values ---

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 2**63, 10**400, -(10**400)]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["omit", ATTACK, "\ud800", "\x00", "<script>", "{{7*7}}", "!!python/object/apply:os.system [x]"]
    ),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=6), inner, max_size=4),
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "bounds",
        "levels",
        "missing",
        "other",
        "source",
        "looked_at_data",
        "effect",
        "mean",
        "sd",
        "shares",
        "missing_codes",
        "aliases",
        "decimal",
        "strip",
        "ordered",
        "date",
        "origin",
        "unit",
        "$float",
        "x",
    ]
)
ENTRIES = st.one_of(
    st.tuples(st.floats(), st.floats()),
    st.lists(SCALARS, max_size=5),
    st.dictionaries(
        KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=4), st.tuples(SCALARS, SCALARS)), max_size=4
    ),
    st.fixed_dictionaries(
        {"bounds": st.sampled_from([(-1.0, 1.0), (0, 10), (-1e300, 1e300), (0, 5e-324), (1, 1 + 2**-50)])},
        optional={
            **dict.fromkeys(["missing", "effect", "mean", "sd", "source", "decimal"], SCALARS),
            "missing_codes": st.lists(SCALARS, max_size=3),
            "date": st.dictionaries(
                st.sampled_from(["origin", "unit", "format", "zone"]),
                st.one_of(
                    SCALARS, st.sampled_from(["2015-01-01", "days", "%d.%m.%Y", "%Y", "%", "UTC", "+99:99"])
                ),
            ),
        },
    ),
    st.fixed_dictionaries(
        {"levels": st.lists(SCALARS, min_size=2, max_size=5)},
        optional={
            "missing": SCALARS,
            "other": SCALARS,
            "effect": SCALARS,
            "shares": st.lists(SCALARS, max_size=5),
        },
    ),
    TREES,
)
BOUNDED = st.fixed_dictionaries(
    {"bounds": st.tuples(st.floats(-1e6, 0.0), st.floats(1.0, 1e6))},
    optional={
        "missing": st.one_of(st.just("omit"), st.floats(-1.0, 2.0)),
        "effect": st.floats(0.1, 9.0),
        "mean": st.floats(0.0, 1.0),
        "source": st.text(max_size=9),
    },
)
LISTED = st.fixed_dictionaries(
    {"levels": st.lists(st.text(min_size=1, max_size=4), min_size=2, max_size=5, unique=True)},
    optional={"effect": st.floats(0.1, 9.0), "source": st.text(max_size=9), "other": st.just("omit")},
)
DECLARATIONS = st.one_of(
    st.dictionaries(st.text(min_size=1, max_size=6), st.one_of(BOUNDED, LISTED), max_size=4),
    st.dictionaries(
        st.text(min_size=1, max_size=6), st.one_of(BOUNDED, BOUNDED, LISTED, ENTRIES), max_size=3
    ),
    st.dictionaries(
        st.one_of(st.sampled_from(NAMES), SCALARS.filter(lambda key: key == key)), ENTRIES, max_size=4
    ),
    st.fixed_dictionaries(
        {"variables": st.dictionaries(st.sampled_from(NAMES), ENTRIES, max_size=4)},
        optional={"rows": SCALARS, "unit": SCALARS, "title": SCALARS},
    ),
    TREES,
)
YAML_TEXTS = (
    "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n",
    "x: &x {bounds: [0, 1]}\nz:\n  <<: *x\n",
    f"x: !!python/object/apply:eval [{ATTACK!r}]\n",
    f"!!python/object/new:type {{args: [x, [], {{}}], state: {ATTACK!r}}}\n",
    "x: !!binary aGVsbG8=\n",
    "x: !!set {a, b}\n",
    "x: !!timestamp 2020-02-29\n",
    "? [a, b]\n: {bounds: [0, 1]}\n",
    "x: {bounds: [0, 1]}\nx: {bounds: [0, 2]}\n",
    "--- 1\n--- 2\n",
    "%YAML 9.9\n---\nx: 1\n",
    "[" * 2000,
    "{a: " * 900,
    "- " * 3000,
    "x: {bounds: [.nan, .inf]}\n",
    "\ufeffx: [0, 1]\n",
    "x: |\n" + " a\n" * 50,
    "? " * 500,
)
