"""Checks of a method's description in a saved result; older files told the same in their mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dpglm.postprocessing.checks import count, decoded, fault, listed, mapping, real, text
from dpglm.privacy.description import Fact, FactValue, MethodDescription, ReleaseDescription

# Labels of what a mechanism held in files without a description.
_LABELS: Final = {
    "information_sensitivity": "Sensitivity of the curvature, Frobenius",
    "curvature_noise_scale": "Noise scale of the curvature",
    "ridge": "Ridge, sum units",
    "strength_chosen_by": "Penalty strength chosen by",
    "solver_residual": "Certified solver residual",
    "residual_noise_scale": "Noise that hides the residual",
    "gram_deviation": "Noise of X'X, standard deviation on the diagonal",
    "cross_deviation": "Noise of X'y, standard deviation",
    "prior_scale": "Scale of the prior that shrinks",
    "combine": "Answers combined by",
    "groups": "Groups of columns",
    "groups_chosen": "Origin of the groups",
    "group_epsilon": "Epsilon of each group",
    "meta_ridge": "Ridge of the meta model, sum units",
    "meta_noise_scale": "Noise scale of the meta model",
    "meta_pulled_to": "Weight of each model to which that ridge pulls",
    "parallel_parts": "Parts of the rows",
    "importance": "Importance, public weights",
    "importance_provenance": "Where the importance comes from",
    "source": "Source of the coefficients that the fit is pulled to",
    "source_privacy": "Price of that source, a budget of its own",
    "source_note": "On that source",
    "released_too": "Released too",
}
_READ_ELSEWHERE: Final = (
    *("algorithm", "theorem", "released", "sensitivity", "noise", "noise_scale", "penalty_applied"),
    *("proof_sketch", "interval_method"),
    *("strength_sum", "method_options", "penalty_options", "row_norm", "coding", "rows_clipped", "stacking"),
    *("random_source", "response", "response_levels", "response_bounds", "loss_width", "post_processing"),
)


def _value(value: Any, name: str) -> FactValue:
    value = decoded(value, name)
    if isinstance(value, list):
        if not all(isinstance(item, str) for item in value) and any(
            isinstance(item, bool) or not isinstance(item, int | float) for item in value
        ):
            fault(f"{name} with a list of other things", "numbers or texts")
        return tuple(value)
    if value is not None and not isinstance(value, str | int | float):
        fault(f"{name} of another kind", "a number, a text, or a list of either")
    return value


def _fact(value: Any, name: str) -> Fact:
    return Fact(**mapping(label=text, value=_value)(value, name))


def _release(value: Any, name: str) -> ReleaseDescription:
    words = dict.fromkeys(("name", "released", "noise", "theorem"), text)
    numbers = dict.fromkeys(("sensitivity", "scale"), real)
    found = mapping(**words, **numbers, times=count, facts=listed(_fact))(value, name)
    return ReleaseDescription(**found | {"facts": tuple(found["facts"])})


def description(value: Any, name: str) -> MethodDescription:
    """A description, checked."""
    words = dict.fromkeys(("algorithm", "penalty_applied", "why", "interval_method"), text)
    found = mapping(**words, releases=listed(_release), facts=listed(_fact))(value, name)
    return MethodDescription(**found | {"releases": tuple(found["releases"]), "facts": tuple(found["facts"])})


def older_description(mechanism: Mapping[str, Any]) -> MethodDescription:
    """The description that an older file gives in its mechanism."""
    if "algorithm" not in mechanism:
        return MethodDescription("", ())
    facts = tuple(
        Fact(_LABELS.get(key, key.replace("_", " ").capitalize()), _flat(value))
        for key, value in mechanism.items()
        if value is not None and key not in _READ_ELSEWHERE
    )
    released, noise, theorem = (str(mechanism.get(name, "")) for name in ("released", "noise", "theorem"))
    numbers = [mechanism.get(name) for name in ("sensitivity", "noise_scale")]
    sensitivity, scale = (float(one) if isinstance(one, int | float) else 0.0 for one in numbers)
    release = ReleaseDescription("", released, sensitivity, noise, scale, theorem)
    return MethodDescription(
        str(mechanism["algorithm"]),
        (release,),
        str(mechanism.get("penalty_applied", "")),
        str(mechanism.get("proof_sketch", "")),
        str(mechanism.get("interval_method", "")),
        facts,
    )


def _flat(value: Any) -> FactValue:
    """A value of an older mechanism as one of a fact."""
    if isinstance(value, Mapping):
        return tuple(f"{name}: {inner}" for name, inner in value.items())
    if isinstance(value, list):
        numbers = all(isinstance(item, int | float) for item in value)
        return tuple(value) if numbers else tuple(map(str, value))
    return value if isinstance(value, str | int | float) else str(value)
