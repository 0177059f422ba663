"""Penalties on coefficients, one file each."""

from dpglm.glm.penalties.base import Penalty, penalised_terms, penalties
from dpglm.registry import import_siblings

import_siblings(__path__, __name__)
# Every registered class is reachable as dpglm.penalties.Name.
globals().update(penalties.classes())

__all__ = ["Penalty", "penalised_terms", "penalties", *sorted(penalties.classes())]
