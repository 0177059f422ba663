"""Privacy budgets, guarantees, events and their accounting."""
