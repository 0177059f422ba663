"""Dictionaries as CSV: a line for each variable, or one for each value of a variable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dpglm.data.codebooks.files import Book, BookText, headings, opened, records
from dpglm.data.codebooks.missing import says_missing
from dpglm.data.codebooks.told import Kind, Told, decimal_marks, in_numbers, level_of, number_in, plain_words
from dpglm.data.tables.cells import Level
from dpglm.errors import SchemaError, shown

WHAT: Final = "a CSV file with a line of headings, one of them the variable's name"
_USUAL: Final = """
variable: variable variablename varname name columnname column fieldname field item
label: label variablelabel description variabledescription title question definition
type: type datatype variabletype kind measure level scale
values: values valuelabels levels categories choices allowedvalues permissiblevalues codes codings coding
  responseoptions options valuelist enum answeroptions answers responses codelist codedvalues validcodes
  possiblevalues factorlevels rangevalues valuesrange validvalues
value: value code codeorvalue
meaning: valuelabel valuedescription meaning codelabel codedescription
range: range validrange allowedrange bounds validvalues rangeofvalues valuerange rangeofvalidvalues limits
  possiblerange permittedrange permissiblerange plausiblerange expectedrange acceptablerange acceptedrange
min: min minimum low lower lowerbound minvalue validmin from minimumvalue lowest lowestvalue lowerlimit
  rangemin minimumallowed minallowed
max: max maximum high upper upperbound maxvalue validmax to maximumvalue highest highestvalue upperlimit
  rangemax maximumallowed maxallowed
seen: observedrange rangeobserved datarange actualrange
seen_min: observedmin observedminimum minobserved datamin actualmin
seen_max: observedmax observedmaximum maxobserved datamax actualmax
missing: missing missingcodes missingcode missingvalues missingvalue navalues nacode missingvaluecode
  missingvaluecodes missingdatacodes nullvalues specialvalues specialcodes
