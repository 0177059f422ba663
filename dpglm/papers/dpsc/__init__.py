"""DPSC: sparse classification by ADMM over perturbed minimisers."""
