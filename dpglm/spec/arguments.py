"""Arguments of the verbs, checked before anything is read: words and numbers become our objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeGuard, TypeVar, get_args

import numpy as np

from dpglm.curator.padded_time import time_is_padded
from dpglm.data.coding.person_periods import require_one_row
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import FRAMES
from dpglm.errors import MethodError, PrivacyError
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty, penalties
from dpglm.ledger import ledger as ledgers
from dpglm.ledger.arguments import key_of
from dpglm.mechanisms.noise import NoiseSource, OsNoise, SeededNoise
from dpglm.methods.base import Method, methods
from dpglm.methods.objective import Objective
from dpglm.postprocessing.record import Goal
from dpglm.privacy.budget import REMEDY, Privacy
from dpglm.registry import Registry, require_word
from dpglm.spec.defaults import DEFAULT_FAMILY, DEFAULT_GOAL, DEFAULT_METHOD
from dpglm.typing import ROWS_OF

if TYPE_CHECKING:
    from dpglm.ledger.ledger import Ledger
    from dpglm.results.profile import Profile

Piece = TypeVar("Piece")


class Required:
    """Marks the one argument that has no default, so that its absence is told in our words."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED = Required()

LedgerOption: TypeAlias = "Ledger | str | PathLike[str] | Mapping[str, Ledger | str | PathLike[str]] | None"


class RunOptions(TypedDict, total=False):
    """Keyword arguments of a run."""

    ledger: LedgerOption
    key: str | None
    seed: int | None
    progress: bool | None


class LevelOptions(RunOptions, total=False):
    """Keyword arguments of ``dpglm.fit`` beside a family, for its overloads."""

    schema: Schema | Mapping[str, Any] | str | PathLike[str] | None
    penalty: str | Penalty | None
    strength: float | Literal["cv"] | None
    privacy: float | tuple[float, float] | Privacy | Required | None
    goal: Goal
    method: str | Method
    weights: str | None
    profile: Profile | None


class FitOptions(LevelOptions, total=False):
    family: str | Family


def privacy_of(value: object) -> Privacy | None:
    """The budget that was asked for; None for a fit without privacy."""
    if isinstance(value, Required):
        raise PrivacyError("no privacy argument", expected="a privacy budget for this fit", remedy=REMEDY)
    return None if value is None else Privacy.of(value)


def for_unit(privacy: Privacy, schema: Schema, periods: int | None = None) -> Privacy:
    """The budget for the unit that the schema declares, or a PrivacyError where it is for another one.

    ``periods`` are the rows of the fit that each row of the table may become.
    """
    declared = schema.unit_column
    if periods is not None:
        require_one_row(declared)
    words = str(schema.unit or "one row") if declared is None else declared.words
    if declared is None and privacy.unit_rows not in (None, periods):
        raise PrivacyError(
            "unit_rows without a column that tells whose a row is",
            expected="a schema that declares it",
            remedy="Write schema=dpglm.Schema.of(..., unit={'column': 'patient_id'}).",
        )
    if declared is None and any(ROWS_OF in unit for unit in (words, str(privacy.unit))):
        raise PrivacyError(
            "a unit of several rows, in words alone",
            expected="a schema that declares the column which tells whose a row is",
            remedy="Write schema=dpglm.Schema.of(..., unit={'column': 'patient_id'}).",
        )
    known = ("one row", words) if declared is None else ("one row", words, declared.name)
    if declared is not None and privacy.unit not in known:
        raise PrivacyError(
            f"a promise for {privacy.unit}, where the schema declares the unit {declared.column}",
            expected="the unit of the schema",
            remedy="Leave unit= out of the budget, or unit out of the schema.",
        )
    unit = words if declared is not None or privacy.unit == "one row" else privacy.unit
    rows = periods if declared is None or periods is not None else declared.rows
    return replace(privacy, unit=unit, unit_rows=rows)


def noise_of(seed: object) -> NoiseSource:
    """The operating system's noise, or its repeatable twin."""
    if seed is None:
        return OsNoise()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise MethodError(
            f"seed of type {type(seed).__name__}", expected="an integer >= 0", remedy="Use seed=1."
        )
    return SeededNoise(int(seed))


