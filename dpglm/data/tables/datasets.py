"""Data sets that dpglm ships, each with its public schema.

The simulated diabetes cohort of a main hospital and 16 branches is drawn in memory from a fixed seed. Its
sizes are those of Table 4 of the STACK paper (Yao et al., "Privacy-preserving stacking with application to
cross-organizational diabetes prediction"), whose own cohort is not public; they add up to 92,007, where the
paper's text says 105,763. Everything else is made up here: no one's data. ``cohort_features.csv`` gives each
feature's group, mean, standard deviation (0 for a yes-or-no feature, whose mean is its share of ones),
recorded decimal digits, importance and sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtri

from dpglm.data.tables.sources import declare
from dpglm.errors import SchemaError
from dpglm.typing import FloatMatrix

if TYPE_CHECKING:
    import pandas as pd

_FOLDER: Final = files("dpglm.data") / "tables"
_SEED: Final = 20_261_121
# Standard deviations at which numbers are cut: the declared bounds.
_REACH: Final = 3.0
# Shares of a feature's variance that its group, and one constitution behind all groups, explain.
_GROUP_SHARE, _COMMON_SHARE = 0.35, 0.1
# Log-odds: their level, how much an importance of 1 moves them, how far doctors' weights are off.
_LEVEL, _EFFECT, _MISJUDGED = -2.1, 4.2, 0.4
# How branches differ: intercepts, means of groups, coefficients relative to their root mean square.
_INTERCEPTS, _MEANS, _SLOPES = 0.35, 0.25, 0.25
_BRANCHES: Final = (
    *(4_334, 4_739, 6_121, 2_327, 5_619, 6_360, 4_966, 5_793),
    *(6_215, 3_659, 5_579, 2_316, 4_285, 6_017, 6_482, 4_493),
)
# Rows of each hospital.
COHORT_SITES: Final = {
    "main": 12_702,
    **{f"branch_{number:02d}": size for number, size in enumerate(_BRANCHES, 1)},
}


def load_data(name: str) -> pd.DataFrame:
    """A data set that comes with its public schema: "fair", "randhie", "simulated" or "cohort".

    ``"fair"``: 6,366 women, Redbook survey of 1974, from statsmodels; response ``affair``, any affair.
    ``"randhie"``: 20,190 person-years of the RAND health insurance experiment, from statsmodels; response
    ``visit``, any outpatient visit. ``"simulated"``: 2,000 rows of a known logistic model; response
    ``y``. ``"cohort"``: 92,007 simulated people of a main hospital and 16 branches (column ``site``), with 50
    features; response ``diabetes``; drawn at each call, in about a second. `cohort_importance` gives the
    features' public importance. The schema says where each bound comes from.

    Raises
    ------
    SchemaError
        If there is no table of this name.

    Examples
    --------
    >>> import dpglm
    >>> women = dpglm.load_data("fair")
    >>> women.shape[0], sorted(women["affair"].unique())
    (6366, ['no', 'yes'])
    """
    if name not in _TABLES:
        raise SchemaError(
            f"the data set {name!r}",
            expected=f"one of {', '.join(repr(known) for known in _TABLES)}",
            remedy="Choose one of these, or read your own table and dpglm.declare() its schema.",
        )
    with as_file(_FOLDER / f"{name}.schema.yaml") as schema:
        return declare(_TABLES[name](), schema)


def cohort_features() -> pd.DataFrame:
    """The features by name. Nine of the importances are those of the STACK paper's Table 3.

    Examples
    --------
    >>> print(cohort_features().loc["hdl", "group"])
    lipids
    """
    import pandas as pd

    with (_FOLDER / "cohort_features.csv").open(encoding="utf-8") as file:
        # Python's float rounds correctly, which pandas' own parser of old does not.
        exact = dict.fromkeys(("mean", "deviation", "importance"), float)
        return pd.read_csv(file, index_col="name", converters=exact)


def cohort_importance() -> dict[str, float]:
    """What doctors would say of each feature before anyone looked at the table; shares of about 1."""
    return {str(name): float(share) for name, share in cohort_features()["importance"].items()}


def _cohort() -> pd.DataFrame:
    """All 92,007 rows, site after site; every call draws the same ones."""
    import pandas as pd

    table = cohort_features()
    random = np.random.Generator(np.random.PCG64(_SEED))
    believed = (table["importance"] * table["sign"]).to_numpy()
    slopes = believed * np.exp(_MISJUDGED * random.normal(size=len(table)))
    drawn = [_site(table, size, name != "main", slopes, random) for name, size in COHORT_SITES.items()]
    latent, answers = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    ones = latent > -ndtri(_shares(table))
    columns = {
        name: ones[:, column].astype(np.int64)
        if deviation == 0.0
        else np.round(mean + deviation * latent[:, column], digits)
        for column, (name, mean, deviation, digits) in enumerate(
            zip(table.index, table["mean"], table["deviation"], table["digits"], strict=True)
        )
    }
    site = np.repeat(list(COHORT_SITES), list(COHORT_SITES.values()))
    return pd.DataFrame({"site": site, **columns, "diabetes": np.where(answers, "yes", "no")})


def _site(
    table: pd.DataFrame, size: int, branch: bool, slopes: np.ndarray, random: np.random.Generator
) -> tuple[FloatMatrix, np.ndarray]:
    """Standard normal scores behind the features, shape (size, 50), and answers, shape (size,)."""
    group_of, names = table["group"].factorize()
    shifts = random.normal(size=1 + len(names) + len(slopes)) * branch
    intercept, means = _INTERCEPTS * shifts[0], _MEANS * shifts[1 : 1 + len(names)]
    slopes = slopes + _SLOPES * math.sqrt(float(np.mean(slopes**2))) * shifts[1 + len(names) :]
    constitution = random.normal(size=(size, 1))
    behind = math.sqrt(1.0 - _COMMON_SHARE) * random.normal(size=(size, len(names)))
    behind += math.sqrt(_COMMON_SHARE) * constitution
    latent = math.sqrt(1.0 - _GROUP_SHARE) * random.normal(size=(size, len(slopes)))
    # Groups lean to the side of higher odds together: a feature that lowers them goes the other way.
    latent += math.sqrt(_GROUP_SHARE) * table["sign"].to_numpy() * (behind + means)[:, group_of]
    latent = np.clip(latent, -_REACH, _REACH)
    share, binary = _shares(table), table["deviation"].to_numpy() == 0.0
    ones = ((latent > -ndtri(share)) - share) / np.sqrt(share * (1.0 - share))
    standard = np.where(binary, ones, latent)
    odds = _LEVEL + intercept + _EFFECT * np.sum(standard * slopes, axis=1)
    return latent, random.random(size) < 1.0 / (1.0 + np.exp(-odds))


def _shares(table: pd.DataFrame) -> np.ndarray:
    """Shares of ones; one half for numbers, which have none."""
    return np.asarray(np.where(table["deviation"] == 0.0, table["mean"], 0.5))


def _of_statsmodels(name: str, count: str, response: str) -> pd.DataFrame:
    """The table with a response: whether there was any of ``count``."""
    from statsmodels import datasets

    frame: pd.DataFrame = getattr(datasets, name).load_pandas().data
    return frame.assign(**{response: np.where(frame[count] > 0, "yes", "no")})


def _simulated() -> pd.DataFrame:
    import pandas as pd

    with as_file(_FOLDER / "simulated.csv") as path:
        return pd.read_csv(path)


_TABLES: Final[dict[str, Callable[[], pd.DataFrame]]] = {
    "cohort": _cohort,
    "fair": lambda: _of_statsmodels("fair", "affairs", "affair"),
    "randhie": lambda: _of_statsmodels("randhie", "mdvis", "visit"),
    "simulated": _simulated,
}
