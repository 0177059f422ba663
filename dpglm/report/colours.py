"""Colours of the report and its figures: the palettes, and which part of a figure wears which colour.

The page and matplotlib both read them here. A forest plot: its bars are ``ROLES["interval"]``, its dots
``ROLES["point"]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Ink:
    """How one part of a figure is painted: names of colours in the palette, or ``"none"``.

    ``width`` and the lengths of ``dash`` are in pixels of the page.
    """

    fill: str = "none"
    stroke: str = "none"
    width: float = 1.0
    dash: tuple[float, ...] = ()


NAMES: Final = (
    *("paper", "panel", "ink", "soft", "rule", "strong"),  # grounds, text, lines
    *("accent", "wash", "clay", "alarm", "on-alarm"),  # marks, areas, second colour, warnings
)
PALETTES: Final = {
    media: dict(zip(NAMES, colours.split(), strict=True))
    for media, colours in {
        "light": "#fcfbf8 #f4f1ea #1c2024 #555a61 #d8d3c8 #83807a #1d5571 #d9e6ec #9a3d16 #a11212 #ffffff",
        "dark": "#15181c #1e2227 #e8e4db #adb0b4 #373c43 #858a91 #8ec5e0 #24404e #f0a67e #ff9a90 #15181c",
        "print": "#ffffff #ffffff #000000 #444444 #cccccc #777777 #1d5571 #e4ecf0 #8a3412 #a11212 #ffffff",
    }.items()
}

ROLES: Final[dict[str, Ink]] = {
    # axes and lines to compare with
    "grid": Ink(stroke="rule", width=0.7),
    "axis": Ink(stroke="strong"),
    "zero": Ink(stroke="strong"),
    "reference": Ink(stroke="strong", dash=(3, 3)),
    "limit": Ink(stroke="clay", width=1.2, dash=(6, 3)),
    # curves and estimates
    "line": Ink(stroke="accent", width=2),
    "second": Ink(stroke="clay", width=2),
    "faint-line": Ink(stroke="strong"),
    "area": Ink(fill="wash"),
    "interval": Ink(stroke="accent", width=1.6),
    "error": Ink(stroke="clay"),
    "point": Ink("accent", "accent", 1.4),
    "hollow": Ink("paper", "strong", 1.4),
    "claim": Ink("clay", "paper", 1.4),
    # bars
    "bar": Ink("accent", "paper"),
    "refuted": Ink("alarm", "paper"),
    "part-one": Ink("accent", "paper"),
    "part-two": Ink("clay", "paper"),
    "part-three": Ink("paper", "clay"),
    "part-four": Ink("strong", "paper"),
    # icons and boxes
    "base": Ink(fill="strong"),
    "extra": Ink(fill="accent"),
    "empty": Ink(stroke="strong", width=0.8),
    # paths of coefficients: told apart by colour and dashes
    **{
        f"path-{4 * k + j}": Ink(stroke=colour, width=1.5, dash=dash)
        for k, dash in enumerate(((), (6, 2), (2, 2)))
        for j, colour in enumerate(("accent", "clay", "strong", "ink"))
    },
}
PATHS: Final = tuple(role for role in ROLES if role.startswith("path-"))


def css(media: str) -> str:
    """The palette for ``"light"``, ``"dark"`` or ``"print"`` as custom properties of CSS."""
    return " ".join(f"--{name}: {colour};" for name, colour in PALETTES[media].items())


def css_rules() -> tuple[str, ...]:
    """One rule per role, for the shapes of a figure on the page."""
    rules = []
    for role, ink in ROLES.items():
        fill, stroke = (name if name == "none" else f"var(--{name})" for name in (ink.fill, ink.stroke))
        rule = f".plot .{role} {{ fill: {fill}; stroke: {stroke};"
        rule += f" stroke-width: {ink.width:g};" if stroke != "none" else ""
        rule += f" stroke-dasharray: {' '.join(f'{length:g}' for length in ink.dash)};" if ink.dash else ""
        rules.append(rule + " }")
    return tuple(rules)
