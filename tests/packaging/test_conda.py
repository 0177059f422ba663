"""The conda recipe asks for what pyproject.toml asks for, under the names that conda-forge has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import dpglm
from tests.packaging.declared import PROJECT, PYPROJECT, ROOT, extras, lower, needed
from tests.packaging.test_declared import DEVELOPERS, SUPPORTED

PATH = ROOT / "conda" / "recipe.yaml"
RECIPE: dict[str, Any] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
# Names on conda-forge, where they are not those on the package index.
NAMES = {"matplotlib": "matplotlib-base", "great-tables": "great_tables", "dask": "dask-core"}


def filled(text: str) -> str:
    """``text`` with the values of the recipe's own context."""
    return re.sub(r"\$\{\{ (\w+) \}\}", lambda match: RECIPE["context"].get(match[1], match[0]), text)


def conda(requirements: Iterable[Requirement]) -> set[str]:
    """Requirements as a recipe writes them."""
    return {f"{NAMES.get(asked.name, asked.name)} >={lower(asked)}" for asked in requirements}


def test_what_runs_is_what_the_project_needs() -> None:
    python = f"python {PROJECT['requires-python']}"
    run = [filled(line) for line in RECIPE["requirements"]["run"]]
    assert len(run) == len(set(run))
    assert set(run) == {python} | conda(needed())


def test_extras_of_users_are_constraints() -> None:
    told = RECIPE["requirements"]["run_constraints"]
    assert len(told) == len(set(told))
    wanted = [one for name, more in extras().items() if name not in DEVELOPERS for one in more]
    assert set(told) == conda(wanted)


def test_it_is_built_as_the_project_says() -> None:
    host = [filled(line) for line in RECIPE["requirements"]["host"]]
    asked = conda(map(Requirement, PYPROJECT["build-system"]["requires"]))
    assert set(host) == {f"python {SUPPORTED[0]}.*", "pip"} | asked
    assert RECIPE["build"]["noarch"] == "python"
    scripts = [f"{name} = {target}" for name, target in PROJECT["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == scripts


def test_it_is_about_this_version_of_this_package() -> None:
    assert RECIPE["package"]["name"] == PROJECT["name"]
    assert filled(RECIPE["package"]["version"]) == dpglm.__version__
    about = RECIPE["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert (PATH.parent / RECIPE["source"]["path"] / about["license_file"]).exists()


@pytest.mark.audit
def test_a_builder_of_conda_packages_reads_and_renders_it() -> None:
    builder = pytest.importorskip("rattler_build", reason="no rattler_build: pip install py-rattler-build")
    (rendered,) = builder.Stage0Recipe.from_file(PATH).render()
    recipe = rendered.recipe
    assert (recipe.package.name, recipe.package.version) == ("dpglm", dpglm.__version__)
    text = json.dumps(recipe.to_dict())
    assert [line for line in map(filled, RECIPE["requirements"]["run"]) if line not in text] == []
