"""The one door to the real tables that tests and studies use.

The tables are public but not ours to hand out: ``data/SOURCES.md`` says where each file comes from. They are
read from the folder named by the environment variable ``DPGLM_DATA``, else from ``shared/data`` beside the
checkout.
The package `dpglm` itself reads no environment variable and knows none of these tables.

>>> from studies.real_tables import available, table
>>> if available("adult"):
...     frame, schema = table("adult").frame(), table("adult").schema()
"""

from __future__ import annotations

import hashlib
import keyword
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpglm

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = Path(__file__).resolve().parent / "schemas"
VARIABLE = "DPGLM_DATA"


class TableError(LookupError):
    """A real table that is not on this machine, or whose file is not the one the figures were made with."""


@dataclass(frozen=True)
class RealFile:
    """A public file that is not ours to hand out.

    Parameters
    ----------
    name : str
        How tests and studies call it.
    file : str
        File name in the data folder.
    sha256 : str
        Hash of the file that the published figures were made with.
    rows : int
        Published number of rows.
    """

    name: str
    file: str
    sha256: str
    rows: int

    @property
    def path(self) -> Path:
        """The file on this machine.

        Raises
        ------
        TableError
            No such file.
        """
        home = folder()
        if home is None or not (home / self.file).is_file():
            raise TableError(absence(self.name))
        return home / self.file

    def check(self) -> Path:
        """`path`, after its hash was compared with `sha256`.

        Raises
        ------
        TableError
            No such file, or another file under its name.
        """
        path = self.path
        found = file_sha256(path)
        if found != self.sha256:
            raise TableError(
                f"real table {self.name!r}: {self.file} is not the file that the figures were made with "
                f"(SHA-256 {found}, expected {self.sha256}): see data/SOURCES.md for how that file is made"
            )
        return path


@dataclass(frozen=True)
class RealTable(RealFile):
    """A table with its public schema: a gzipped CSV file with a header row, missing values empty.

    Parameters
    ----------
    response : str
        Column of the response; the schema makes it binary where the file has more levels.
    left_out : tuple of str
        Columns that `formula` leaves out: identifiers, sites, columns computed from other columns.
    unit : str
        What one row is, in words.
    """

    response: str
    left_out: tuple[str, ...] = ()
    unit: str = "one row"

    @property
    def schema_path(self) -> Path:
        """The YAML file of the public schema; it is there whether the table is or not."""
        return SCHEMAS / f"{self.name}.schema.yaml"

    def schema(self) -> dpglm.Schema:
        """The public schema, with where each bound comes from."""
        return dpglm.Schema.from_yaml(self.schema_path)

    def frame(self) -> pd.DataFrame:
        """The whole table as pandas reads it, in file order."""
        import pandas as pd

        return pd.read_csv(self.path, low_memory=False)

    def formula(self, *, left_out: tuple[str, ...] = ()) -> str:
        """The response on every declared column but `self.left_out` and ``left_out``.

        Names that are no Python names are quoted as patsy wants it: ``Q("education-num")``.
        """
        skip = {self.response, *self.left_out, *left_out}
        terms = [name for name in self.schema().variables if name not in skip]
        return f"{quoted(self.response)} ~ " + " + ".join(quoted(name) for name in terms)


