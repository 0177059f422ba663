"""The default: a public rule that chooses the method."""

from __future__ import annotations

from dpglm.glm.families import Family
from dpglm.methods.base import Method
from dpglm.methods.moments import Moments
from dpglm.methods.nonprivate import NonPrivate
from dpglm.methods.objective import Objective
from dpglm.privacy.budget import Privacy


def auto(privacy: Privacy | None, family: Family | None = None) -> Method:
    """The method that ``method="auto"`` stands for.

    Without a budget the exact minimiser; with one, second moments for a Gaussian response and a perturbed
    minimiser otherwise. The rule sees public facts only.

    Examples
    --------
    >>> auto(None).name, auto(Privacy(1.0)).name
    ('nonprivate', 'objective')
    """
    if privacy is None:
        return NonPrivate()
    return Moments() if family is not None and family.name == "gaussian" else Objective()
