"""Formulas: patsy's door, the whitelist of row-wise functions, and bounds carried through expressions."""
