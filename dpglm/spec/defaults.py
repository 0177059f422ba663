"""What a fit is unless it is told otherwise."""

from typing import Final

DEFAULT_FAMILY: Final = "binomial"
DEFAULT_GOAL: Final = "explain"
DEFAULT_METHOD: Final = "auto"
MULTINOMIAL: Final = "multinomial"  # asks for a fit to each level
