"""One page that tells a reader what was learnt, and what it may have cost the people in the data."""
