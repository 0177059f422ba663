"""RADMM: stochastic and mini-batch private ADMM, and the gradient methods it is compared with."""
