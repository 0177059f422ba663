"""What a fit would give, before any data are touched: expected precision, price, what would improve it."""
