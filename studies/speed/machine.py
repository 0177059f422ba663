"""What figures were measured with: the processor, and the versions of everything."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from studies.speed.measure import PEER_PYTHON, ROOT, core_count

OWN: Final = (
    *("numpy", "scipy", "pandas", "patsy", "statsmodels", "pyarrow", "threadpoolctl", "dask", "distributed"),
)
PEERS: Final = (
    *("diffprivlib", "scikit-learn", "skglm", "glum", "statsmodels", "formulaic", "patsy", "polars"),
    *("pandas", "numpy", "scipy", "numba"),
)
_LISTED: Final = (
    "import json; from importlib.metadata import distributions; "
    "print(json.dumps({one.metadata['Name'].lower(): one.version for one in distributions()}))"
)


@cache
def machine() -> dict[str, str]:
    """Processor, Python, the code of dpglm, and versions, by their names.

    Examples
    --------
    >>> list(machine())[:3]
    ['processor', 'cores', 'system']
    """
    found = {
        "processor": processor(),
        "cores": str(core_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "dpglm": f"{metadata.version('dpglm')}, code {code_digest()}",
        "BLAS": blas(),
    }
    own = {name: installed for name in OWN if (installed := version(name)) is not None}
    others = {f"{name} (peers)": peers()[name] for name in PEERS if name in peers()}
    return {**found, **own, **others}


def processor() -> str:
    """Its name, as the system says."""
    listed = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", listed.read_text(), re.M) if listed.exists() else None
    return named[1].strip() if named else platform.processor() or platform.machine()


def blas() -> str:
    """The library that numpy multiplies matrices with."""
    import numpy as np

    built: Any = np.show_config(mode="dicts")["Build Dependencies"]
    return f"{built['blas']['name']} {built['blas']['version']}"


def code_digest() -> str:
    """Twelve digits that change with any line of the package: figures of two versions are not alike."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "dpglm").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def peers() -> Mapping[str, str]:
    """Versions of what is installed in the peers' environment; nothing where there is none."""
    if not PEER_PYTHON.exists():
        return {}
    listed = subprocess.run([str(PEER_PYTHON), "-c", _LISTED], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(listed.stdout)
    return found


def version(name: str) -> str | None:
    """Of a package of this environment; None where it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
