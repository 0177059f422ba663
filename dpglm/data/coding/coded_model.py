"""A formula read against a schema, with its coding, its encoder of rows and its response: public, no data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design, Response
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.formula.model import Model
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema, require_columns
from dpglm.data.tables.sources import open_source
from dpglm.glm.families import Family
from dpglm.typing import FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class CodedModel:
    """What follows from a formula, a schema and a family.

    Parameters
    ----------
    schema : Schema
    model : Model
        The formula, read against the schema.
    coding : Coding
        The public map between the user's coefficients and those of bounded rows.
    encoder : RowEncoder
        Rows of columns to coded rows.
    response : Response
    family : Family
        With the bound that the schema declares for counts.

    Examples
    --------
    >>> from dpglm.glm.families import families
    >>> schema = Schema.of({"y": ["no", "yes"], "x": (0, 9)})
    >>> CodedModel.of("y ~ x", schema, families["binomial"]()).coding.names
    ('Intercept', 'x')
    """

    schema: Schema
    model: Model
    coding: Coding
    encoder: RowEncoder
    response: Response
    family: Family

    @classmethod
    def of(
        cls,
        formula: str,
        schema: Schema,
        family: Family,
        *,
        coding: Literal["centred", "reference"] = "centred",
    ) -> Self:
        """The model of tables with this schema.

        Raises
        ------
        FormulaError, SchemaError
            From public facts alone.
        """
        model = parse(formula, schema)
        columns = Coding.of(model, kind=coding)
        # Without an intercept nothing gives back the shift of a centred response.
        centred = not columns.penalised.all()
        response = Response.of(schema, model.response, family.response_kind, centred=centred)
        return cls(
            schema, model, columns, RowEncoder(model, columns), response, family.with_bound(response.high)
        )

    def design(self, data: object) -> Design:
        """The rows of a table as chunks; none is read yet, only the names of the columns.

        Raises
        ------
        SchemaError
            The table cannot be opened or lacks a column.
        """
        return Design(open_source(data), self.schema, self.encoder, self.response)

    def coded(self, frame: object) -> tuple[FloatMatrix, FloatVector]:
        """Coded rows, shape (k, p), NaN in rows that cannot be predicted; and offsets, shape (k,)."""
        source = open_source(frame)
        columns = self.encoder.columns
        require_columns(columns, source.column_names)
        if not columns:  # an intercept alone: a row needs no value, only to be there
            chunks = source.chunks(source.column_names[:1])
            return self.encoder.coded_chunks({"": np.empty(len(chunk))} for chunk in chunks)
        return self.encoder.coded_chunks(
            self.schema.clean(chunk, columns) for chunk in source.chunks(columns)
        )
