"""The DLR paper: logistic regression over several machines by consensus ADMM, with noise or without."""
