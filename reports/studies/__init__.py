"""Studies that anyone can run again: what the papers' figures show, and what they become when claims hold."""
