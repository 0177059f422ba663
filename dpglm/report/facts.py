"""Facts that only people can state: who answers for a report, why the data are used, and for how long.

They come from one file ``report.yaml`` beside the ledger; software knows none of them, and checks none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from dpglm.errors import MethodError, StoreError, shown
from dpglm.report.section import shown as short

NOT_STATED: Final = "not stated"
LONGEST: Final = 1200  # characters of an answer that the page shows
MOST_BYTES: Final = 2**16
FILE: Final = "report.yaml"
SIGNATORY: Final = ("name", "role", "date")
LABELS: Final = {
    "organisation": "Organisation",
    "purpose": "Purpose",
    "legal_basis": "Legal basis",
    "contact": "Contact",
    "recipients": "Recipients",
    "retention": "Retention",
    "name": "Name of the signatory",
    "role": "Role",
    "date": "Date",
}


@dataclass(frozen=True)
class ReportFacts:
    """What an organisation states of a report, each as text on one line; empty where it states nothing.

    Examples
    --------
    >>> facts = ReportFacts.of({"organisation": "Ward 7", "signatory": {"name": "A. Doe"}})
    >>> facts.stated("organisation"), facts.stated("retention")
    ('Ward 7', 'not stated')
    """

    organisation: str = ""
    purpose: str = ""
    legal_basis: str = ""
    contact: str = ""
    recipients: str = ""
    retention: str = ""
    name: str = ""  # of the signatory
    role: str = ""
    date: str = ""

    @classmethod
    def of(cls, given: object) -> Self:
        """Facts from a mapping, from the path of a YAML file, or from the file beside a ledger.

        Raises
        ------
        MethodError
            A key that is not known, or a value that is neither text nor a list of texts.
        StoreError
            A file that cannot be read, or is not YAML.
        """
        beside_of = getattr(given, "path", None)
        if given is None or isinstance(given, cls):
            return cls() if given is None else given
        if isinstance(beside_of, Path):  # a ledger
            found = beside(beside_of)
            given = {} if found is None else found
        if isinstance(given, str | PathLike):
            given = _read(Path(given))
        if not isinstance(given, Mapping):
            raise _error(f"facts of type {type(given).__name__}")
        values = dict(given)
        signatory = values.pop("signatory", None) or {}
        if not isinstance(signatory, Mapping) or set(signatory) - set(SIGNATORY):
            raise _error("a signatory that is not name, role and date")
        known = {field.name for field in fields(cls)} - set(SIGNATORY)
        if strangers := [key for key in values if key not in known]:
            raise _error(f"the fact {shown(strangers[0])}")
        return cls(**{key: _words(key, value) for key, value in {**values, **signatory}.items()})

    def stated(self, name: str) -> str:
        """A fact by name, or ``"not stated"``."""
        return getattr(self, name) or NOT_STATED

    def given(self) -> dict[str, Any]:
        """The facts that are stated, as `of` takes them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        signatory = {name: values.pop(name) for name in SIGNATORY}
        kept: dict[str, Any] = {name: value for name, value in values.items() if value}
        signed = {name: value for name, value in signatory.items() if value}
        return kept | ({"signatory": signed} if signed else {})


def beside(ledger: Path) -> Path | None:
    """The file of facts beside a ledger: ``NAME.report.yaml``, else ``report.yaml``; None without one."""
    for path in (ledger.with_name(f"{ledger.stem}.{FILE}"), ledger.with_name(FILE)):
        if path.is_file():
            return path
    return None


def _read(path: Path) -> object:
    """Plain texts, lists and mappings of a YAML file."""
    import yaml

    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path"
        raise StoreError(
            f"{str(path)!r} cannot be read: {why}",
            expected="a YAML file of facts for the report",
            remedy="Check the path.",
        ) from None
    try:
        if len(content) > MOST_BYTES:
            raise ValueError
        # The base loader makes texts of all scalars: a date stays as it was written.
        found = yaml.load(content, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise StoreError(
            f"{str(path)!r} that is not YAML, or too long",
            expected=f"lines such as 'organisation: Ward 7', at most {MOST_BYTES} bytes",
            remedy="Correct indentation, brackets and quotes.",
        ) from None
    return {} if found in (None, "") else found


def _words(name: str, value: object) -> str:
    """Text on one line; of a list, its texts with semicolons."""
    isoformat = getattr(value, "isoformat", None)
    if name == "date" and callable(isoformat):
        value = isoformat()
    texts = value if isinstance(value, list | tuple) else [value]
    words = [" ".join(text.split()) for text in texts if isinstance(text, str)]
    if len(words) < len(texts):
        raise _error(f"{name} of type {type(value).__name__}")
    return short("; ".join(words), LONGEST)


def _error(found: str) -> MethodError:
    return MethodError(
        f"{found} for a report",
        expected="texts under organisation, purpose, legal_basis, contact, recipients, retention, and a "
        "signatory with name, role and date",
        remedy='Write facts={"organisation": "Ward 7"}, or the same lines into report.yaml.',
    )
