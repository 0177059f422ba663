"""Coverage study: do printed 95 % intervals cover, on real designs and on simulated ones?

``python -m studies.coverage.study`` runs it, ``python -m studies.coverage.page`` writes the page
``reports/coverage.md``.
"""

import os

# Row-wise kernels are faster with one BLAS thread, and studies run side by side. Workers inherit this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
