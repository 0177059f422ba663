"""Study of the DPSC paper's figures 1 to 10: as printed, corrected, and in one look.

``python -m studies.dpsc`` runs what is missing and writes the page ``reports/dpsc.html``; ``--quick`` does
the same in seconds on a small design.
"""

import os

# Row-wise kernels are faster with one BLAS thread, and studies run side by side. Workers inherit this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
