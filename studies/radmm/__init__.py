"""The RADMM paper: private stochastic ADMM."""
