"""Benchmarks against peers, and the one loader of real tables that tests and studies share with them."""
