"""A simulated diabetes cohort of a main hospital and 16 branches, drawn in memory from a fixed seed.

Its sizes are those of Table 4 of the STACK paper (Yao et al., "Privacy-preserving stacking with application
to cross-organizational diabetes prediction"), whose own cohort is not public; they add up to 92,007, where
the paper's text says 105,763. Everything else is made up here: no one's data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from dpglm.data.schema.schema import Schema
from dpglm.data.schema.variables import Categorical, Numeric, Variable
from dpglm.typing import FloatMatrix, FloatVector

if TYPE_CHECKING:
    import pandas as pd

SEED = 20_261_121
# Standard deviations at which numbers are cut: the declared bounds.
REACH = 3.0
# Shares of a feature's variance that its group, and that one constitution behind all groups, explain.
GROUP_SHARE, COMMON_SHARE = 0.35, 0.1
# Log odds of the model: their level, how much a weight of 1 moves them, how far doctors' weights are off.
LEVEL, EFFECT, MISJUDGED = -2.1, 4.2, 0.4
# How branches differ: intercepts, means of groups, coefficients relative to their root mean square.
INTERCEPTS, MEANS, SLOPES = 0.35, 0.25, 0.25
SOURCE = "dpglm/data/tables/cohort.py"
SITES = MappingProxyType(
    dict(
        zip(
            ("main", *(f"branch_{number:02d}" for number in range(1, 17))),
            (
                *(12_702, 4_334, 4_739, 6_121, 2_327, 5_619, 6_360, 4_966, 5_793),
                *(6_215, 3_659, 5_579, 2_316, 4_285, 6_017, 6_482, 4_493),
            ),
            strict=True,
        )
    )
)


@dataclass(frozen=True)
class Feature:
    """A column: its group, its mean and spread (or share of ones), and its effect.

    Parameters
    ----------
    name, group : str
    mean, deviation : float
        Of the number; a yes-or-no feature has its share of ones and a deviation of 0.
    digits : int
        Decimal places that are recorded.
    importance : float
        What doctors would say, before anyone looked at the table; a share of about 1.
    sign : int
        Whether larger values raise (1) or lower (-1) the odds.
    """

    name: str
    group: str
    mean: float
    deviation: float
    digits: int
    importance: float
    sign: int

    @property
    def binary(self) -> bool:
        """Whether the feature is 0 or 1."""
        return self.deviation == 0.0

    @property
    def declaration(self) -> Variable:
        """Public bounds or levels."""
        if self.binary:
            return Categorical((0, 1), source=SOURCE)
        low, high = (round(self.mean + side * REACH * self.deviation, self.digits) for side in (-1, 1))
        return Numeric(low, high, source=f"{SOURCE} cuts there")


def _features(text: str) -> tuple[Feature, ...]:
    found, group = [], ""
    for line in text.strip().splitlines():
        if line.endswith(":"):
            group = line[:-1]
            continue
        name, mean, deviation, digits, importance, sign = line.split()
        found.append(
            Feature(
                name, group, float(mean), float(deviation), int(digits), float(importance), int(sign + "1")
            )
        )
    return tuple(found)


# Name, mean, deviation, digits, importance, sign. Nine of the weights are those of the paper's Table 3.
FEATURES = _features(
    """
