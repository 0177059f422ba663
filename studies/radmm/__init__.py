"""The RADMM paper's figures 1 to 4 again, with claims that hold: ``python -m studies.radmm``."""
