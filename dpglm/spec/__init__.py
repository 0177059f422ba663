"""Specifications and plans: what is fitted, its releases and price, and the tables it is run on."""
