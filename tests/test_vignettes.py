"""The README and the vignettes run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import dpglm
from vignettes import demo

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_demo_prints_both_summaries_and_writes_both_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "REPORTS", tmp_path / "reports")
    demo.main()
    printed = capsys.readouterr().out
    for name in ("fair", "randhie"):
        assert f"wrote the privacy report to reports/{name}.html" in printed
        page = (tmp_path / "reports" / f"{name}.html").read_text(encoding="utf-8")
        assert "Privacy report" in page
        assert "NOT PRIVATE" not in page
    assert printed.count("selected") >= 2


def test_every_python_block_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ages = [20 + place % 70 for place in range(300)]
    pd.DataFrame(
        {"readmitted": ["no", "yes", "no"] * 100, "age": ages, "ward": ["A", "B", "C"] * 100}
    ).to_csv("patients.csv", index=False)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 2
    scope: dict[str, object] = {}
    for block in blocks:
        exec(block, scope)
    assert (tmp_path / "fair.html").exists()
    ledger = scope["ledger"]
    assert isinstance(ledger, dpglm.Ledger)
    assert ledger.spent.epsilon == 1.0
