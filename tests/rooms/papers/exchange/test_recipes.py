"""The recipes of the docs: the code of the vantage6 page, run with a client that stands for the server's."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dpglm
from tests.rooms.papers.exchange.test_coordinator import TABLES, plan

pytestmark = [pytest.mark.papers]
PAGE = Path(__file__).parents[4] / "docs" / "holders.md"
DECORATORS = "vantage6.algorithm.tools.decorators"


def code() -> str:
    found = re.search(r"### vantage6\n.*?```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found is not None
    return found[1]


class Server:
    """Runs a task at an organisation as soon as it is made, in a new process as far as the code can tell."""

    def __init__(self, scope: dict[str, Any], folder: Path) -> None:
        self.scope, self.folder, self.results, self.task = scope, folder, list[str](), self

    def create(self, input_: Any, organizations: list[int]) -> dict[str, int]:
        (place,) = organizations
        self.scope["OWN"] = self.folder / str(place)
        rows = list(TABLES.values())[place]
        self.results.append(self.scope[input_["method"]](rows, **input_["kwargs"]))
        return {"id": len(self.results) - 1}

    def wait_for_results(self, task_id: int) -> list[str]:
        return [self.results[task_id]]


def test_the_vantage6_algorithm_fits_with_a_ledger_at_each_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub: Any = ModuleType(DECORATORS)
    stub.algorithm_client, stub.data = lambda function: function, lambda count: lambda function: function
    for end in range(1, 4):
        name = DECORATORS.rsplit(".", end)[0]
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, DECORATORS, stub)
    scope: dict[str, Any] = {}
    exec(code(), scope)
    for place in range(len(TABLES)):
        own = tmp_path / str(place)
        own.mkdir()
        (own / "plan.json").write_text(plan().specification.to_json())
        dpglm.Ledger(own / "site.ledger", budget=(3.0, 1e-3))
    scope["OWN"] = tmp_path / "0"
    organisations = {site: place for place, site in enumerate(TABLES)}
    params = scope["central"](Server(scope, tmp_path), "monday-run", organisations)
    assert list(params) == list(plan().names)
    for place in range(len(TABLES)):
        assert dpglm.Ledger(tmp_path / str(place) / "site.ledger").spent.epsilon == 1.0


def test_the_vantage6_algorithm_is_imported_with_its_library() -> None:
    if importlib.util.find_spec("vantage6") is None:
        pytest.skip("vantage6-algorithm-tools is not installed")
    scope: dict[str, Any] = {}
    exec(code(), scope)
    assert callable(scope["central"])
    assert callable(scope["reply"])
