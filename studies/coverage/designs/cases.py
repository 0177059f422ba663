"""Designs in which something breaks: strong effects, wide bounds, separation, rare levels, terms, counts."""

from __future__ import annotations

from studies.coverage.designs.columns import Factor, Neighbour, Numbers, Spread, slopes
from studies.coverage.designs.design import Design
from studies.coverage.designs.laws import Binary, Count, Number

FIVE, TWO = Numbers("x", 5), Numbers("x", 2)
THREE_LEVELS = Factor("g", (0.5, 0.4, 0.1))

STRONG = (
    Design(
        name="slopes_strong",
        about="five slopes of 1.5 per standard deviation",
        half="set",
        n=5_000,
        p=6,
        columns=(FIVE,),
        coefficients=slopes("x", 1.5, 1.5, 1.5, 1.5, 1.5),
        known=True,
    ),
    Design(
        name="slopes_signs",
        about="the same with signs + - + - + and correlation .5",
        half="judged",
        n=5_000,
        p=6,
        columns=(Numbers("x", 5, ar=0.5),),
        coefficients=slopes("x", 1.5, -1.5, 1.5, -1.5, 1.5),
        known=True,
    ),
    Design(
        name="slopes_three",
        about="slopes of 3 and -3 beside one of 1",
        half="set",
        n=5_000,
        p=4,
        columns=(Numbers("x", 3),),
        coefficients=slopes("x", 3.0, -3.0, 1.0),
        known=True,
    ),
    Design(
        name="slopes_three_large",
        about="the same with ten times as many rows",
        half="judged",
        n=50_000,
        p=4,
        columns=(Numbers("x", 3),),
        coefficients=slopes("x", 3.0, -3.0, 1.0),
        known=True,
    ),
)

WIDE = (
    Design(
        name="wide_neighbour",
        about="a z-score within bounds of 12 standard deviations, its neighbour correlated .97",
        half="set",
        n=20_800,
        p=10,
        columns=(
            Numbers("z", bounds=(-6.0, 6.0)),
            Neighbour("near", "z", 0.97, (-4.0, 4.0)),
            Numbers("x", 4, ar=0.3),
            Factor("g", (0.4, 0.3, 0.2, 0.1)),
        ),
        coefficients={"Intercept": -1.0, "z": 0.5, "near": 0.16, "g[T.g01]": 0.4, "g[T.g03]": -0.5}
        | slopes("x", 0.3, 0.0, -0.2, 0.1),
        known=True,
    ),
    Design(
        name="wide_lognormal",
        about="a lognormal column within bounds of 20 standard deviations",
        half="judged",
        n=5_000,
        p=6,
        columns=(Numbers("u", shape="lognormal", bounds=(0.0, 43.0)), Numbers("x", 4)),
        coefficients={"Intercept": -0.5, "u": 0.15} | slopes("x", 0.5, -0.5, 0.3, 0.0),
        known=True,
    ),
    Design(
        name="tails_t3",
        about="five columns with t(3) tails within bounds of 17 standard deviations",
        half="set",
        n=5_000,
        p=6,
        columns=(Numbers("x", 5, shape="t3", bounds=(-15.0, 15.0)),),
        coefficients={"Intercept": -0.5} | slopes("x", 0.5, -0.4, 0.3, 0.0, 0.15),
    ),
    Design(
        name="wide_all",
        about="six correlated columns, all within bounds of 20 standard deviations",
        half="judged",
        n=10_000,
        p=7,
        columns=(Numbers("x", 6, ar=0.5, bounds=(-10.0, 10.0)),),
        coefficients={"Intercept": -1.0} | slopes("x", 0.6, -0.3, 0.0, 0.3, 0.0, 0.15),
    ),
)

# The rule for such numbers was set on two columns alone, and on no design of this study.
HIDDEN = (
    Design(
        name="hidden_neighbour",
        about="a number within bounds of 50 standard deviations, its neighbour correlated .8",
        half="judged",
        n=5_000,
        p=8,
        columns=(
            Numbers("z", bounds=(-25.0, 25.0)),
            Neighbour("near", "z", 0.8, (-4.0, 4.0)),
            Numbers("x", 3, ar=0.3),
            THREE_LEVELS,
        ),
        coefficients={"Intercept": -0.5, "z": 1.0, "near": 0.5, "g[T.g01]": 0.4, "g[T.g02]": -0.5}
        | slopes("x", 0.3, 0.0, -0.2),
    ),
    Design(
        name="hidden_alone",
        about="a strong number within bounds of 200 standard deviations, correlated with nothing",
        half="judged",
        n=20_000,
        p=7,
        columns=(Numbers("z", bounds=(-100.0, 100.0)), Numbers("x", 3), THREE_LEVELS),
        coefficients={"Intercept": -0.5, "z": 1.5, "g[T.g01]": 0.5} | slopes("x", 0.6, -0.3, 0.0),
    ),
    Design(
        name="hidden_skewed",
        about="three lognormal numbers within bounds of 460 standard deviations",
        half="judged",
        n=50_000,
        p=7,
        columns=(Numbers("u", 3, shape="lognormal", bounds=(0.0, 1000.0)), Numbers("x", 3, ar=0.5)),
        coefficients={"Intercept": -1.0} | slopes("u", 0.4, 0.0, -0.2) | slopes("x", 0.5, -0.3, 0.0),
    ),
    Design(
        name="hidden_linear",
        about="linear regression, a number within 40 standard deviations, its neighbour correlated .9",
        half="judged",
        n=5_000,
        p=6,
        columns=(
            Numbers("z", bounds=(-20.0, 20.0)),
            Neighbour("near", "z", 0.9, (-4.0, 4.0)),
            Numbers("x", 3, ar=0.3),
        ),
        coefficients={"Intercept": 0.5, "z": 0.8, "near": 0.3} | slopes("x", 0.4, -0.2, 0.0),
        law=Number((-9.0, 9.0)),
    ),
    Design(
        name="hidden_counts",
        about="Poisson counts, a number within 60 standard deviations, its neighbour correlated .8",
        half="judged",
        n=10_000,
        p=6,
        columns=(
            Numbers("z", bounds=(-30.0, 30.0)),
            Neighbour("near", "z", 0.8, (-4.0, 4.0)),
            Numbers("x", 3, ar=0.3),
        ),
        coefficients={"z": 0.5, "near": 0.3} | slopes("x", 0.2, -0.1, 0.0),
        law=Count(30),
    ),
)

