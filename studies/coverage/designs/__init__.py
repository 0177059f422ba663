"""Coverage of printed intervals on simulated designs."""