@dataclass(frozen=True)
class RealArrays(RealFile):
    """A matrix and not a table of named columns, in an ``.npz`` archive: pixels, or counts of words."""

    def load(self) -> dict[str, Any]:
        """All arrays of the file by name."""
        import numpy as np

        with np.load(self.path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def folder() -> Path | None:
    """The data folder: ``DPGLM_DATA`` where it is set, else ``shared/data`` beside the checkout."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    beside = ROOT.parent / "shared" / "data"
    return beside if beside.is_dir() else None


def table(name: str) -> RealTable:
    """The table called ``name``, whether its file is here or not.

    Raises
    ------
    KeyError
        No table of that name; the message lists the names.
    """
    if name not in TABLES:
        raise KeyError(f"no real table {name!r}; there are {', '.join(sorted(TABLES))}")
    return TABLES[name]


def arrays(name: str) -> RealArrays:
    """The arrays called ``name``, whether their file is here or not.

    Raises
    ------
    KeyError
        No arrays of that name; the message lists the names.
    """
    if name not in ARRAYS:
        raise KeyError(f"no real arrays {name!r}; there are {', '.join(sorted(ARRAYS))}")
    return ARRAYS[name]


def available(name: str) -> bool:
    """Whether the file of the table or the arrays called ``name`` is on this machine."""
    home = folder()
    real = ARRAYS[name] if name in ARRAYS else table(name)
    return home is not None and (home / real.file).is_file()


def absence(name: str) -> str:
    """Why a test skips: what is missing and how to get it."""
    return f"real table {name!r} not found: set {VARIABLE}, see data/SOURCES.md"


def require(name: str) -> RealTable:
    """The table called ``name``, or a skipped test that says why."""
    if not available(name):
        import pytest

        pytest.skip(absence(name))
    return table(name)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def quoted(name: str) -> str:
    """A column name as a patsy formula takes it."""
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return name if plain else f'Q("{name}")'


TABLES = {
    entry.name: entry
    for entry in (
        RealTable(
            "adult",
            "adult.csv.gz",
            "529e5a18a3be62c4985ec442ee9e92bf820d290832fdb81888e9e3cbb53bb2f3",
            response="income",
            rows=48_842,
            unit="one person",
        ),
        RealTable(
            "kddcup99",
            "kddcup99_10pct.csv.gz",
            "b8d45ccddd11f3110fed65881c2e95673e681874e9430cae680b1b62134aa01b",
            response="label",
            rows=494_021,
            unit="one connection",
        ),
        RealTable(
            "gusto",
            "gusto_16regions.csv.gz",
            "4839a7025598a272b5489804b6110315d4ec19451f916e25fa266b87fd0e3c44",
            response="day30",
            rows=40_830,
            # The three group columns are sites; hig, hyp, hrt and tpa are computed from other columns.
            left_out=("regl", "grpl", "grps", "hig", "hyp", "hrt", "tpa"),
            unit="one patient",
        ),
        RealTable(
            "heart_disease",
            "heart_disease_4sites.csv.gz",
            "047ec45972e4b52b4cd2caf74172b1d6392ac5f6932f36f2935a9b3886c9d5d4",
            response="num",
            rows=920,
            left_out=("site",),
            unit="one patient",
        ),
        RealTable(
            "diabetes130",
            "diabetes130.csv.gz",
            "32d2f00e69be93ae6d475e5206cce56a23bcefcf18711fa68c0ac04d2a046bf8",
            response="readmitted",
            rows=101_766,
            # Some patients have several rows: a fit of all rows protects an encounter, not a patient.
            unit="one hospital encounter",
        ),
        RealTable(
            "pima",
            "pima_diabetes.csv.gz",
            "01b9ff1cbdca675199f76a9713056fefc025769a821c9a0e9e459cd7130e4bfd",
            response="outcome",
            rows=768,
            unit="one woman",
        ),
        RealTable(
            "ipums_br",
            "ipums_br.csv.gz",
            "d7ed1702b71a77b4b0d45e01c62cf035c758901f439e40ff7a720fd5c32baadb",
            response="label",
            rows=38_000,
            # The first column of each full dummy block: a block sums to one in every row.
            left_out=("x01", "x15", "x32", "x36", "x47"),
            unit="one person",
        ),
        RealTable(
            "wdbc",
            "wdbc.csv.gz",
            "2a93e3d3a55ee74afab7047172a832201b5cd56e64aa82362e8eedfb6bbe0709",
            response="diagnosis",
            rows=569,
            unit="one patient",
        ),
        RealTable(
            "waveform",
            "waveform_1v2.csv.gz",
            "d68a9340f12d7e0467b5b666bfe0f25db6f52ba352cd12bcbd84ff29ef5ed2e8",
            response="label",
            rows=3_343,
        ),
        RealTable(
            "sonar",
            "sonar.csv.gz",
            "f022531c067becdcda145509ff3b67da5e26ae90f4f7d7f8d5675d9c80908fbe",
            response="label",
            rows=208,
            unit="one echo",
        ),
        RealTable(
            "soybean",
            "soybean.csv.gz",
            "aa6a665495afcb1a03bcaba084d31f0eedf1d5751d03ae527db48850d5662a94",
            response="class",
            rows=307,
            unit="one plant",
        ),
    )
}

ARRAYS = {
    entry.name: entry
    for entry in (
        RealArrays(
            "mnist_0v8",
            "mnist_0v8.npz",
            "05605cd557fb981609d4bff429abb77bebff025c9a4036b659c494c4bd93f55a",
            rows=13_728,
        ),
        RealArrays(
            "newsgroups_sci_talk",
            "newsgroups_sci_talk.npz",
            "cff7fbeb025682f3ad566ad9f5f2840def535f53261ff529fb7770cb19e83cd6",
            rows=7_202,
        ),
        RealArrays(
            "basehock",
            "basehock.npz",
            "077b0d3b44b5190a50fe3ba17c9871cf61526bc98a8917902af802d7b463d0dd",
            rows=1_993,
        ),
        RealArrays(
            "lung_gordon",
            "lung_gordon.npz",
            "eb4c918be50efd4055f34434b5e2361860ba6a1cd0eb896b6f30b13d8308a3c5",
            rows=181,
        ),
    )
}
