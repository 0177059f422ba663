"""Designs that vary what tables vary in: rare outcomes, wrong models, clusters, sizes, kinds of columns."""

from __future__ import annotations

from studies.coverage.designs.columns import Binaries, Factor, Numbers, slopes, zipf
from studies.coverage.designs.design import Design
from studies.coverage.designs.laws import Binary, Number

GROUPS = Factor("g", (0.4, 0.3, 0.2, 0.1))
MANY, CROSSED, SITES = Factor("g", zipf(120, 0.8)), Factor("g", zipf(100, 0.7)), Factor("h", (0.025,) * 40)
TREATED = Factor("arm", (0.5, 0.5), rows=100)
DISEASE, REGION = Factor("disease", (0.45, 0.25, 0.15, 0.1, 0.05)), Factor("region", zipf(12))

OUTCOMES = (
    Design(
        name="outcome_5",
        about="5 % successes",
        half="set",
        n=20_000,
        p=9,
        columns=(Numbers("x", 5, ar=0.3), GROUPS),
        coefficients={"Intercept": -3.15, "g[T.g01]": 0.4, "g[T.g03]": -0.4}
        | slopes("x", 0.4, -0.2, 0.0, 0.2, 0.0),
    ),
    Design(
        name="outcome_1",
        about="1 % successes",
        half="judged",
        n=50_000,
        p=9,
        columns=(Numbers("x", 5, ar=0.3), GROUPS),
        coefficients={"Intercept": -4.85, "g[T.g01]": 0.4, "g[T.g03]": -0.4}
        | slopes("x", 0.4, -0.2, 0.0, 0.2, 0.0),
    ),
)

MISSPECIFIED = (
    Design(
        name="cloglog",
        about="the link is complementary log-log",
        half="set",
        n=5_000,
        p=5,
        columns=(Numbers("x", 4, ar=0.3),),
        coefficients={"Intercept": -0.8} | slopes("x", 0.7, -0.5, 0.3, 0.0),
        law=Binary("cloglog"),
        known=True,
    ),
    Design(
        name="probit",
        about="the link is probit",
        half="judged",
        n=10_000,
        p=7,
        columns=(Numbers("x", 6, ar=0.3),),
        coefficients={"Intercept": -0.3} | slopes("x", 0.7, -0.5, 0.3, 0.0, 0.2, 0.0),
        law=Binary("probit"),
    ),
    Design(
        name="omitted_square",
        about="a square and a product are left out",
        half="set",
        n=5_000,
        p=4,
        columns=(Numbers("x", 3),),
        coefficients={"Intercept": -0.5, "I(x1 ** 2)": 0.4, "x1:x2": 0.4} | slopes("x", 0.6, -0.4, 0.2),
        true_terms="x1 + x2 + x3 + I(x1 ** 2) + x1:x2",
        known=True,
    ),
    Design(
        name="omitted_curve",
        about="an exponential column flattens, and its curve is left out",
        half="judged",
        n=5_000,
        p=4,
        columns=(Numbers("u", shape="exponential", bounds=(0.0, 10.0)), Numbers("x", 2)),
        coefficients={"Intercept": -1.0, "u": 0.9, "I(u ** 2)": -0.09} | slopes("x", 0.4, 0.0),
        true_terms="u + I(u ** 2) + x1 + x2",
        known=True,
    ),
)

CLUSTERED = (
    Design(
        name="clusters_small",
        about="clusters of ten rows with random intercepts of standard deviation .7",
        half="set",
        n=10_000,
        p=6,
        columns=(Numbers("x", 5, ar=0.3),),
        coefficients={"Intercept": -0.7} | slopes("x", 0.5, -0.3, 0.0, 0.2, 0.0),
        law=Binary(cluster=10, spread=0.7),
    ),
    Design(
        name="clusters_treated",
        about="100 clusters of 100 rows, of one arm each, with random intercepts of standard deviation .15",
        half="judged",
        n=10_000,
        p=5,
        columns=(TREATED, Numbers("x", 3)),
        coefficients={"Intercept": -0.7, "arm[T.arm01]": 0.4} | slopes("x", 0.5, -0.3, 0.0),
        law=Binary(cluster=100, spread=0.15),
    ),
)

