"""Verification: whether the numbers of a report or a saved result follow from what it holds."""
