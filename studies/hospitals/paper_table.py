"""Table 2 of the STACK paper: areas at the sixteen branches of the RUIJIN network, which is not public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Mean areas of ten repeats at each branch; what is PST-H here is called PST-F in the paper's text.
COLUMNS: Final = ("pst-h-w", "pst-h-u", "pphtl", "plr-target")
_BRANCHES: Final = (
    (0.747, 0.678, 0.602, 0.548),
    (0.736, 0.724, 0.608, 0.620),
    (0.740, 0.652, 0.528, 0.636),
    (0.714, 0.708, 0.563, 0.579),
    (0.766, 0.653, 0.577, 0.533),
    (0.707, 0.663, 0.601, 0.613),
    (0.721, 0.682, 0.580, 0.561),
    (0.753, 0.692, 0.583, 0.584),
    (0.701, 0.635, 0.547, 0.515),
    (0.698, 0.644, 0.517, 0.555),
    (0.736, 0.635, 0.565, 0.553),
    (0.738, 0.645, 0.547, 0.520),
    (0.746, 0.718, 0.592, 0.619),
    (0.661, 0.644, 0.615, 0.563),
    (0.697, 0.647, 0.558, 0.558),
    (0.604, 0.567, 0.524, 0.517),
)
AREAS: Final[Mapping[str, tuple[float, ...]]] = dict(zip(COLUMNS, zip(*_BRANCHES, strict=True), strict=True))
# Of PLR at the main hospital.
MAIN: Final = 0.668
