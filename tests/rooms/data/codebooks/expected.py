"""What each of the made-up dictionaries must give: bounds, levels and codes, or the reason for neither."""

from __future__ import annotations

from typing import Any

OPEN, OUT = "open", "out"


def number(low: float, high: float, *codes: object, **more: object) -> dict[str, Any]:
    return {"bounds": [low, high], "missing_codes": list(codes), **more}


def levels(*values: object, codes: tuple[object, ...] = (), **more: object) -> dict[str, Any]:
    return {"levels": list(values), "missing_codes": list(codes), **more}


def still(reason: str, *codes: object) -> tuple[str, str, list[object]]:
    return OPEN, reason, list(codes)


def out(reason: str) -> tuple[str, str]:
    return OUT, reason


SEEN = {"looked_at_data": True}
FORM = levels(0, 1, 2)
BOX = levels(0, 1)
EXPECTED: dict[str, dict[str, Any]] = {
    "clinic_redcap.csv": {
        "study_id": out("name of the record"),
        "surname": out("identifier"),
        **dict.fromkeys(
            ("ssn_no", "mail", "tel", "tel_au", "zip", "plz", "mrn", "letters"), out("who somebody is")
        ),
        "age": number(18, 95, measured_in="years", label="Age at visit"),
        "height": number(100, 220, measured_in="cm"),
        "dose1": number(0, 12.5, measured_in="mg"),
        "dose2": number(0, 1.25, measured_in="mg", label="Second dose"),
        "creatinine": number(0.1, 12.5, decimal=",", measured_in="mg/dl"),
        "price": number(0, 1000, decimal=","),
        "d_ymd": number(0, 1825, date={"origin": "2015-01-01", "unit": "days"}),
        "d_dmy": number(0, 1825),
        "d_mdy": number(0, 1811, date={"origin": "2015-01-15", "unit": "days"}),
        "dt_ymd": number(0, 30.5),
        "dt_dmy": still("no first date"),
        "dts_mdy": number(0, 2.5),
        "d_today": still("the last date is today"),
        **dict.fromkeys(("t_hm", "t_hms", "t_ms"), still("a time of day")),
        "remark": still("text without validation"),
        "age_sibling": still("smallest value is .age., which is no number"),
        "longtext": out("free text"),
        "bmi": still("computed as round"),
        "sex": levels(1, 2, level_labels={1: "Female", 2: "Male"}),
        "job": levels(1, 2, 3, level_labels={1: "Office", 2: "Care, or teaching", 3: "Mine"}),
        "blood": levels("A", "B", "AB", "O"),
        "smokes": levels(0, 1, level_labels={0: "No", 1: "Yes"}),
        "consent": levels(0, 1),
        "drugs___1": levels(0, 1, label="Drugs taken: Aspirin"),
        "drugs___2": BOX,
        "drugs___b_3": BOX,
        "pain": number(0, 100),
        "mood": number(0, 10),
        **dict.fromkeys(("scan", "autograph"), out("uploaded file")),
        "signed": out("signature"),
        "welcome": out("descriptive"),
        "ward": still("query"),
        "m1": levels(1, 2, 3),
        "m2": levels(1, 2, 3, level_labels={1: "Never", 2: "Often", 3: "Always"}),
        "odd": still("field type gadget"),
        "intake_complete": FORM,
        "visit_complete": FORM,
    },
    "habits_redcap.csv": {
        "rec": out("name of the record"),
        "age": still("ends in 999, a code", 999),
        "age2": number(12, 60, 99),
        "weight": still("ends in 888.8, a code", 888.8),
        "parity": still("ends in 99, which looks like a code"),
        "temp": still("begins in -9, which looks like a code"),
        "balance": number(-9, 9),
        "visits": still("ends in 97, which looks like a code", 98, 99),
        "score": number(0, 150, -9, 77),
        "seen": still("9999-12-31 looks like a code"),
        "job": levels(1, 2, codes=(99,)),
        "job2": levels(1, 2, codes=(888, 999)),
        "teeth": levels(0, 1, codes=(-9,)),
        "party": levels(1, 2, codes=(77, 88, 99)),
        "grade": levels(1, 2, 3, codes=(9,)),
        "wave": levels(7, 8, 9),
        "only": still("only 1 is listed", 9),
        "none": still("no value is listed"),
        "twice": still("1 listed more than once"),
        "kids": levels(0, 1, 2, codes=(9,)),
        "symptoms___1": BOX,
        "symptoms___2": BOX,
        "symptoms___99": out("the answer is missing: Unknown"),
        "symptoms____9": out("the answer is missing: Not asked"),
        "yn": BOX,
        "scale": number(0, 100, 999),
        "rating": still("ends in 999, which looks like a code"),
        "main_complete": FORM,
    },
    "excel_redcap.csv": {
        "nr": out("name of the record"),
        "groesse": number(100, 220, label="Größe", measured_in="cm"),
        "befund": levels(1, 2, codes=(9,), level_labels={1: "unauffällig", 2: "auffällig"}),
        "anmerkung": out("free text"),
        "alter": number(0, 120, 999),
        "aufnahme_complete": FORM,
    },
    "survey_ddi.xml": {
        "caseid": still("text without categories"),
        "age": number(18, 95, 999, measured_in="years"),
        "size": number(0, 2400, **SEEN),
        "hours": still("ends in 99, a code", 99),
        "owner": levels(1, 2, codes=(8, -9)),
        "region": levels(1, 2, codes=(97, 98, 99)),
        "income": still("no largest value"),
        "weight": out("sampling weight"),
        "day": still("no first date"),
        "plants": number(0, 40),
    },
    "archive_ddi.xml": {
        "PAY": number(0, 8100, measured_in="EUR", **SEEN),
        "PAY2": still("begins in -9"),
        "KIDS": still("ends in 99"),
        "SEX": levels("M", "F", codes=("X",)),
        "BARE": levels(3, 5, **SEEN),
        "NOTHING": still("neither bounds nor levels"),
    },
    "package.json": {
        "id": out("key"),
        "age": number(18, 95, -99, -98),
        "score": still("begins in -99, a code", -99, -98),
        "price": number(0, 1000, -99, -98, decimal=",", thousands="."),
        "kind": levels("flowers", "trees", codes=(-99, -98, "unknown")),
        "soil": levels(1, 2, codes=(-99, -98, 9)),
        "fenced": levels(False, True, codes=(-99, -98)),
        "rented": levels("nein", "ja", codes=(-99, -98)),
        "planted": number(0, 7670, -99, -98),
        "mown": number(0, 365, -99, -98, date={"origin": "2020-01-01", "unit": "days", "format": "%d.%m.%Y"}),
        "watered": still("of the form %A %d", -99, -98),
        "year": number(1950, 2020, -99, -98),
        "open": still("no largest value", -99, -98),
        "hour": still("of type time", -99, -98),
        "mail": out("format email"),
        "place": out("geopoint"),
        "code": out("key"),
        "free": still("without categories", -99, -98),
        "count": still("ends in 999", -1),
    },
    "checks_pandera.yaml": {
        "id": out("unique"),
        "age": number(18, 95, measured_in="years"),
        "dose": number(0, 12.5),
        "size": number(20, 300),
        "job": levels("office", "care", codes=("unknown",)),
        "ill": levels(False, True),
        "counted": still("ends in 999, a code", 999),
        "half": still("no largest value"),
        "seen": number(0, 1825),
        "text": still("without checks"),
    },
    "wide_dictionary.csv": {
        "pid": out("identifier"),
        "sex": levels(1, 2, codes=(9,), level_labels={1: "male", 2: "female"}),
        "age": number(18, 95, 999, -9, measured_in="years"),
        "weight": number(2.5, 300, -9, measured_in="kg"),
        "smoke": levels(0, 1, 2, codes=(9,)),
        "likert": levels(1, 2, 3, 4, 5, ordered=True),
        "visits": still("ends in 999, a code", 999),
        "pay": number(0, 9123, measured_in="EUR", **SEEN),
        "ward": levels("A", "B", "C"),
        "born": number(0, 30680),
        "story": still("text without values"),
        "crp": still("no largest value"),
        "older": levels("no", "yes"),
        "kids": still("these values are listed: 0, 1, 2", 99),
        "pain": number(0, 10, 97, 98, 99),
        "bp": still("ends in 999"),
    },
    "lines_dictionary.csv": {
        "RIDAGE": number(0, 80, ".", **SEEN),
        "RIAGENDR": levels(1, 2, codes=(".",), level_labels={1: "Male", 2: "Female"}),
        "ALQ120": number(0, 365, 777, 999, **SEEN),
        "DMDMART": levels(1, 2, codes=(77, 99)),
        "WTINT": still("neither bounds nor levels"),
    },
    "study.sav": {
        "id": still("neither bounds nor levels"),
        "sex": levels(1, 2, codes=(9,), level_labels={1: "man", 2: "woman"}, label="Sex of the person"),
        "age": still("no smallest value is told", 997, 998, 999),
        "name": still("text without value labels", "z"),
        "liking": still("only 1 and 5 have labels"),
        "region": levels(1, 2, 3, codes=(-9,)),
    },
}
# Columns that a formula may use for a small fit: a response with two levels, and a predictor.
FITS = {
    "clinic_redcap.csv": ("smokes", "age + job + creatinine + d_ymd + m2"),
    "habits_redcap.csv": ("job", "age2 + kids + score"),
    "excel_redcap.csv": ("befund", "groesse + alter"),
    "survey_ddi.xml": ("owner", "age + size"),
    "archive_ddi.xml": ("SEX", "PAY"),
    "package.json": ("kind", "price + mown + rented + fenced"),
    "checks_pandera.yaml": ("ill", "age + job"),
    "wide_dictionary.csv": ("sex", "age + smoke + born + older"),
    "lines_dictionary.csv": ("DMDMART", "RIDAGE"),
    "study.sav": ("sex", "region"),
}
