"""Numerical optimisation to a certified residual; no statistics, no privacy."""

from dpglm.optim.minimise import Minimum, minimise
from dpglm.optim.objective import RowLoss
from dpglm.optim.rows import Block, BlockLoss

__all__ = ["Block", "BlockLoss", "Minimum", "RowLoss", "minimise"]
