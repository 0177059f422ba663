"""The curator, the only reader of private rows, and the releases it may run."""
