"""Schema: what the statistician declares about a table, which is public and all that is known of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from dpglm.data.codebooks.doors import CodeBooks
from dpglm.data.codebooks.draft import SchemaDraft
from dpglm.data.formula.columns import formula_columns
from dpglm.data.schema import text as schema_text
from dpglm.data.schema.overview import schema_table
from dpglm.data.schema.unit import Unit
from dpglm.data.schema.variables import Categorical, Numeric, Variable, variable_from_dict, within
from dpglm.errors import SchemaError, shown
from dpglm.tables.table import Summarised, Table, one_line

if TYPE_CHECKING:
    from dpglm.data.tables.source import Chunk

Sites = Literal["overlapping", "disjoint"]
Moments = Literal["expected", "known"]
Declarations: TypeAlias = "Schema | Mapping[str, Any] | str | os.PathLike[str]"

_SETTINGS: Final = ("title", "unit", "rows", "sites", "moments")
_MOST_ROWS: Final = 10**15  # exact as a double, and so is what is computed from it


@dataclass(frozen=True, repr=False)
class Schema(CodeBooks, Summarised):
    """Public declaration of a table: bounds or levels of each column, and what a row is.

    Parameters
    ----------
    variables : mapping of str to Numeric or Categorical
        Declaration of each column, by name.
    rows : int, optional
        Public, approximate number of rows; of persons where a ``unit`` tells them, unless rows weigh the
        same. A fit uses it to decide whether to release the information matrix beside a penalty that selects,
        and for strengths. With ``relation="add-remove"`` a strength per row needs it.
    unit : str, dpglm.Unit or dict, optional
        What one row is: ``"one woman"``. The guarantee protects one of them. Where a person may have several
        rows, the column that tells whose a row is: ``{"column": "patient_id", "rows": 3}``, see `dpglm.Unit`.
    title : str
        What the table is.
    sites : {"overlapping", "disjoint"}
        Whether a person may have rows at several sites, where a fit is given one table per site.
        ``"disjoint"`` declares that everybody is at one site only. Then fits at all sites together cost the
        budget once, otherwise once per site. Declare it from how the data came about, never from the data.
    moments : {"expected", "known"}
        What ``mean`` and ``sd`` of numbers are. ``"expected"`` ones serve plans. ``"known"`` ones, from a
        profile (`dpglm.describe`) or a publication, are the scales of a fit, which then measures none.

    Raises
    ------
    SchemaError
        If a name is not text, an entry is not a declaration, ``rows`` is not an integer from 1 to 10**15, or
        ``sites`` or ``moments`` is neither word.

    Examples
    --------
    >>> schema = Schema.of({"age": (18, 95), "sex": ["F", "M"]})
    >>> schema.variables["age"].high, schema.variables["sex"].labels
    (95.0, ('F', 'M'))
    """

    variables: Mapping[str, Variable]
    rows: int | None = field(default=None, kw_only=True)
    unit: str | Unit | None = field(default=None, kw_only=True)
    title: str = field(default="", kw_only=True)
    sites: Sites = field(default="overlapping", kw_only=True)
    moments: Moments = field(default="expected", kw_only=True)

    def __post_init__(self) -> None:
        _require_mapping(self.variables)
        for name, variable in self.variables.items():
            if not isinstance(name, str) or not name:
                raise SchemaError(
                    f"a column named {shown(name)}",
                    expected="column names that are text",
                    remedy=f'Put the name in quotes: "{name}", and rename the column in the table likewise.',
                )
            if not isinstance(variable, Numeric | Categorical):
                raise SchemaError(
                    f"{name}: {shown(variable)}",
                    expected="dpglm.Numeric(low, high) or dpglm.Categorical(levels)",
                    remedy=f"Use dpglm.Schema.of({{{name!r}: ...}}) for the short forms.",
                )
        integer = isinstance(self.rows, int | np.integer) and not isinstance(self.rows, bool)
        if self.rows is not None and not (integer and 1 <= self.rows <= _MOST_ROWS):
            raise SchemaError(
                f"rows: {shown(self.rows)}",
                expected="a public, approximate number of rows, an integer from 1 to 10**15",
                remedy="Write rows: 5000, or leave it out.",
            )
        declared: object = self.unit
        if isinstance(declared, Mapping):
            object.__setattr__(self, "unit", Unit.of(declared))
        for setting, kinds in (("unit", (str, Unit, type(None))), ("title", (str,))):
            value = getattr(self, setting)
            if not isinstance(value, kinds):
                raise SchemaError(
                    f"{setting}: {shown(value)}",
                    expected="text",
                    remedy=f"Put it in quotes, or leave {setting} out.",
                )
        if not isinstance(self.sites, str) or self.sites not in get_args(Sites):
            raise SchemaError(
                f"sites: {shown(self.sites)}",
                expected="overlapping, or disjoint where everybody is at one site only",
                remedy="Write sites: disjoint, or leave it out: a person may then be at several sites.",
            )
        if not isinstance(self.moments, str) or self.moments not in get_args(Moments):
            raise SchemaError(
                f"moments: {shown(self.moments)}",
                expected="expected, or known where means and standard deviations were published",
                remedy="Leave moments out: a fit then measures them.",
            )
        object.__setattr__(self, "variables", MappingProxyType(dict(self.variables)))
        if self.rows is not None:
            object.__setattr__(self, "rows", int(self.rows))
        if self.unit == "":
            object.__setattr__(self, "unit", None)

    def __reduce__(self) -> tuple[object, ...]:
        return Schema.from_dict, (self.to_dict(),)

    def __hash__(self) -> int:
        return hash((tuple(self.variables), self.rows, self.unit, self.title, self.sites, self.moments))

    @classmethod
    def of(
        cls,
        value: Declarations,
        *,
        rows: int | None = None,
        unit: str | Unit | Mapping[str, Any] | None = None,
        title: str | None = None,
        sites: Sites | None = None,
    ) -> Schema:
        """A schema from a schema, a dict in short or full form, or a path to YAML.

        ``rows`` (a public number of rows), ``unit`` (what one row is, "one patient"), ``title`` and ``sites``
        ("disjoint": everybody is at one site only) replace what the declaration says of the whole table.

        In the short form a tuple of two numbers gives bounds, a list levels, a dict the full form of one
        column: ``{"age": (18, 95), "sex": ["F", "M"], "bmi": {"bounds": [15, 60], "missing": 25}}``.

        Raises
        ------
        SchemaError
            If the declaration contradicts itself.
        """
        given: dict[str, Any] = {"rows": rows, "unit": unit, "title": title, "sites": sites}
        if isinstance(value, str | os.PathLike):
            value = cls.from_yaml(value)
        elif isinstance(value, Mapping):
            value = cls.from_dict(value)
        if isinstance(value, Schema):
            return replace(value, **{key: item for key, item in given.items() if item is not None})
        raise SchemaError(
            f"schema of type {type(value).__name__}",
            expected="a dpglm.Schema, a dict, or a path to YAML",
            remedy="Write schema=draft.schema for a draft."
            if isinstance(value, SchemaDraft)
            else 'Write schema={"age": (18, 95), "sex": ["F", "M"]}.',
        )

    @classmethod
    def from_dict(cls, declarations: Mapping[str, Any]) -> Schema:
        """A schema from a dict: columns in short form, or ``{"variables": {...}, "unit": ..., ...}``."""
        return cls._of_declarations(declarations, from_file=False)

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Schema:
        """A schema from a YAML file of at most 1 MiB, in short or full form.

        YAML has no tuples, so ``age: [18, 95]`` is refused: it could be bounds or levels.
        """
        return cls._of_declarations(schema_text.read_yaml(path), from_file=True)

    @classmethod
    def _of_declarations(cls, declarations: Any, *, from_file: bool) -> Schema:
        _require_mapping(declarations)
        full = isinstance(declarations.get("variables"), Mapping)
        if not (full and set(declarations) <= {"variables", *_SETTINGS}):
            declarations = {"variables": declarations}
        settings = {key: declarations[key] for key in _SETTINGS if declarations.get(key) is not None}
        columns = [(text_of_name(name), entry) for name, entry in declarations["variables"].items()]
        if len({name for name, _ in columns}) < len(columns):
            raise SchemaError(
                "a column that is declared as a number and as a text",
                expected="one declaration of each column",
                remedy="Remove one of them.",
            )
        return cls({name: _variable(name, entry, from_file) for name, entry in columns}, **settings)

    @classmethod
    def from_smartnoise(cls, metadata: Mapping[str, Any] | str | os.PathLike[str]) -> Schema:
        """A schema from SmartNoise's metadata of exactly one table (a dict or a path to their YAML).

        Columns of text are left out, since those metadata do not list levels.
        """
        plain = schema_text.read_yaml(metadata) if isinstance(metadata, str | os.PathLike) else metadata
        return cls.from_dict(schema_text.from_smartnoise(plain))

    @staticmethod
    def template(columns: Iterable[str] | None = None, *, formula: str | None = None) -> str:
        """YAML to fill in, made of names only: of all ``columns``, or of those that a ``formula`` uses.

        With a formula each line says what the column would be used for, and which of its columns are not
        among ``columns``.

        Examples
        --------
        >>> print(Schema.template(["age"]))
        # A number has bounds, a category levels: take them from the code book, never from the data.
        unit: null  # what one row is: one woman
        variables:
          age: {bounds: [LOW, HIGH]}  # or {levels: [A, B]}
        <BLANKLINE>
        """
        uses = None if formula is None else {use.name: use for use in formula_columns(formula)}
        return schema_text.template(columns, uses)

    def to_dict(self) -> dict[str, Any]:
        """Full form made of plain JSON values; :meth:`from_dict` gives the same schema back."""
        defaults = {setting.name: setting.default for setting in fields(self)}
        settings = {key: value for key in _SETTINGS if (value := getattr(self, key)) != defaults[key]}
        if isinstance(self.unit, Unit):
            settings["unit"] = self.unit.to_dict()
        return {**settings, "variables": {name: var.to_dict() for name, var in self.variables.items()}}

    def to_yaml(self, path: str | os.PathLike[str] | None = None) -> str:
        """YAML of the schema, also written to ``path`` if given."""
        return schema_text.saved(schema_text.to_yaml(self.to_dict()), path)

    def summary(self) -> Table:
        """What is declared of each column, as a table; of many columns the first sixty."""
        return schema_table(self)

    def __repr__(self) -> str:
        return one_line(f"<Schema {self.title!r}: {len(self.variables)} columns>")

    @property
    def unit_column(self) -> Unit | None:
        """The unit where a column tells whose each row is."""
        return self.unit if isinstance(self.unit, Unit) else None

    def require(self, names: Iterable[str]) -> None:
        """Check that columns are declared; the error holds the lines to add to the schema."""
        undeclared = [name for name in dict.fromkeys(names) if name not in self.variables]
        if undeclared:
            raise SchemaError(
                f"no declaration of {', '.join(undeclared)} in the schema",
                expected="public bounds or levels of every column that is used",
                remedy="Add under variables:\n" + schema_text.template_lines(undeclared).rstrip("\n"),
            )

    def plain_numbers(self, names: Iterable[str]) -> set[str]:
        """Which of these columns are numbers that texts spell as in program code."""
        declared = {name: self.variables[name] for name in names}
        return {name for name, one in declared.items() if isinstance(one, Numeric) and one.reading.plain}

    def clean(self, frame: Chunk, names: Sequence[str], rows: Any = None) -> dict[str, NDArray[Any]]:
        """Columns ``names`` as their declarations read them: float64 numbers or int32 codes, shape (k,).

        NaN or -1 marks a row that cannot be used; ``rows`` are the places of those wanted, None of all.

        Raises
        ------
        SchemaError
            If a column is not declared or not there; never because of a value.
        """
        return within(self.variables, self.read(frame, names, rows))

    def read(self, frame: Chunk, names: Sequence[str], rows: Any = None) -> dict[str, NDArray[Any]]:
        """What `within` makes what `clean` gives of: numbers as they are, and codes. All that asks pandas."""
        self.require(names)
        require_columns(names, frame.columns)
        read = {name: self.variables[name].read(frame[name]) for name in names}
        return read if rows is None else {name: read[name][rows] for name in names}


def text_of_name(name: object) -> Any:
    """The name of a column; the columns 0, 1, ... of a table without names are called "0", "1", ..."""
    whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
    return str(int(name)) if whole and abs(int(name)) < 2**63 else name  # type: ignore[call-overload]


def require_columns(names: Iterable[str], present: Collection[str]) -> None:
    """Check that a table has columns; the error names no others, as a first row may stand for a header."""
    known = set(present)
    absent = [name for name in dict.fromkeys(names) if name not in known]
    if absent:
        raise SchemaError(
            f"no column {', '.join(absent)} in the data",
            expected=f"every declared column that is used; the table has {len(present)}",
            remedy="Check the spelling; case matters. A CSV file without commas is a dpglm.CsvFile.",
        )


def _require_mapping(declarations: object) -> None:
    if not isinstance(declarations, Mapping):
        raise SchemaError(
            f"declarations of type {type(declarations).__name__}, not columns by name",
            expected="one entry per column, such as age: {bounds: [18, 95]}",
            remedy='Write dpglm.Schema.of({"age": (18, 95), "sex": ["F", "M"]}), '
            "or start a file from dpglm.Schema.template(columns).",
        )


def _ambiguous(entry: list[Any], from_file: bool) -> bool:
    """Whether a list may be meant as bounds. In Python two numbers of a two-level code book are levels."""
    if from_file:
        return len(entry) == 2 and not any(isinstance(value, str | bool) for value in entry)
    numbers = [v for v in entry if isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e12]
    return len(entry) == len(numbers) == 2 and tuple(sorted(numbers)) not in {(0, 1), (1, 2), (-1, 1)}


def _variable(name: object, entry: object, from_file: bool) -> Variable:
    """The declaration of one column in any form; errors name the column."""
    try:
        if isinstance(entry, Numeric | Categorical):
            return entry
        if isinstance(entry, Mapping):
            return variable_from_dict(entry)
        if isinstance(entry, tuple):
            return variable_from_dict({"bounds": entry})
        if isinstance(entry, list):
            if _ambiguous(entry, from_file):
                raise SchemaError(
                    f"{shown(entry)}, which could be two bounds or two levels",
                    expected="bounds or levels by name",
                    remedy=f'Write {{"bounds": {shown(entry)}}} or {{"levels": {shown(entry)}}}.',
                )
            return Categorical(tuple(entry))
    except SchemaError as error:
        raise SchemaError(f"{name}: {error.found}", expected=error.expected, remedy=error.remedy) from None
    raise SchemaError(
        f"{name}: {shown(entry)}",
        expected="bounds (LOW, HIGH), levels [A, B], or a dict with bounds or levels",
        remedy=f"Write {name}: {{bounds: [LOW, HIGH]}} or {name}: {{levels: [A, B]}}.",
    )
