"""Lines of a ledger: what each says, and how it is written.

The first opens the budget; every other is a charge, a refusal, or the name of an answer that is kept.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from dpglm.ledger.log import FORMAT, Line
from dpglm.ledger.odometer import Balance
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee

Status = Literal["charged", "refused"]
ANSWERED: Final = "answered"  # the status of a line that is neither


@dataclass(frozen=True)
class Entry:
    """One line of a ledger: a charge, or a refusal, which costs nothing and lets nothing out."""

    index: int  # counted from 1; lines of the file that name answers are not counted
    when: str  # UTC, ISO 8601, to the second
    what: str  # what it was for, in public words
    status: Status
    epsilon: float
    delta: float
    mu: float | None  # Gaussian-DP parameter, where there is one
    relation: str
    unit: str
    plan: str  # fingerprint of the plan that was charged; empty where none was told
    key: str  # under which the answer is kept; empty for none
    hash: str  # SHA-256 of this line and, through the chain, of all before it


def opening_line(budget: Privacy, dataset: str, table: str | None) -> str:
    """The first line of a new ledger; one without a table is written as before lines had any."""
    noted = {} if table is None else {"table": table}
    return canonical(
        **noted,
        format=FORMAT,
        ledger=os.urandom(16).hex(),  # two ledgers never share a hash, so a noted head names one file
        when=now(),
        dataset=dataset,
        definition=budget.definition,
        epsilon=repr(budget.epsilon),
        delta=repr(budget.delta),
        mu=None if budget.mu is None else repr(budget.mu),
        relation=budget.relation,
        unit=budget.unit,
    )


def entry_line(
    cost: Balance, guarantee: Guarantee, *, what: str, plan: str, status: Status, key: str | None = None
) -> str:
    """The line of a charge or a refusal; one without plan and key is written as before lines had them."""
    fingerprint = {"plan": plan} if plan else {}
    kept = {"key": key} if key is not None else {}
    return canonical(
        **fingerprint,
        **kept,
        when=now(),
        what=what,
        status=status,
        epsilon=repr(cost.epsilon),
        delta=repr(cost.delta),
        mu=None if cost.mu is None else repr(cost.mu),
        relation=guarantee.relation,
        unit=guarantee.unit,
    )


def answer_line(key: str, site: str, digest: str) -> str:
    """The line that names an answer by its SHA-256; ``site`` is empty for one table."""
    return canonical(status=ANSWERED, when=now(), key=key, site=site, answer=digest)


def entry(line: Line, index: int) -> Entry:
    """The charge or refusal in a line, the so many-th; an error of reading where there is none."""
    fields = fields_of(line)
    epsilon, delta = float(fields["epsilon"]), float(fields["delta"])
    mu = None if fields["mu"] is None else float(fields["mu"])
    if fields["status"] not in ("charged", "refused") or not all(
        0 <= amount < math.inf for amount in (epsilon, delta, 0.0 if mu is None else mu)
    ):
        raise ValueError
    return Entry(
        index=index,
        when=words_of(fields["when"]),
        what=words_of(fields["what"]),
        status=fields["status"],
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        relation=words_of(fields["relation"]),
        unit=words_of(fields["unit"]),
        plan=words_of(fields.get("plan", "")),
        key=words_of(fields.get("key", "")),
        hash=line.hash,
    )


def opening(line: Line) -> tuple[Privacy, str, str | None]:
    """The budget, the data set and the fingerprint of its table, of the first line."""
    fields = fields_of(line)
    mu = None if fields["mu"] is None else float(fields["mu"])
    relation, unit, definition = (words_of(fields[name]) for name in ("relation", "unit", "definition"))
    # Privacy checks relation and definition.
    budget = Privacy(float(fields["epsilon"]), float(fields["delta"]), relation, unit, definition, mu)  # type: ignore[arg-type]
    table = words_of(fields["table"]) if "table" in fields else None
    return budget, words_of(fields["dataset"]), table


def fields_of(line: Line) -> dict[str, Any]:
    """The fields of a line, all of them texts or null, none of them twice."""
    pairs = json.loads(line.content, object_pairs_hook=list)
    fields = dict(pairs)
    if len(fields) < len(pairs) or not all(isinstance(value, str | None) for value in fields.values()):
        raise ValueError
    return fields


def words_of(text: object) -> str:
    """Text as a ledger writes it: on one line, and nothing in it that a screen would obey."""
    if isinstance(text, str) and text.isprintable():
        return text
    raise ValueError


def canonical(**fields: str | None) -> str:
    """One spelling for one meaning, since the text is what is hashed, or signed."""
    return json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
