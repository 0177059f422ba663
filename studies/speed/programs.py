"""Programs that fresh interpreters run, from the first import to the end."""

from __future__ import annotations

from typing import Final

BASE: Final = "import numpy, scipy.linalg, scipy.special"
IMPORT: Final = "import dpglm"
_FRAME: Final = """
import numpy
import pandas
random = numpy.random.default_rng(1)
frame = pandas.DataFrame(random.uniform(-1, 1, (1000, 5)), columns=list("abcde"))
frame["y"] = (random.random(1000) < 0.5).astype(int)
"""
WITH_PANDAS: Final = f"{BASE}\n{_FRAME}"
FIRST_FIT: Final = f"""
import dpglm
{_FRAME}
bounds = dict.fromkeys("abcde", (-1, 1)) | {{"y": [0, 1]}}
print(dpglm.fit("y ~ a + b + c + d + e", frame, schema=bounds, privacy=(1.0, 1e-6), progress=False).summary())
"""
HELP: Final = """
import sys
from dpglm.cli import main
sys.argv = ["dpglm", "--help"]
main()
"""
KDD_READ: Final = """
import json, sys, time
import pandas
start = time.process_time()
pandas.read_csv(sys.argv[1])
print(json.dumps({"cpu": time.process_time() - start}))
"""
KDD_REPORT: Final = """
import json, sys, tempfile, warnings
from pathlib import Path
import dpglm
from studies.speed.timing import peak_megabytes
warnings.simplefilter("ignore")
path, formula, schema = sys.argv[1:]
fit = dpglm.fit(formula, path, schema=schema, penalty="l2", privacy=1.0, progress=False)
with tempfile.TemporaryDirectory() as folder:
    fit.report(Path(folder) / "kdd.html")
print(json.dumps({"megabytes": peak_megabytes()}))
"""