glucose:
glucose_fasting 5.6 0.9 1 .060 +
glucose_2h 7.4 1.8 1 .055 +
hba1c 5.7 0.5 1 .055 +
insulin_fasting 9 2.5 1 .035 +
insulin_2h 48 14 0 .030 +
lipids:
hdl 1.3 0.3 2 .045 -
ldl 3.1 0.7 2 .020 +
triglycerides 1.6 0.5 2 .040 +
cholesterol 5 0.9 2 .020 +
apo_a 1.4 0.2 2 .010 -
apo_b 1 0.2 2 .015 +
body:
bmi 25 3.5 1 .043 +
waist 86 9 0 .040 +
hip 97 7 0 .020 +
weight 67 11 0 .020 +
height 164 8 0 .008 -
body_fat 29 6 1 .025 +
bone_mass 2.6 0.4 1 .013 -
birth_weight 3.2 0.5 2 .012 -
circulation:
systolic 132 15 0 .030 +
diastolic 80 9 0 .020 +
pulse 74 9 0 .015 +
liver and kidney:
alt 22 6 0 .018 +
ast 22 5 0 .010 +
ggt 30 9 0 .022 +
creatinine 72 14 0 .010 +
urea 5.2 1.1 1 .008 +
uric_acid 320 70 0 .022 +
albumin 44 3 0 .008 -
urine_albumin 12 3.5 1 .015 +
bilirubin 11 3 1 .006 -
person:
age 57 9 0 .018 +
female .63 0 0 .010 -
education_years 9 2.8 0 .010 -
children 2 0.6 0 .010 +
urban .7 0 0 .006 +
married .9 0 0 .004 -
family:
diabetes_mother .09 0 0 .030 +
diabetes_father .07 0 0 .028 +
diabetes_sibling .1 0 0 .026 +
diabetes_pregnant .03 0 0 .018 +
habits:
smoker .22 0 0 .014 +
drinker .28 0 0 .008 +
exercise_hours 3.5 1.1 1 .016 -
sleep_hours 7 0.9 1 .008 -
vegetable_meals 11 3 0 .006 -
meat_meals 7 2 0 .006 +
egg_meals 4 1.2 0 .005 +
tea_cups 3 0.9 0 .004 -
snacks 3 0.9 0 .003 +
"""
)
IMPORTANCE = MappingProxyType({one.name: one.importance for one in FEATURES})
GROUPS = MappingProxyType(
    {
        group: tuple(one.name for one in FEATURES if one.group == group)
        for group in dict.fromkeys(one.group for one in FEATURES)
    }
)


def schema() -> Schema:
    """Public declaration of the cohort.

    Examples
    --------
    >>> len(schema().variables), schema().variables["bmi"].high
    (52, 35.5)
    """
    columns = {one.name: one.declaration for one in FEATURES}
    return Schema(
        {
            "site": Categorical(tuple(SITES), source="the main hospital and its branches"),
            **columns,
            "diabetes": Categorical(("no", "yes"), source=SOURCE),
        },
        rows=sum(SITES.values()),
        unit="one simulated person",
        title="Simulated diabetes cohort of 17 hospitals",
    )


def cohort() -> pd.DataFrame:
    """All 92,007 rows, site after site; every call draws the same ones."""
    import pandas as pd

    random = np.random.Generator(np.random.PCG64(SEED))
    slopes = _slopes(random)
    places = list(GROUPS)
    group_of = np.array([places.index(one.group) for one in FEATURES])
    whole = [_site(size, number > 0, slopes, group_of, random) for number, size in enumerate(SITES.values())]
    latent, answers = (np.concatenate(parts) for parts in zip(*whole, strict=True))
    return pd.DataFrame(
        {
            "site": np.repeat(list(SITES), list(SITES.values())),
            **{one.name: _recorded(one, latent[:, place]) for place, one in enumerate(FEATURES)},
            "diabetes": np.where(answers, "yes", "no"),
        }
    )


def _slopes(random: np.random.Generator) -> FloatVector:
    """Log odds per standard deviation: what doctors say, each off by a random factor."""
    said = np.array([one.importance * one.sign for one in FEATURES])
    return np.asarray(said * np.exp(MISJUDGED * random.normal(size=len(said))), dtype=np.float64)


def _site(
    size: int, branch: bool, slopes: FloatVector, group_of: np.ndarray, random: np.random.Generator
) -> tuple[FloatMatrix, np.ndarray]:
    """Standardised features, shape (size, 50), and answers, shape (size,)."""
    count, groups = len(slopes), len(GROUPS)
    shifts = random.normal(size=1 + groups + count) * branch
    intercept, means = INTERCEPTS * shifts[0], MEANS * shifts[1 : 1 + groups]
    own = slopes + SLOPES * math.sqrt(float(np.mean(slopes**2))) * shifts[1 + groups :]
    constitution = random.normal(size=(size, 1))
    behind = math.sqrt(1.0 - COMMON_SHARE) * random.normal(size=(size, groups))
    behind += math.sqrt(COMMON_SHARE) * constitution
    # Groups lean to the side of higher odds together: a feature that lowers them goes the other way.
    signs = np.array([one.sign for one in FEATURES])
    latent = math.sqrt(1.0 - GROUP_SHARE) * random.normal(size=(size, count))
    latent += math.sqrt(GROUP_SHARE) * signs * (behind + means)[:, group_of]
    latent = np.clip(latent, -REACH, REACH)
    seen = np.column_stack([_standard(one, latent[:, place]) for place, one in enumerate(FEATURES)])
    odds = LEVEL + intercept + EFFECT * np.sum(seen * own, axis=1)
    return latent, random.random(size) < 1.0 / (1.0 + np.exp(-odds))


def _standard(one: Feature, latent: FloatVector) -> FloatVector:
    """The feature in standard deviations."""
    if not one.binary:
        return latent
    return np.asarray(((latent > _cut(one)) - one.mean) / math.sqrt(one.mean * (1.0 - one.mean)))


def _recorded(one: Feature, latent: FloatVector) -> np.ndarray:
    """The feature as the table has it."""
    if one.binary:
        return np.asarray(latent > _cut(one), dtype=np.int64)
    return np.round(one.mean + one.deviation * latent, one.digits)


def _cut(one: Feature) -> float:
    """Where a standard normal number exceeds with the share of ones."""
    from scipy.special import ndtri

    return -float(ndtri(one.mean))
