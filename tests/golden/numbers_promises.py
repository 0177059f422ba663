"""What budgets, guarantees and filters make of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dpglm.ledger.odometer import Balance, PrivacyFilter
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from tests.golden.numbers import Case, Section, asked, told

INF, NAN = math.inf, math.nan


def budgets() -> Iterator[Case]:
    for mu, delta in product((0.1, 0.5, 4.0), (1e-12, 1e-6, 1e-2)):
        yield asked(Privacy.gdp, mu, delta=delta)
        yield asked(Privacy.zcdp, mu, delta=delta, relation="add-remove", unit="one patient")
        yield told(f"rho {mu} {delta}", lambda mu=mu, delta=delta: Privacy.zcdp(mu, delta=delta).rho)
    wrong = (0.0, -1.0, INF, NAN, True, "1", None, 10**400, 10**15 + 1, [1.0], (1.0, 1.0), (1.0, 0.5, 0.5))
    for value in (1, 0.5, (1.0, 1e-6), [2, 0], np.float32(0.5), np.int64(2), *wrong):
        yield told(f"Privacy.of({value!r:.40})", lambda value=value: Privacy.of(value))
        yield told(f"Privacy.gdp({value!r:.40})", lambda value=value: Privacy.gdp(value))
    for more in (
        {"relation": "bounded"},
        {"unit": " "},
        {"unit": 3},
        {"definition": "gdp"},
        {"definition": "gdp", "mu": 0.5},
        {"mu": 0.5},
        {"delta": 1e-6, "definition": "pure"},
    ):
        yield asked(Privacy, 1.0, **more)


def budgeted_plan(**more: Any) -> Guarantee:
    numbers: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "definition": "approximate"}
    return Guarantee(**{**numbers, "relation": "replace-one", "unit": "one row", **more})


PROMISES: dict[str, Guarantee] = {
    "pure": budgeted_plan(delta=0.0, definition="pure", theorem="Theorem A1", assumptions=("a", "b")),
    "free": budgeted_plan(epsilon=0.0, delta=0.0, definition="pure", relation="add-remove"),
    "huge": budgeted_plan(epsilon=800.0, delta=0.0, definition="pure"),
    "edge": budgeted_plan(epsilon=709.9, delta=0.1),
    "pair": budgeted_plan(),
    "weak": budgeted_plan(epsilon=9.0, delta=0.3),
    "curve": budgeted_plan(curve=((0.2, 1e-2), (3.0, 1e-12))),
    "gdp": budgeted_plan(epsilon=2.254, mu=0.5, definition="gdp"),
    "zcdp": budgeted_plan(epsilon=2.254, mu=0.5, rho=0.125, definition="zcdp"),
    "none": Guarantee.none("no privacy was asked for"),
    "seeded": budgeted_plan(epsilon=0.123456, delta=2.00001e-7).seeded(),
}


def promises() -> Iterator[Case]:
    for name, made in PROMISES.items():
        yield name, made
        yield f"{name}: statement", made.statement()
        for share in (0.0, 1e-6, 0.01, 0.3, 0.5, 0.99, 1.0, -0.1, 1.1, NAN):
            yield told(f"{name}: posterior {share}", lambda made=made, share=share: made.posterior(share))
            yield told(f"{name}: guess {share}", lambda made=made, share=share: made.guess(share))
            yield told(
                f"{name}: found {share}", lambda made=made, share=share: made.true_positive_rate(share)
            )
        for size in (0, 1, 2, 3, 70, 800, 1.5):
            yield told(f"{name}: group {size}", lambda made=made, size=size: made.group(size))


def refused_promises() -> Iterator[Case]:
    for more in (
        *({key: value} for key in ("epsilon", "delta", "mu", "rho") for value in (-1e-9, INF, NAN)),
        *({"curve": ((epsilon, delta),)} for epsilon, delta in ((-1.0, 0.0), (INF, 0.0), (1.0, 1.1))),
        *({"definition": name} for name in ("pure", "gdp", "zcdp", "renyi")),
        {"delta": 1.1},
        {"relation": "bounded"},
        {"unit": " "},
        {"private": False},
    ):
        yield told(f"Guarantee({more})", lambda more=more: budgeted_plan(**more))


def balances() -> Iterator[Case]:
    pure, pair_, gdp = Privacy(1.0), Privacy(2.0, 1e-5), Privacy.gdp(0.5)
    costs = [
        Balance(0.1, 0.0, None),
        Balance(0.3, 1e-6, 0.1),
        Balance(0.25, 0.0, 0.2),
        Balance(0.7, 0.0, 0.4),
    ]
    for name, budget, taken in (
        ("pure", pure, costs[:1] * 3),
        ("pair", pair_, costs),
        ("gdp", gdp, costs[1:3]),
        ("gdp, all", gdp, [Balance(2.0, 0.0, 0.5)]),
        ("too much", pure, costs * 2),
        ("nothing", gdp, []),
    ):
        kept = PrivacyFilter(budget, tuple(taken))
        yield f"{name}: sums", (kept.spent, kept.remaining, kept.covered)
        open_to = [cost for cost in costs if budget.mu is None or cost.mu is not None]
        yield f"{name}: admits", [kept.admits(cost) for cost in open_to]
        for label, made in PROMISES.items():
            yield told(f"{name}: cost of {label}", lambda k=kept, made=made: k.cost(made, owner="L"))


SECTIONS: dict[str, Section] = {
    "budgets": budgets,
    "promises": promises,
    "refused promises": refused_promises,
    "balances": balances,
}
