"""Charged runs: every verb charges its ledger here, before rows are read, or gets what a key stands for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dpglm.data.coding.coded_model import CodedModel
from dpglm.errors import AnswerNotKept, LedgerError, MethodError, PrivacyError, SchemaError, StoreError
from dpglm.methods.base import Estimate
from dpglm.postprocessing import store
from dpglm.postprocessing.codec import decode
from dpglm.postprocessing.record import FitRecord, LedgerState, Record

if TYPE_CHECKING:
    from dpglm.ledger.ledger import Charge, Ledger

Saved = TypeVar("Saved", bound=Record)
Result = TypeVar("Result")


def charged(
    ledger: Ledger | None,
    key: str | None,
    charges: Sequence[Charge],
    run: Callable[[LedgerState | None], dict[str, Saved]],
    *,
    sites: Sequence[str] = ("",),
    kind: type[Saved],
) -> dict[str, Saved]:
    """What ``run`` releases once ``charges`` are on disk, a record by site; under a key, once and for all.

    What is kept under ``key`` is given back as it is: nothing is charged, read or drawn. Answers that cannot
    be kept are given back all the same, with a warning.

    Raises
    ------
    BudgetExceeded, PrivacyError, LedgerError
        As `Ledger.charge_all` and `Ledger.kept`; nothing was read.
    """
    if ledger is None:
        return run(None)
    stored = None if key is None else ledger.kept(key, charges)
    if key is not None and stored is not None:
        entry, texts = stored
        if list(texts) != list(sites):
            raise LedgerError(
                f"key {key!r}, under which other sites were charged",
                expected="the same sites in the same order, at each try",
                remedy="Use another key for other sites; they are then charged. Nothing was read.",
            )
        state = decode(LedgerState, ledger.state(at=entry))
        return {site: replace(store.from_json(text, kind), ledger=state) for site, text in texts.items()}
    entry = ledger.charge_all(charges, key=key)[-1]
    records = run(decode(LedgerState, ledger.state(at=entry)))
    if key is not None:
        try:
            ledger.keep(key, {site: _text(record, kind) for site, record in records.items()})
        except (LedgerError, StoreError) as error:
            warnings.warn(
                f"The ledger was charged under key {key!r} and could not keep the answer: {error.found}. "
                "Save the result now: under this key it is not drawn again.",
                AnswerNotKept,
                stacklevel=4,
            )
    return records


def charged_apart(
    ledgers: Mapping[str, Ledger], charges: Callable[[Sequence[str]], Sequence[Charge]]
) -> dict[str, LedgerState]:
    """Charge the ledger of every site, all or none, and the state of each right after; nothing is read.

    ``charges`` says what sites together cost: sites that share a ledger file are charged in one go. All
    ledgers are asked first, so that one that refuses, and notes it, is the only one that is written to.

    Raises
    ------
    BudgetExceeded, PrivacyError, LedgerError
        Of the first site whose ledger refuses; nothing was charged. Where another process spent meanwhile
        what was there when it was asked, or a file failed, the message says which sites were charged before.
    """
    shared: dict[Path, list[str]] = {}
    for site, ledger in ledgers.items():
        shared.setdefault(ledger.path, []).append(site)
    planned = [(names[0], ledgers[names[0]], names, charges(names)) for names in shared.values()]
    for first, ledger, _, lines in planned:
        if not at_site(first, partial(ledger.admits, lines)):
            at_site(first, partial(ledger.charge_all, lines))  # refuses, and notes it
    states: dict[str, LedgerState] = {}
    for first, ledger, names, lines in planned:
        try:
            entry = at_site(first, partial(ledger.charge_all, lines))[-1]
        except LedgerError as error:
            if not states:
                raise
            paid = f"{error.found}; charged before it: {', '.join(map(repr, states))}"
            raise type(error)(paid, expected=error.expected, remedy=error.remedy) from None
        states |= dict.fromkeys(names, decode(LedgerState, ledger.state(at=entry)))
    return states


def at_site(site: str, action: Callable[[], Result]) -> Result:
    """Run ``action``, naming the site where it finds fault with a table, a schema or a ledger."""
    try:
        return action()
    except (SchemaError, MethodError, LedgerError, PrivacyError) as error:
        raise type(error)(
            f"at site {site!r}, {error.found}", expected=error.expected, remedy=error.remedy
        ) from None


def with_row_map(record: FitRecord, model: CodedModel) -> FitRecord:
    """A record with the public map from rows to coded columns, which is in no file."""
    return replace(record, row_map=at_scales(model, record))


def at_scales(model: CodedModel, fit: Estimate | FitRecord) -> CodedModel:
    """The coding of the coefficients of an estimate, or of a record."""
    scales = fit.scales
    return model if scales is None else model.standardised(scales.moments, scales.longer)


def _text(record: Saved, kind: type[Saved]) -> str:
    """A record as it is saved, without the ledger's lines, which the ledger has itself."""
    text = store.to_json(replace(record, ledger=None), packed=True)
    store.from_json(text, kind)  # a StoreError now rather than at the next try
    return text
