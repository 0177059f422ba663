"""Codes for missing values, as code books have them by habit: 99 for unknown, 888 for not applicable, -9."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Final

from dpglm.data.codebooks.told import level_of
from dpglm.data.tables.cells import Level

_DO_NOT: Final = r"(?:do|does|did)(?:n't|nt| not)"
# Labels that say that there is no value. Each part of a label must be one: "Missing teeth" is none.
_WORDS: Final = (
    rf"unk(?:nown)?|not (?:yet )?known|unkn|dk|{_DO_NOT} (?:know|remember|recall|answer|respond)|"
    rf"cannot remember|{_DO_NOT} (?:want|wish) to (?:answer|say|respond|disclose)|not in universe|niu|"
    r"not app(?:licable|l?\.)?|n/?a|n\.a\.?|inapplicable|non-?applicable|refus(?:e[ds]?|al)|declined|"
    r"(?:decline[ds]|refuse[ds]|prefers?|preferred|rather|choose|chose|wish(?:es)?|"
    r"unable)(?: not)? to (?:answer|say|respond|disclose|state|report|determine|assess|specify|share)|"
    r"(?:would |i'd )?rather not (?:say|answer)|(?:system |user )?missing(?: (?:data|values?|response|"
    r"information|code))?|blank|left blank|no (?:answer|response|data|information|record|reply|entry|"
    r"value)(?: (?:given|available|recorded))?|(?:data |value |information )?not (?:answered|asked|stated|"
    r"reported|recorded|documented|available|specified|provided|assessed|done|tested|determined|evaluated|"
    r"collected|measured|performed|ascertained|obtained|given|codeable|classifiable|administered|examined|"
    r"relevant)|unavailable|undetermined|tbd|undisclosed|unspecified|unanswered|non-?response|not disclosed|"
    r"(?:legitimate |valid )?skip(?:ped)?|invalid|indeterminate|(?:cannot|could not) be (?:determined|"
    r"assessed|measured)|cannot (?:say|answer)|can't say|unbekannt|wei(?:ß|ss) nicht|keine (?:angaben?|"
    r"antwort)|k\.\s?a\.?|nicht zutreffend|trifft nicht zu|fehlend|nicht (?:erhoben|gefragt|bekannt|"
    r"beantwortet)|entfällt|fehlender wert|verweigert|inconnue?|ne sait pas|nsp|(?:sans|pas de) r[ée]ponse|"
    r"non applicable|refus|manquante?|non renseign[ée]e?|sans objet|desconocid[oa]|no sabe|no contesta|"
    r"no responde|ns ?/ ?nc|no aplica(?:ble)?|sin respuesta|sin datos?|não sabe|ignorado|onbekend|weet niet|"
    r"geen antwoord|niet van toepassing|non so|non risponde|mancante|vet ej"
)
# These join a missing value and are answers where they stand alone.
_SOFT: Final = r"not sure|unsure|uncertain|can't remember|other reason"
_PERSON: Final = (
    r"(?:(?:the |this )?(?:patient|participant|subject|respondent|person|child|woman|man|question|item|test|"
    r"data|value|answer)s? (?:was |is |are |has )?|i )?"
)
# What follows these is a reason, unless it is another answer: "N/A (never smoked)", but "N/A or none".
_FIRST: Final = (
    rf"(?:[+-]?[0-9.]+[\s.:=)-]+)?{_PERSON}(?:not applicable|inapplicable|non-?applicable|n\.a\.|not asked|"
    r"nicht zutreffend|no aplica|niet van toepassing)(?!\w|\s*(?:[/|]|,? ?(?:or|and|oder|ou|o|of)\b)).*"
)
# These leave it open: "Unknown primary tumour" is an answer, "Unknown (language barrier)" none.
_HINTS: Final = (
    rf"(?<!\w)(?:{_WORDS}|{_SOFT}|missing|refus\w*|declin\w*|skip\w*|(?:does|did|do) ?n[o']t apply|proxy|"
    r"(?:not |in)eligible|not evaluable|withheld|redacted|suppressed|illegible|unclear|"
    r"lost to follow[- ]?up|pending|not in (?:sample|survey|form|scope|questionnaire)|nicht (?:\w*enthalten|"
    r"teil\w*))(?!\w)"
)
_SHORT: Final = r"ref|ns|nc|nap|nk|nd|nr|ni|un|u|asku|nask|navu?|[?*#-]+"
_NO_NUMBER: Final = r"\.[a-z_]?|#n/a|<na>|nan|null"  # as SAS, Stata, spreadsheets and programs write it
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
    rf"(?<![\w@]){_PERSON}(?:{_WORDS})(?: ?\([^()]{{1,40}}\))?[\"']?\s{{0,3}}"
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
    text = _normal(label)
    if re.fullmatch(_NO_NUMBER, label.strip().lower()) or re.fullmatch(_MISSING, text):
        return True
    text = re.sub(r"(?<!\w)n/a(?!\w)", "not applicable", text)
    if re.fullmatch(_FIRST, text):
        return True
    parts = [part.strip(" .:!?*-\"'") for part in re.split(_SPLIT, text)]
    words = [part for part in parts if part and not re.fullmatch(r"[+-]?[0-9.]+", part)]
    whole = [re.sub(r"^[+-]?[0-9.]+[.)]?\s+|\s+[+-]?[0-9.]+$", "", part) for part in words]
    missing = [part for part in whole if re.fullmatch(_MISSING, part)]
    return bool(missing) and all(re.fullmatch(_PART, part) for part in whole)


def may_say_missing(label: str) -> bool:
    """Whether a label may say that there is no value, so that somebody has to look.

    Examples
    --------
    >>> [may_say_missing(label) for label in ("Unknown primary tumour", "NR", "None", "Never smoked")]
    [True, True, False, False]
    """
    return bool(re.fullmatch(_SHORT, label.strip().lower()) or re.search(_HINTS, _normal(label)))


def _normal(label: str) -> str:
    """A label in small letters with blanks between words: notApplicable, NOT_APPLICABLE, not-applicable."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", re.sub("[–—]", "-", label.replace("’", "'")))
    return re.sub(r"\bnot-(?=\w)", "not ", " ".join(words.lower().split())).strip(" .:!?*-\"'")


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


def far_from_others(numbers: Iterable[float]) -> set[float]:
    """Codes by habit, and numbers below 0, beyond a gap from the numbers that are none; a scale has no gap.

    Examples
    --------
    >>> sorted(far_from_others([1, 2, 3, 8, 9])), sorted(far_from_others([-8, 1, 2, 97, 98]))
    ([8, 9], [-8, 97, 98])
    >>> far_from_others([7, 8, 9]), far_from_others([0, 2, 4, 6, 8]), far_from_others([-2, -1, 1, 2])
    (set(), set(), set())
    """
    known = sorted(set(numbers))
    starts = [at for at, number in enumerate(known) if at == 0 or number - known[at - 1] > 1]
    real: list[float] = []
    far: set[float] = set()
    for start, stop in itertools.pairwise([*starts, len(known)]):
        run = known[start:stop]
        habit = real and all(number > 9 and looks_like_a_code(number) for number in run)
        digits = real and len(known) < 8 and real[-1] - real[0] < len(real) and {7, 8, 9}.issuperset(run)
        if habit or digits or all(number < 0 and -number not in known for number in run):
            far.update(run)
        else:
            real += run
    return far if real else set()


def looks_like_a_date_code(text: str) -> bool:
    """Whether a date is one of those that stand for a missing one, such as 9999-12-31."""
    return re.match(_FAR_DATES, text) is not None
