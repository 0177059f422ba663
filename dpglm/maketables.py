"""Tables of maketables: a fit is read by its own attributes, and its privacy stands in the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpglm.errors import MethodError
from dpglm.results.fit_result import FitResult
from dpglm.results.plug_in import UNRELIABLE, privacy_line

if TYPE_CHECKING:
    from maketables import ETable

__all__ = ["etable", "register"]


def register() -> None:
    """Let every table of maketables read a fit by its own attributes, from now on.

    A fit has ``params``, ``bse`` and ``pvalues``, so maketables takes it for one of statsmodels: NOT PRIVATE
    is then in the header alone, and the line of privacy and the marks are missing.

    Raises
    ------
    MethodError
        maketables is not installed.

    Examples
    --------
    >>> import maketables, dpglm.maketables  # doctest: +SKIP
    >>> dpglm.maketables.register()  # doctest: +SKIP
    """
    try:
        from maketables import extractors
    except ImportError:
        raise MethodError(
            "a table of the package maketables, which is not installed",
            expected="maketables, which is optional",
            remedy="Run pip install 'dpglm[maketables]', or use summary() or dpglm.compare([...]).",
        ) from None

    class FitExtractor(extractors.PluginExtractor):  # type: ignore[misc]  # it has no types here
        def can_handle(self, model: Any) -> bool:
            return isinstance(model, FitResult)

    # The public register_extractor puts ours last, behind that of statsmodels.
    registry = extractors._EXTRACTOR_REGISTRY
    if not any(type(known).__qualname__ == FitExtractor.__qualname__ for known in registry):
        registry.insert(0, FitExtractor())


def etable(models: Any, **options: Any) -> ETable:
    """Fits side by side, as a table of maketables with what was promised in its notes.

    Parameters
    ----------
    models : FitResult, or list of fits, also of other packages
        A column each. A number with a dagger has no interval that rests on released numbers.
    **options
        Those of ``maketables.ETable``. Tokens of ``coef_fmt`` are b, se, t, p, ci95l, ci95u, sampling_se and
        privacy_se; ``model_stats`` are N, privacy and se_type, and ll, aic and bic without privacy.

    Raises
    ------
    MethodError
        maketables is not installed.

    Examples
    --------
    >>> import dpglm
    >>> from dpglm.maketables import etable
    >>> women = dpglm.load_data("fair")
    >>> fit = dpglm.fit("affair ~ age + religious", women, privacy=(1.0, 1e-6), seed=1)
    >>> etable([fit]).notes.endswith("(1): NOT PRIVATE: seeded.")  # doctest: +SKIP
    True
    """
    register()
    import maketables

    table = maketables.ETable(models, **options)
    fits = enumerate(table._normalize_models(models), start=1)
    told: dict[str, list[str]] = {}
    for place, fit in fits:
        if isinstance(fit, FitResult):
            if not fit.tidy()["reliable"].all():
                told = {UNRELIABLE: []} | told
            told.setdefault(privacy_line(fit._record), []).append(f"({place})")
    lines = [f"{', '.join(places)}: {line}." if places else line for line, places in told.items()]
    table.notes = " ".join([*([table.notes] if table.notes else []), *lines])
    return table
