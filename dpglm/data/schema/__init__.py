"""Schemas: what the statistician declares about a table."""
