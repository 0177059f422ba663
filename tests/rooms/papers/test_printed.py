"""Printed algorithms run, say NOT PRIVATE wherever they are shown, and are charged to no ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpglm
from dpglm.errors import MethodError, PrivacyError
from dpglm.methods.base import Method
from dpglm.papers.dpsc.dpsc import DPSC
from dpglm.papers.radmm.admm import MPADMM

CASES: list[tuple[Method, object]] = [
    (DPSC(paper_exact=True, iterations=5, inner=3), 1.0),
    (MPADMM(paper_exact=True, steps=5), (1.0, 1e-6)),
]


@pytest.mark.parametrize(("method", "privacy"), CASES, ids=["dpsc", "mpadmm"])
def test_a_printed_algorithm_is_marked_everywhere_and_refused_by_a_ledger(
    method: Method, privacy: object, tmp_path: Path
) -> None:
    data = dpglm.load_data("simulated")
    asked = {"method": method, "strength": 0.01, "privacy": privacy, "progress": False}
    for seed in (None, 1):
        fit = dpglm.fit("y ~ x1 + x2", data, seed=seed, **asked)  # type: ignore[arg-type]
        assert "reproduction" in fit.privacy.reason
        assert str(fit.summary()).count("NOT PRIVATE") >= 3
        assert "NOT PRIVATE" in str(dpglm.compare([fit]))
        page = tmp_path / f"{seed}.html"
        fit.report(page)
        assert "NOT PRIVATE" in page.read_text(encoding="utf-8")
    ledger = dpglm.Ledger(tmp_path / "ledger.db", budget=(10.0, 1e-5), dataset="simulated")
    with pytest.raises(PrivacyError):
        dpglm.fit("y ~ x1 + x2", data, ledger=ledger, **asked)  # type: ignore[arg-type]
    assert ledger.spent.epsilon == 0.0
    with pytest.raises(MethodError, match="strength"):
        dpglm.fit("y ~ x1 + x2", data, **{**asked, "strength": None})  # type: ignore[arg-type]


def test_the_printed_mpadmm_returns_its_noisy_x() -> None:
    """Under a penalty that sets all of z to zero every coefficient is noise, as in the printed algorithm."""
    asked = {"penalty": "l1", "strength": 1e6, "privacy": (1.0, 1e-6), "seed": 1, "progress": False}
    data = dpglm.load_data("simulated")
    printed = dpglm.fit("y ~ x1 + x2", data, method=MPADMM(paper_exact=True, steps=5), **asked)  # type: ignore[arg-type]
    corrected = dpglm.fit("y ~ x1 + x2", data, method=MPADMM(steps=5), **asked)  # type: ignore[arg-type]
    assert (printed.params.drop("Intercept") != 0.0).all()
    assert (corrected.params.drop("Intercept") == 0.0).all()
