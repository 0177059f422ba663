"""Coverage of printed intervals."""
