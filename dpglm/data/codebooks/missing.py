"""Codes for missing values, as code books have them by habit: 99 for unknown, 888 for not applicable, -9."""

from __future__ import annotations

import re
from typing import Final

from dpglm.data.codebooks.told import level_of
from dpglm.data.tables.cells import Level

_DO_NOT: Final = r"(?:do|does|did)(?:n't|nt| not)"
# Labels that say that there is no value. Each part of a label must be one: "Missing teeth" is none.
_WORDS: Final = (
    rf"unk(?:nown)?|not known|unkn|dk|{_DO_NOT} know|don't remember|cannot remember|"
    r"not app(?:licable|l?\.)?|n/?a|n\.a\.?|nap|inapplicable|non-applicable|"
    r"refus(?:ed?|al)|declined|ref|(?:declined|refused|prefers?|preferred|rather|choose|chose|wish(?:es)?)"
    r"(?: not)? to (?:answer|say|respond|disclose|state|report)|rather not say|"
    r"would rather not (?:say|answer)|"
    r"(?:system |user )?missing(?: (?:data|values?|response|information|code))?|blank|left blank|"
    r"no (?:answer|response|data|information|record|reply|entry|value)|"
    r"(?:data |value |information )?not (?:answered|asked|stated|reported|recorded|documented|available|"
    r"specified|provided|assessed|done|tested|determined|evaluated|collected|measured|performed|ascertained|"
    r"obtained|given|codeable|classifiable)|"
    r"unavailable|undetermined|undisclosed|unspecified|unanswered|non-?response|nonresponse|not disclosed|"
    r"(?:legitimate |valid )?skip(?:ped)?|invalid|indeterminate|cannot (?:say|answer)|can't say|"
    r"unbekannt|wei(?:ß|ss) nicht|keine angaben?|k\.\s?a\.?|nicht zutreffend|trifft nicht zu|fehlend|"
    r"verweigert|inconnue?|ne sait pas|nsp|sans r[ée]ponse|non applicable|refus|manquante?|"
    r"desconocid[oa]|no sabe|no contesta|ns|nc|no aplica"
)
# These join a missing value and are answers where they stand alone.
_SOFT: Final = r"not sure|unsure|uncertain|can't remember|other reason"
_PERSON: Final = r"(?:(?:the |this )?(?:patient|participant|subject|respondent|person|child|woman|man)s? )?"
_MISSING: Final = rf"{_PERSON}(?:{_WORDS})"
_PART: Final = rf"{_PERSON}(?:{_WORDS}|{_SOFT})"
_SPLIT: Final = r"[/,;|()\[\]=]|\b(?:or|and)\b|\s-\s|:\s"
_CODE: Final = r"(?<![\w.,/-])-?[0-9]{1,8}(?:\.[0-9]{1,4})?(?![\w]|[.,/-][0-9])"
# "999 = unknown", "use 999 if not known"; then "unknown = 999", "if unknown enter 999", "unknown (999)".
_BEFORE: Final = (
    rf"({_CODE})[\"')\]]?\s{{0,3}}(=|:|-|–|\(|,|is|means|for|if|when|denotes|indicates|"
    rf"stands for|codes?|as)?\s{{0,3}}[\"'(]?(?:value |data |it |age |are |is )?{_PERSON}(?:{_WORDS})(?!\w)"
)
_AFTER: Final = (
    rf"(?<![\w@]){_PERSON}(?:{_WORDS})[\"']?\s{{0,3}}"
    rf"(?:=|:|,? ?(?:please )?(?:enter|use|code|write|type|put)(?:d as| as)?|\(|is|as|->|→)"
    rf"\s{{0,3}}[\"']?({_CODE})"
)
_CODE_DIGITS: Final = r"([789])\1{1,7}|9{1,7}[78]|9{2,7}\.9{1,4}"
_FAR_DATES: Final = r"(?:9999|8888|7777|2999|1111|0001)-|(?:99|88)[./-](?:99|88)"


def says_missing(label: str) -> bool:
    """Whether a label says that there is no value.

    Examples
    --------
    >>> [says_missing(label) for label in ("Unknown", "Don't know / Not sure", "Patient refused (99)")]
    [True, True, True]
    >>> [says_missing(label) for label in ("Missing teeth", "Not sure", "Other", "Nurse", "No")]
    [False, False, False, False, False]
    """
    text = " ".join(label.lower().replace("’", "'").replace("_", " ").split()).strip(" .:!?*-\"'")
    if re.fullmatch(_MISSING, text):
        return True
    parts = [part.strip(" .:!?*-\"'") for part in re.split(_SPLIT, text.replace("n/a", "not applicable"))]
    words = [part for part in parts if part and not re.fullmatch(r"[+-]?[0-9.]+", part)]
    whole = [re.sub(r"^[+-]?[0-9.]+[.)]?\s+|\s+[+-]?[0-9.]+$", "", part) for part in words]
    missing = [part for part in whole if re.fullmatch(_MISSING, part)]
    return bool(missing) and all(re.fullmatch(_PART, part) for part in whole)


def spelt_codes(text: str) -> tuple[Level, ...]:
    """Codes for missing values that a note spells.

    Examples
    --------
    >>> spelt_codes("In years; 999 = unknown, 888=N/A"), spelt_codes("If refused enter -9.")
    ((999, 888), (-9,))
    >>> spelt_codes("1 = yes, 2 = no; between 18 and 95")
    ()
    """
    lowered = " ".join(text[:4000].lower().replace("’", "'").split())
    # Without a word or a sign between them, "in 2015, not known before" is no code, and "98 refused" is.
    said = [(level_of(code), between) for code, between in re.findall(_BEFORE, lowered)]
    found = [code for code, between in said if between not in ("", ",") or looks_like_a_code(float(code))]
    return tuple(dict.fromkeys([*found, *map(level_of, re.findall(_AFTER, lowered))]))


def looks_like_a_code(end: float, other: float | None = None) -> bool:
    """Whether an end of a range is one of the numbers that by habit stand for a missing value.

    Above 0: 77, 88, 99, 888, 999, 9999, also 97, 998 and 99.9. Below 0: -1, -7 to -9, -77, -99 and -999. Not
    where the ``other`` end is its mirror image.

    Examples
    --------
    >>> [looks_like_a_code(end) for end in (999, 98, 99.9, -9, 100, 120, 9, -5)]
    [True, True, True, True, False, False, False, False]
    >>> looks_like_a_code(-9, other=9)
    False
    """
    if other is not None and end == -other:
        return False
    digits = f"{abs(end):.10g}"
    if end < 0:
        return digits in ("1", "7", "8", "9") or re.fullmatch(_CODE_DIGITS, digits) is not None
    return re.fullmatch(_CODE_DIGITS, digits) is not None


def looks_like_a_date_code(text: str) -> bool:
    """Whether a date is one of those that stand for a missing one, such as 9999-12-31."""
    return re.match(_FAR_DATES, text) is not None
