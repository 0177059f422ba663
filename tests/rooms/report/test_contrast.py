"""Colours are far enough apart for everybody (WCAG 2.2, 1.4.3 and 1.4.11), light, dark and printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpglm.report.figure import PALETTES, ROLES

STYLE = Path(__file__).parents[3] / "dpglm" / "report" / "templates" / "style.css"
MODES = tuple(PALETTES)

TEXTS = [
    (ink, ground) for ground in ("paper", "panel") for ink in ("ink", "soft", "accent", "clay", "alarm")
] + [("on-alarm", "alarm"), ("soft", "wash"), ("ink", "wash")]
SHAPES = [
    ("strong", "paper"),
    ("accent", "paper"),
    ("accent", "wash"),
    ("clay", "paper"),
    ("strong", "panel"),
]


def luminance(colour: str) -> float:
    """Relative luminance of sRGB, as WCAG defines it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_agrees_with_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.005)  # the grey that just passes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("ink", "ground"), TEXTS)
def test_text_reaches_level_aa(mode: str, ink: str, ground: str) -> None:
    palette = PALETTES[mode]
    assert contrast(palette[ink], palette[ground]) >= 4.5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("ink", "ground"), SHAPES)
def test_shapes_that_carry_meaning_reach_three(mode: str, ink: str, ground: str) -> None:
    palette = PALETTES[mode]
    assert contrast(palette[ink], palette[ground]) >= 3.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("role", sorted(ROLES))
def test_marks_that_carry_meaning_reach_three(mode: str, role: str) -> None:
    ink, palette = ROLES[role], PALETTES[mode]
    outline = ink.stroke if ink.fill in ("none", "paper") else ink.fill
    if role not in ("grid", "area"):  # the grid is no data; what bounds an area is drawn on it as a line
        assert contrast(palette[outline], palette["paper"]) >= 3.0


def test_every_palette_names_the_same_colours_and_no_colour_is_used_elsewhere() -> None:
    assert set(PALETTES["light"]) == set(PALETTES["dark"]) == set(PALETTES["print"])
    style = STYLE.read_text(encoding="utf-8")
    used = set(re.findall(r"#[0-9a-fA-F]{6}\b", style)) - {"#444444"}  # the printed page number
    assert not used
    names = {name for ink in ROLES.values() for name in (ink.fill, ink.stroke)} - {"none"}
    assert names | set(re.findall(r"var\(--([\w-]+)\)", style)) <= set(PALETTES["light"])
    for path in (STYLE.parents[1]).rglob("*.py"):
        code = re.sub(
            r"^PALETTES: .*?^}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        assert not re.search(r"#[0-9a-fA-F]{6}\b", code), path.name
