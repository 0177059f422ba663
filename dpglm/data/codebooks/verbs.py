"""The verbs of the schema workbench: draft a schema for a formula, and check one."""

from __future__ import annotations

import os
from typing import Any

from dpglm.data.codebooks.check import Finding, against_codebook, against_formula, against_public
from dpglm.data.formula.columns import formula_columns
from dpglm.data.schema.schema import Declarations, Schema
from dpglm.data.tables.sources import open_source


def draft_schema(
    formula: str,
    *,
    columns: Any = None,
    codebook: str | os.PathLike[str] | None = None,
    format: str | None = None,
) -> str:
    """YAML of a schema for the columns of a formula, with words where something is still to declare.

    Parameters
    ----------
    formula : str
        As `dpglm.fit` takes it.
    columns : table or path, optional
        Only its column names are read: columns of the formula that it has not are told.
    codebook : str or PathLike, optional
        What tells bounds, levels, labels and codes for missing values; without it all is to be declared.
    format : str, optional
        Its kind, as `Schema.from_codebook` takes it.

    Returns
    -------
    str
        `Schema.from_yaml` refuses it until all words such as HIGH and LEVELS are replaced.

    Raises
    ------
    SchemaError, FormulaError
        A code book that cannot be read, or wrong syntax.

    Examples
    --------
    >>> import dpglm
    >>> print(dpglm.draft_schema("ill ~ np.log(pay)").splitlines()[-1])
      pay: {bounds: [LOW, HIGH]}  # a number; used in np.log(pay)
    """
    names = None if columns is None else open_source(columns).column_names
    if codebook is None:
        return Schema.template(names, formula=formula)
    return Schema.from_codebook(codebook, format=format).of_formula(formula, columns=names).to_yaml()


def check_schema(
    schema: Declarations,
    *,
    formula: str | None = None,
    codebook: str | os.PathLike[str] | None = None,
    format: str | None = None,
    public: Any = None,
) -> tuple[Finding, ...]:
    """What is wrong with a schema, or good to know: against a formula, a code book, and a public table.

    Parameters
    ----------
    schema : Schema, dict or path
        What is checked; of a formula only the columns that it uses.
    formula : str, optional
        Whether all its columns are declared, and it can be read.
    codebook, format
        As `draft_schema` takes them: levels, bounds and codes for missing values are compared.
    public : table or path, optional
        A *public or synthetic* table of the same form: how many of its cells could not be used, and why. It
        is read openly and its cells are shown. Never give the private table or a sample of it.

    Returns
    -------
    tuple of Finding
        Each with ``column``, ``words`` and ``wrong``: whether there is something to correct.

    Raises
    ------
    SchemaError, FormulaError
        A schema, code book or table that cannot be read, or wrong syntax.

    Examples
    --------
    >>> import dpglm
    >>> for finding in dpglm.check_schema({"ill": ["no", "yes"]}, formula="ill ~ age"):
    ...     print(finding)
    wrong  age: not declared; a number with one slope, or levels
    """
    declared = Schema.of(schema)
    names = [*declared.variables] if formula is None else [use.name for use in formula_columns(formula)]
    found = [] if formula is None else against_formula(declared, formula)
    if codebook is not None:
        found += against_codebook(declared, Schema.from_codebook(codebook, format=format), names)
    if public is not None:
        found += against_public(declared, public, names)
    return tuple(found)
