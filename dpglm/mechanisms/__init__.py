"""Mechanisms: bounded functions of rows plus calibrated noise, each with its proof beside it."""
