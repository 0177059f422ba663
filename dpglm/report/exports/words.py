"""Words about a fit that its exports share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from dpglm.postprocessing.declared import dispersion_notes, weight_notes
from dpglm.postprocessing.joint_sites import JointSites
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.refits import FREE
from dpglm.postprocessing.restriction import SubmodelOf, equation_of
from dpglm.postprocessing.summary import family_text, link_notes, scale_notes, strength_text
from dpglm.privacy.events import TRUST
from dpglm.privacy.guarantee import Guarantee
from dpglm.report.section import Subject, price, shown
from dpglm.tables.table import ABSENT, count

AFTERWARDS: Final = "applied to released numbers, at no further privacy cost"
NOT_COVERED: Final = (
    "The guarantee says nothing of the time, memory and power of the computation, of access to the raw rows, "
    "or of other software that read them."
)


def model(*records: FitRecord) -> str:
    """The model in words: family, link and response, and which equations of a multinomial fit it is."""
    record = records[0]
    words, name = f"{family_text(record)} model of", shown(record.response.name)
    if (equation := equation_of(record)) is None:
        return f"{words} {name}"
    baseline, level = map(shown, record.response.levels or ())
    one, of = ("one of ", level) if len(records) == 1 else ("", f"each level of {name}")
    return f"{words} {of} against {baseline}, {one}{len(equation.levels) - 1} equations of a multinomial fit"


def charge(record: FitRecord) -> tuple[str, Guarantee]:
    """Fingerprint and price of the plan that was charged: of an equation those of all."""
    return (record.part and record.part.paid_with) or (record.plan_fingerprint, record.guarantee)


def cost(*records: FitRecord) -> str:
    """The price of what was charged, and of an equation its own."""
    whole, own = price(charge(records[0])[1]), price(records[0].guarantee)
    alone = "" if len(records) > 1 else f", and {own} for this one alone"
    return whole if equation_of(records[0]) is None else f"{whole} for all equations together{alone}"


def told(records: Sequence[FitRecord], say: Callable[[FitRecord], Iterable[str]]) -> tuple[str, ...]:
    """What is to be said of each record, once, with the levels that it is about where these are not all."""
    own = {(record.response.levels or ("",))[-1]: tuple(say(record)) for record in records}
    texts = dict.fromkeys(text for said in own.values() for text in said)
    about = {text: [level for level, said in own.items() if text in said] for text in texts}
    some = {
        text: f"for {', '.join(map(shown, levels))}: "
        for text, levels in about.items()
        if len(levels) < len(own)
    }
    return tuple(some.get(text, "") + text for text in texts)


def data_name(record: FitRecord) -> str:
    """What the data are called in the schema or the ledger; empty where neither names them."""
    title = record.specification.schema.get("title")
    named = title if isinstance(title, str) and title else ""
    return shown(named or ("" if record.ledger is None else record.ledger.dataset))


def public_rows(record: FitRecord) -> str:
    """The number of rows where it is public, or was declared; empty otherwise."""
    unit = "persons" if _counts_persons(record) else "rows"
    if record.n_rows is not None:
        return f"{count(record.n_rows)} {unit}"
    declared = record.specification.rows
    return "" if declared is None else f"{count(declared)} {unit} (declared)"


def public_units(record: FitRecord) -> int | None:
    """How many units are protected, where that is public or was declared."""
    if record.guarantee.persons and not _counts_persons(record):
        return None
    return record.specification.rows if record.n_rows is None else record.n_rows


def _counts_persons(record: FitRecord) -> bool:
    """Whether numbers of rows are numbers of persons."""
    unit = record.specification.schema.get("unit")
    by_row = isinstance(unit, Mapping) and unit.get("weights") == "row"
    return record.guarantee.persons and not by_row


def releases(*records: FitRecord) -> str:
    """Names of the releases, and how often each was made."""
    made = Counter[str]()
    for record in records:
        for release in record.description.releases:
            made[release.name] += release.times
    return ", ".join(name if times == 1 else f"{name} ({count(times)} times)" for name, times in made.items())


def penalties(record: FitRecord) -> tuple[str, ...]:
    """The penalty of the coefficients, and whether it was applied to what was released before."""
    parts = [f"penalty: {shown(record.penalty)}"]
    strength = strength_text(record)
    if strength != ABSENT and 0.0 not in (record.strength, record.strength_sum):
        parts.append(f"strength: {strength}")
    if isinstance(record.part, SubmodelOf):
        parts.append(f"submodel: {shown(record.part.words)}")
    if record.description.penalty_applied == FREE:
        parts.append(AFTERWARDS)
    return ("; ".join(parts),)


def meant(record: FitRecord) -> tuple[str, ...]:
    """What coefficients are where they are not quite those of the model as it is named, a sentence each."""
    notes = (*weight_notes(record), *link_notes(record), *dispersion_notes(record))
    return (*notes, *scale_notes(record))


def sentences(*texts: str) -> str:
    """Texts with a capital letter and a stop, one after the other."""
    return " ".join(f"{text[0].upper()}{text[1:].rstrip('.')}." for text in texts if text)


def trust(record: FitRecord, subject: Subject) -> str:
    """Who saw raw rows, and who is trusted with what where that is not one curator."""
    told = [str(fact.value) for fact in record.description.facts if fact.label == TRUST]
    return "; ".join([f"{subject.curators} saw raw rows", *told])


def at_sites(record: FitRecord) -> bool:
    """Whether several holders of rows made the fit together."""
    return isinstance(record.part, JointSites)
