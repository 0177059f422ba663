"""Frames and files become bounded rows: schema, formula, coding, design."""
