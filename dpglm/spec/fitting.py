"""One fit in four steps: plan it from public facts, charge it, solve it, write it up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self, cast, get_args

import numpy as np

from dpglm import __version__
from dpglm.curator.curator import Curator
from dpglm.curator.priced_releases import PricedReleases
from dpglm.data.coding.coding import Coding
from dpglm.data.coding.design import Design
from dpglm.data.coding.encoder import RowEncoder
from dpglm.data.coding.response import BinaryResponse, Response, response_of
from dpglm.data.formula.model import Model
from dpglm.data.formula.parse import parse
from dpglm.data.schema.schema import Schema
from dpglm.data.tables.sources import open_source
from dpglm.glm.families import Family
from dpglm.glm.penalties import Penalty, penalised_terms
from dpglm.ledger.ledger import Entry, Ledger
from dpglm.mechanisms.noise.source import NoiseSource
from dpglm.methods.base import Estimate, Method, Problem
from dpglm.methods.response_scale import to_response_scale
from dpglm.postprocessing.record import FitRecord, ResponseFacts
from dpglm.postprocessing.specification import Choice, Goal, SpecificationDocument
from dpglm.postprocessing.spending import LedgerLine, LedgerState, parallel_lines
from dpglm.postprocessing.store import read
from dpglm.privacy.budget import Privacy
from dpglm.privacy.guarantee import Guarantee
from dpglm.registry import options_text
from dpglm.results.fit_result import FitResult
from dpglm.spec.arguments import family_of, method_of, naming_unit, penalty_of, require_choice, strength_of

STEPS: Final = ("plan", "charge", "read and solve", "write up")


@dataclass(frozen=True)
class Asked:
    """What the statistician asked for, checked as far as it can be without a schema."""

    formula: str
    family: str | Family
    penalty: Penalty
    strength: object
    goal: Goal
    method: str | Method
    budget: Privacy | None

    @classmethod
    def of(
        cls,
        formula: str,
        *,
        family: str | Family,
        penalty: str | Penalty,
        strength: object,
        goal: Goal,
        method: str | Method,
        budget: Privacy | None,
    ) -> Self:
        """The arguments of ``dpglm.fit``.

        Raises
        ------
        MethodError
            A penalty, strength or goal that means nothing.
        """
        chosen = penalty_of(penalty, strength)
        require_choice("goal", goal, get_args(Goal))
        return cls(formula, family, chosen, strength, goal, method, budget)


@dataclass(frozen=True)
class Modelled:
    """What was asked for, under a schema: the public coding of rows, the family and the method."""

    asked: Asked
    schema: Schema
    model: Model
    coding: Coding
    encoder: RowEncoder
    response: Response
    family: Family
    method: Method

    @classmethod
    def of(cls, asked: Asked, declared: Schema) -> Self:
        """The model of a table with this schema.

        Raises
        ------
        FormulaError, SchemaError, MethodError
            Told from public facts.
        """
        family = family_of(asked.family)
        method = method_of(asked.method, asked.budget, family).opened(read)
        model = parse(asked.formula, declared)
        coding = Coding.of(model, kind=method.coding)
        encoder = RowEncoder(model, coding)
        response = response_of(declared, model.response, family, centred=model.intercept)
        family = family.with_bound(response.high)
        return cls(asked, declared, model, coding, encoder, response, family, method)

    def document(self) -> SpecificationDocument:
        """All that was asked for, as plain values."""
        asked = self.asked
        return SpecificationDocument(
            formula=asked.formula,
            schema=self.schema.to_dict(),
            family=_choice(family_of(asked.family)),
            penalty=_choice(asked.penalty, without=["strength"]),
            method=_choice(self.method),
            strength=cast("float | Literal['cv'] | None", strength_of(asked.strength, asked.penalty)),
            goal=asked.goal,
            privacy=naming_unit(asked.budget, self.schema),
        )

    def under(self, declared: Schema) -> Modelled:
        """The same model under a schema that declares the same columns, as another site's may."""
        assert declared.variables == self.schema.variables, "the same columns"
        return replace(self, schema=declared)

    def design(self, data: object) -> Design:
        """The rows as blocks; none is read yet, only the names of the columns.

        Raises
        ------
        SchemaError
            The table cannot be opened or lacks a column.
        """
        source = open_source(data)
        source.require((self.model.response, *self.encoder.columns))
        return Design(source, self.schema, self.encoder, self.response)

    def plan(self, design: Design, *, seeded: bool) -> Planned:
        """The releases and what they promise; reads no row.

        Raises
        ------
        PrivacyError, MethodError
            The method cannot do what is asked under this budget.
        """
        asked, coding = self.asked, self.coding
        public = asked.budget is None or asked.budget.relation == "replace-one"
        inside = self.method.inside(asked.penalty, asked.strength)
        penalty = inside.for_terms(penalised_terms(coding.terms, coding.penalised))
        penalty.require_size(int(coding.penalised.sum()))
        problem = Problem(
            geometry=coding,
            family=self.family,
            penalty=penalty,
            strength=strength_of(asked.strength, penalty),
            rows=None if public else self.schema.rows,
            goal=asked.goal,
            known_rows=self.schema.rows,
            count_rows=design.row_count if public else None,
            offset=bool(self.model.offsets),
        )
        budget = naming_unit(asked.budget, self.schema)
        plan = self.method.plan(problem, budget)
        guarantee = plan.guarantee.seeded() if seeded and budget is not None else plan.guarantee
        return Planned(self, design, problem, plan, guarantee, public)


