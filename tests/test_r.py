"""The R package in r/: its own tests pass, where there is R with reticulate and testthat."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpglm

PACKAGE = Path(__file__).parent.parent / "r"
NEEDED = ("generics", "reticulate", "testthat")


def rscript(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["Rscript", "--vanilla", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=600
    )


def absence() -> str | None:
    if shutil.which("Rscript") is None:
        return "R is not installed"
    missing = [name for name in NEEDED if rscript("-e", f"library({name})").returncode]
    if missing:
        return f"R has no {', '.join(missing)}"
    started = "stopifnot(reticulate::py_available(initialize = TRUE))"
    if rscript("-e", started, RETICULATE_PYTHON=sys.executable).returncode:
        return "this reticulate cannot start this Python"  # 1.28 of Debian 12 knows none from 3.12 on
    return None


def test_the_version_is_that_of_python() -> None:
    description = (PACKAGE / "DESCRIPTION").read_text(encoding="utf-8")
    assert re.search(r"^Version: (.*)$", description, re.M)[1] == dpglm.__version__  # type: ignore[index]


def test_what_is_exported_is_documented_and_there() -> None:
    namespace = (PACKAGE / "NAMESPACE").read_text(encoding="utf-8")
    exported = set(", ".join(re.findall(r"^export\((.*)\)$", namespace, re.M)).split(", "))
    pages = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "man").glob("*.Rd"))
    code = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "R").glob("*.R"))
    assert exported == {name for name in exported if f"\\alias{{{name}}}" in pages}
    assert {name for name in exported if f"{name} <- function" in code} == exported - {"glance", "tidy"}


@pytest.mark.slow
def test_its_own_tests_pass(tmp_path: Path) -> None:
    if reason := absence():
        pytest.skip(reason)
    install = ["R", "CMD", "INSTALL", f"--library={tmp_path}", str(PACKAGE)]
    subprocess.run(install, capture_output=True, check=True, timeout=600)
    folder = str(PACKAGE / "tests" / "testthat")
    script = f"testthat::test_dir({folder!r}, package = 'dpglm', reporter = 'summary')"
    found = rscript("-e", f"library(dpglm); {script}", R_LIBS=str(tmp_path), RETICULATE_PYTHON=sys.executable)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "skip" not in found.stdout.lower(), found.stdout
