"""Drafts: what of a schema a code book gives, and what is still to declare, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dpglm.data.codebooks.decided import DraftColumn, comment, decided
from dpglm.data.codebooks.told import Told
from dpglm.data.formula.columns import ColumnUse, formula_columns
from dpglm.data.schema.overview import draft_table
from dpglm.data.schema.text import flow, is_it, key_of, saved

if TYPE_CHECKING:
    from dpglm.data.schema.schema import Schema

_MOST_SHOWN: Final = 40


@dataclass(frozen=True, repr=False)
class SchemaDraft:
    """A schema for what a code book tells, and the reason for all that it does not.

    Parameters
    ----------
    schema : Schema
        The columns of which the code book tells bounds or levels; fits and plans take it.
    columns : tuple of DraftColumn
        All columns of the code book in its order, each with what is known, still to declare, or left out.
    remarks : tuple of str
        What is to be said of the code book as a whole.

    Examples
    --------
    >>> import io, dpglm
    >>> dictionary = io.StringIO(
    ...     "variable,label,values,min,max\\n"
    ...     "ill,Ill,0=no;1=yes;9=unknown,,\\n"
    ...     "age,Age (years),,18,999\\n"
    ... )
    >>> draft = dpglm.Schema.from_csv_dictionary(dictionary)
    >>> draft.schema.variables["ill"].labels, draft.schema.variables["ill"].missing_codes
    (('0', '1'), (9,))
    >>> print(draft.to_declare["age"])
    the range ends in 999, which looks like a code for a missing value: declare the largest real value, and
    the code under missing_codes
    """

    schema: Schema
    columns: tuple[DraftColumn, ...]
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        told: Iterable[Told],
        make: Callable[[Mapping[str, Any]], Schema],
        *,
        title: str = "",
        remarks: Iterable[str] = (),
    ) -> SchemaDraft:
        """The draft of what a code book tells of its columns; ``make`` is `Schema.from_dict`."""
        columns: dict[str, DraftColumn] = {}
        twice: list[str] = []
        for one in told:
            if one.name in columns:
                twice.append(one.name)
            else:
                columns[one.name] = decided(one)
        entries = {name: column.entry for name, column in columns.items() if column.complete}
        more = [f"{', '.join(twice[:8])}: told more than once, the first is taken"] if twice else []
        schema = make({"variables": entries, **({"title": title} if title else {})})
        return cls(schema, tuple(columns.values()), (*remarks, *more))

    @property
    def to_declare(self) -> dict[str, str]:
        """What is still to declare, by column."""
        return {one.name: one.reason for one in self.columns if one.reason}

    @property
    def left_out(self) -> dict[str, str]:
        """Why a column is never a predictor, by column: identifiers, free text, files."""
        return {one.name: one.left_out for one in self.columns if one.left_out}

    @property
    def notes(self) -> dict[str, tuple[str, ...]]:
        """What else a reader should know, by column."""
        return {one.name: one.notes for one in self.columns if one.notes}

    def of_formula(self, formula: str, *, columns: Iterable[str] | None = None) -> SchemaDraft:
        """The draft of the columns that a formula uses, and of no others.

        Parameters
        ----------
        formula : str
            As `dpglm.fit` takes it.
        columns : iterable of str, optional
            Names of the table's columns: those of the formula that are not among them are told.

        Raises
        ------
        FormulaError
            Wrong syntax.
        """
        known = {one.name: one for one in self.columns}
        names = None if columns is None else list(columns)
        chosen = []
        for use in formula_columns(formula):
            column = known.get(use.name) or DraftColumn(
                use.name, {}, kind=use.kind, reason="the code book does not tell this column"
            )
            chosen.append(_used(column, use, names, list(known)))
        variables = {one.name: self.schema.variables[one.name] for one in chosen if one.complete}
        return replace(self, schema=replace(self.schema, variables=variables), columns=tuple(chosen))

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """YAML of the draft; what is still to declare stands as words in place of bounds or levels.

        Comments say the reasons. `Schema.from_yaml` refuses the text until all of these words are replaced.
        It is also written to ``path`` if given.
        """
        open_columns = sum(bool(one.reason) for one in self.columns)
        head = [f"# {comment(remark)}" for remark in self.remarks]
        if open_columns:
            words = "this column is" if open_columns == 1 else f"{open_columns} columns are"
            head.append(f"# To declare: {words} not complete, and no schema loads before they are.")
        if self.schema.title:
            head.append(f"title: {flow(self.schema.title)}")
        head.append(
            "unit: null  # what one row is: one woman; or {column: patient_id} where it has several rows"
        )
        lines = [line for one in self.columns for line in one.lines(key_of(one.name))]
        return saved("\n".join([*head, "variables:" if lines else "variables: {}", *lines]) + "\n", path)

    def _repr_html_(self) -> str:
        return draft_table(self).to_html()

    def __repr__(self) -> str:
        complete = sum(one.complete for one in self.columns)
        return f"<SchemaDraft: {complete} of {len(self.columns)} columns are declared>"

    def __str__(self) -> str:
        complete = [one.name for one in self.columns if one.complete]
        lines = [f"Draft of a schema: {len(complete)} of {len(self.columns)} columns are declared."]
        lines += self.remarks
        notes = {name: "; ".join(words) for name, words in self.notes.items()}
        parts = {"Still to declare": self.to_declare, "Left out": self.left_out, "To know": notes}
        for heading, facts in parts.items():
            lines += [f"{heading}:"] if facts else []
            lines += [f"  {name}: {why}" for name, why in list(facts.items())[:_MOST_SHOWN]]
            lines += [f"  and {len(facts) - _MOST_SHOWN} more"] if len(facts) > _MOST_SHOWN else []
        return "\n".join(lines)


def _used(column: DraftColumn, use: ColumnUse, names: list[str] | None, known: list[str]) -> DraftColumn:
    """A column with what the formula uses it for; one that is left out is refused there."""
    from difflib import get_close_matches

    notes = [f"{'' if use.parts else 'left of ~: '}{use.words}"]
    if names is not None and use.name not in names:
        notes.append(f"the table has no such column{is_it(use.name, names)}")
    if column.left_out:
        return replace(column, refused=True, notes=(*notes, *column.notes))
    if not column.entry:
        close = get_close_matches(use.name, known, n=1)
        notes += [f"the code book has {close[0]}"] if close else []
    declared = "levels" if "levels" in column.entry else "number" if "bounds" in column.entry else "either"
    if "either" not in (declared, use.kind) and declared != use.kind and use.parts:
        notes.append(f"the formula takes it for {'a number' if use.kind == 'number' else 'levels'}")
    return replace(column, notes=(*notes, *column.notes))