SEPARATION = (
    Design(
        name="level_99",
        about="a level of 10 % of rows with 99 % successes",
        half="set",
        n=5_000,
        p=5,
        columns=(THREE_LEVELS, TWO),
        coefficients={"g[T.g01]": 0.5, "g[T.g02]": 4.6} | slopes("x", 0.5, -0.3),
        known=True,
    ),
    Design(
        name="level_999",
        about="a level of 10 % of rows with 99.9 % successes",
        half="judged",
        n=5_000,
        p=5,
        columns=(THREE_LEVELS, TWO),
        coefficients={"g[T.g01]": 0.5, "g[T.g02]": 6.9} | slopes("x", 0.5, -0.3),
        known=True,
    ),
    Design(
        name="level_95",
        about="a level of 10 % of rows with 95 % successes",
        half="set",
        n=5_000,
        p=5,
        columns=(THREE_LEVELS, TWO),
        coefficients={"g[T.g01]": 0.5, "g[T.g02]": 2.94} | slopes("x", 0.5, -0.3),
        known=True,
    ),
    Design(
        name="level_none",
        about="3 % successes, and nearly none in a level of 20 % of rows",
        half="judged",
        n=5_000,
        p=5,
        columns=(Factor("g", (0.5, 0.3, 0.2)), TWO),
        coefficients={"Intercept": -3.4, "g[T.g01]": 0.4, "g[T.g02]": -4.0} | slopes("x", 0.3, 0.0),
        known=True,
    ),
    Design(
        name="levels_three",
        about="levels of 3 and -3 log odds",
        half="set",
        n=5_000,
        p=7,
        columns=(Factor("g", (0.3, 0.25, 0.2, 0.15, 0.1)), TWO),
        coefficients={"g[T.g01]": 3.0, "g[T.g02]": -3.0, "g[T.g04]": 1.0} | slopes("x", 0.5, 0.0),
        known=True,
    ),
    Design(
        name="level_97_small",
        about="1,500 rows, a level of 20 % of them with 97 % successes",
        half="judged",
        n=1_500,
        p=6,
        columns=(Factor("g", (0.4, 0.2, 0.2, 0.2)), TWO),
        coefficients={"g[T.g01]": 3.5, "g[T.g02]": -0.5} | slopes("x", 0.5, 0.0),
    ),
)

RARE = (
    Design(
        name="rare_level",
        about="a level of 1 % of rows with effect -1.9",
        half="set",
        n=5_000,
        p=7,
        columns=(Factor("g", (0.6, 0.39, 0.01)), Numbers("x", 4)),
        coefficients={"g[T.g01]": 0.3, "g[T.g02]": -1.9} | slopes("x", 0.5, -0.3, 0.0, 0.2),
        known=True,
    ),
    Design(
        name="rare_levels_ten",
        about="ten levels of 1 % of rows each, effects of 1 and -1",
        half="judged",
        n=10_000,
        p=14,
        columns=(Factor("g", (0.5, 0.4) + (0.01,) * 10), TWO),
        coefficients={"Intercept": -0.5}
        | Factor("g", (0.5, 0.4) + (0.01,) * 10).effects(1.0, 0.0, -1.0)
        | slopes("x", 0.4, 0.0),
    ),
)

