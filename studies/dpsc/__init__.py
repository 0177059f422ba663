"""The DPSC paper: private sparse classification by ADMM."""