def piece_of(registry: Registry[Piece], kind: Any, value: object, example: str) -> Piece:
    """The registered piece of a name with its default options, or an object of a registered class."""
    if isinstance(value, str):
        return registry[value]()
    if not isinstance(value, kind):
        shown = f"the class {value.__name__}" if isinstance(value, type) else f"type {type(value).__name__}"
        raise MethodError(
            f"{kind.__name__.lower()} of {shown}",
            expected="a name, or an object of the right kind",
            remedy=f"Use {example}.",
        )
    if type(value) not in registry.classes().values():
        raise MethodError(
            f"a {kind.__name__.lower()} of the class {type(value).__name__}, which is not registered",
            expected="a class that a saved specification can name",
            remedy=f"Decorate the class with the registry's register({type(value).__name__.lower()!r}).",
        )
    chosen: Piece = value
    return chosen


def auto(privacy: Privacy | None, family: Family | None = None) -> Method:
    """The method that ``method="auto"`` stands for.

    Without a budget the exact minimiser; with one, second moments for a Gaussian response and a perturbed
    minimiser otherwise. The rule sees public facts only.

    Examples
    --------
    >>> auto(None).name, auto(Privacy(1.0)).name
    ('nonprivate', 'objective')
    """
    if privacy is None:
        return methods["nonprivate"]()
    return methods["moments"]() if family is not None and family.name == "gaussian" else Objective()


def penalty_of(penalty: str | Penalty | None, goal: Goal, method: Method, family: Family) -> Penalty:
    """The penalty that was asked for, or the method's for the goal.

    Examples
    --------
    >>> from dpglm.glm.families import Binomial
    >>> [penalty_of(None, goal, Objective(), Binomial()).name for goal in ("explain", "predict", "select")]
    ['none', 'l1', 'l1/2']
    """
    require_goal(goal)
    asked = method.default_penalty(goal, family) if penalty is None else penalty
    return piece_of(penalties, Penalty, asked, "penalty='none' for none, or penalty='l1'")


