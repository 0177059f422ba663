"""Families of responses, one file each."""

from dpglm.glm.families.base import Family, families
from dpglm.registry import import_siblings

import_siblings(__path__, __name__)

__all__ = ["Family", "families"]
