"""Trust model and limits: who saw what, what nobody verified, what the report is for."""

from __future__ import annotations

from collections.abc import Mapping

from dpglm.postprocessing.record import FitRecord
from dpglm.report.section import Section
from dpglm.report.wording import shown


def trust_and_limits(result: FitRecord, choices: Mapping[str, str]) -> Section:
    """Who saw the raw data, what is declared and not verified, intended and unintended use."""
    guarantee = result.guarantee
    title = "Trust model and limits"
    if not guarantee.private:
        return Section("limits", title, {"private": False})
    other = "that every other release from these data is in the ledger"
    if result.ledger is None:
        other = "that other releases from these data are counted elsewhere: no ledger was used"
    declared = [
        f"that each row is {shown(guarantee.unit)}, and nobody owns more than one",
        "that bounds, levels, formula, penalty and options were chosen without looking at these data",
        other,
        "that the computer that ran the fit was not watched: run time, memory and power are outside "
        "the guarantee",
    ]
    return Section("limits", title, {"private": True, "declared": declared})
