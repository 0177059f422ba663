"""Array types used in signatures; shapes live in the docstrings."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatVector: TypeAlias = NDArray[np.float64]
FloatMatrix: TypeAlias = NDArray[np.float64]
FloatBlock: TypeAlias = NDArray[np.float32]
BoolVector: TypeAlias = NDArray[np.bool_]
IntVector: TypeAlias = NDArray[np.int64]
