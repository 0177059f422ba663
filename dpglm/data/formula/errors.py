"""Point into a formula: the culprit and its place, in one text."""

from __future__ import annotations

from dpglm.errors import FormulaError

_MARGIN = 44  # characters shown on either side of the culprit in a long formula

Span = tuple[int, int]


def refuse(problem: str, formula: str, span: Span, *, expected: str, remedy: str) -> FormulaError:
    """The error for ``formula[span]``, with the formula and a caret line in ``found``.

    Parameters
    ----------
    problem : str
        What is wrong, one sentence.
    formula : str
        The whole formula, on one line.
    span : tuple of int
        Start and end of the culprit in ``formula``.
    expected, remedy : str
        As in every error of the package.

    Examples
    --------
    >>> error = refuse("There is no column 'z'.", "y ~ x + z", (8, 9), expected="x", remedy="Use x.")
    >>> print(error.found)
    There is no column 'z'.
        y ~ x + z
                ^
    """
    start = min(max(span[0], 0), len(formula))
    end = min(max(span[1], start + 1), len(formula) + 1)
    left = max(0, start - _MARGIN) if len(formula) > 2 * _MARGIN else 0
    right = min(len(formula), left + 2 * _MARGIN + 12) if len(formula) > 2 * _MARGIN else len(formula)
    shown = ("..." if left else "") + formula[left:right] + ("..." if right < len(formula) else "")
    shift = start - left + (3 if left else 0)
    # One for one, so that the carets stand where they should: an escape sequence would drive the terminal.
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in shown)
    carets = "^" * max(1, min(end, right + 1) - start)
    found = f"{problem}\n    {shown}\n    {' ' * shift}{carets}"
    return FormulaError(found, expected=expected, remedy=remedy)
