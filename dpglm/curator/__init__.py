"""Plans, permits and the curator that runs releases on private rows."""

from dpglm.curator.curator import Curator
from dpglm.curator.permit import Permit
from dpglm.curator.plan import Plan

__all__ = ["Curator", "Permit", "Plan"]
