"""Keyed fingerprint of a table: by it the owner of the data notices two ledgers for one table.

It is no release and has no place in a result: whoever holds the key can test guesses of whole tables with it.
"""

from __future__ import annotations

import hmac
import json
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dpglm.data.schema.schema import require_columns
from dpglm.data.tables.cells import Blank, Cell, numbers_of_cells
from dpglm.data.tables.columns import cells_of_column
from dpglm.data.tables.instants import Instant
from dpglm.data.tables.sources import open_source
from dpglm.errors import SchemaError
from dpglm.typing import SHORTEST_KEY

_MODULUS: Final = 2**256
_LONGEST_KEY: Final = 2**16


def table_fingerprint(
    data: object, *, key: bytes | str | os.PathLike[str], columns: Sequence[str] | None = None
) -> str:
    """A hash of a table under a secret key, 64 hexadecimal digits, for ``Ledger(path, table=...)``.

    It depends on the cells of each row and on the names of the columns, and neither on the order of rows and
    columns nor on the kind of file. Cells are read as a fit reads them: ``1``, ``1.0`` and ``"1"`` are one
    number, in double precision. One changed cell gives another fingerprint.

    It is no release: **keep the key away from analysts**. Whoever holds it can test guesses of the table;
    without it the fingerprint tells nothing. No result or report holds it.

    Parameters
    ----------
    data : DataFrame, Arrow table, path to CSV or Parquet, dataset or query
        Private rows, as for `dpglm.fit`: in one file or in many the fingerprint is the same.
    key : bytes or path
        At least 32 random bytes, or the file that holds them; ``dpglm ledger table-key table.key`` makes one.
    columns : sequence of str, optional
        What counts; by default all columns.

    Raises
    ------
    SchemaError
        The table cannot be opened or lacks a column, or the key is too short or cannot be read.

    Notes
    -----
    The rows' HMAC-SHA256 are added modulo 2^256; the sum is hashed again under the key, with the names of the
    columns and the number of rows (a keyed multiset hash).

    References
    ----------
    Clarke et al. (2003), "Incremental multiset hash functions and their application to memory integrity
    checking", ASIACRYPT.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": [30, 40], "ill": ["no", "yes"]})
    >>> key = bytes(range(32))  # of a real key: secrets.token_bytes(32)
    >>> table_fingerprint(rows, key=key) == table_fingerprint(rows[::-1], key=key)
    True
    """
    secret = _secret(key)
    source = open_source(data)
    listed = isinstance(columns, list | tuple) and columns and all(isinstance(name, str) for name in columns)
    if columns is not None and not listed:
        raise SchemaError(
            "columns that are not a list of text",
            expected="names of columns of the table",
            remedy='Write columns=["age", "sex"], or leave it out.',
        )
    names = tuple(sorted(source.column_names if columns is None else set(columns)))
    require_columns(names, source.column_names)
    row_key = hmac.digest(secret, b"dpglm-table/1 row", "sha256")
    count = total = 0
    for chunk in source.chunks(names):
        cells = [_encoded(*cells_of_column(chunk[name])) for name in names]
        for row in zip(*cells, strict=True):
            total += int.from_bytes(hmac.digest(row_key, b"".join(row), "sha256"), "big")
        total %= _MODULUS
        count += len(chunk)
    content = json.dumps(["dpglm-table/1", names, count, total]).encode()
    return hmac.digest(secret, content, "sha256").hex()


def _encoded(cells: list[Cell], index: np.ndarray) -> list[bytes]:
    """The cell of each row as bytes, of which none is the beginning of another."""
    numbers = numbers_of_cells(cells)
    texts = np.empty(len(cells), dtype=object)
    for place, (cell, number) in enumerate(zip(cells, (numbers + 0.0).tolist(), strict=True)):
        if number == number:
            texts[place] = b"n" + struct.pack(">d", number)
        elif isinstance(cell, str | Instant):
            spelled = (cell if isinstance(cell, str) else cell.text).encode("utf-8", "surrogatepass")
            texts[place] = b"t" + struct.pack(">Q", len(spelled)) + spelled
        else:
            texts[place] = b"u" if cell is Blank.UNREADABLE else b"m"
    encoded: list[bytes] = texts[index].tolist()
    return encoded


def _secret(key: object) -> bytes:
    """The bytes of a key; an error says nothing of them."""
    found = f"a key of type {type(key).__name__}"
    if isinstance(key, str | os.PathLike):
        try:
            with open(Path(key), "rb") as file:
                key = file.read(_LONGEST_KEY)
            found = "a file of a key"
        except (OSError, ValueError):
            key, found = None, "a file of a key that cannot be read"
    if isinstance(key, bytes) and len(key) >= SHORTEST_KEY:
        return key
    raise SchemaError(
        f"{found}, or one that is too short",
        expected=f"at least {SHORTEST_KEY} random bytes, or the path of a file that holds them",
        remedy="Make one by `dpglm ledger table-key table.key`, and keep it away from analysts.",
    )
