"""The recipes of the docs: the vantage6 algorithm, run with its library's client for tests or one like it."""

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


def algorithm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The code of the page as a module, with a plan and ledgers where nodes have theirs."""
    found = re.search(r"### vantage6\n.*?```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found is not None
    module: Any = ModuleType("joint_algorithm")
    exec(found[1], module.__dict__)
    module.OWN = folder
    (folder / "plan.json").write_text(plan().specification.to_json())
    for site in TABLES:
        dpglm.Ledger(folder / f"{site}.ledger", budget=(3.0, 1e-3))
    monkeypatch.setitem(sys.modules, "joint_algorithm", module)
    return module


def require_fitted(params: Any, folder: Path) -> None:
    assert list(params) == list(plan().names)
    for site in TABLES:
        assert dpglm.Ledger(folder / f"{site}.ledger").spent.epsilon == 1.0


class Server:
    """Runs a task as soon as it is made, in a new process as far as the code can tell."""

    def __init__(self, module: Any) -> None:
        self.module, self.results, self.task = module, list[str](), self

    def create(self, input_: Any, organizations: list[int]) -> dict[str, int]:
        (place,) = organizations
        rows = list(TABLES.values())[place]
        self.results.append(getattr(self.module, input_["method"])(rows, **input_["kwargs"]))
        return {"id": len(self.results) - 1}

    def wait_for_results(self, task_id: int) -> list[str]:
        return [self.results[task_id]]


ORGANISATIONS = {site: place for place, site in enumerate(TABLES)}


def test_the_vantage6_algorithm_fits_with_a_ledger_at_each_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub: Any = ModuleType(DECORATORS)
    stub.algorithm_client, stub.data = lambda function: function, lambda count: lambda function: function
    for end in range(1, 4):
        name = DECORATORS.rsplit(".", end)[0]
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, DECORATORS, stub)
    module = algorithm(tmp_path, monkeypatch)
    require_fitted(module.central(Server(module), "monday-run", ORGANISATIONS), tmp_path)


def test_the_vantage6_algorithm_runs_in_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("vantage6") is None:
        pytest.skip("vantage6-algorithm-tools is not installed")
    mock: Any = importlib.import_module("vantage6.algorithm.tools.mock_client")
    algorithm(tmp_path, monkeypatch)
    client = mock.MockAlgorithmClient(
        datasets=[[{"database": rows}] for rows in TABLES.values()], module="joint_algorithm"
    )
    words = {"run": "monday-run", "organisations": ORGANISATIONS}
    task = client.task.create(input_={"method": "central", "kwargs": words}, organizations=[0])
    (params,) = client.wait_for_results(task_id=task["id"])
    require_fitted(params, tmp_path)
