"""What a fit would give, before any data are touched: expected precision, price, what would improve it."""

from dpglm.planning.study_plan import StudyPlan
from dpglm.planning.verb import plan

__all__ = ["StudyPlan", "plan"]
