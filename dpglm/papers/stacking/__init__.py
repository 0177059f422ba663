"""Stacking and hypothesis transfer: several private models and what combines them."""
