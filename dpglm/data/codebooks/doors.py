"""The readers of code books as constructors of a schema."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpglm.data.codebooks import csv_dictionary, ddi, files, pandera, redcap, stat_files, table_schema
from dpglm.data.codebooks.draft import SchemaDraft
from dpglm.errors import SchemaError, shown

if TYPE_CHECKING:
    from dpglm.data.codebooks.files import Book
    from dpglm.data.schema.schema import Schema

PathLike = str | os.PathLike[str]
# Kinds of code books by how their files end.
_ENDS = {
    **dict.fromkeys((".sav", ".zsav", ".por"), "spss"),
    ".dta": "stata",
    **dict.fromkeys((".sas7bdat", ".xpt"), "sas"),
    ".xml": "ddi",
    ".json": "table-schema",
    **dict.fromkeys((".yaml", ".yml"), "pandera"),
}


class CodeBooks:
    """What `Schema` has of code books: each of these gives a `SchemaDraft`.

    A code book is public, and no table is read. Codes for missing values become neither bounds nor levels. A
    range that was read off the data is marked ``looked_at_data``.
    """

    @classmethod
    def from_dict(cls, declarations: Mapping[str, Any]) -> Schema:
        """A schema from plain values."""
        raise NotImplementedError

    @classmethod
    def from_codebook(cls, path: PathLike, *, format: str | None = None) -> SchemaDraft:
        """A draft from a file whose kind its ending tells, and of a CSV file its headings.

        Parameters
        ----------
        path : str or PathLike
        format : str, optional
            ``"redcap"``, ``"csv"``, ``"ddi"``, ``"table-schema"``, ``"pandera"``, ``"spss"``, ``"stata"`` or
            ``"sas"``.

        Raises
        ------
        SchemaError
            Another kind, or not a file of that kind.
        """
        readers: dict[str, Callable[[PathLike], SchemaDraft]] = {
            "redcap": cls.from_redcap,
            "csv": cls.from_csv_dictionary,
            "ddi": cls.from_ddi,
            "table-schema": cls.from_table_schema,
            "pandera": cls.from_pandera,
            "spss": cls.from_spss,
            "stata": cls.from_stata,
            "sas": cls.from_sas,
        }
        kind = format
        if kind is None:
            kind = _ENDS.get(files.existing(path, "a code book").suffix.lower())
        if kind is None:
            header, _ = files.records(files.opened(path, "a code book").text, "a code book")
            kind = "redcap" if redcap.is_header(header) else "csv"
        if kind not in readers:
            raise SchemaError(
                f"format={shown(kind)}", expected=f"one of {', '.join(readers)}", remedy="Leave it out."
            )
        return readers[kind](path)

    @classmethod
    def from_redcap(cls, path: Book) -> SchemaDraft:
        """A draft from a REDCap data dictionary, for a table that is exported with raw values.

        Parameters
        ----------
        path : str, PathLike or open file
            The CSV file that a project or the API gives.

        Raises
        ------
        SchemaError
            Not such a file.

        Notes
        -----
        A checkbox is a column ``field___code`` for each choice. Identifiers, notes, files, e-mail addresses,
        telephone numbers and postal codes are left out. Computed fields, and texts without validation, are to
        be declared.

        Examples
        --------
        >>> import io, dpglm
        >>> dictionary = io.StringIO(
        ...     "field_name,form_name,field_type,field_label,select_choices_or_calculations,"
        ...     "text_validation_type_or_show_slider_number,text_validation_min,text_validation_max\\n"
        ...     "id,visit,text,Record,,,,\\n"
        ...     "age,visit,text,Age (years),,integer,18,95\\n"
        ...     'job,visit,radio,Occupation,"1, Office | 2, Care | 99, Unknown",,,\\n'
        ... )
        >>> schema = dpglm.Schema.from_redcap(dictionary).schema
        >>> schema.variables["age"].high, schema.variables["age"].measured_in
        (95.0, 'years')
        >>> schema.variables["job"].labels, schema.variables["job"].missing_codes
        (('1', '2'), (99,))
        """
        told, text = redcap.read(path)
        return SchemaDraft.of(told, cls.from_dict, remarks=text.remarks)

    @classmethod
    def from_spss(cls, path: PathLike) -> SchemaDraft:
        """A draft from the labels and missing values of an SPSS file, ``.sav``, ``.zsav`` or ``.por``.

        Its rows are not read. SPSS knows no bounds: those of numbers are to be declared. Needs the extra
        ``dpglm[codebooks]``.
        """
        return cls._from_stat_file(path, "SPSS")

    @classmethod
    def from_stata(cls, path: PathLike) -> SchemaDraft:
        """A draft from the labels of a Stata file, ``.dta``; as `from_spss`."""
        return cls._from_stat_file(path, "Stata")

    @classmethod
    def from_sas(cls, path: PathLike, *, catalog: PathLike | None = None) -> SchemaDraft:
        """A draft from the labels of a SAS file, ``.sas7bdat`` or ``.xpt``; as `from_spss`.

        Parameters
        ----------
        path : str or PathLike
        catalog : str or PathLike, optional
            The file ``.sas7bcat`` of value labels.
        """
        return cls._from_stat_file(path, "SAS", catalog)

    @classmethod
    def _from_stat_file(cls, path: PathLike, program: str, catalog: PathLike | None = None) -> SchemaDraft:
        told, title = stat_files.read(path, program, catalog)
        return SchemaDraft.of(told, cls.from_dict, title=title)

    @classmethod
    def from_ddi(cls, path: Book) -> SchemaDraft:
        """A draft from a DDI Codebook 2.x, the XML of data archives.

        A range that only sums of statistics tell, or that is equal to them, was read off the data. Entities
        are refused, and nothing that the file points to is opened.

        Examples
        --------
        >>> import io, dpglm
        >>> book = io.StringIO(
        ...     '<codeBook><dataDscr><var name="pay" intrvl="contin"><labl>Pay (EUR)</labl>'
        ...     '<sumStat type="min">0</sumStat><sumStat type="max">8100</sumStat></var>'
        ...     "</dataDscr></codeBook>"
        ... )
        >>> pay = dpglm.Schema.from_ddi(book).schema.variables["pay"]
        >>> pay.high, pay.label, pay.looked_at_data
        (8100.0, 'Pay', True)
        """
        told, title, remarks = ddi.read(path)
        return SchemaDraft.of(told, cls.from_dict, title=title, remarks=remarks)

    @classmethod
    def from_table_schema(cls, path: Book | Mapping[str, Any]) -> SchemaDraft:
        """A draft from a Table Schema of Frictionless Data, JSON or a dict, or a package of one resource.

        Examples
        --------
        >>> import dpglm
        >>> fields = [{"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 95}}]
        >>> book = {"fields": fields, "missingValues": ["-9"]}
        >>> age = dpglm.Schema.from_table_schema(book).schema.variables["age"]
        >>> age.high, age.missing_codes
        (95.0, (-9,))
        """
        told, title, remarks = table_schema.read(path)
        return SchemaDraft.of(told, cls.from_dict, title=title, remarks=remarks)

    @classmethod
    def from_pandera(cls, schema: Book | Any) -> SchemaDraft:
        """A draft from a pandera schema: an object, or the YAML that ``to_yaml()`` writes.

        Ranges come from the checks ``ge``, ``le`` and ``in_range``, levels from ``isin``. A schema that
        pandera inferred from the private table was read off the data: set ``looked_at_data: true``.

        Examples
        --------
        >>> import io, dpglm
        >>> text = "columns: {age: {dtype: int64, checks: {in_range: {min_value: 18, max_value: 95}}}}"
        >>> dpglm.Schema.from_pandera(io.StringIO(text)).schema.variables["age"].low
        18.0
        """
        told, title, remarks = pandera.read(schema)
        return SchemaDraft.of(told, cls.from_dict, title=title, remarks=remarks)

    @classmethod
    def from_csv_dictionary(cls, path: Book, *, columns: Mapping[str, str] | None = None) -> SchemaDraft:
        """A draft from a dictionary as CSV: a line for each variable, or one for each of its values.

        Parameters
        ----------
        path : str, PathLike or open file
            Separated by commas, semicolons, tabs or bars.
        columns : mapping of str to str, optional
            Headings, where they are not the usual ones: of ``variable``, ``label``, ``type``, ``values``
            ("1 = no; 2 = yes"), ``value`` and ``meaning`` (one value a line), ``range``, ``min``, ``max``,
            ``seen``, ``seen_min`` and ``seen_max`` (observed ranges), ``missing``, ``unit``, ``identifier``
            and ``note``.

        Raises
        ------
        SchemaError
            Not such a file, or no heading for the names of variables.

        Examples
        --------
        >>> import io, dpglm
        >>> text = "Name;Codes;Lowest;Highest\\nsex;1 = male, 2 = female;;\\nage;;18;95\\n"
        >>> named = {"variable": "Name", "values": "Codes", "min": "Lowest", "max": "Highest"}
        >>> draft = dpglm.Schema.from_csv_dictionary(io.StringIO(text), columns=named)
        >>> dict(draft.schema.variables["sex"].level_labels), draft.schema.variables["age"].high
        ({'1': 'male', '2': 'female'}, 95.0)
        """
        told, text = csv_dictionary.read(path, columns)
        return SchemaDraft.of(told, cls.from_dict, remarks=text.remarks)
