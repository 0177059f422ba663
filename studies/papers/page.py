"""The page of the five papers. Claims on accuracy are those of the study pages, read from these pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from markupsafe import Markup

from studies import index
from studies.page import Section, Table, anchor, link, write
from studies.papers.dlr import SUMMARY as DLR
from studies.papers.dpsc import SUMMARY as DPSC
from studies.papers.fwell import SUMMARY as FWELL
from studies.papers.radmm import SUMMARY as RADMM
from studies.papers.stack import SUMMARY as STACK
from studies.papers.summary import VERDICTS, Place, Summary
from studies.study import ROOT

NAME = index.PAPERS
# In what stands beside code that claims no privacy.
NOTHING = "Nothing is claimed."
TITLE = "The five papers: what holds, what does not, and where"
SUMMARIES = (DPSC, RADMM, STACK, FWELL, DLR)
CLAIMS = "Claims"
# A table with the caption that stands before it.
TABLE = (
    r"<figcaption>([^<]*(?:<(?!/figcaption)[^<]*)*)</figcaption>\s*"
    r'<div class="wide"[^>]*>\s*<table[^>]*>(.*?)</table>'
)
INTRODUCTION = (
    "dpglm began with five papers on private estimation. For each paper this page has its claims of privacy "
    "with the proof or the audit that settles them, its claims on accuracy with the verdicts of the study "
    "that repeated its experiments, and the counterpart of every figure, table and number that can be read.",
    "Claims on accuracy are the tables that the studies' own pages begin with. The setting of each, its "
    "intervals and the rule behind its verdicts stand there. `python -m studies run NAME` runs a study "
    "again; the table has the minutes that its fits took. `python -m studies index` makes this page of "
    "theirs, in seconds.",
)


def file_of(name: str) -> str:
    """The page of a study."""
    return f"{name}.html"


def first_table(text: str, heading: str) -> Table | None:
    """The first table below a heading of a study's page; None where there is none.

    Examples
    --------
    >>> text = '<h2 id="claims">Claims</h2><figcaption>All.</figcaption><div class="wide"><table class="">'
    >>> text += "<thead><tr><th>a</th></tr></thead><tbody><tr><td>x &lt; 1</td></tr></tbody></table>"
    >>> first_table(text, "Claims")
    Table(caption=Markup('All.'), columns=(Markup('a'),), rows=((Markup('x &lt; 1'),),))
    """
    section = _first(rf'<h2 id="{anchor(heading)}">(.*?)(?=<h2|</body>|\Z)', text)
    found = re.search(TABLE, section, flags=re.DOTALL)
    if found is None:
        return None
    caption, table = found.groups()
    body = _first(r"<tbody>(.*?)</tbody>", table)
    rows = re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    return Table(
        Markup(caption),
        _cells("th", _first(r"<thead>(.*?)</thead>", table)),
        tuple(_cells("td", row) for row in rows),
    )


def write_page(folder: Path) -> Path:
    """Write the page of the papers beside the pages of their studies.

    Parameters
    ----------
    folder : Path
        With the pages of the studies; those that are absent are said to be so.
    """
    pages = {name: _read(folder / file_of(name)) for one in SUMMARIES for name in one.studies}
    told = {name: first_table(text, CLAIMS) for name, text in pages.items()}
    target = folder / NAME
    write(target, TITLE, [_overview(told, pages), *(_section(one, told, pages) for one in SUMMARIES)])
    return target


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _overview(told: Mapping[str, Table | None], pages: Mapping[str, str]) -> Section:
    rows = []
    for one in SUMMARIES:
        counts = Counter(claim.verdict for claim in one.privacy)
        private = "; ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
        linked = Markup(", ").join(link(file_of(name), name) for name in one.studies)
        minutes = [_first(r"([\d,]+) minutes of", pages[name]) for name in one.studies]
        rows.append(
            (
                link(f"#{anchor(_heading(one))}", one.name),
                private,
                _verdicts(one, told),
                linked or "none",
                ", ".join(filter(None, minutes)) or "-",
            )
        )
    caption = (
        "The papers. Not counted: what a paper reads off the rows without counting it as privacy; it claims "
        "nothing of it, but its promises lean on it. Claims on accuracy are the paper's, with the verdict of "
        "what is built here."
    )
    columns = ("paper", "claims of privacy", "claims on accuracy", "studies", "minutes")
    return Section("", INTRODUCTION, tables=[Table(caption, columns, rows)])


def _verdicts(one: Summary, told: Mapping[str, Table | None]) -> str:
    """How many claims on accuracy have each verdict, of all studies of a paper."""
    counts: Counter[str] = Counter()
    for table in map(told.get, one.studies):
        if table is not None:
            place = len(table.columns) - 1 - list(table.columns)[::-1].index(one.corrected)
            counts.update(row[place].partition(":")[0] for row in table.rows)
    found = "; ".join(f"{count} {word}" for word, count in counts.most_common() if word.strip("-"))
    return f"{found} ({one.corrected})" if found and one.corrected != "verdict" else found or "-"


def _section(one: Summary, told: Mapping[str, Table | None], pages: Mapping[str, str]) -> Section:
    cited = f"{one.paper.authors}, {one.paper.title}, {one.paper.venue}, {one.paper.year}."
    privacy = Table(
        "Claims of privacy, and what settles them.",
        ("as printed", "verdict", "why, and what is done here", "settled by"),
        [(claim.claim, claim.verdict, claim.why, _settled(claim.settled)) for claim in one.privacy],
    )
    tables, texts = [privacy], [cited, *one.stands]
    for name in one.studies:
        table = told[name]
        if table is None:
            texts.append(f"`{name}` has no page with claims: `python -m studies run {name}` makes it.")
            continue
        caption = Markup("{}: {}").format(link(file_of(name), index.study(name).title), table.caption)
        tables.append(Table(caption, table.columns, table.rows))
    if one.listed is not None:
        listed = first_table(pages[one.listed.study], one.listed.heading)
        if listed is not None:
            places = f'href="{file_of(one.listed.study)}#'
            rows = [[Markup(str(cell).replace('href="#', places)) for cell in row] for row in listed.rows]
            tables.append(Table(listed.caption, listed.columns, rows))
    items = [(item.item, _places(item.places), item.note) for item in one.counterparts]
    if items:
        tables.append(Table("Figures, tables and numbers.", ("in the paper", "here", "note"), items))
    return Section(_heading(one), texts, tables=tables)


def _heading(one: Summary) -> str:
    return f"{one.name}: {one.paper.title}"


def _places(places: Iterable[Place]) -> Markup | str:
    linked = []
    for place in places:
        target = file_of(place.study) + (f"#{anchor(place.heading)}" if place.heading else "")
        linked.append(link(target, place.heading or index.study(place.study).title))
    return Markup("; ").join(linked) if linked else "none"


def _settled(files: Iterable[str]) -> Markup:
    """Links to tests by what they say, and to proofs by their headings."""
    return Markup("; ").join(link(f"../{file.partition('::')[0]}", _called(file)) for file in files)


def _called(file: str) -> str:
    path, _, test = file.partition("::")
    if test:
        test, _, case = test.partition("[")
        kind = "audit" if path.startswith("tests/audits") else "test"
        of = f" of {case.rstrip(']')}" if case else ""
        return f"{kind}{of}: {test.removeprefix('test_').replace('_', ' ')}"
    text = (ROOT / path).read_text(encoding="utf-8")
    heading = _first(r"(?m)^# (.*?)$", text)
    return heading if NOTHING in text else f"proof: {heading}"


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, flags=re.DOTALL)
    return found[1] if found else ""


def _cells(tag: str, row: str) -> tuple[Markup, ...]:
    return tuple(Markup(cell) for cell in re.findall(rf"<{tag}>(.*?)</{tag}>", row, flags=re.DOTALL))
