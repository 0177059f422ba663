"""Where randomness comes from."""

from dpglm.noise.source import NoiseSource, OsNoise, SeededNoise

__all__ = ["NoiseSource", "OsNoise", "SeededNoise"]
