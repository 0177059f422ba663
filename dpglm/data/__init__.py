"""Data: frames and files become bounded rows."""
