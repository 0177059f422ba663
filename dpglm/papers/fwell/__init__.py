"""Private feature weighting by local margins (FWELL), corrected: prototypes, blocks, and what was printed."""