@dataclass(frozen=True)
class Planned:
    """A fit that needs only to be charged and run."""

    modelled: Modelled
    design: Design
    problem: Problem
    plan: PricedReleases
    guarantee: Guarantee
    public: bool  # whether the number of rows is

    @property
    def what(self) -> str:
        """The words of a ledger's line: formula, method and penalty."""
        asked = self.modelled.asked
        return f"{asked.formula}  [{self.modelled.method.name}, {self.problem.penalty.name}]"

    def solve(self, noise: NoiseSource) -> Estimate:
        """Read the rows, by the planned releases only."""
        modelled = self.modelled
        return to_response_scale(
            modelled.method.solve(self.problem, self.plan, Curator(self.design, self.plan, noise).ask),
            modelled.coding,
            unit=modelled.response.unit,
            shift=modelled.response.shift,
        )

    def write_up(self, estimate: Estimate, noise: NoiseSource, state: LedgerState | None) -> FitResult:
        """The result: released numbers and public facts."""
        modelled, problem, plan, guarantee = self.modelled, self.problem, self.plan, self.guarantee
        coding, chosen = modelled.coding, modelled.method
        public_rows = self.design.row_count() if self.public else None
        record = FitRecord(
            specification=modelled.document(),
            names=coding.names,
            link=problem.family.link,
            penalty=problem.penalty.name,
            strength=strength_per_row(problem, estimate, public_rows),
            strength_sum=estimate.strength_sum,
            estimates=estimate.estimates,
            selected_mask=estimate.selected,
            coded=estimate.coded,
            user_from_coded=coding.user_from_coded,
            row_norm=coding.row_norm,
            rows_clipped=coding.clipping,
            norm_factor=estimate.norm_factor,
            residual=estimate.residual,
            terms=coding.terms,
            response=_response_facts(modelled.response),
            guarantee=guarantee,
            spend_lines=parallel_lines(plan.parallel(), guarantee),
            description=chosen.describe(problem, plan),
            random_source="operating system" if noise.private else "seeded generator: NOT PRIVATE",
            n_rows=public_rows,
            ledger=state,
            version=__version__,
            released=estimate.released,
            exact_path=estimate.exact_path,
            part=estimate.part,
            row_map=RowMap(modelled.schema, modelled.encoder),
        )
        return FitResult(record)


class RowMap:
    """The public map from new rows to coded ones, for predictions."""

    def __init__(self, schema: Schema, encoder: RowEncoder) -> None:
        self._schema, self._encoder = schema, encoder

    def coded(self, frame: object) -> tuple[Any, Any]:
        """Coded rows, shape (k, p), NaN in rows that cannot be predicted, and offsets, shape (k,)."""
        source = open_source(frame)
        columns = self._encoder.columns
        source.require(columns)
        if not columns:  # an intercept alone: a row needs no value, only to be there
            chunks = source.chunks(source.column_names[:1])
            return self._encoder.coded_chunks({"": np.empty(len(chunk))} for chunk in chunks)
        return self._encoder.coded_chunks(
            self._schema.clean(chunk, columns) for chunk in source.chunks(columns)
        )


def charge(ledger: Ledger | None, guarantee: Guarantee, what: str) -> LedgerState | None:
    """Take what was planned from the ledger; its state right afterwards."""
    if ledger is None:
        return None
    return ledger_state(ledger, ledger.charge(guarantee, what=what))


def ledger_state(ledger: Ledger, entry: Entry) -> LedgerState:
    """The ledger as it stood right after an entry."""
    state = ledger.state(at=entry)
    return LedgerState(**{**state, "entries": tuple(LedgerLine(**entry) for entry in state["entries"])})


def strength_per_row(problem: Problem, estimate: Estimate, rows: int | None) -> float | None:
    """The strength per row: as given, or the default's, which is set in sum units, where rows are public."""
    if estimate.strength is not None:
        return estimate.strength
    if isinstance(problem.strength, float):
        return problem.strength
    total = estimate.strength_sum
    return None if total is None or not rows else total / rows


@contextmanager
def steps(labels: Sequence[str], progress: bool | None) -> Iterator[Callable[[int], None]]:
    """A bar over public steps; no times, since they depend on the data."""
    if progress is False:
        yield lambda index: None
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=len(labels),
        disable=None if progress is None else not progress,
        bar_format="{desc}: {n_fmt}/{total_fmt} |{bar}|",
        leave=False,
    ) as bar:

        def step(index: int) -> None:
            bar.set_description_str(labels[index])
            bar.update(index + 1 - bar.n)

        yield step


def _response_facts(response: Response) -> ResponseFacts:
    """What the result says of the response."""
    if isinstance(response, BinaryResponse):
        return ResponseFacts(response.name, levels=response.levels)
    return ResponseFacts(response.name, bounds=(response.low, response.high))


def _choice(piece: Family | Penalty | Method, *, without: Sequence[str] = ()) -> Choice:
    """The piece by name, with its options."""
    return Choice(piece.name, json.loads(options_text(piece, without=without)))
