"""The default: a public rule that chooses the method."""

from __future__ import annotations

from dpglm.methods.base import Method
from dpglm.methods.nonprivate import NonPrivate
from dpglm.methods.objective import Objective
from dpglm.privacy.budget import Privacy


def auto(privacy: Privacy | None) -> Method:
    """The method that ``method="auto"`` stands for.

    One perturbed minimiser where there is a budget, else the exact one. The rule sees public facts only.

    Examples
    --------
    >>> auto(None).name, auto(Privacy(1.0)).name
    ('nonprivate', 'objective')
    """
    return NonPrivate() if privacy is None else Objective()
