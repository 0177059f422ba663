"""Checks of a schema: against a formula, a code book, and a public or synthetic table; never private rows."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpglm.data.codebooks.decided import DraftColumn
from dpglm.data.codebooks.draft import SchemaDraft
from dpglm.data.codebooks.told import number_in
from dpglm.data.formula.columns import formula_columns
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.schema.text import is_it
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.data.tables.cells import Blank, Cell, label_of
from dpglm.data.tables.columns import cells_of_column
from dpglm.data.tables.sources import open_source
from dpglm.errors import FormulaError, SchemaError

_MOST_SHOWN: Final = 4
_GROUPED: Final = re.compile(r"\s*[+-]?[0-9]{1,3}(?:([,.' _])[0-9]{3})+(?:[.,][0-9]+)?\s*")
_COMMA: Final = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")
_DATE: Final = re.compile(r"\s*(?:[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4})(?:[T ][0-9:.]+.*)?\s*")
_MISREAD: Final = re.compile(r"\ufffd|Ã.|â€|Â.")


@dataclass(frozen=True)
class Finding:
    """One thing that a check found.

    Parameters
    ----------
    column : str
        Empty where it is about the whole.
    words : str
        What was found and what to do.
    wrong : bool
        Whether something is to be corrected; otherwise it is good to know.
    """

    column: str
    words: str
    wrong: bool = True

    def __str__(self) -> str:
        return (
            f"{'wrong' if self.wrong else 'note '}  {self.column + ': ' if self.column else ''}{self.words}"
        )


def against_formula(schema: Schema, formula: str) -> list[Finding]:
    """Whether the formula can be read by the schema; its columns that are not declared come first.

    Examples
    --------
    >>> for found in against_formula(Schema.of({"ill": ["no", "yes"]}), "ill ~ age"):
    ...     print(found)
    wrong  age: not declared; a number with one slope, or levels
    """
    uses = formula_columns(formula)
    found = [
        Finding(use.name, f"not declared; {use.words}") for use in uses if use.name not in schema.variables
    ]
    if not found:
        try:
            parse(formula, schema)
        except (FormulaError, SchemaError) as error:
            found.append(Finding("", f"the formula cannot be read:\n{error}"))
    for use in uses:
        variable = schema.variables.get(use.name)
        if use.parts or use.is_time or not isinstance(variable, Categorical):
            continue
        if len(variable.levels) != 2 and not variable.ordered:
            words = f"the response has {len(variable.levels)} levels; a binomial fit takes two"
            found.append(Finding(use.name, words))
    return found


def against_codebook(schema: Schema, draft: SchemaDraft, names: Iterable[str]) -> list[Finding]:
    """How declarations of columns differ from what a code book tells."""
    told = {column.name: column for column in draft.columns}
    found: list[Finding] = []
    for name in names:
        if name not in schema.variables:
            continue
        if name not in told:
            hint = is_it(name, list(told))
            found.append(Finding(name, f"the code book does not tell it{hint}", wrong=bool(hint)))
        else:
            differences = _differences(schema.variables[name], told[name])
            found += [Finding(name, words, wrong) for words, wrong in differences]
    return found


def _differences(variable: Variable, column: DraftColumn) -> Iterator[tuple[str, bool]]:
    entry = column.entry
    if column.left_out:
        yield f"the code book leaves it out: {column.left_out}", True
    if entry.get("looked_at_data") and not variable.looked_at_data:
        yield "the code book's range was read off the data: declare looked_at_data: true", True
    codes = {label_of(code): code for code in entry.get("missing_codes", [])}
    known = set(map(label_of, variable.missing_codes))
    if isinstance(variable, Numeric):
        inside = [text for text, code in codes.items() if text not in known and number_in(code) is not None]
        if inside:
            yield f"codes for a missing value that missing_codes does not list: {_shown(inside)}", True
        if isinstance(entry.get("levels"), list):
            yield f"declared with bounds; the code book lists {len(entry['levels'])} levels", False
        ends = entry.get("bounds", [])
        for end, mine, side in zip(ends, (variable.low, variable.high), ("lower", "upper"), strict=False):
            if isinstance(end, int | float) and end != mine and not variable.date and not entry.get("date"):
                yield f"the {side} bound is {mine:.10g}, in the code book {end:.10g}", False
        return
    coded = [label for label in variable.labels if label in codes]
    if coded:
        yield f"levels that stand for a missing value in the code book: {_shown(coded)}", True
    if isinstance(entry.get("bounds"), list):
        yield "declared with levels; the code book has a range", False
    if isinstance(entry.get("levels"), list):
        if entry.get("ordered") and not variable.ordered:
            yield "ordinal in the code book: declare ordered: true for an ordered response", False
        theirs = [label_of(level) for level in entry["levels"]]
        words = set(entry.get("level_labels", {}).values())
        unknown = [label for label in variable.labels if label not in {*theirs, *codes}]
        if unknown and words.issuperset(unknown):
            yield "declared by labels of the code book: right for a table that is exported with labels", False
            return
        read = variable.reading.codes([*theirs], missing=0, other=-1)
        strangers = [text for text, code in zip(theirs, read, strict=True) if code < 0]
        if strangers:
            yield f"the code book also has the levels {_shown(strangers)}: rows with them are not used", True
        if unknown:
            yield f"levels that the code book does not have: {_matched(unknown, theirs)}", True


def against_public(schema: Schema, data: object, names: Iterable[str]) -> list[Finding]:
    """How many cells of a public or synthetic table would not be used, by column, and why.

    The table is read openly and its cells are shown: it must never be the private one.

    Examples
    --------
    >>> import pandas as pd
    >>> public = pd.DataFrame({"age": ["30", "1,234", "x"], "sex": ["F", "m", "M"]})
    >>> for found in against_public(Schema.of({"age": (0, 5000), "sex": ["F", "M"]}), public, ["age", "sex"]):
    ...     print(found)
    wrong  age: 2 of 3 cells cannot be used
    wrong  age: 1 with thousands separators ('1,234'): declare thousands: ","
    wrong  age: 1 no numbers ('x')
    wrong  sex: 1 of 3 cells cannot be used
    wrong  sex: 1 of an undeclared level ('m', is it M?): declare ignore_case: true, aliases, or the level
    """
    source = open_source(data)
    wanted = [name for name in dict.fromkeys(names) if name in schema.variables]
    present = [name for name in wanted if name in source.column_names]
    found = []
    for name in wanted:
        if name not in present:
            found.append(Finding(name, f"no such column in the file{is_it(name, source.column_names)}"))
    counts: dict[str, Counter[Cell]] = {name: Counter() for name in present}
    for chunk in source.chunks(present, numeric=schema.plain_numbers(present)) if present else ():
        for name in present:
            cells, index = cells_of_column(chunk[name])
            times = np.bincount(index, minlength=len(cells)).tolist()
            counts[name].update({cell: count for cell, count in zip(cells, times, strict=True) if count})
    for name in present:
        unusable = _unusable(schema.variables[name], counts[name])
        found += [Finding(name, words, wrong) for words, wrong in unusable]
    return found


def _unusable(variable: Variable, counts: Counter[Cell]) -> Iterator[tuple[str, bool]]:
    """What becomes of cells, in words."""
    cells = list(counts)
    values: Any = variable.clean([None if isinstance(cell, Blank) else cell for cell in cells])
    lost = np.isnan(values) if isinstance(variable, Numeric) else values < 0
    groups: dict[tuple[str, str, bool], list[Cell]] = {}
    for cell, out in zip(cells, lost.tolist(), strict=True):
        if out:
            groups.setdefault(_why(variable, cell), []).append(cell)
    total, unused = counts.total(), sum(counts[cell] for group in groups.values() for cell in group)
    wrong = any(key[2] for key in groups)
    if unused:
        yield f"{unused} of {total} cells cannot be used", wrong
    for (words, remedy, bad), group in groups.items():
        number = sum(counts[cell] for cell in group)
        ranked = sorted(group, key=lambda cell: -counts[cell])
        texts = [cell for cell in ranked if isinstance(cell, str | int | float)]
        samples = f" ({_samples(variable, texts)})" if texts and bad else ""
        yield f"{number} {words}{samples}" + (f": {remedy}" if remedy else ""), bad
    if isinstance(variable, Numeric):
        numbers = np.asarray(variable.reading.numbers(cells))
        outside = (~lost) & ((numbers < variable.low) | (numbers > variable.high))
        number = sum(counts[cell] for cell, out in zip(cells, outside.tolist(), strict=True) if out)
        if number:
            ends = f"{variable.low:.10g} to {variable.high:.10g}"
            worst = f"{np.nanmin(numbers[outside]):.10g} to {np.nanmax(numbers[outside]):.10g}"
            yield f"{number} of {total} lie outside {ends} and become the bound ({worst})", False


def _why(variable: Variable, cell: Cell) -> tuple[str, str, bool]:
    """Why a cell is not used, what to declare, and whether something is wrong."""
    if cell is Blank.MISSING:
        return "without a value", "", False
    if not isinstance(cell, str):
        if isinstance(variable, Numeric) and isinstance(cell, int | float):
            return "codes for a missing value, or infinite", "", False
        return "of another kind", "" if isinstance(variable, Numeric) else "declare the level", True
    if not cell.strip():
        return "of blanks", "", False
    if cell in map(label_of, variable.missing_codes):
        return "codes for a missing value", "", False
    if _MISREAD.search(cell):
        return "with letters in another encoding", "name it: --encoding latin-1", True
    if isinstance(variable, Categorical):
        return "of an undeclared level", "declare ignore_case: true, aliases, or the level", True
    if variable.date is not None:
        return "no dates as declared", "declare their form: date: {format: ...}", True
    if number_in(cell) is not None and variable.reading.plain:
        return "codes for a missing value", "", False
    if grouped := _GROUPED.fullmatch(cell):
        return "with thousands separators", f'declare thousands: "{grouped[1]}"', True
    if _COMMA.fullmatch(cell):
        return "with a decimal comma", 'declare decimal: ",", or --decimal comma for the file', True
    if _DATE.fullmatch(cell):
        return "dates", "declare date: {origin: ..., format: ...}", True
    return "no numbers", "", True


def _samples(variable: Variable, cells: Sequence[Any]) -> str:
    if isinstance(variable, Numeric):
        return _shown([f"{str(cell)[:30]!r}" for cell in cells])
    return _matched([str(cell)[:30] for cell in cells], variable.labels)


def _matched(texts: Sequence[str], levels: Sequence[str]) -> str:
    """Texts, each with the level that is spelt alike."""
    by_form = {level.strip().casefold(): level for level in levels}
    words = []
    for text in texts[:_MOST_SHOWN]:
        near = (*difflib.get_close_matches(text, levels, n=1), "")
        close = by_form.get(text.strip().casefold()) or near[0]
        words.append(f"{text!r}, is it {close}?" if close else repr(text))
    return _shown(words, len(texts))


def _shown(texts: Sequence[str], total: int | None = None) -> str:
    rest = (len(texts) if total is None else total) - _MOST_SHOWN
    return ", ".join(texts[:_MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
