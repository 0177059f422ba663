"""Where randomness comes from, and how it is added."""