unit: unit units unitofmeasurement measuredin uom
identifier: identifier isidentifier pii phi
note: note notes comment comments remarks remark
"""
NAMES: Final = {
    line.partition(":")[0]: line.partition(":")[2].split()
    for line in _USUAL.replace("\n  ", " ").strip().splitlines()
}
_END: Final = r"[+-]?(?:[0-9]+(?:[.,][0-9]+){0,6}|[.,][0-9]+)"
_RANGE: Final = (
    rf"(?i)[\[(]?\s*({_END})\s*(?:-|–|—|to|through|thru|until|\.{{2,3}}|…|:)\s*({_END})\s*[\])]?"
    r"\s*(?:[^\W\d]{1,12}|%)?"
)
_BRACKETS: Final = rf"[\[(]\s*({_END})\s*[,;]\s*({_END})\s*[\])]"
_AT_LEAST: Final = (
    rf"(?:>=?|≥|min(?:imum)?:?|from|at least)\s*({_END})|({_END})\s*(?:\+|or (?:more|over|above))"
)
_AT_MOST: Final = rf"(?i)(?:<=?|≤|max(?:imum)?:?|up to|at most)\s*({_END})"
_PAIR: Final = r"(?s)\s*(\"[^\"]*\"|'[^']*'|[^=:]{1,60}?)\s*(?:=|:|→|->)\s*(.*)"
_CODED: Final = r"(?s)\s*([+-]?[0-9.]+|[A-Za-z]{1,3})\s*(?:[.),]|\s[-–])\s*(\S.*)"
_WORDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(
        ("int", "float", "num", "real", "double", "continuous", "decimal", "count", "ratio"), "number"
    ),
    **dict.fromkeys(
        ("categ", "nominal", "ordinal", "factor", "bool", "binary", "enum", "dichot", "logical"), "levels"
    ),
    **dict.fromkeys(("date", "timestamp"), "date"),
}
_TEXT: Final = ("text", "string", "char", "str", "free")
_MOST_STEPS: Final = 30


def read(book: Book, columns: Mapping[str, str] | None) -> tuple[list[Told], BookText]:
    """What a dictionary says of each variable; ``columns`` are its headings where they are not usual ones."""
    text = opened(book, WHAT)
    header, rows = records(text.text, WHAT)
    found = _headings(header, columns)
    fields: dict[str, _Field] = {}
    last = ""
    for row in rows:
        given = {column: row.get(heading, "") for column, heading in found.items()}
        last = given["variable"] or last
        if last:
            fields.setdefault(last, _Field()).add(given)
    source = text.source("dictionary")
    told = [one.told(name, f"{source}, variable {name}") for name, one in fields.items()]
    mark = {decimal_marks(end) for one in told for end in (one.low, one.high)} & {".", ","}
    if unread := [plain_words(one) for one in header if one and one not in found.values()]:
        text = replace(text, remarks=(*text.remarks, f"Headings that are not read: {', '.join(unread)}"))
    own = mark.pop() if len(mark) == 1 else ""
    return [one if one.kind in ("date", "levels") else in_numbers(one, own) for one in told], text


def _headings(header: list[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(columns or {})
    if any(key not in NAMES or heading not in header for key, heading in given.items()):
        raise SchemaError(
            f"columns={shown(given)}",
            expected=f"headings of the file, under the names {', '.join(NAMES)}",
            remedy="Write columns={'variable': 'Name', 'values': 'Codes'}.",
        )
    usual = headings(header, NAMES).items()
    found = {column: heading for column, heading in usual if heading not in given.values()} | given
    if "variable" not in found:
        raise SchemaError(
            f"a dictionary with the headings {', '.join(header[:12])[:200]}",
            expected="one that holds the names of variables: variable, name or column",
            remedy="Name it: columns={'variable': 'HEADING'}, or --format for another kind of code book.",
        )
    return found


@dataclass
class _Field:
    """The lines of one variable."""

    first: dict[str, str] = field(default_factory=dict)
    values: list[tuple[Level, str]] = field(default_factory=list)
    spans: list[tuple[str, str, bool]] = field(default_factory=list)

    def add(self, given: dict[str, str]) -> None:
        """One more line: facts of the variable, and a value with its meaning."""
        for column, text in given.items():
            if text and not self.first.get(column):
                self.first[column] = text
        code, meaning = " ".join(given.get("value", "").split()), given.get("meaning", "")
        if not code:
            return
        if not meaning and "meaning" not in given:
            self.values += values_of(code)[0] if len(values_of(code)[0]) > 1 else [(level_of(code), "")]
            return
        if span := re.fullmatch(_RANGE, code):
            # As NHANES writes it: the range that was found.
            self.spans.append((span[1], span[2], "range of values" in meaning.lower()))
        else:
            self.values.append((level_of(code), meaning))

    def told(self, name: str, source: str) -> Told:
        """What the lines say together."""
        facts = {column: self.first.get(column, "") for column in NAMES}
        words = facts["type"].lower()
        marked = facts["identifier"].lower() in ("y", "yes", "true", "1", "x")
        if marked or words in ("id", "identifier", "key"):
            return Told(name, source, left_out="marked as an identifier")
        kind: Kind = next((kind for word, kind in _WORDS.items() if word in words), "either")
        listed, low, high = values_of(facts["values"])
        values = [*listed, *self.values]
        observed = False
        ranged, *span = values_of(facts["range"])
        values += [pair for pair in ranged if pair[1]]
        for ends in (span, (facts["min"] or None, facts["max"] or None)):
            low, high = low or ends[0], high or ends[1]
        if low is None and high is None and self.spans:
            low, high = self.spans[0][0], self.spans[-1][1]
            observed = any(seen for _, _, seen in self.spans)
        if low is None and high is None:
            seen = values_of(facts["seen"])[1:]
            low, high = facts["seen_min"] or seen[0], facts["seen_max"] or seen[1]
            observed = bool(low or high)
        if kind == "levels" and not values and low and high:
            values, low, high = _steps(low, high), None, None
        elif kind == "levels" or (kind == "either" and values and not observed and not (low or high)):
            low = high = None
            kind, observed = "levels", False
        told = Told(
            name,
            source,
            kind,
            label=facts["label"],
            low=low or None,
            high=high or None,
            values=values,
            missing=_codes(facts["missing"]),
            measured_in=plain_words(facts["unit"]),
            text=f"{facts['note']}; {facts['range']}; {'' if listed else facts['values']}",
            observed=observed,
            notes=["missing: 0 is taken for a count, not for a code"] if facts["missing"] == "0" else [],
            ordered="measured" if re.search("ordinal|ordered", words) and "unordered" not in words else "",
        )
        if observed:
            seen_note = "the range is that of the data, not one of the questionnaire"
            told = replace(told, notes=[*told.notes, seen_note])
        if not values and not (low or high) and any(word in words for word in _TEXT):
            told = replace(told, kind="either", reason="text without values: declare levels, or leave it out")
        return told


def _steps(low: str, high: str) -> list[tuple[Level, str]]:
    """The levels from 1 to 5 of a category whose values are told as 1-5."""
    ends = number_in(low), number_in(high)
    if None in ends or not all(end.is_integer() for end in ends if end is not None):
        return []
    first, last = (int(end or 0) for end in ends)
    return [(step, "") for step in range(first, last + 1)] if last - first <= _MOST_STEPS else []


def values_of(text: str) -> tuple[list[tuple[Level, str]], str | None, str | None]:
    """Values with their labels, and the ends of a range, that one field lists.

    Examples
    --------
    >>> values_of("1 = male; 2 = female")
    ([(1, 'male'), (2, 'female')], None, None)
    >>> values_of("0-120; 999 = unknown")
    ([(999, 'unknown')], '0', '120')
    >>> values_of("A, B, C")
    ([('A', ''), ('B', ''), ('C', '')], None, None)
    """
    # Single blanks, since patterns with blanks in two places take a time that grows with their square.
    text = re.sub(r"[^\S\n]+", " ", text).strip()
    if says_missing(text) and not re.search(r"[0-9,;|\n]", text):
        return [], None, None
    found = _of_json(f"[{text[1:-1]}]" if text[:1] == "(" else text) if text[:1] in ("{", "[", "(") else None
    if (span := re.fullmatch(_BRACKETS, text)) and len(found or ()) < 3:
        return [], span[1], span[2]
    if found is not None:
        return found, None, None
    if span := re.fullmatch(_RANGE, text):
        return [], span[1], span[2]
    values: list[tuple[Level, str]] = []
    low = high = None
    for piece in _pieces(text):
        span = re.fullmatch(_RANGE, piece)
        least, most = re.fullmatch(_AT_LEAST, piece), re.fullmatch(_AT_MOST, piece)
        pair = re.fullmatch(_PAIR, piece) or re.fullmatch(_CODED, piece)
        if span:
            low, high = span[1], span[2]
        elif least or most:
            low = (least[1] or least[2]) if least else low
            high = most[1] if most else high
        elif pair and (inner := re.fullmatch(_RANGE, pair[1].strip())):
            low, high = inner[1], inner[2]
        elif pair:
            code, label = pair[1].strip().strip("\"'"), plain_words(pair[2])
            spelt_last = says_missing(code) and number_in(label) is not None  # unknown = 99
            values.append((level_of(label), code) if spelt_last else (level_of(code), label))
        elif (words := re.fullmatch(r"([+-]?[0-9.]+|\w) (.*)", piece)) and says_missing(words[2]):
            values.append((level_of(words[1]), words[2]))
        elif piece and len(piece) <= 60:
            values.append((level_of(piece.strip("\"'")), ""))
    if len(values) == 1 and not values[0][1] and low is None and not says_missing(str(values[0][0])):
        return [], None, None  # one word, such as "integer" or "free text", is no list
    return values, low, high


def _pieces(text: str) -> Iterator[str]:
    """Pieces between the strongest separator that there is; commas within labels stay."""
    for separator in ("\n", "|", ";"):
        if separator in text:
            yield from (piece.strip() for piece in text.split(separator) if piece.strip())
            return
    if re.search(r"[=:]", text):  # 1 = yes, once, 2 = no: a piece begins where a code does
        yield from (
            piece.strip(" ,")
            for piece in re.split(r",(?=\s*[^,=:]{1,30}[=:])|\s(?=[+-]?\w{1,6}=)", text)
            if piece.strip(" ,")
        )
        return
    slashes = "/" if re.fullmatch(r"[^\W\d]+(?: ?/ ?[^\W\d]+)+", text) else ","
    yield from (piece.strip() for piece in text.split(slashes) if piece.strip())


def _of_json(text: str) -> list[tuple[Level, str]] | None:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    items = found.items() if isinstance(found, dict) else [(item, "") for item in found]
    return [(level_of(str(value)), str(label)) for value, label in items]


def _codes(text: str) -> list[Level]:
    """Codes that a field of missing ones lists: "99, 999" or "99 = unknown"; "no" lists none."""
    if text.lower() in ("no", "none", "n", "0", "false", "yes", "y", "na", "n/a", "-") or "%" in text:
        return []
    text = re.sub(r"(?<=[0-9]) ?(?:[/& ]|and|or) ?(?=[+-]?[0-9])", ", ", re.sub(r"[^\S\n]+", " ", text))
    values, low, high = values_of(text)
    found = [value for value, _ in values]
    if not found and low is None:
        found = [level_of(text)] if text and len(text) <= 20 else []
    ends = [number_in(end) for end in (low, high)]
    if ends[0] is not None and ends[1] is not None:
        first, last = sorted((int(ends[0]), int(ends[1])))
        # "98-99" is a range of codes, "98, 99" are two: a range of two is both.
        found += range(first, last + 1) if last - first <= _MOST_STEPS else [first, last]
    return found
