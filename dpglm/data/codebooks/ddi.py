"""DDI Codebook 2.x: the XML code books of data archives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from dpglm.data.codebooks.files import Book, opened
from dpglm.data.codebooks.told import Kind, Told, level_of, number_in, within
from dpglm.data.tables.cells import Level
from dpglm.errors import SchemaError

WHAT: Final = "a DDI Codebook 2.x (XML)"
_DEEPEST: Final = 200
_MOST_LISTED: Final = 20


def read(book: Book) -> tuple[list[Told], str, tuple[str, ...]]:
    """What a code book says of each variable, its title, and remarks."""
    text = opened(book, WHAT)
    root = parsed(text.text)
    described = list(root.iter("dataDscr"))
    if root.tag != "codeBook" or not described:
        raise SchemaError(
            f"an XML file of the kind {root.tag[:40]}",
            expected="the element codeBook with dataDscr, as DDI Codebook 1.2 to 2.6 have it",
            remedy="Export the study as DDI Codebook; DDI Lifecycle is another format.",
        )
    source = text.source("DDI code book")
    told = [one for data in described for var in data.iter("var") for one in _variable(var, source)]
    return told, _text(next(root.iter("titl"), None)), text.remarks


def parsed(text: str) -> Element:
    """The tree of an XML text, without namespaces; entities are refused, and nothing outside it is opened."""
    builder, depth = TreeBuilder(), 0
    parser = expat.ParserCreate("utf-8", " ")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise _refused("elements nested too deeply")
        local = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        builder.start(name.rpartition(" ")[2], local)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name.rpartition(" ")[2])

    def entity(*_: object) -> None:
        raise _refused("declarations of entities, which may be without end or point to other files")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = entity
    try:
        # The text was decoded before: what it declares of its encoding does not count.
        parser.Parse(text.encode("utf-8", "replace"), True)
        return builder.close()
    except (expat.ExpatError, AssertionError) as error:
        line = getattr(error, "lineno", None)
        raise _refused("XML that is not well-formed" + (f", at line {line}" if line else "")) from None


def _refused(found: str) -> SchemaError:
    return SchemaError(found, expected=WHAT, remedy="Export the code book again, or take out what is wrong.")


def _variable(var: Element, source: str) -> Iterator[Told]:
    name = var.get("name") or _text(var.find("labl")) or var.get("ID") or ""
    if not name:
        return
    where = f"{source}, variable {name}"
    if var.get("wgt") == "wgt":
        yield Told(name, where, left_out="a sampling weight")
        return
    values, missing = [], []
    for category in var.findall("catgry"):
        code = _text(category.find("catValu"))
        if not code:
            continue
        if category.get("missing", "N").upper() in ("Y", "YES", "TRUE", "1") or category.get("missType"):
            missing.append(level_of(code))
        else:
            values.append((level_of(code), _text(category.find("labl"))))
    missing += _invalid(var, [value for value, _ in values])
    form = var.find("varFormat")
    nature = var.get("nature", "")
    numbers = var.get("intrvl") == "contin" or nature in ("interval", "ratio", "percent")
    kind: Kind = "number" if numbers else "levels" if values else "either"
    if form is not None and form.get("category") in ("date", "time"):
        kind = "date"
    low, high, observed = _range(var)
    listed = kind == "number" or not values
    if kind == "either" and (low or high):
        kind = "number"
    notes = []
    if observed and listed:
        notes.append("the range is that of the data, not one of the questionnaire")
    bare = kind == "levels" and not any(label for _, label in values)
    if bare:
        notes.append("levels without labels are those of the data, not those of the questionnaire")
    text = form is not None and form.get("type") == "character" and not values
    yield Told(
        name,
        where,
        "either" if text else kind,
        label=_text(var.find("labl")),
        low=low if listed else None,
        high=high if listed else None,
        values=values,
        missing=missing,
        text=" ".join(_text(element) for tag in ("txt", "notes") for element in var.findall(tag)),
        observed=(observed and listed) or bare,
        ordered="measured" if nature == "ordinal" else "",
        reason="text without categories: declare levels, or leave it out" if text else "",
        notes=notes,
    )


def _invalid(var: Element, values: list[Level]) -> list[Any]:
    """Codes that are declared to be no values."""
    codes: list[Any] = []
    for element in var.iter("invalrng"):
        codes += [level_of(item.get("VALUE", "")) for item in element.findall("item") if item.get("VALUE")]
        for span in element.findall("range"):
            low, high = number_in(span.get("min", "")), number_in(span.get("max", ""))
            if low is not None and high is not None and 0 <= high - low <= _MOST_LISTED:
                codes += range(int(low), int(high) + 1)
            else:
                codes += [level_of(end) for end in (span.get("min"), span.get("max")) if end]
                codes += within(values, -math.inf if low is None else low, math.inf if high is None else high)
    return codes


def _range(var: Element) -> tuple[str | None, str | None, bool]:
    """The ends of the valid range, and whether they were read off the data.

    Programs that write code books fill in the valid range from the data where nobody declares one: a range
    whose ends are the observed ones is taken for observed.
    """
    seen = {
        statistic.get("type", ""): _text(statistic)
        for statistic in var.findall("sumStat")
        if statistic.get("wgtd") in (None, "not-wgtd")
    }
    observed = seen.get("min"), seen.get("max")
    spans = [span for element in var.findall("valrng") for span in element.findall("range")]
    if not spans:
        return (*observed, any(observed))
    lows = [end for span in spans if (end := span.get("min") or span.get("minExclusive"))]
    highs = [end for span in spans if (end := span.get("max") or span.get("maxExclusive"))]
    low = min(lows, key=lambda end: number_in(end) or 0.0) if len(lows) == len(spans) else None
    high = max(highs, key=lambda end: number_in(end) or 0.0) if len(highs) == len(spans) else None
    same = [
        number_in(end) is not None and number_in(end) == number_in(other)
        for end, other in zip((low, high), observed, strict=True)
    ]
    return low, high, all(same)


def _text(element: Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())
