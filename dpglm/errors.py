"""What goes wrong, told in three parts: what was found, what was expected, how to mend it.

No message ever holds a value from a private row, and no exception is raised because of one.
"""

from __future__ import annotations

import reprlib
import traceback
from typing import Final

import numpy as np

from dpglm.typing import JOINERS, visible

# What a declaration is made of. Of anything else, a column of a frame say, a message tells the type alone.
_PLAIN: Final = (str, bytes, int, float, complex, type(None), list, tuple, dict, set, frozenset)


class _Short(reprlib.Repr):
    """Short representations of plain values."""

    def repr1(self, x: object, level: int) -> str:
        plain = type(x) in _PLAIN or isinstance(x, bool | np.generic)
        return super().repr1(x, level) if plain else f"a value of type {type(x).__name__}"


_SHORT: Final = _Short()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


class DpglmError(Exception):
    """Base of all errors that users meet.

    Parameters
    ----------
    found : str
        What was found, from public facts only.
    expected : str
        What was expected instead.
    remedy : str
        What the user can do about it.

    Examples
    --------
    >>> error = PrivacyError("privacy=-1.0", expected="epsilon > 0", remedy="Use privacy=1.0.")
    >>> print(error)
    Found: privacy=-1.0
    Expected: epsilon > 0
    Remedy: Use privacy=1.0.
    """

    def __init__(self, found: str, *, expected: str, remedy: str) -> None:
        self.found, self.expected, self.remedy = (
            visible(part, but="\n" + JOINERS) for part in (found, expected, remedy)
        )
        super().__init__(f"Found: {self.found}\nExpected: {self.expected}\nRemedy: {self.remedy}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.found, self.expected, self.remedy)

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter print: the user's lines up to the package, and the message.

        ``traceback.print_exception`` and ``%debug`` have them all.
        """
        frames = list(traceback.walk_tb(self.__traceback__))
        rooms = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame, _ in frames]
        inside = rooms.index("dpglm") if "dpglm" in rooms else len(rooms)
        own = [
            f"line {one.lineno}{'' if one.name.startswith('<') else f' in {one.name}'}: {one.line}"
            for one, room in zip(traceback.StackSummary.extract(frames[:inside]), rooms, strict=False)
            if room != "IPython"
        ]
        return [*own, type(self).__name__, *str(self).splitlines()]


class NoAttribute(AttributeError):
    """What a result has not; its text says what to use in its place."""

    _render_traceback_ = DpglmError._render_traceback_


def _rebuild(kind: type[DpglmError], found: str, expected: str, remedy: str) -> DpglmError:
    return kind(found, expected=expected, remedy=remedy)


def shown(value: object) -> str:
    """What a message shows of a public value that may be of any size; of a foreign object its type alone.

    Examples
    --------
    >>> shown([18, 95]), shown(10**5000), shown([np.zeros(2)])
    ('[18, 95]', 'a value of type int', '[a value of type ndarray]')
    """
    try:
        return _SHORT.repr(value)
    except Exception:  # Python refuses to write very long integers; foreign objects may refuse too
        return f"a value of type {type(value).__name__}"


class PrivacyError(DpglmError, ValueError):
    """A privacy request that means nothing or cannot be kept."""


class SchemaError(DpglmError, ValueError):
    """A declaration of the data that is missing or contradicts itself."""


class FormulaError(DpglmError, ValueError):
    """A formula that cannot be parsed or is not row by row; ``found`` points at the culprit."""


class MethodError(DpglmError, ValueError):
    """A method that cannot do what is asked, told from public facts only."""


class PlanningAdvice(UserWarning):
    """Advice from public facts alone, before anything is charged or read: what would make a fit tell more.

    Silence it with ``warnings.simplefilter("ignore", dpglm.errors.PlanningAdvice)``.
    """


class LedgerError(DpglmError, RuntimeError):
    """A ledger file that cannot be used or was tampered with."""


class BudgetExceeded(LedgerError):
    """A charge that the ledger's budget does not cover: nothing was read or released."""


class SitesDiffer(UserWarning):
    """Released numbers show that sites have different coefficients where a pool gives them a common one.

    Silence it with ``warnings.simplefilter("ignore", dpglm.errors.SitesDiffer)``.
    """


class AnswerNotKept(UserWarning):
    """A ledger was charged under a key and could not keep the answer: what was given back is all there is."""


class PermitError(DpglmError, RuntimeError):
    """A release that was not planned and paid for; raised before rows are read."""


class ClusterError(DpglmError, RuntimeError):
    """Workers of a cluster that were lost, or could not code or sum their rows."""


class ExchangeError(DpglmError, RuntimeError):
    """A message of a joint fit that cannot be used, or that did not come; the site is named."""


class StoreError(DpglmError, ValueError):
    """A saved result that cannot be read."""
