"""Prices of samples: the paper's own equations, and what the same releases cost exactly."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from scipy.optimize import brentq

from dpglm.privacy.accountant import compose
from dpglm.privacy.calibration import NoisySums, Target, calibrate
from dpglm.privacy.events import SampledGaussianEvent
from dpglm.privacy.gdp import gdp_epsilon, gdp_mu
from studies.jobs import Result
from studies.radmm.grid import (
    ACCOUNTED_NOISE,
    ACCOUNTED_STEPS,
    DELTA,
    EPOCHS,
    PAPER_ROWS,
    PAPER_SAMPLE,
    ROUNDS_PRINTED,
)

RATE = PAPER_SAMPLE / PAPER_ROWS
# One row replaced moves the sum of a sample by 2 C; noise is ACCOUNTED_NOISE times C.
MU = 2.0 / ACCOUNTED_NOISE
ORDERS = range(2, 65)
# Small epsilons need large ones.
MORE_ORDERS = (*ORDERS, 80, 96, 128, 192, 256, 384, 512)
DIGITS = 100


def paper() -> Result:
    """Epsilons, replace-one: noise of 4 C on the sum of 221 of 48,842 rows, 1105 times.

    Examples
    --------
    >>> round(paper()["equation 7, Proposition 1"], 2)
    1.08
    """
    with decimal.localcontext() as context:
        context.prec = DIGITS
        printed = [_renyi(order, MU, RATE, sharp=False) for order in ORDERS]
        sharper = [_renyi(order, MU, RATE, sharp=True) for order in ORDERS]
    return {
        "equation 7, Proposition 1": _proposition_1(printed),
        "equation 7, better conversion": _conversion(printed),
        "Theorem 27, better conversion": _conversion(sharper),
        "fixed size, exact losses": _exact("fixed"),
        "Poisson, exact losses": _exact("poisson"),
        "all rows": gdp_epsilon(RATE * MU * math.sqrt(ACCOUNTED_STEPS), DELTA),
    }


def noise(sampling: Literal["fixed", "poisson"], epsilon: float) -> Result:
    """Noise of the mean of all gradients, per row of the table, by samples and by all rows.

    Both at the same epsilon. With all rows it does not depend on the number of steps.
    """
    target = Target("replace-one", epsilon=epsilon, delta=DELTA)
    samples = NoisySums(2.0, ACCOUNTED_STEPS, RATE, sampling)
    scale = calibrate(samples, target).score_scale
    return {
        "printed": cost_of_printed_samples(epsilon, PAPER_ROWS),
        "sampled": scale / (RATE * math.sqrt(ACCOUNTED_STEPS)),
        "all": calibrate(NoisySums(2.0), target).score_scale,
    }


def printed_multiple(epsilon: float, rho: float, rounds: int = ROUNDS_PRINTED) -> float:
    """Noise of the printed mpADMM, in printed sensitivities: its Theorem 3 with its Proposition 1.

    The least over alpha of ``alpha S + log(1/delta) / (alpha - 1)`` is ``S + 2 sqrt(S log(1/delta))``.
    """
    log_delta = -math.log(DELTA)
    total = (math.sqrt(log_delta + epsilon) - math.sqrt(log_delta)) ** 2
    return math.sqrt(rounds * (2.0 + rho**2) / (2.0 * total))


def printed_cost(epsilon: float, eta: float, rho: float, rounds: int = ROUNDS_PRINTED) -> float:
    """What the noisy x of the printed mpADMM alone cost: x moves by eta times the printed sensitivity.

    Examples
    --------
    >>> printed_cost(1.0, 1.0, 0.5) < 1.0 < printed_cost(1.0, 5.0, 0.5)
    True
    """
    return gdp_epsilon(eta * math.sqrt(rounds) / printed_multiple(epsilon, rho, rounds), DELTA)


@lru_cache
def cost_of_printed_samples(epsilon: float, rows: int) -> float | None:
    """What ssADMM on samples costs with the noise that the printed calibration wants for ``epsilon``.

    Samples of the root of the rows, `EPOCHS` expected epochs. The printed bound, equation (7) with
    Proposition 1, is true and not tight: the cost is below ``epsilon``, and the noise larger than needed.
    None where the bound does not come down to ``epsilon`` with any noise: its terms from the third on do not.

    Examples
    --------
    >>> cost_of_printed_samples(0.1, 48_842) is None
    True
    >>> 0.3 < cost_of_printed_samples(1.0, 48_842) < 0.7
    True
    """
    rate, steps = rows**-0.5, round(EPOCHS * rows**0.5)

    def printed(log_mu: float) -> float:
        with decimal.localcontext() as context:
            context.prec = DIGITS
            costs = [_renyi(order, math.exp(log_mu), rate, sharp=False) for order in MORE_ORDERS]
        return _proposition_1(costs, steps, MORE_ORDERS) - epsilon

    least, most = math.log(1e-4), math.log(2.0)
    if printed(least) > 0.0:
        return None
    mu = math.exp(float(brentq(printed, least, most, xtol=1e-6)))
    return compose([SampledGaussianEvent(mu, rate, "fixed", "replace-one")] * steps, delta=DELTA)


def all_rows_mu(epsilon: float) -> float:
    """The mu that an epsilon buys."""
    return gdp_mu(epsilon, DELTA)


def _exact(sampling: Literal["fixed", "poisson"]) -> float:
    return compose([SampledGaussianEvent(MU, RATE, sampling, "replace-one")] * ACCOUNTED_STEPS, delta=DELTA)


@lru_cache
def _moment(order: int, mu: float) -> Decimal:
    """E (p / p')^order of one Gaussian release on its sample."""
    return (Decimal(order * (order - 1)) * Decimal(mu) ** 2 / 2).exp()


@lru_cache
def _difference(order: int, mu: float) -> Decimal:
    terms = ((-1) ** i * Decimal(math.comb(order, i)) * _moment(order - i, mu) for i in range(order + 1))
    return sum(terms, Decimal(0))


def _renyi(order: int, mu: float, rate: float, *, sharp: bool) -> float:
    """One step: equation (7), or Theorem 27 of Wang, Balle and Kasiviswanathan (2019) where ``sharp``."""
    q = Decimal(rate)
    two = min(4 * (_moment(2, mu) - 1), 2 * _moment(2, mu))
    total = 1 + q**2 * Decimal(math.comb(order, 2)) * two
    for j in range(3, order + 1):
        term = 2 * _moment(j, mu)
        if sharp:
            even = _difference(2 * (j // 2), mu) * _difference(2 * ((j + 1) // 2), mu)
            term = min(4 * even.sqrt(), term)
        total += q**j * Decimal(math.comb(order, j)) * term
    return float(total.ln()) / (order - 1)


def _proposition_1(
    costs: Sequence[float], steps: int = ACCOUNTED_STEPS, orders: Sequence[int] = ORDERS
) -> float:
    pairs = zip(orders, costs, strict=True)
    return min(steps * cost - math.log(DELTA) / (order - 1) for order, cost in pairs)


def _conversion(costs: Sequence[float]) -> float:
    """Canonne, Kamath and Steinke (2020), Proposition 12."""
    return min(
        ACCOUNTED_STEPS * cost + math.log1p(-1.0 / order) - (math.log(DELTA) + math.log(order)) / (order - 1)
        for order, cost in zip(ORDERS, costs, strict=True)
    )
