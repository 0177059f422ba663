"""The DLR paper's algorithms over real holders, beside pooled fits and one curator of all rows."""
