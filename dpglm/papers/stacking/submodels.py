"""The models of a stack: what each reads, its coefficients on the original scale, its weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpglm.errors import MethodError
from dpglm.papers.stacking.stack import Stack
from dpglm.postprocessing.missing_intervals import models_text
from dpglm.postprocessing.record import FitRecord
from dpglm.postprocessing.tidy import marked
from dpglm.tables.content import Fact, one_line
from dpglm.tables.number import coefficient
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Stack",
    "coefficients_read",
    "columns_text",
    "combined_text",
    "model_sizes",
    "model_terms",
    "model_weights",
    "stack_facts",
    "submodels",
    "user_coefficients",
]

BoolMatrix: TypeAlias = NDArray[np.bool_]

INTERCEPT = "Intercept"
MOST_MODELS_SHOWN = 12
LONGEST_NAME = 40


def submodels(record: FitRecord) -> pd.DataFrame:
    """One row per model and coefficient that it reads; see :meth:`FitResult.blocks`."""
    import pandas as pd

    stack = record.stack
    if stack is None:
        raise MethodError(
            f"submodels of a fit by method {record.method!r}, which is one model",
            expected="a stack of models",
            remedy="Use tidy(), or fit with method='pst-f'.",
        )
    models, places = np.nonzero(coefficients_read(record, stack))
    frame = pd.DataFrame(
        {
            "model": [stack.names[k] for k in models],
            "term": [record.names[j] for j in places],
            "estimate": user_coefficients(record, stack)[models, places],
            "weight": model_weights(stack)[models],
        }
    )
    return marked(frame, record)


def user_coefficients(record: FitRecord, stack: Stack) -> FloatMatrix:
    """Coefficients of each model on the original scale, shape (K, p)."""
    with np.errstate(all="ignore"):
        return np.asarray(stack.coefficients @ record.user_from_coded.T)


def model_weights(stack: Stack) -> FloatVector:
    """Weights of the models in the meta model, or of their votes, shape (K,)."""
    return stack.weights[1:] if stack.combine == "model" else stack.weights


def model_terms(record: FitRecord, stack: Stack) -> tuple[tuple[str, ...], ...]:
    """What each model reads beside the intercept: terms, and coefficients of terms that it reads in part."""
    return tuple(_terms(record, read) for read in coefficients_read(record, stack))


def model_sizes(record: FitRecord, stack: Stack) -> tuple[int, ...]:
    """How many of the user's coefficients each model reads, the intercept left out."""
    slopes = np.array([name != INTERCEPT for name in record.names], dtype=np.bool_)
    sizes: list[int] = (coefficients_read(record, stack) & slopes).sum(axis=1).tolist()
    return tuple(sizes)


def columns_text(count: int) -> str:
    """How many columns, in words."""
    return f"{count} column{'' if count == 1 else 's'}"


def combined_text(stack: Stack) -> str:
    """What puts the answers together.

    Examples
    --------
    >>> combined_text(Stack(("a",), ((),), np.ones((1, 2)), "model", np.array([0.5, 2.0])))
    'meta model, intercept 0.5000'
    """
    if stack.combine == "model":
        return f"meta model, intercept {coefficient(float(stack.weights[0]))}"
    return "votes, equal" if stack.combine == "majority" else "votes, publicly weighted"


def stack_facts(record: FitRecord) -> tuple[Fact, ...]:
    """Each model with its number of columns and its weight, as label and text; nothing for other fits."""
    stack = record.stack
    if stack is None:
        return ()
    word = "meta weight" if stack.combine == "model" else "vote"
    lines = [
        f"{_short(name)}: {columns_text(size)}, {word} {coefficient(weight)}"
        for name, size, weight in zip(
            stack.names, model_sizes(record, stack), model_weights(stack).tolist(), strict=True
        )
    ]
    shown = lines if len(lines) <= MOST_MODELS_SHOWN else lines[: MOST_MODELS_SHOWN - 1]
    facts = [("Stack", f"{models_text(stack)}, combined by {combined_text(stack)}")]
    facts += [(f"Model {k}", line) for k, line in enumerate(shown, start=1)]
    if len(shown) < len(lines):
        facts.append(("More", f"{len(lines) - len(shown)} more models, which submodels() lists"))
    return tuple(facts)


def coefficients_read(record: FitRecord, stack: Stack) -> BoolMatrix:
    """Which of the user's coefficients each model reads, shape (K, p).

    Those of its group, and those that a column with a coefficient of its own reaches, as the intercept.
    """
    reached = np.asarray((stack.coefficients != 0.0) @ (record.user_from_coded != 0.0).T)
    positions = {name: (j,) for j, name in enumerate(record.names)} | dict(record.terms)
    for k, group in enumerate(stack.groups):
        if not group:
            reached[k] = True
        for term in group:
            reached[k, list(positions.get(term, ()))] = True
    return reached


def _terms(record: FitRecord, read: BoolVector) -> tuple[str, ...]:
    found: list[str] = []
    for term, places in record.terms:
        kept = [place for place in places if read[place]]
        if term != INTERCEPT and kept:
            found += [term] if len(kept) == len(places) else [record.names[place] for place in kept]
    return tuple(found)


def _short(name: str) -> str:
    words = one_line(name)
    return words if len(words) <= LONGEST_NAME else words[: LONGEST_NAME - 1] + "…"
