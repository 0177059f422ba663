"""Families of responses, one file each."""

from dpglm.glm.families.base import Family, families
from dpglm.registry import import_siblings

import_siblings(__path__, __name__)
# Every registered class is reachable as dpglm.families.Name.
globals().update(families.classes())

__all__ = ["Family", "families", *sorted(families.classes())]
