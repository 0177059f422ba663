"""The verb verify: read a report or a saved result and compute its numbers again."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from dpglm import __version__
from dpglm.errors import DpglmError, StoreError
from dpglm.ledger.ledger import Ledger
from dpglm.postprocessing import store
from dpglm.postprocessing.profile import ProfileRecord
from dpglm.postprocessing.ranking import RankingRecord
from dpglm.postprocessing.record import FitRecord, Record
from dpglm.results.fit_result import FitResult
from dpglm.results.level_fits import LevelFits
from dpglm.results.profile import Profile
from dpglm.results.ranking import FeatureRanking
from dpglm.results.result import Result
from dpglm.verification.checks import joint_check, record_checks
from dpglm.verification.pages import Difference, Embedded, differences
from dpglm.verification.result import Check, Verification

RESULTS: Final[dict[type[Record], type[Result[Any]]]] = {
    FitRecord: FitResult,
    ProfileRecord: Profile,
    RankingRecord: FeatureRanking,
}


def verify(
    path: str | PathLike[str],
    *,
    result: str | PathLike[str] | None = None,
    ledger: str | PathLike[str] | Ledger | None = None,
) -> Verification:
    """Compute the numbers of a report, or of a saved result, again from what it holds.

    The plan is made again from the saved specification: epsilon, delta and mu, the noise of each release and
    its price. Coefficients follow from the released numbers. A report is written anew and compared with the
    page, character by character: words, tables, figures and markup. No row is read, and it costs no privacy.

    Parameters
    ----------
    path : str or path
        A report (HTML), or what ``save`` wrote: JSON, or a folder of equations, which are checked one by one
        and for what they promise together.
    result : str or path, optional
        The saved result of a report that does not hold it: one that is NOT PRIVATE, or too long.
    ledger : Ledger or path, optional
        The ledger that was charged: checked too, and that it holds this charge.

    Returns
    -------
    Verification
        With ``passed``, ``checks``, ``differences``, ``summary()`` and ``tidy()``.

    Raises
    ------
    StoreError
        A file that cannot be read, that is neither, or a report without its saved result.
    LedgerError
        The ledger cannot be read, or was tampered with.

    Examples
    --------
    >>> import dpglm, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "fit.html"
    >>> women = dpglm.load_data("fair")
    >>> fit = dpglm.fit("affair ~ age + religious", women, privacy=(1.0, 1e-6), progress=False)
    >>> dpglm.verify(fit.report(path)).passed
    True
    >>> changed = path.read_text(encoding="utf-8").replace("ε = 1", "ε = 0.1")
    >>> _ = path.write_text(changed, encoding="utf-8")
    >>> dpglm.verify(path).passed
    False
    >>> folder.cleanup()
    """
    opened = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    if store.is_folder(path):
        return _equations(Path(path), opened)
    text = store.read_text(path)
    if text.lstrip("\ufeff \r\n\t").startswith("{"):
        return _saved(text, opened)
    if "<html" not in text[:2000]:
        raise StoreError(
            "a file that is neither a report nor a saved result",
            expected="HTML as report() writes it, or JSON as save() writes it",
            remedy="Check the path.",
        )
    return _page(text, None if result is None else store.read_text(result), opened)


def _saved(text: str, ledger: Ledger | None) -> Verification:
    """A saved result by itself."""
    record, checks = _read(text, store.digest_in(text))
    if record is None:
        return Verification("saved result", store.version_in(text), __version__, "-", tuple(checks))
    checks += record_checks(record, ledger)
    return _told("saved result", record, checks)


def _equations(folder: Path, ledger: Ledger | None) -> Verification:
    """The equations of a multinomial fit, and what they promise together."""
    found = {file: _saved(store.read_text(file), ledger) for file in sorted(folder.glob("*.json"))}
    checks = [
        replace(check, what=f"{file.stem}: {check.what}")
        for file, one in found.items()
        for check in one.checks
    ]
    if all(one.passed for one in found.values()):
        fits = LevelFits.of_folder(folder, lambda file: FitResult(store.read(file)))
        checks.append(joint_check({level: fit._record for level, fit in fits.items()}))
    prints = ", ".join(one.fingerprint for one in found.values())
    return replace(
        next(iter(found.values())), kind="multinomial fit", fingerprint=prints, checks=tuple(checks)
    )


def _page(page: str, given: str | None, ledger: Ledger | None) -> Verification:
    """A report: its saved result, and the page that follows from it."""
    embedded = Embedded.of(page)
    text = embedded.result or given
    if text is None:
        raise StoreError(
            "a report that does not hold its saved result",
            expected="a report of a private result that is not too long, or the saved result itself",
            remedy="Use dpglm.verify('report.html', result='fit.json').",
        )
    record, checks = _read(text, embedded.printed)
    if record is None:
        return Verification("report", embedded.version or "?", __version__, "-", tuple(checks))
    checks += record_checks(record, ledger)
    try:
        stated = embedded.stated
        expected = RESULTS[type(record)](record).to_html(
            choices=stated.get("choices", {}), facts=stated.get("facts", {})
        )
    except DpglmError as error:
        checks.append(Check("page", "DIFFERS", f"it cannot be written anew: {error.found}"))
        return _told("report", record, checks)
    found = differences(page, expected)
    checks.append(_compared(found, record.version == __version__))
    return _told("report", record, checks, found)


def _read(text: str, noted: str | None) -> tuple[Record | None, list[Check]]:
    """The record in a text, and whether it is the one whose SHA-256 was noted beside it."""
    try:
        record = store.any_from_json(text)
    except StoreError as error:
        if store.version_in(text) != __version__:
            raise
        return None, [Check("saved result", "DIFFERS", error.found)]
    found = store.fingerprint(record)
    if noted is None:
        return record, [Check("SHA-256", "not checked", "the file notes none")]
    if noted != found:
        return record, [Check("SHA-256", "DIFFERS", "the saved result is not the one whose SHA-256 is noted")]
    return record, [Check("SHA-256", "agrees", "the saved result is the one whose SHA-256 is noted")]


def _compared(found: list[Difference], same_version: bool) -> Check:
    """The verdict on a page."""
    if not found:
        return Check("page", "agrees", "every word, number and figure follows from the saved result")
    digits = all(part.digits for part in found)
    if digits and not same_version:
        return Check("page", "agrees", f"but for last digits in {len(found)} places, as by another version")
    words = f"places that do not follow from the saved result: {len(found)}"
    if digits:
        words += "; all by one in their last digit, as another processor may compute them"
    return Check("page", "DIFFERS", words)


def _told(
    kind: str, record: Record, checks: list[Check], found: list[Difference] | None = None
) -> Verification:
    return Verification(
        kind,
        record.version,
        __version__,
        store.fingerprint(record),
        tuple(checks),
        tuple(found or ()),
        record.alarm,
    )
