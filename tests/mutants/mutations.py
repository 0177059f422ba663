"""Small faults put into a source file: which there are, and the file with one of them in it."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

# Words that mean each other's opposite somewhere in the package.
WORDS = {
    "add-remove": "replace-one",
    "replace-one": "add-remove",
    "gaussian": "gamma",
    "gamma": "gaussian",
    "logistic": "general",
    "general": "logistic",
    "pure": "approximate",
    "approximate": "pure",
    "gdp": "zcdp",
    "zcdp": "gdp",
    "charged": "refused",
    "refused": "charged",
}
CALLS = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "log1p": "log",
    "expm1": "exp",
}
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
DISPLAY = {"__repr__", "__str__", "_repr_html_"}


@dataclass(frozen=True)
class Mutant:
    """One fault: bytes ``start`` to ``stop`` of a file become ``text``.

    Parameters
    ----------
    path : str
        Of the file, from the root of the repository.
    function : str
        Qualified name, or "" at the top of a file.
    line : int
        Where the fault is, counted from 1.
    first, last : int
        Lines of the statement it is in; ``first`` is 0 for what runs when the file is imported.
    kind : str
        What was done, in a word or two.
    before, text : str
        The code and what stands there instead.
    key : str
        Says which fault this is, also after other parts of the file have changed.
    """

    path: str
    function: str
    line: int
    first: int
    last: int
    kind: str
    start: int
    stop: int
    before: str
    text: str
    key: str

    def applied(self, source: bytes) -> bytes:
        """The file with the fault in it."""
        return source[: self.start] + self.text.encode() + source[self.stop :]


@dataclass(frozen=True)
class _Place:
    """Where in a file the walk is."""

    function: str
    statement: ast.stmt | None
    inside: bool


def mutants_of(source: bytes, path: str) -> list[Mutant]:
    """Every fault the catalogue has for one file, in the order of the file."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found, seen = [], Counter[str]()
    for node, kind, text, place in _faults(tree.body, _Place("", None, inside=False)):
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[_end(node) - 1] + (node.end_col_offset or 0)
        before = source[start:stop].decode()
        if before == text:
            continue
        first, last = _lines(place.statement) if place.statement is not None else (node.lineno, _end(node))
        statement = b"".join(source.splitlines(keepends=True)[first - 1 : last]).decode()
        label = "\0".join((path, place.function, " ".join(statement.split()), before, kind, text))
        seen[label] += 1
        key = hashlib.sha256(f"{label}\0{seen[label]}".encode()).hexdigest()[:10]
        lines = (first, last) if place.inside else (0, 0)
        found.append(Mutant(path, place.function, node.lineno, *lines, kind, start, stop, before, text, key))
    return found


