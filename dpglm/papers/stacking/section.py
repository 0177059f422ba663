"""The stack of models: what each reads, what puts them together, what was taken from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.papers.stacking.figure import stack_figure
from dpglm.papers.stacking.submodels import Stack, combined_text, model_terms, model_weights
from dpglm.report.section import Rows, Section
from dpglm.report.wording import fact_words, shown
from dpglm.results.fit_result import FitResult
from dpglm.tables.number import coefficient

MOST_ROWS = 100
LONGEST_TERMS = 600
PARTS = (
    "Every row was dealt to one part by its place in the table, before anything was read, and each part is "
    "read by one model only. Another row in the place of one changes one part: the price of all parts "
    "together is that of the dearest part, and not a sum over parts."
)
GROUPS = (
    "The models on groups of columns read the same rows, each its own columns, and are paid together: a row "
    "weighs on all of them, and the price of this fit counts them all."
)
HELD_OUT = (
    "The rows on which the meta model was fitted were read by no other model. They were held out by their "
    "place in the table, so that a row is in one of the two parts: the price of both together is that of the "
    "dearer part, and not their sum."
)


def stack_of_models(result: FitResult, choices: Mapping[str, str]) -> Section | None:
    """Diagram, models with their terms and weights, importance, source; None for a fit that is one model."""
    stack = result.stack
    if stack is None:
        return None
    content = {
        "private": result.guarantee.private,
        "count": len(stack.names),
        "combine": stack.combine,
        "facts": _facts(result, stack),
        "figure": stack_figure(result, stack),
        "models": _models(result, stack),
        "left_out": max(0, len(stack.names) - MOST_ROWS),
        "parallel": _parallel(result, stack) if _promised(result) else [],
    }
    return Section("stack", "The stack of models", content)


def _facts(result: FitResult, stack: Stack) -> list[tuple[str, str]]:
    facts = [("Models", str(len(stack.names))), ("Put together by", combined_text(stack))]
    return facts + [(fact.label, fact_words(fact)) for fact in result.description.facts]


def _models(result: FitResult, stack: Stack) -> Rows:
    """A row a model."""
    rows = [
        (
            shown(name, 120),
            shown(", ".join(terms) or "the intercept alone", LONGEST_TERMS),
            coefficient(weight),
        )
        for name, terms, weight in zip(
            stack.names[:MOST_ROWS], model_terms(result, stack), model_weights(stack).tolist(), strict=False
        )
    ]
    weight = "meta weight" if stack.combine == "model" else "vote"
    return Rows("Models of the stack", ("model", "reads", weight), tuple(rows), numeric=(2,))


def _promised(result: FitResult) -> bool:
    """Whether there is a price, of exchanging a row: one more row would move others to other parts."""
    return result.guarantee.private and result.guarantee.relation == "replace-one"


def _parallel(result: FitResult, stack: Stack) -> list[str]:
    """Why parts of the rows cost no more than one of them, for the methods of which that is known."""
    words = {"pst-s": [PARTS], "pst-f": [GROUPS], "pst-h": [GROUPS]}.get(result.method, [])
    if len(stack.names) == 1:  # neither parts nor a meta model
        return []
    if stack.combine == "model" and result.method in ("pst-s", "pst-f", "pst-h"):
        words = [*words, HELD_OUT]
    return words
