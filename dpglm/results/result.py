"""Result: what a fit and a profile have in common, their promise, price, report and file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from dpglm.postprocessing import frames, store
from dpglm.postprocessing.record import LedgerState, Record
from dpglm.privacy.events import MethodDescription
from dpglm.privacy.guarantee import Guarantee
from dpglm.report import page
from dpglm.tables.table import Summarised

if TYPE_CHECKING:
    import pandas as pd

    from dpglm.report.section import Subject

AnyRecord = TypeVar("AnyRecord", bound=Record)
AnyResult = TypeVar("AnyResult", covariant=True)


@dataclass(frozen=True, repr=False)
class Result(Summarised, Generic[AnyRecord]):
    """Released numbers and public facts, and nothing else: all use of it is free, and it holds no data."""

    _record: AnyRecord

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients in formula order, or of the columns described."""
        return self._record.names

    @property
    def description(self) -> MethodDescription:
        """The algorithm and its releases: sensitivity, noise and theorem of each."""
        return self._record.description

    @property
    def privacy(self) -> Guarantee:
        """What was promised: ``privacy.statement()`` says it in one sentence."""
        return self._record.guarantee

    @property
    def private(self) -> bool:
        """Whether the guarantee holds."""
        return self._record.private

    @property
    def spend(self) -> pd.DataFrame:
        """One row per release: release, epsilon, delta, mu and share of the budget."""
        return frames.spend(self._record)

    @property
    def ledger(self) -> LedgerState | None:
        """The ledger right after the charge; None where there was none."""
        return self._record.ledger

    @property
    def plan_fingerprint(self) -> str:
        """What identifies the plan that was charged and run; empty where there was none."""
        return self._record.plan_fingerprint

    @property
    def version(self) -> str:
        """Version of dpglm that made it."""
        return self._record.version

    @abstractmethod
    def _subject(self) -> Subject:
        """What its report is about."""

    def to_html(self, *, choices: Mapping[str, str] | None = None, facts: object = None) -> str:
        """The privacy report: an HTML page below 300 kB without scripts, network or date.

        Parameters
        ----------
        choices : mapping of str to str, optional
            The analyst's answers for "Choices outside the software", by ``bounds``, ``exploration``,
            ``repeats``, ``unit`` or a question of one's own; of a fit also by ``formula``, ``tuning`` and
            ``search``, of a profile by ``columns``. What is not answered is shown as open.
        facts : mapping, path or Ledger, optional
            What the organisation states: ``organisation``, ``purpose``, ``legal_basis``, ``contact``,
            ``recipients``, ``retention``, and a ``signatory`` with ``name``, ``role`` and ``date``. A path is
            that of a YAML file; a ledger stands for the file ``report.yaml``, or ``NAME.report.yaml``, beside
            it. What is absent is shown as "not stated".
        """
        return page.render(self._record, self._subject(), choices=choices, facts=facts)

    def report(
        self, path: str | PathLike[str], *, choices: Mapping[str, str] | None = None, facts: object = None
    ) -> Path:
        """Write :meth:`to_html` to a file, whole or not at all, and return its path."""
        return store.write_atomically(path, self.to_html(choices=choices, facts=facts))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it as versioned JSON, whole or not at all, and return the path.

        :func:`dpglm.load` reads a fit, :meth:`dpglm.Profile.load` a profile.
        """
        return store.save(self._record, path)


@dataclass(frozen=True, repr=False)
class Named(Mapping[str, AnyResult], Summarised):
    """Results by name, in their order, which cannot be changed."""

    _results: Mapping[str, AnyResult]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_results", dict(self._results))

    def __getitem__(self, name: str) -> AnyResult:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)
