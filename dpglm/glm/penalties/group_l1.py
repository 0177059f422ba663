"""The group lasso penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dpglm.errors import MethodError
from dpglm.glm.penalties.base import Penalty, not_below, penalties
from dpglm.typing import FloatMatrix, FloatVector, IntVector


@penalties.register("group", "group_l1", "group_lasso")
@dataclass(frozen=True)
class GroupL1(Penalty):
    """The group lasso penalty, ``strength * sum_g sqrt(size of g) * |b_g|``, with Euclidean norms.

    A whole group, such as the levels of a factor, is zero or none of it is. Convex.

    Parameters
    ----------
    groups : tuple of tuples of int
        Places of each group among the penalised coefficients, from 0. A coefficient in no group is one of its
        own. None given: a fit takes the terms of its formula.

    Raises
    ------
    MethodError
        If ``strength`` is not a finite number >= 0, or the groups are not disjoint sets of places >= 0.

    References
    ----------
    .. [1] Yuan and Lin (2006), "Model selection and estimation in regression with grouped variables",
       JRSS B 68(1), equation (2.1) with the identity as kernel.

    Examples
    --------
    >>> v = np.array([3.0, 4.0, 0.5])
    >>> GroupL1(strength=1.0, groups=((0, 1),)).prox(v, step=1.0).round(3)
    array([2.151, 2.869, 0.   ])
    """

    groups: tuple[tuple[int, ...], ...] = ()

    name: ClassVar[str] = "group"
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            groups = tuple(tuple(int(column) for column in group) for group in self.groups)
        except (TypeError, ValueError):
            groups = ((-1,),)
        places = [column for group in groups for column in group]
        if min(places, default=0) < 0 or len(set(places)) != len(places):
            raise self.option_error(
                "groups",
                "disjoint tuples of places among the penalised coefficients, counted from 0",
                "Use groups=((0, 1), (2, 3, 4)), say.",
            )
        object.__setattr__(self, "groups", groups)

    def for_terms(self, terms: Sequence[Sequence[int]]) -> Self:
        """The penalty with these groups, if it has none of its own."""
        return self if self.groups else replace(self, groups=tuple(map(tuple, terms)))

    @property
    def least_size(self) -> int:
        return 1 + max((column for group in self.groups for column in group), default=0)

    def labels(self, size: int) -> IntVector:
        """Which group each of ``size`` coefficients is in, shape (size,)."""
        labels = np.full(size, -1, dtype=np.int64)
        for label, group in enumerate(self.groups):
            if max(group, default=-1) >= size:
                raise MethodError(
                    f"place {max(group)} in a group of {size} penalised coefficients",
                    expected=f"places from 0 to {size - 1}",
                    remedy="Count places among the penalised coefficients only, without the intercept.",
                )
            labels[list(group)] = label
        alone = labels < 0
        labels[alone] = len(self.groups) + np.arange(int(alone.sum()))
        return labels

    def _norms(self, rows: FloatMatrix) -> tuple[FloatMatrix, FloatVector]:
        """Of each row the norm of its group, at each coefficient, and the root of the size of that group."""
        labels = self.labels(rows.shape[-1])
        member = np.zeros((labels.size, int(labels.max(initial=-1)) + 1))
        member[np.arange(labels.size), labels] = 1.0
        return np.sqrt((rows * rows) @ member)[..., labels], np.sqrt(member.sum(axis=0))[labels]

    def value(self, beta: FloatVector) -> float:
        norms, roots = self._norms(beta)
        # Each group is met once for each of its members, whose number is the root squared.
        return float(self.weight * np.sum(norms / roots))

    def values(self, betas: FloatMatrix, strengths: FloatVector) -> FloatVector:
        norms, roots = self._norms(betas)
        return np.asarray(strengths * (norms / roots).sum(axis=1), dtype=np.float64)

    def prox(self, v: FloatVector, step: float) -> FloatVector:
        mapped: FloatVector = self.prox_rows(v[None, :], step, np.array([self.weight]))[0]
        return mapped

    def prox_rows(self, v: FloatMatrix, step: float, strengths: FloatVector) -> FloatMatrix:
        norms, roots = self._norms(v)
        threshold = step * strengths[:, None] * roots
        shrinkage = 1.0 - threshold / np.where(norms > threshold, norms, np.inf)
        return np.where(threshold == 0.0, v, np.where(norms > threshold, shrinkage * v, 0.0)) + 0.0

    def derivatives(self, beta: FloatVector) -> tuple[FloatVector, FloatMatrix]:
        norms, roots = self._norms(beta)
        labels = self.labels(beta.size)
        unit = beta / np.where(norms > 0.0, norms, 1.0)
        curvature = self.weight * roots / np.where(norms > 0.0, norms, np.inf)
        together = labels[:, None] == labels[None, :]
        curvature = curvature[:, None] * (np.eye(beta.size) - np.where(together, np.outer(unit, unit), 0.0))
        return self.weight * roots * unit, curvature

    def strength_max(self, gradient_at_zero: FloatVector, step: float = 1.0) -> float:
        norms, roots = self._norms(gradient_at_zero)
        largest = float(np.max(norms / roots, initial=0.0))
        return largest if largest == 0.0 else not_below(self, largest, gradient_at_zero, step)