BINARIES = (
    Design(
        name="binary_columns",
        about="eight columns of zeros and ones, declared (0, 1), with .5 to .03 ones",
        half="set",
        n=5_000,
        p=9,
        columns=(Binaries("b", (0.5, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.03)),),
        coefficients={"Intercept": -0.5} | slopes("b", 0.7, 0.0, -0.5, 0.3, 0.0, 0.8, 0.0, 1.0),
    ),
    Design(
        name="binary_twenty",
        about="twenty such columns, half of them with 5 % ones, and two numbers",
        half="judged",
        n=20_000,
        p=23,
        columns=(Binaries("b", (0.3, 0.05) * 10), Numbers("x", 2)),
        coefficients={"Intercept": -1.0} | slopes("b", *(0.5, 0.6, 0.0, 0.0) * 5) | slopes("x", 0.4, 0.0),
    ),
)

LEVELS = (
    Design(
        name="levels_120",
        about="120 levels with Zipf shares down to .2 %",
        half="set",
        n=50_000,
        p=123,
        columns=(MANY, Numbers("x", 3)),
        coefficients={"Intercept": -1.0} | MANY.effects(0.4, 0.0, -0.4, 0.8) | slopes("x", 0.4, -0.2, 0.0),
    ),
    Design(
        name="levels_crossed",
        about="factors of 100 and 40 levels",
        half="judged",
        n=100_000,
        p=142,
        columns=(CROSSED, SITES, Numbers("x", 3)),
        coefficients={"Intercept": -1.0}
        | CROSSED.effects(0.4, 0.0, -0.4, 0.8)
        | SITES.effects(0.3, 0.0, -0.3)
        | slopes("x", 0.4, -0.2, 0.0),
    ),
)

SIZES = (
    Design(
        name="rows_500",
        about="500 rows, two slopes",
        half="set",
        n=500,
        p=3,
        columns=(Numbers("x", 2),),
        coefficients=slopes("x", 0.8, 0.0),
    ),
    Design(
        name="rows_1500",
        about="1,500 rows, four slopes and three levels",
        half="judged",
        n=1_500,
        p=7,
        columns=(Numbers("x", 4, ar=0.3), Factor("g", (0.5, 0.3, 0.2))),
        coefficients={"Intercept": -0.5, "g[T.g01]": 0.5} | slopes("x", 0.8, -0.4, 0.0, 0.2),
    ),
    Design(
        name="columns_200",
        about="199 correlated columns, of which twenty matter",
        half="set",
        n=20_000,
        p=200,
        columns=(Numbers("x", 199, ar=0.5),),
        coefficients={f"x{j}": 0.5 if j % 20 else -0.5 for j in range(10, 200, 10)},
    ),
    Design(
        name="columns_100",
        about="99 columns with correlation .8, of which twenty matter",
        half="judged",
        n=100_000,
        p=100,
        columns=(Numbers("x", 99, ar=0.8),),
        coefficients={"Intercept": -1.0} | {f"x{j}": 0.3 if j % 2 else -0.3 for j in range(5, 100, 5)},
    ),
)

SMALL = (
    Design(
        name="small_effects",
        about="thirty effects of .05 and -.05 per standard deviation",
        half="set",
        n=20_000,
        p=31,
        columns=(Numbers("x", 30, ar=0.3),),
        coefficients={"Intercept": -0.5} | slopes("x", *(0.05, -0.05) * 15),
    ),
    Design(
        name="no_effects",
        about="no effect at all",
        half="judged",
        n=5_000,
        p=12,
        columns=(Numbers("x", 8, ar=0.3), GROUPS),
        coefficients={"Intercept": -1.0},
    ),
)

