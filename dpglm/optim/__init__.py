"""Numerical optimisation to a certified residual; no statistics, no privacy."""