def checked_strength(value: object) -> float | Literal["cv"] | None:
    """A number per row, "cv" or None; anything else is refused."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return None
    if isinstance(value, str) and value == "cv":
        return "cv"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Beyond 1e100 per row nothing is left of the data, and sums over rows would overflow.
    if not number or not 0.0 <= value <= 1e100:  # type: ignore[operator]  # a number, as just checked
        shown = repr(value) if isinstance(value, float | str) else f"something of type {type(value).__name__}"
        raise MethodError(
            f"strength={shown}",
            expected="a number from 0 to 1e100, 'cv' (with privacy=None) or None",
            remedy="Leave strength out for a default that does not look at the data.",
        )
    return float(value)  # type: ignore[arg-type]  # a number, as just checked


def ledger_of(ledger: object, key: object = None) -> Ledger | None:
    """A ledger, or the existing one at a path; a key means something beside one only."""
    if key is not None:
        key_of(key)
        if ledger is None:
            raise MethodError(
                "a key without a ledger",
                expected="the ledger that keeps the answer under the key",
                remedy="Use ledger=dpglm.Ledger('ward-7.db'), or leave key out.",
            )
    if ledger is None or isinstance(ledger, ledgers.Ledger):
        return ledger
    if isinstance(ledger, str | PathLike):
        return ledgers.Ledger(ledger)
    raise MethodError(
        f"ledger of type {type(ledger).__name__}",
        expected="a ledger, or the path of one",
        remedy="Use ledger=dpglm.Ledger('ward-7.db', budget=(3.0, 1e-5)).",
    )


def ledgers_of(ledger: object, key: object = None) -> Ledger | dict[str, Ledger] | None:
    """A ledger, or one for each site."""
    if not isinstance(ledger, Mapping):
        return ledger_of(ledger, key)
    opened = {site: ledger_of(each) for site, each in ledger.items()}
    given = {site: each for site, each in opened.items() if each is not None}
    if not given or len(given) < len(opened):
        raise MethodError(
            "ledgers by site, of which one is missing" if given else "ledgers by site, and none of them",
            expected="a ledger, or the path of one, for each site",
            remedy='Write ledger={"north": north_ledger, "south": south_ledger}.',
        )
    return given


def one_ledger(ledger: Ledger | Mapping[str, Ledger] | None) -> Ledger | None:
    """The ledger of one table; several are a MethodError."""
    if isinstance(ledger, Mapping):
        raise MethodError(
            "a ledger for each site, and one table",
            expected="one ledger, or tables by site and a joint method",
            remedy="Use ledger=dpglm.Ledger('ward-7.db').",
        )
    return ledger


@contextmanager
def bar_of(
    progress: bool | None, steps: Sequence[str] | range, *, label: str = ""
) -> Iterator[Callable[[], None]]:
    """A function to call at each public step, by its name, or at each of a range of draws; it moves a bar.

    ``progress=None`` shows the bar in a terminal only, padded time (`dpglm.padded_time`) shows none. Named
    steps have no times, which depend on the data.
    """
    if progress is False or time_is_padded():
        yield lambda: None
        return
    if find_spec("ipywidgets"):
        from tqdm.auto import tqdm
    else:
        from tqdm.std import tqdm  # type: ignore[assignment]  # where tqdm.auto would warn in a notebook

    labels = iter(steps)
    draws: dict[str, Any] = {"unit": "draw", "mininterval": 0.5, "desc": label}
    named: dict[str, Any] = {"bar_format": "{desc}: {n_fmt}/{total_fmt} |{bar}|"}
    look = draws if isinstance(steps, range) else named
    with tqdm(
        total=len(steps), disable=None if progress is None else not progress, leave=False, **look
    ) as bar:

        def step() -> None:
            label = next(labels, None)
            if isinstance(label, str):
                bar.set_description_str(label)
            bar.update(1)

        yield step


def require_goal(value: object) -> None:
    """Refuse what is no goal."""
    expected = f"one of {', '.join(map(repr, get_args(Goal)))}"
    require_word("goal", value, get_args(Goal), f"Choose goal={DEFAULT_GOAL!r}.", expected=expected)


def number_of(
    name: str, value: object, *, expected: str, remedy: str, low: int = 0, high: int = 1, whole: bool = False
) -> float:
    """A number between 0 and 1, or a whole one from ``low`` to ``high``; refused by name otherwise."""
    kinds = int | np.integer if whole else int | float | np.integer | np.floating
    number = isinstance(value, kinds) and not isinstance(value, bool)
    inside = number and (low <= value <= high if whole else low < value < high)  # type: ignore[operator]
    if not inside:
        shown = isinstance(value, int | float | np.integer | np.floating)
        raise MethodError(
            f"{name}={value!r}" if shown else f"{name} of type {type(value).__name__}",
            expected=expected,
            remedy=remedy,
        )
    return float(value)  # type: ignore[arg-type]  # a number, as just checked


def row_count_of(n: object) -> int:
    """A number of rows to expect."""
    expected = "the expected number of rows, a whole number of at least 1"
    return int(number_of("n", n, low=1, high=10**15, whole=True, expected=expected, remedy="Use n=10_000."))


def level_of(level: object) -> float:
    """A coverage of intervals."""
    return number_of("level", level, expected="a number between 0 and 1", remedy="Use level=0.95.")


def rate_of(rate: object) -> float:
    """A share of successes to expect."""
    expected = "the expected share of the response's second level, between 0 and 1"
    return number_of("rate", rate, expected=expected, remedy="Use rate=0.2, or leave it out.")


def refuse_beside_plan(schema: object, *options: object) -> None:
    """A plan says all of these itself."""
    defaults = (DEFAULT_FAMILY, None, None, DEFAULT_GOAL, DEFAULT_METHOD, REQUIRED, None, None)
    given = zip(options, defaults, strict=True)
    # No other kind equals a default, and an array has no truth value.
    if schema is not None or any(type(a) is not type(b) or a != b for a, b in given):
        raise MethodError(
            "a schema, model or budget beside a plan",
            expected="a plan alone, which says all of it",
            remedy="Plan again with these arguments, or leave them out.",
        )


def is_sites(data: object) -> TypeGuard[Mapping[Any, object]]:
    """Whether data are tables by site: a mapping that is not itself a table."""
    return isinstance(data, Mapping) and not any(hasattr(data, name) for name in FRAMES)
