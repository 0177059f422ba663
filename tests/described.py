"""What a result says of its method, by label."""

from __future__ import annotations

from dpglm.privacy.events import FactValue
from dpglm.results.fit_result import FitResult


def facts(fit: FitResult) -> dict[str, FactValue]:
    """Facts of the method and of all its releases."""
    listed = [*fit.description.facts, *(fact for one in fit.description.releases for fact in one.facts)]
    return {fact.label: fact.value for fact in listed}


def noise_scale(fit: FitResult) -> float:
    """Of the first release; of the minimiser where scales are measured before it."""
    releases = fit.description.releases
    return next((one for one in releases if one.name.startswith("perturbed")), releases[0]).scale
