"""How long fits take, and what they need: ratios to peers that are measured in the same run."""
