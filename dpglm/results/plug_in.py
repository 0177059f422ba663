"""What tables of other packages read of a fit: attributes for maketables, and a header with NOT PRIVATE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpglm.postprocessing import exact_fit, frames
from dpglm.postprocessing.record import FitRecord
from dpglm.results.result import Result
from dpglm.tables.table import budget, one_line

if TYPE_CHECKING:
    import pandas as pd

MARK: Final = "†"
UNRELIABLE: Final = f"{MARK} No interval that rests on released numbers; fit.tidy() says why."
_ENDS: Final = {"conf_low": "ci95l", "conf_high": "ci95u"}
_TOKENS: Final = {"estimate": "b", "std_error": "se", "statistic": "t", "p_value": "p", **_ENDS}


class Marked(float):
    """A number with a mark behind it, however many digits are asked for.

    >>> f"{Marked(0.12345):.3f}"
    '0.123†'
    """

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) + MARK


class PlugIn(Result[FitRecord]):
    """The plug-in format of maketables, which asks a result for attributes and is not imported here."""

    @property
    def endog_names(self) -> str:
        """Name of the response, as statsmodels calls it: with NOT PRIVATE behind it where that is so.

        Packages that take a fit for one of statsmodels head its column by it.
        """
        name = one_line(self._record.response.name)
        return name if self._record.private else f"{name} (NOT PRIVATE)"

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        import pandas as pd

        frame = frames.tidy(self._record, exponentiate=False).rename(columns=_TOKENS)
        pairs = zip(frame["b"], frame["reliable"], strict=True)
        told = [value if sure else Marked(value) for value, sure in pairs]
        frame["b"] = pd.Series(told, dtype=object)  # of another type, pandas would make plain numbers of them
        frame.index = pd.Index([one_line(name) for name in frame.pop("term")], name="Coefficient")
        return frame

    @property
    def __maketables_depvar__(self) -> str:
        return self.endog_names

    @property
    def __maketables_var_labels__(self) -> dict[str, str]:
        columns: Any = self._record.specification.schema.get("variables", {})
        told = {name: facts["label"] for name, facts in columns.items() if facts.get("label")}
        return {name: one_line(label) for name, label in told.items()}

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return ["N", "privacy"]

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return {"privacy": "Privacy"}

    def __maketables_stat__(self, key: str) -> Any:
        record = self._record
        if key == "privacy":
            return privacy_line(record)
        if key == "se_type":
            return "noise of privacy included" if record.private else None
        return record.n_rows if key == "N" else exact_fit.criterion(record, {"ll": "llf"}.get(key, key))


def privacy_line(record: FitRecord) -> str:
    """Epsilon, delta and relation, or the alarm, without a word of the schema: other packages do not escape.

    Examples
    --------
    >>> import dpglm
    >>> fit = dpglm.fit("affair ~ age", dpglm.load_data("fair"), privacy=(1.0, 1e-6))
    >>> privacy_line(fit._record)
    'epsilon = 1, delta = 1e-6 (replace-one)'
    """
    guarantee = record.guarantee
    if not record.private:
        return "".join(letter if letter.isalnum() or letter in " :,.;()-" else " " for letter in record.alarm)
    return f"epsilon = {budget(guarantee.epsilon)}, delta = {budget(guarantee.delta)} ({guarantee.relation})"
