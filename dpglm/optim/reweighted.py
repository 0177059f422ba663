"""A penalty that is concave in each |gamma_j|, by a sequence of weighted lassos."""

from __future__ import annotations

import numpy as np

from dpglm.glm.penalties.adaptive_l1 import AdaptiveL1
from dpglm.glm.penalties.separable import Separable
from dpglm.optim.minimise import minimise
from dpglm.optim.rows import ChunkLoss
from dpglm.optim.stationary import PenalisedLoss, Stationary
from dpglm.typing import BoolVector, FloatMatrix, FloatVector

# Rounds with the same zeros and signs before Newton's method ends it.
_SETTLED = 3


def minimise_reweighted(
    loss: ChunkLoss,
    penalty: Separable,
    *,
    ridge: float = 0.0,
    mixing: FloatMatrix | None = None,
    penalised: BoolVector | None = None,
    start: FloatVector | None = None,
    smoothing: float = 1e-4,
    tolerance: float = 1e-6,
    limit: int = 200,
) -> Stationary:
    r"""A stationary point of a loss plus a concave penalty, by majorisation and minimisation.

    Each round replaces the penalty by its tangent at :math:`|z| + \mu`, a lasso with weights
    :math:`P'(|z_j| + \mu)`, and minimises exactly, so that the objective with :math:`|z_j| + \mu` for
    :math:`|z_j|` never rises. For the l1/2 penalty of strength s the weights are
    :math:`\frac s2 (|z_j| + \mu)^{-1/2}`; without the 1/2 the fixed points are those of the strength 2s. When
    zeros and signs stay, Newton's method on the support goes to the penalty without :math:`\mu`.

    Parameters
    ----------
    loss, penalty, ridge, mixing, penalised
        As in `minimise_by_admm`; the penalty is a sum over coefficients.
    start : ndarray, shape (p,), or None
        Sets the first weights. None takes 1 for each penalised coefficient.
    smoothing : float
        :math:`\mu` > 0, on the scale of gamma. A coefficient that is zero stays so unless its gradient
        exceeds :math:`P'(\mu)`.
    tolerance : float
        Largest residual to be certified.
    limit : int
        Most rounds.

    Returns
    -------
    Stationary
        ``residual`` is the norm of the gradient of the whole along the support, and of what exceeds
        :math:`P'(\mu)` off it: a zero may be stationary here and not survive the prox of `minimise_by_admm`,
        and the other way round. ``augmentation`` is 0.

    References
    ----------
    .. [1] Zou and Li (2008), "One-step sparse estimates in nonconcave penalized likelihood models", Annals of
       Statistics 36(4), section 2.
    .. [2] Candes, Wakin and Boyd (2008), "Enhancing sparsity by reweighted l1 minimization", JFAA 14.

    Examples
    --------
    >>> from dpglm.glm.families.binomial import Binomial
    >>> from dpglm.glm.penalties.l_half import LHalf
    >>> from dpglm.optim.rows import ArrayChunk
    >>> rows = np.array([[1.0, 1.0, 1.0, -1.0], [1.0, -1.0, 1.0, -1.0]], dtype=np.float32)
    >>> block = ArrayChunk(rows, np.array([1.0, 1.0, 0.0, 0.0]), None)
    >>> loss = ChunkLoss(lambda: [block], Binomial(), 2)
    >>> minimise_reweighted(loss, LHalf(strength=0.3)).gamma.round(3)
    array([0.897, 0.   ])
    """
    problem = PenalisedLoss.of(loss, penalty, ridge, mixing, penalised)
    mask = problem.penalised
    strengths = penalty.strengths_of(int(mask.sum()))
    gamma = np.where(mask, 1.0, 0.0) if start is None else np.array(start, dtype=np.float64)
    best, least, same, rounds = gamma, float(np.inf), 0, 0
    with np.errstate(all="ignore"):
        while rounds < limit and least > tolerance:
            rounds += 1
            weights = penalty.slope(np.abs(gamma[mask]) + smoothing, strengths)
            found = minimise(
                loss,
                linear=np.zeros(loss.size),
                ridge=ridge,
                mixing=problem.mixing,
                penalty=AdaptiveL1(strength=1.0, weights=tuple(weights.tolist())),
                penalised=mask,
                tolerance=0.1 * tolerance,
                start=gamma,
            ).gamma
            same = same + 1 if (np.sign(found) == np.sign(gamma)).all() else 0
            gamma = found
            if same < _SETTLED:
                continue
            same = 0
            polished = problem.on_support(gamma, tolerance=0.1 * tolerance)
            if polished is None:
                continue
            residual = _residual(
                problem, polished, penalty.slope(np.full(len(strengths), smoothing), strengths)
            )
            if residual < least:
                best, least = polished, residual
    return Stationary(best + 0.0, problem.mixing @ best, least, least <= tolerance, 0.0, rounds)


def _residual(problem: PenalisedLoss, gamma: FloatVector, at_zero: FloatVector) -> float:
    gradient = problem.smooth.measure(gamma).gradient
    z, pull = gamma[problem.penalised], gradient[problem.penalised]
    known = problem.penalty.derivatives(z)
    assert known is not None, "a sum over coefficients has derivatives"
    left = gradient
    left[problem.penalised] = np.where(z != 0.0, pull + known[0], np.maximum(np.abs(pull) - at_zero, 0.0))
    return float(np.linalg.norm(left))
