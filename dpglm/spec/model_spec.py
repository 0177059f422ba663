"""Model specification: all that is asked of a fit, public, complete, and written to a file or read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any, Literal, Self

from dpglm.data.coding.coded_model import CodedModel
from dpglm.data.schema.schema import Schema
from dpglm.errors import FormulaError, MethodError, PrivacyError, SchemaError
from dpglm.glm.families import Family, families
from dpglm.glm.penalties import Penalty, penalised_terms, penalties
from dpglm.glm.penalties.base import strength_of
from dpglm.mechanisms.base import Rows
from dpglm.methods.base import Method, Problem, methods
from dpglm.methods.joint import JointMethod
from dpglm.planning.expected_rows import expected_weight
from dpglm.postprocessing import store
from dpglm.postprocessing.correlations import ColumnProducts
from dpglm.postprocessing.record import SPECIFICATION, Choice, Goal, SpecificationDocument
from dpglm.privacy.budget import Privacy
from dpglm.registry import options_of, with_options
from dpglm.spec import arguments
from dpglm.spec.defaults import DEFAULT_FAMILY, DEFAULT_GOAL, DEFAULT_METHOD
from dpglm.spec.plan import Plan, hashed
from dpglm.spec.profiled import known_moments
from dpglm.spec.weighting import require_weights, weighted_releases


@dataclass(frozen=True)
class ModelSpec:
    """What is fitted, and how: a public value from which the plan of a fit follows.

    Parameters
    ----------
    formula, schema, family, strength, goal
        As for `dpglm.fit`; schema and family as objects.
    penalty : Penalty
        Without a strength of its own.
    method : Method
        With its options; ``"auto"`` has been decided.
    privacy : Privacy or None
        The budget, with the unit that it protects.
    weights : str or None
        Column of the rows' weights.
    products : ColumnProducts or None
        What a profile released of how columns go together: for expectations, and not part of what is asked.

    Examples
    --------
    >>> import dpglm
    >>> schema = {"ill": ["no", "yes"], "age": (18, 90)}
    >>> spec = dpglm.ModelSpec.of("ill ~ age", schema, penalty="none", privacy=(1.0, 1e-6))
    >>> spec.plan(n=5000).guarantee.epsilon
    1.0
    >>> dpglm.ModelSpec.from_json(spec.to_json()) == spec
    True
    """

    formula: str
    schema: Schema
    family: Family
    penalty: Penalty
    strength: float | Literal["cv"] | None
    goal: Goal
    method: Method
    privacy: Privacy | None
    weights: str | None = None
    products: ColumnProducts | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        arguments.require_goal(self.goal)
        object.__setattr__(self, "strength", arguments.checked_strength(self.strength))
        object.__setattr__(self, "privacy", arguments.privacy_of(self.privacy))
        if self.weights is not None:
            require_weights(self.weights, self.schema, self.method, periods=self._most_periods is not None)
        if self.privacy is not None:
            periods = self._most_periods
            object.__setattr__(self, "privacy", arguments.for_unit(self.privacy, self.schema, periods))
            if periods is not None and self.strength is not None:
                raise MethodError(
                    "a strength per row, where a row of the table becomes one for each period or stage",
                    expected="a strength that follows from the noise",
                    remedy="Leave strength out; fit.refit(penalty, strength=...) takes one of the whole sum.",
                )

    @classmethod
    def of(
        cls,
        formula: str,
        schema: Schema | Mapping[str, Any] | str | PathLike[str],
        *,
        family: str | Family = DEFAULT_FAMILY,
        penalty: str | Penalty | None = None,
        strength: float | Literal["cv"] | None = None,
        goal: Goal = DEFAULT_GOAL,
        method: str | Method = DEFAULT_METHOD,
        privacy: float | tuple[float, float] | Privacy | arguments.Required | None = arguments.REQUIRED,
        weights: str | None = None,
        products: ColumnProducts | None = None,
    ) -> Self:
        """The specification that these arguments of `dpglm.fit` make, with its errors."""
        budget = arguments.privacy_of(privacy)
        declared = Schema.of(schema)
        chosen_family = arguments.piece_of(families, Family, family, "family='binomial'")
        if isinstance(method, str) and method == "auto":
            chosen_method = arguments.auto(budget, chosen_family)
        else:
            chosen_method = arguments.piece_of(methods, Method, method, "method='auto'")
        chosen_penalty = arguments.penalty_of(penalty, goal, chosen_method, chosen_family)
        strength = strength_of(strength, chosen_penalty)
        opened = chosen_method.opened(lambda path: store.read(path))
        asked = (formula, declared, chosen_family, chosen_penalty, strength, goal, opened, budget, weights)
        spec = cls(*asked, products)
        spec.to_document()  # refuses options that no result could keep
        return spec

    @cached_property
    def coded_model(self) -> CodedModel:
        """The formula read against the schema, with its coding and its response."""
        return CodedModel.of(
            self.formula, self.schema, self.family, coding=self.method.coding, weights=self.weights
        )

    def under(self, schema: Schema) -> ModelSpec:
        """The same specification for a table with another schema of the same columns, as a site's may be."""
        other = replace(self, schema=schema)
        if schema.variables == self.schema.variables:
            other.__dict__["coded_model"] = replace(self.coded_model, schema=schema)
        return other

    def among(self, schemas: Sequence[Schema]) -> ModelSpec:
        """The specification as sites with these schemas run it, one for all of them."""
        method = self.method
        if not isinstance(method, JointMethod):
            return self
        spec = replace(self, method=method.among(len(schemas)))
        declared = [schema.rows for schema in schemas if schema.rows is not None]
        if not method.masks or not declared:
            return spec
        rows = sum(declared) if len(declared) == len(schemas) else None
        return replace(spec, schema=replace(self.schema, rows=rows))

    @property
    def _most_periods(self) -> int | None:
        """How many rows of the fit a row of the table may become; None where it is one."""
        # No formula has periods without this word; others need not be read before they are planned.
        survival = isinstance(self.formula, str) and "Surv" in self.formula
        several = survival or self.family.response_kind == "ordered"
        periods = self.coded_model.periods if several else None
        return None if periods is None else len(periods.values)

    @cached_property
    def rows_are_public(self) -> bool:
        """Whether the number of rows of a table is public: without privacy, and under replace-one."""
        return self.privacy is None or self.privacy.rows_are_public

    @property
    def _weight_is_public(self) -> bool:
        """Whether what the rows count in all is public: where their number is, and each counts for one."""
        return self.rows_are_public and self.weights is None

    def problem(self, design: Rows | None = None, n: int | None = None) -> Problem:
        """What a method is given, for a table or for an expected number of rows; reads no row."""
        model = self.coded_model
        periods = None if model.periods is None else len(model.periods.values)
        if self.privacy is not None and periods is not None and self.privacy.unit_rows != periods:
            raise PrivacyError(
                f"a price of {self.privacy.unit_rows or 1} rows where a row becomes up to {periods}",
                expected="the price of all rows that a row of the table becomes",
                remedy="Write the response as Surv(time, event), or family='ordinal'.",
            )
        inside = self.method.inside(self.penalty, self.strength)
        penalty = inside.for_terms(penalised_terms(model.coding.terms, model.coding.penalised))
        penalty.require_size(int(model.coding.penalised.sum()))
        declared, expected = (
            None if rows is None else max(1, round(expected_weight(model, rows)))
            for rows in (self.schema.rows, self.schema.rows if n is None else n)
        )
        count = partial(_expected_rows, expected) if design is None else design.row_count
        problem = Problem(
            geometry=model.coding,
            family=model.family,
            penalty=penalty,
            strength=self.strength,
            rows=None if self._weight_is_public else declared,
            goal=self.goal,
            known_rows=declared,
            count_rows=count if self._weight_is_public else None,
            weighted=self.weights is not None,
            offset=model.coding.model.offset_range,
            moments=known_moments(model),
        )
        self.method.require_columns(problem)
        return self.method.prepared(problem)

    def plan(self, *, n: int | None = None) -> Plan:
        """The releases of the fit with their price, before any row is read.

        Parameters
        ----------
        n : int, optional
            Expected number of rows, or of persons as in ``Schema(rows=...)``, for what the fit can be
            expected to give; None is what the schema declares. The releases do not depend on it.

        Raises
        ------
        PrivacyError, FormulaError, SchemaError, MethodError
            From public facts alone.
        """
        opened = replace(self, method=self.method.opened(lambda path: store.read(path)))
        opened.__dict__["coded_model"] = self.coded_model
        rows = self.schema.rows if n is None else arguments.row_count_of(n)
        problem = opened.problem(n=rows)
        releases = opened.method.plan(problem, self.privacy)
        if self.weights is not None:
            releases = weighted_releases(releases, opened.method.name)
        return Plan(opened, problem, releases, rows)

    def to_document(self) -> SpecificationDocument:
        """The specification as plain values."""
        return SpecificationDocument(
            formula=self.formula,
            schema=self.schema.to_dict(),
            family=Choice(self.family.name, options_of(self.family)),
            penalty=Choice(self.penalty.name, options_of(self.penalty, without=["strength"])),
            method=Choice(self.method.name, options_of(self.method)),
            strength=self.strength,
            goal=self.goal,
            privacy=self.privacy,
            weights=self.weights,
        )

    @classmethod
    def of_document(cls, document: SpecificationDocument) -> Self:
        """The specification that `to_document` wrote; names or options that mean nothing are refused."""
        return cls(
            formula=document.formula,
            schema=Schema.from_dict(document.schema),
            family=with_options(families[document.family.name], document.family.options),
            penalty=with_options(
                penalties[document.penalty.name], document.penalty.options, without=["strength"]
            ),
            strength=document.strength,
            goal=document.goal,
            method=with_options(methods[document.method.name], document.method.options),
            privacy=document.privacy,
            weights=document.weights,
        )

    def to_json(self) -> str:
        """The specification as JSON text: the same text for the same specification."""
        return self.to_document().to_json()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The specification whose text `to_json` wrote.

        Raises
        ------
        SchemaError, MethodError
            The text is not that of a specification.
        """
        try:
            content = json.loads(text)
            if content.pop("format") != SPECIFICATION:
                raise ValueError
            for name in ("family", "penalty", "method"):
                content[name] = Choice(**content[name])
                if not isinstance(content[name].name, str):
                    raise TypeError
            if content["privacy"] is not None:
                content["privacy"] = Privacy(**content["privacy"])
            document = SpecificationDocument(**content)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            raise SchemaError(
                "a text that is not a specification",
                expected="the text that ModelSpec.to_json wrote",
                remedy="Write the specification again.",
            ) from None
        return cls.of_document(document)

    @property
    def fingerprint(self) -> str:
        """A hash of all of it, 64 hexadecimal digits."""
        return hashed(json.loads(self.to_json()))

    def __eq__(self, other: object) -> bool:
        """Equal where everything that was asked for is."""
        if not isinstance(other, ModelSpec):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _expected_rows(n: int | None) -> int:
    if n is None:
        raise MethodError(
            "a plan that follows from the number of rows",
            expected="the number of rows to expect",
            remedy="Use n=10_000, or declare Schema(..., rows=10000).",
        )
    return n


def no_formula(formula: object) -> FormulaError:
    """The refusal of what stands where a formula should."""
    remedy = "Write the formula first, then the data or the schema."
    if isinstance(formula, ModelSpec):
        remedy = "Use spec.plan().fit(data)."
    return FormulaError(
        f"formula of type {type(formula).__name__}", expected="a string such as 'y ~ x1 + x2'", remedy=remedy
    )
