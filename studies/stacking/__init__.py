"""The STACK paper: stacked models on one table."""
