"""Studies that anyone can run again: speed, accuracy, selection, coverage, and four papers."""

import os

# Row-wise kernels are faster with one BLAS thread, and studies run side by side. Workers inherit this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
