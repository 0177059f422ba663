"""Penalties on coefficients, one file each."""

from dpglm.glm.penalties.base import Penalty, penalties
from dpglm.registry import import_siblings

import_siblings(__path__, __name__)

__all__ = ["Penalty", "penalties"]
