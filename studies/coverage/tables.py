"""The tables of the study: rows, public schema and formula of each, real ones from the one door to them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import numpy as np

import dpglm
from dpglm.data.tables.sources import declared
from studies import real_tables
from studies.coverage.simulated import Simulated, sim_levels, sim_rare_a, sim_rare_b

if TYPE_CHECKING:
    import pandas as pd

FAIR = (
    "affair ~ rate_marriage + age + yrs_married + children + religious + educ"
    " + C(occupation, Treatment(3)) + C(occupation_husb, Treatment(4))"
)
RANDHIE = "visit ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf + hlthp"
NONE: Mapping[str, str] = {}
EDUCATION = {"education": "HS-grad"}
# Numbers that are 0 for nearly everyone and very large for some: their logarithm is what one would model.
LOGGED = ("capital-gain", "capital-loss")
# Row by row: old levels by the level that they join. Levels not named stay as they are.
MERGED: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "education": {
        "elementary": ("Preschool", "1st-4th", "5th-6th", "7th-8th"),
        "unfinished high school": ("9th", "10th", "11th", "12th"),
        "Associate": ("Assoc-voc", "Assoc-acdm"),
    },
    "marital-status": {
        "Married": ("Married-civ-spouse", "Married-AF-spouse"),
        "Separated": ("Married-spouse-absent",),
    },
    "occupation": {"Other-service": ("Priv-house-serv",), "Protective-serv": ("Armed-Forces",)},
    "native-country": {
        "Latin America": (
            *("Mexico", "Puerto-Rico", "Cuba", "Honduras", "Jamaica", "Dominican-Republic", "Ecuador"),
            *("Haiti", "Columbia", "Guatemala", "Nicaragua", "El-Salvador", "Trinadad&Tobago", "Peru"),
        ),
        "Asia": (
            *("Cambodia", "India", "Japan", "China", "Iran", "Philippines", "Vietnam", "Laos", "Taiwan"),
            *("Thailand", "Hong"),
        ),
    },
}


@dataclass(frozen=True)
class StudyTable:
    """One design of the study.

    Parameters
    ----------
    name : str
        How cells call it.
    about : str
        A line for the page.
    load : callable
        Rows, schema, formula, and true coefficients by name where they are simulated.
    needs : str or None
        Real table whose file must be there.
    seen : bool
        Whether the constants of the procedure were chosen on it.
    family : str
        ``"binomial"``, ``"gaussian"``, ``"poisson"``, ``"ordinal"`` or ``"multinomial"``.
    """

    name: str
    about: str
    load: Callable[[], Loaded]
    needs: str | None = None
    seen: bool = False
    family: Literal["binomial", "gaussian", "poisson", "ordinal", "multinomial"] = "binomial"

    def absence(self) -> str | None:
        """Why the table cannot be studied here; None where it can."""
        if self.needs is None or real_tables.available(self.needs):
            return None
        return real_tables.absence(self.needs)


@dataclass(frozen=True)
class Loaded:
    """What a table gives; ``truth`` is None where a non-private fit is to say it."""

    frame: pd.DataFrame
    schema: dpglm.Schema
    formula: str
    truth: Mapping[str, float] | None = field(default=None)


def table(name: str) -> StudyTable:
    """The study's table of that name.

    Raises
    ------
    KeyError
        There is none; the message lists the names.
    """
    if name not in TABLES:
        raise KeyError(f"no study table {name!r}; there are {', '.join(TABLES)}")
    return TABLES[name]


@cache
def design(name: str) -> str:
    """Fingerprint of what the results of a table belong to: formula, schema, number of rows, given truths."""
    loaded = table(name).load()
    given = None if loaded.truth is None else dict(loaded.truth)
    public = [loaded.formula, loaded.schema.to_dict(), len(loaded.frame), given, table(name).family]
    return hashlib.sha256(json.dumps(public, sort_keys=True).encode()).hexdigest()[:12]


def absence(name: str) -> str | None:
    """Why a table cannot be studied on this machine; None where it can."""
    return table(name).absence()


def _bundled(name: str, formula: str) -> Loaded:
    frame = dpglm.load_data(name)
    schema = declared(frame)
    assert schema is not None
    return Loaded(frame, schema, formula)


def _simulated(generate: Callable[[], Simulated]) -> Loaded:
    made = generate()
    return Loaded(made.frame, made.schema, made.formula, made.truth)


def _real(name: str, *, without: tuple[str, ...], references: Mapping[str, str] = NONE) -> Loaded:
    """A real table with its own schema, all declared columns in the formula but some."""
    real = real_tables.table(name)
    schema = real.schema()
    return Loaded(real.frame(), schema, _formula(schema, real.response, without, references))


def _adult_merged() -> Loaded:
    frame = real_tables.table("adult").frame()
    for column, joined in MERGED.items():
        new = {old: level for level, olds in joined.items() for old in olds}
        frame[column] = frame[column].replace(new)
    return _own_schema("adult_merged", frame, "income")


def _adult_hours() -> Loaded:
    frame = real_tables.table("adult").frame()
    frame["long-hours"] = np.where(frame["hours-per-week"] > 40, "yes", "no")
    return _own_schema("adult_hours", frame, "long-hours", EDUCATION)


def _diabetes130() -> Loaded:
    frame = real_tables.table("diabetes130").frame()
    return _own_schema("diabetes130_study", frame, "readmitted", {"age": "[70-80)"})


def _regression(table: Callable[[], Loaded], response: str) -> Loaded:
    """A table with another of its columns as response.

    Its bounds are declared a quarter wider on each side: drawn responses then hardly have to be clipped.
    """
    loaded = table()
    variable = loaded.schema.variables[response]
    assert isinstance(variable, dpglm.Numeric)
    margin = 0.25 * (variable.high - variable.low)
    wider = replace(variable, low=variable.low - margin, high=variable.high + margin)
    other, terms = loaded.formula.split(" ~ ")
    others = [term for term in terms.split(" + ") if response not in term]
    formula = f"{real_tables.quoted(response)} ~ " + " + ".join([*others, other])
    return Loaded(loaded.frame, dpglm.Schema({**loaded.schema.variables, response: wider}), formula)


def _counts(table: Callable[[], Loaded], response: str, most: int) -> Loaded:
    """A table with another of its columns as response, a count; its own response is left out."""
    loaded = table()
    kept = [term for term in loaded.formula.split(" ~ ")[1].split(" + ") if term != response]
    schema = dpglm.Schema({**loaded.schema.variables, response: dpglm.Numeric(0, most)})
    return Loaded(loaded.frame, schema, f"{response} ~ " + " + ".join(kept))


def _levels(table: Callable[[], Loaded], response: str, levels: tuple[str, ...], later: str) -> Loaded:
    """A table with ordered levels as response, from the lowest; ``later`` is known after it, and left out."""
    loaded = table()
    ordered = dpglm.Categorical(levels, ordered=True)
    terms = [term for term in loaded.formula.split(" ~ ")[1].split(" + ") if term not in (response, later)]
    schema = dpglm.Schema({**loaded.schema.variables, response: ordered})
    return Loaded(loaded.frame, schema, f"{response} ~ " + " + ".join(terms))


def _unordered(table: Callable[[], Loaded], response: str, levels: tuple[object, ...]) -> Loaded:
    """A table with levels as response, the one that others are compared with first; its own is left out."""
    loaded = table()
    terms = loaded.formula.split(" ~ ")[1]
    kept = [term for term in terms.split(" + ") if response not in (term, term.split(", ")[0][2:])]
    schema = dpglm.Schema({**loaded.schema.variables, response: dpglm.Categorical(levels)})
    return Loaded(loaded.frame, schema, f"{response} ~ " + " + ".join(kept))


def _own_schema(
    name: str, frame: pd.DataFrame, response: str, references: Mapping[str, str] = NONE
) -> Loaded:
    """Rows with a schema made for the study, every declared column being in the formula."""
    schema = dpglm.Schema.from_yaml(real_tables.SCHEMAS / f"{name}.schema.yaml")
    return Loaded(frame, schema, _formula(schema, response, (), references))


def _formula(
    schema: dpglm.Schema, response: str, without: tuple[str, ...], references: Mapping[str, str]
) -> str:
    """The response on the declared columns; ``references`` are compared with instead of the first levels.

    Contrasts with a level that hardly occurs (Preschool, children under ten) tell about that level only.
    """
    terms = []
    for column in schema.variables:
        name = real_tables.quoted(column)
        if column in references:
            terms.append(f"C({name}, Treatment({references[column]!r}))")
        elif column in LOGGED:
            terms.append(f"np.log1p({name})")
        elif column != response and column not in without:
            terms.append(name)
    return f"{real_tables.quoted(response)} ~ " + " + ".join(terms)


_fair = partial(_bundled, "fair", FAIR)
_randhie = partial(_bundled, "randhie", RANDHIE)
# Sites below the regions, columns computed from others; what Killip and ant say, too.
_gusto = partial(_real, "gusto", without=("grpl", "grps", "hig", "hyp", "hrt", "sho", "tpa", "miloc"))
_adult = partial(_real, "adult", without=("fnlwgt", "education-num"), references=EDUCATION)

BINARY = (
    StudyTable("fair", "Redbook survey 1974, any affair", _fair, seen=True),
    StudyTable("randhie", "RAND health insurance, any visit", _randhie, seen=True),
    StudyTable("gusto", "GUSTO-I, death within 30 days, with 16 regions", _gusto, "gusto", seen=True),
    StudyTable("adult", "Adult, income above 50,000", _adult, "adult", seen=True),
    StudyTable("adult_merged", "Adult, rare levels merged by declaration", _adult_merged, "adult", seen=True),
    StudyTable("adult_hours", "Adult, more than 40 hours a week, without countries", _adult_hours, "adult"),
    StudyTable("diabetes130", "Diabetes-130, readmitted within 30 days", _diabetes130, "diabetes130"),
    StudyTable(
        "heart",
        "UCI heart disease, four sites together",
        partial(_real, "heart_disease", without=("site",)),
        "heart_disease",
    ),
    StudyTable(
        "sim_rare_a", "simulated: factors of 5, 12, 20 levels, some of .5 %", partial(_simulated, sim_rare_a)
    ),
    StudyTable(
        "sim_rare_b",
        "simulated: correlated slopes, 30 levels with Zipf shares, an interaction",
        partial(_simulated, sim_rare_b),
    ),
)
# Linear regressions: the response is another column of a table above.
NUMERIC = tuple(
    StudyTable(f"{name}: {response}", about, partial(_regression, load, response), needs, seen, "gaussian")
    for name, response, about, load, needs, seen in (
        ("fair", "rate_marriage", "how the marriage is rated, 1 to 5", _fair, None, True),
        ("randhie", "disea", "chronic diseases, 0 to 60", _randhie, None, True),
        ("gusto", "sysbp", "systolic blood pressure", _gusto, "gusto", True),
        ("adult", "hours-per-week", "hours of work a week", _adult, "adult", False),
        ("diabetes130", "time_in_hospital", "days in hospital", _diabetes130, "diabetes130", False),
    )
)
# Counts, by bounds of twice the largest one in the file or more.
COUNTS = tuple(
    StudyTable(f"{name}: {response}", about, partial(_counts, load, response, most), needs, family="poisson")
    for name, response, about, load, most, needs in (
        ("randhie", "mdvis", "visits to a doctor in a year", _randhie, 160, None),
        ("diabetes130", "number_inpatient", "stays in the year before", _diabetes130, 50, "diabetes130"),
        ("diabetes130", "num_medications", "drugs given in the stay", _diabetes130, 200, "diabetes130"),
    )
)
# Ordered levels: a row of a person becomes one for each level up to the person's own.
ORDERED = (
    StudyTable(
        "gusto: Killip",
        "Killip class at admission, four levels",
        partial(_levels, _gusto, "Killip", ("I", "II", "III", "IV"), "day30"),
        "gusto",
        family="ordinal",
    ),
    StudyTable(
        "diabetes130: readmitted",
        "not readmitted, after 30 days, within 30 days",
        partial(_levels, _diabetes130, "readmitted", ("NO", ">30", "<30"), ""),
        "diabetes130",
        family="ordinal",
    ),
    StudyTable(
        "sim_levels",
        "simulated: four levels, correlated slopes, a factor of eight levels",
        partial(_simulated, sim_levels),
        family="ordinal",
    ),
)
# Levels without an order: a logistic regression of each against the first.
UNORDERED = tuple(
    StudyTable(
        f"{name}: {response}", about, partial(_unordered, load, response, levels), needs, family="multinomial"
    )
    for name, response, about, load, levels, needs in (
        ("gusto", "smk", "never smoked, quit, smokes", _gusto, ("never", "quit", "current"), "gusto"),
        (
            *("diabetes130", "insulin", "no insulin, or how its dose went", _diabetes130),
            *(("No", "Steady", "Down", "Up"), "diabetes130"),
        ),
        ("fair", "occupation", "of the woman, from the most frequent", _fair, (3, 4, 2, 5, 6, 1), None),
    )
)
TABLES = {one.name: one for one in (*BINARY, *NUMERIC, *COUNTS, *ORDERED, *UNORDERED)}