def _end(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Lines of a statement; of one with a body, its head; of a function, whose defaults are meant, all."""
    if isinstance(statement, ast.FunctionDef):
        return statement.lineno, _end(statement)
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return statement.lineno, max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, _end(statement)


Fault = tuple[ast.stmt | ast.expr, str, str, _Place]


def _faults(body: list[ast.stmt], place: _Place) -> Iterator[Fault]:
    for number, statement in enumerate(body):
        if number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        yield from _of_statement(statement, place)


def _of_statement(statement: ast.stmt, place: _Place) -> Iterator[Fault]:
    here = _Place(place.function, statement, place.inside)
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Assert | ast.Pass):
        return
    if isinstance(statement, ast.ClassDef):
        if any(ast.unparse(base) == "Protocol" for base in statement.bases):
            return
        yield from _faults(statement.body, _Place(_join(place.function, statement.name), None, place.inside))
        return
    if isinstance(statement, ast.FunctionDef):
        if statement.name in DISPLAY:
            return
        inner = _Place(_join(place.function, statement.name), None, inside=True)
        for default in (*statement.args.defaults, *statement.args.kw_defaults):
            if default is not None:
                # Seen by whoever calls the function.
                yield from _of_expression(default, _Place(inner.function, statement, inside=True))
        yield from _faults(statement.body, inner)
        return
    if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
        return
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if isinstance(target, ast.Name) and target.id == "__all__":
            return
        if statement.value is not None:
            yield from _of_expression(statement.value, here)
        return
    if isinstance(statement, ast.Raise):
        yield statement, "raise removed", "pass", here
        return  # the rest is the text of an error
    if isinstance(statement, ast.AugAssign):
        yield statement, "statement removed", "pass", here
        if type(statement.op) in COMPUTED:
            other = copy.copy(statement)
            other.op = COMPUTED[type(statement.op)]()
            yield statement, "arithmetic", ast.unparse(other), here
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield statement, "call removed", "pass", here
    if isinstance(statement, ast.If | ast.While) and not isinstance(statement.test, ast.Compare):
        yield statement.test, "condition negated", f"(not ({ast.unparse(statement.test)}))", here
    for name, value in ast.iter_fields(statement):
        if isinstance(value, ast.expr) and name not in ("annotation", "returns"):
            yield from _of_expression(value, here)
        elif name in ("body", "orelse", "finalbody"):
            yield from _faults(value, _Place(place.function, None, place.inside))
        elif name == "handlers":
            for handler in value:
                yield from _faults(handler.body, _Place(place.function, None, place.inside))
        elif name == "items":
            for item in value:
                yield from _of_expression(item.context_expr, here)


def _join(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer else name


def _of_expression(node: ast.expr, place: _Place) -> Iterator[Fault]:
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
    ):
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Error", "Exceeded")):
        return  # an error on its way to be raised: text
    for kind, text in _texts(node):
        yield node, kind, text, place
    for child in _children(node):
        yield from _of_expression(child, place)


def _children(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return  # -1.0 is one number
    if isinstance(node, ast.Lambda):
        yield node.body
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.keyword):
            yield child.value
        elif isinstance(child, ast.comprehension):
            yield child.iter
            yield from child.ifs


def _texts(node: ast.expr) -> Iterator[tuple[str, str]]:
    """What may stand instead of one expression, and what was done to it."""
    if isinstance(node, ast.Constant):
        yield from _of_constant(node.value)
    elif isinstance(node, ast.UnaryOp):
        kind = {ast.Not: "not removed", ast.USub: "sign"}.get(type(node.op))
        if kind is not None:
            yield kind, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for number, operator in enumerate(COMPARED.get(type(node.ops[0]), ())):
            order = len(COMPARED[type(node.ops[0])]) == 2 and number == 0
            yield ("boundary" if order else "comparison"), _like(node, ops=[operator()])
    elif isinstance(node, ast.Compare):
        for place, old in enumerate(node.ops):
            for number, operator in enumerate(COMPARED.get(type(old), ())):
                ops = [*node.ops[:place], operator(), *node.ops[place + 1 :]]
                order = len(COMPARED[type(old)]) == 2 and number == 0
                yield ("boundary" if order else "comparison"), _like(node, ops=ops)
    elif isinstance(node, ast.BinOp):
        strings = any(
            isinstance(side, ast.JoinedStr)
            or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
            for side in (node.left, node.right)
        )
        if type(node.op) in COMPUTED and not strings and not _union(node):
            yield "arithmetic", _like(node, op=COMPUTED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and/or", _like(node, op=other)
    elif isinstance(node, ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield "condition negated", _like(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_constant(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, bool):
        yield "truth", repr(not value)
    elif isinstance(value, int):
        yield "number", repr(1 if value == 0 else 0 if value == 1 else 2 * value)
        yield "number", repr(value + 1 if value != 0 else -1)
    elif isinstance(value, float):
        if value == 0.0:
            yield "number", "1.0"
        else:
            yield "number", repr(2.0 * value)
            yield "number", repr(0.5 * value)
        yield "number", repr(value + 1.0) if value != 0.0 else "-1.0"
    elif isinstance(value, str) and value in WORDS:
        yield "word", repr(WORDS[value])


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = ast.unparse(node.func)
    outer, dot, last = name.rpartition(".")
    if last in CALLS and outer in ("", "np", "math"):
        other = ast.parse(outer + dot + CALLS[last], mode="eval").body
        yield f"{CALLS[last]} for {last}", _like(node, func=other)
    if last == "sqrt" and len(node.args) == 1:
        yield "root removed", f"({ast.unparse(node.args[0])})"


def _union(node: ast.BinOp) -> bool:
    """Whether this is a union of types, as isinstance takes."""
    return isinstance(node.op, ast.BitOr) and all(
        isinstance(side, ast.Name | ast.Attribute) or (isinstance(side, ast.BinOp) and _union(side))
        for side in (node.left, node.right)
    )


def _like(node: ast.expr, **changes: object) -> str:
    other = copy.copy(node)
    for name, value in changes.items():
        setattr(other, name, value)
    return f"({ast.unparse(other)})"