TERMS = (
    Design(
        name="parabola",
        about="a column and its square",
        half="set",
        n=5_000,
        p=3,
        columns=(Numbers("x"),),
        coefficients={"Intercept": 0.3, "x": 0.5, "I(x ** 2)": -0.5},
        terms="x + I(x ** 2)",
        known=True,
    ),
    Design(
        name="interaction",
        about="a slope of 2 within a level of 10 % of rows, .5 elsewhere",
        half="judged",
        n=5_000,
        p=6,
        columns=(Factor("a", (0.5, 0.4, 0.1)), Numbers("x")),
        coefficients={"a[T.a01]": 0.3, "a[T.a02]": -0.3, "x": 0.5, "a[T.a02]:x": 1.5},
        terms="a * x",
        known=True,
    ),
    Design(
        name="parabola_age",
        about="age and its square, far from zero, beside two slopes",
        half="set",
        n=10_000,
        p=5,
        columns=(Numbers("age", centre=55.0, scale=12.0, bounds=(18.0, 90.0)), TWO),
        # -.3 + .04 (age - 55) - .002 (age - 55)^2
        coefficients={"Intercept": -8.55, "age": 0.26, "I(age ** 2)": -0.002} | slopes("x", 0.4, 0.0),
        terms="age + I(age ** 2) + x1 + x2",
    ),
    Design(
        name="product",
        about="the product of two numbers",
        half="judged",
        n=5_000,
        p=5,
        columns=(Numbers("x", 3),),
        coefficients={"x1:x2": 0.5} | slopes("x", 0.5, -0.5, 0.2),
        terms="x1 * x2 + x3",
    ),
)

COUNTS = (
    Design(
        name="negative_binomial",
        about="counts of variance mean + mean squared, fitted as Poisson",
        half="set",
        n=50_000,
        p=7,
        columns=(Numbers("x", 4, ar=0.3), THREE_LEVELS),
        coefficients={"g[T.g01]": 0.2, "g[T.g02]": -0.3} | slopes("x", 0.3, -0.2, 0.0, 0.1),
        law=Count(50, dispersion=1.0),
        known=True,
    ),
    Design(
        name="poisson_clipped",
        about="Poisson counts of mean 3 that are declared to end at 5",
        half="judged",
        n=10_000,
        p=5,
        columns=(Numbers("x", 4),),
        coefficients={"Intercept": 1.0} | slopes("x", 0.3, -0.2, 0.1, 0.0),
        law=Count(5),
    ),
    Design(
        name="poisson",
        about="Poisson counts, 5,000 rows",
        half="set",
        n=5_000,
        p=7,
        columns=(Numbers("x", 4, ar=0.3), THREE_LEVELS),
        coefficients={"Intercept": 0.3, "g[T.g01]": 0.2, "g[T.g02]": -0.3} | slopes("x", 0.3, -0.2, 0.0, 0.1),
        law=Count(20),
    ),
    Design(
        name="poisson_rare",
        about="Poisson counts of mean .1",
        half="judged",
        n=20_000,
        p=6,
        columns=(Numbers("x", 3), THREE_LEVELS),
        coefficients={"Intercept": -2.4, "g[T.g02]": 0.5} | slopes("x", 0.3, -0.2, 0.0),
        law=Count(4),
    ),
)

WITHIN = (
    Design(
        name="slope_reference",
        about="a slope of 2 at the reference level, of 10 % of rows, .5 elsewhere",
        half="set",
        n=5_000,
        p=4,
        columns=(Factor("a", (0.1, 0.9)), Numbers("x")),
        coefficients={"x": 2.0, "a[T.a01]:x": -1.5},
        terms="a * x",
        known=True,
    ),
    Design(
        name="slopes_four",
        about="slopes of 1, -1, 2 and 0 at four levels",
        half="set",
        n=4_000,
        p=9,
        columns=(Factor("a", (0.4, 0.3, 0.2, 0.1)), Numbers("x"), Numbers("z")),
        coefficients={"a[T.a01]": 0.5, "x": 1.0, "z": 0.5}
        | {"a[T.a01]:x": -2.0, "a[T.a02]:x": 1.0, "a[T.a03]:x": -1.0},
        terms="a * x + z",
        known=True,
    ),
    Design(
        name="slope_rare",
        about="a slope of 2.8 in 5 % of rows, .3 elsewhere, few successes",
        half="set",
        n=8_000,
        p=4,
        columns=(Factor("a", (0.95, 0.05)), Numbers("x")),
        coefficients={"Intercept": -2.0, "x": 0.3, "a[T.a01]:x": 2.5},
        terms="a * x",
        known=True,
    ),
    *(
        Design(
            name=f"spread_{name}",
            about=f"a number that spreads {times} as much at 20 % of rows, {model}",
            half="judged",
            n=5_000,
            p=4,
            columns=(Factor("a", (0.8, 0.2)), Spread("x", "a", deviations)),
            coefficients={"x": 0.5, "a[T.a01]:x": product},
            law=law,
            terms="a * x",
            known=True,
        )
        for name, times, model, deviations, product, law in (
            ("wide", "three times", "logistic", (0.7, 2.0), 0.5, Binary()),
            ("narrow", "a third", "logistic", (1.5, 0.5), 1.0, Binary()),
            ("linear", "three times", "linear", (0.7, 2.0), 0.5, Number((-10.0, 10.0), 1.0)),
        )
    ),
)

CASES = {
    "strong": STRONG,
    "wide": WIDE,
    "hidden": HIDDEN,
    "separation": SEPARATION,
    "rare": RARE,
    "terms": TERMS,
    "within": WITHIN,
    "counts": COUNTS,
}
