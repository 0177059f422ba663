"""Families and penalties: the statistics of a model, no data and no privacy."""
