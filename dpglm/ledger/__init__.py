"""The privacy ledger: what may be spent on a data set, what was spent, and on what."""
