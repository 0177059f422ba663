"""Results: what a fit gives back."""
