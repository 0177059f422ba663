"""Where randomness comes from, and how it is added."""

from dpglm.noise.lattice import add_laplace, add_normal, grid_step, laplace_price
from dpglm.noise.source import NoiseSource, OsNoise, SeededNoise

__all__ = ["NoiseSource", "OsNoise", "SeededNoise", "add_laplace", "add_normal", "grid_step", "laplace_price"]
