"""R-style statistics under differential privacy.

>>> import dpglm
>>> women = dpglm.load_data("fair")
>>> fit = dpglm.fit("affair ~ age + religious", women, penalty="l2", privacy=1.0, seed=1)
>>> fit.names
('Intercept', 'age', 'religious')
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpglm import errors as errors
    from dpglm import maketables as maketables
    from dpglm import methods as methods
    from dpglm import sklearn as sklearn
    from dpglm.api import audit as audit
    from dpglm.api import fit as fit
    from dpglm.api import load as load
    from dpglm.api import plan as plan
    from dpglm.auditing.result import Audit as Audit
    from dpglm.curator.padded_time import padded_time as padded_time
    from dpglm.data.codebooks.draft import SchemaDraft as SchemaDraft
    from dpglm.data.codebooks.verbs import check_schema as check_schema
    from dpglm.data.codebooks.verbs import draft_schema as draft_schema
    from dpglm.data.schema.schema import Schema as Schema
    from dpglm.data.schema.unit import Unit as Unit
    from dpglm.data.schema.variables import Categorical as Categorical
    from dpglm.data.schema.variables import Numeric as Numeric
    from dpglm.data.tables.csv_rows import CsvFile as CsvFile
    from dpglm.data.tables.datasets import load_data as load_data
    from dpglm.data.tables.fingerprint import table_fingerprint as table_fingerprint
    from dpglm.data.tables.sources import declare as declare
    from dpglm.glm import families as families
    from dpglm.glm import penalties as penalties
    from dpglm.ledger.ledger import Ledger as Ledger
    from dpglm.planning.expectation import Expectation as Expectation
    from dpglm.privacy.budget import Privacy as Privacy
    from dpglm.privacy.guarantee import Guarantee as Guarantee
    from dpglm.results.compare import SiteFits as SiteFits
    from dpglm.results.compare import compare as compare
    from dpglm.results.fit_result import FitResult as FitResult
    from dpglm.results.level_fits import LevelFits as LevelFits
    from dpglm.results.profile import Profile as Profile
    from dpglm.results.profile import SiteProfiles as SiteProfiles
    from dpglm.results.ranking import FeatureRanking as FeatureRanking
    from dpglm.spec.describe import describe as describe
    from dpglm.spec.levels import LevelPlan as LevelPlan
    from dpglm.spec.model_spec import ModelSpec as ModelSpec
    from dpglm.spec.plan import Plan as Plan
    from dpglm.spec.pool import pool as pool
    from dpglm.spec.rank import rank_features as rank_features
    from dpglm.spec.tune import tune as tune
    from dpglm.verification.result import Verification as Verification
    from dpglm.verification.verify import verify as verify

__version__ = "0.1.0"

# The public names of each room, which is imported when one is used, so that this import costs little.
_NAMES = {
    "api": "audit fit load plan",
    "auditing.result": "Audit",
    "curator.padded_time": "padded_time",
    "data.codebooks.draft": "SchemaDraft",
    "data.codebooks.verbs": "check_schema draft_schema",
    "data.schema.schema": "Schema",
    "data.schema.unit": "Unit",
    "data.schema.variables": "Categorical Numeric",
    "data.tables.csv_rows": "CsvFile",
    "data.tables.datasets": "load_data",
    "data.tables.fingerprint": "table_fingerprint",
    "data.tables.sources": "declare",
    "errors": "errors",
    "exchange": "exchange",
    "exchange.coordinator": "coordinate",
    "exchange.holder": "answer",
    "glm.families": "families",
    "glm.penalties": "penalties",
    "ledger.ledger": "Ledger",
    "maketables": "maketables",
    "methods": "methods",
    "planning.expectation": "Expectation",
    "privacy.budget": "Privacy",
    "privacy.guarantee": "Guarantee",
    "results.compare": "SiteFits compare",
    "results.fit_result": "FitResult",
    "results.level_fits": "LevelFits",
    "results.profile": "Profile SiteProfiles",
    "results.ranking": "FeatureRanking",
    "sklearn": "sklearn",
    "spec.describe": "describe",
    "spec.levels": "LevelPlan",
    "spec.model_spec": "ModelSpec",
    "spec.plan": "Plan",
    "spec.pool": "pool",
    "spec.rank": "rank_features",
    "spec.tune": "tune",
    "verification.result": "Verification",
    "verification.verify": "verify",
}
_HOMES = {name: f"dpglm.{home}" for home, names in _NAMES.items() for name in names.split()}

_MODULES = {"errors", "exchange", "families", "maketables", "methods", "penalties", "sklearn"}
_FIRST_ROOMS = ("auditing", "data.codebooks", "data.coding", "inference", "ledger", "optim", "planning")
_ROOMS = (*_FIRST_ROOMS, "postprocessing", "report", "report.exports", "results", "spec")
_OPTIONAL = {"maketables", "sklearn"}  # doors to packages that may be absent

__all__ = ["__version__", *sorted(_HOMES.keys() - _OPTIONAL)]  # names of the table above


class _Alias(ModuleType):
    """What ``from dpglm.families import Binomial`` finds; the room itself is imported when a name is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._file(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._file(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._file(), name)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return self._file().__dict__

    def _file(self) -> ModuleType:
        home = self.__name__.removeprefix("dpglm.")
        return importlib.import_module(f"dpglm.{_MOVED.get(home, home)}")


class _Room(ModuleType):
    """A room: ``from dpglm.report import page`` imports that file when it is used; a fit needs few."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or find_spec(f"{self.__name__}.{name}") is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _Alias(f"{self.__name__}.{name}")


_MOVED = {name: f"glm.{name}" for name in ("families", "penalties")}
sys.modules.update({f"dpglm.{name}": _Alias(f"dpglm.{name}") for name in _MOVED})
for _name in _ROOMS:
    importlib.import_module(f"dpglm.{_name}").__class__ = _Room


def __getattr__(name: str) -> Any:
    """A public name, imported at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dpglm' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    attribute = home if name in _MODULES else getattr(home, name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted(__all__)