CORRELATED = (
    Design(
        name="ar_90",
        about="ten columns with correlation .9",
        half="set",
        n=10_000,
        p=11,
        columns=(Numbers("x", 10, ar=0.9),),
        coefficients={"Intercept": -0.5} | slopes("x", 0.5, 0.0, -0.5, 0.0, 0.5, 0.0, 0.0, 0.3, 0.0, 0.0),
    ),
    Design(
        name="ar_80_levels",
        about="five columns with correlation .8, and four levels",
        half="judged",
        n=5_000,
        p=9,
        columns=(Numbers("x", 5, ar=0.8), GROUPS),
        coefficients={"Intercept": -0.5, "g[T.g01]": 0.5, "g[T.g03]": 0.8}
        | slopes("x", 0.8, 0.0, -0.5, 0.0, 0.3),
    ),
)

LINEAR = (
    Design(
        name="linear",
        about="linear regression with normal errors, R squared of about .3",
        half="set",
        n=10_000,
        p=9,
        columns=(Numbers("x", 5, ar=0.5), GROUPS),
        coefficients={"g[T.g01]": 0.3, "g[T.g03]": -0.4} | slopes("x", 0.4, -0.2, 0.0, 0.3, 0.0),
        law=Number((-8.0, 8.0)),
    ),
    Design(
        name="linear_t3",
        about="linear regression with t(3) errors and a response clipped at 4 standard deviations",
        half="judged",
        n=10_000,
        p=9,
        columns=(Numbers("x", 5, ar=0.5), GROUPS),
        coefficients={"g[T.g01]": 0.3, "g[T.g03]": -0.4} | slopes("x", 0.4, -0.2, 0.0, 0.3, 0.0),
        law=Number((-7.0, 7.0), freedom=3.0),
    ),
)

ORDINARY = (
    Design(
        name="clinic",
        about="3,700 patients: age, scores, a skewed amount, five diseases, signs that are there or not",
        half="set",
        n=3_700,
        p=17,
        columns=(
            Numbers("age", centre=60.0, scale=13.0, bounds=(18.0, 100.0)),
            Numbers("score", 4, ar=0.4, bounds=(-5.0, 5.0)),
            Numbers("amount", shape="lognormal", bounds=(0.0, 60.0)),
            DISEASE,
            Binaries("sign", (0.5, 0.4, 0.25, 0.1, 0.08, 0.04)),
        ),
        coefficients={"Intercept": -3.0, "age": 0.035, "amount": 0.08}
        | DISEASE.effects(0.5, 0.0, -0.5, 0.6)
        | slopes("score", 0.4, 0.0, -0.2, 0.0)
        | slopes("sign", 0.5, 0.0, 0.3, 0.8, 0.0, 0.0),
    ),
    Design(
        name="registry",
        about="100,000 records: age, scores, a skewed amount, five diseases, twelve regions, signs",
        half="judged",
        n=100_000,
        p=28,
        columns=(
            Numbers("age", centre=60.0, scale=13.0, bounds=(18.0, 100.0)),
            Numbers("score", 4, ar=0.4, bounds=(-5.0, 5.0)),
            Numbers("amount", shape="lognormal", bounds=(0.0, 60.0)),
            DISEASE,
            REGION,
            Binaries("sign", (0.5, 0.4, 0.25, 0.1, 0.08, 0.04)),
        ),
        coefficients={"Intercept": -4.5, "age": 0.025, "amount": 0.04}
        | DISEASE.effects(0.4, 0.0, -0.3, 0.5)
        | REGION.effects(0.2, 0.0, -0.3)
        | slopes("score", 0.2, 0.0, -0.1, 0.0)
        | slopes("sign", 0.3, 0.0, 0.1, 0.5, 0.0, 0.2),
    ),
)

VARIATIONS = {
    "outcome": OUTCOMES,
    "misspecified": MISSPECIFIED,
    "clustered": CLUSTERED,
    "binary": BINARIES,
    "levels": LEVELS,
    "size": SIZES,
    "small": SMALL,
    "correlated": CORRELATED,
    "linear": LINEAR,
    "ordinary": ORDINARY,
}
