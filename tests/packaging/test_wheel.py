"""The wheel holds the package as it is in git, and works where there is no checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.declared import PROJECT, ROOT

BUILD = "from setuptools import build_meta as backend; print(backend.build_{kind}({folder!r}))"
# Run where only the wheel is: every shipped table, every block of the README, a page of each kind of result.
AWAY = """
import importlib.metadata, pathlib, re, sys
import pandas as pd
import dpglm
from dpglm.cli import main

home = pathlib.Path(dpglm.__file__)
assert home.is_relative_to(sys.argv[1]), home
assert importlib.metadata.version("dpglm") == dpglm.__version__
(command,) = {point.value for point in importlib.metadata.entry_points(group="console_scripts", name="dpglm")}
assert command == "dpglm.cli:main"

for name in ("fair", "randhie", "simulated", "cohort"):
    assert set(dpglm.Schema.of(dpglm.load_data(name).attrs["dpglm.schema"]).to_dict()), name

ages, wards = [20 + place % 70 for place in range(300)], ["A", "B", "C"] * 100
table = pd.DataFrame({"readmitted": ["no", "yes", "no"] * 100, "age": ages, "ward": wards})
table.to_csv("patients.csv", index=False)
readme = importlib.metadata.metadata("dpglm").get_payload()
blocks, scope = re.findall(r"```python\\n(.*?)```", readme, re.DOTALL), {}
assert len(blocks) >= 6
for block in blocks:
    exec(block, scope)

scope["profile"].report("sample.html")
for page in ("fair.html", "ward-7.html", "sample.html"):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    assert "<style" in text, page
    assert dpglm.verify(page).passed, page
assert "<table" in scope["fit"].summary().to_html()
main(["--help"])
"""


def tracked(*paths: str) -> list[str]:
    """Files of the checkout that git knows; the test skips where there is none."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git checkout to compare with")
    asked = ["git", "-C", str(ROOT), "ls-files", "--", *paths]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(name for name in listed if name and (ROOT / name).exists())


def built(kind: str, source: Path) -> Path:
    """A wheel or a source distribution of ``source``, made by the backend that is installed here."""
    code = BUILD.format(kind=kind, folder=str(source / "dist"))
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return source / "dist" / done.stdout.split("\n")[-2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the source distribution of the checkout: nothing of either is written to the checkout."""
    copy = tmp_path_factory.mktemp("source")
    for name in tracked("dpglm", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "tests/packaging"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    archive = built("sdist", copy)
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as file:
        file.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    assert not (source / "tests").exists(), "tests need the checkout"
    return built("wheel", source)


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    inside = sorted(name for name in names if ".dist-info/" not in name)
    (compiled,) = set(inside) - set(tracked("dpglm")) or ("",)  # where there is a compiler
    assert [name for name in inside if name != compiled] == tracked("dpglm")
    assert not compiled or re.fullmatch(r"dpglm/_row_loops\.abi3\.\w+", compiled)
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_wheel_tells_the_extras_and_the_oldest_python(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode("utf-8").partition("\n\n")[0].split("\n")
    assert f"Requires-Python: {PROJECT['requires-python']}" in lines
    told = {line.removeprefix("Provides-Extra: ") for line in lines if line.startswith("Provides-Extra: ")}
    assert told == PROJECT["optional-dependencies"].keys()


@pytest.mark.papers
@pytest.mark.slow
def test_the_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    away = tmp_path / "away"
    away.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", AWAY, str(site)],
        cwd=away,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Usage:" in done.stdout
