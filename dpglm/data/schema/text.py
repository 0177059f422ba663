"""Text of a schema: YAML in and out, and the metadata of SmartNoise."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpglm.errors import SchemaError, shown

if TYPE_CHECKING:
    from dpglm.data.formula.columns import ColumnUse

SIZE_LIMIT: Final = 2**20
# Which plain scalars are not text: those that mean the same in YAML 1.1 and 1.2, and to a reader.
_SCALARS: Final = {
    "tag:yaml.org,2002:bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "tag:yaml.org,2002:int": ("[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    "tag:yaml.org,2002:float": (
        r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
}
_TAGS: Final = frozenset({None, "tag:yaml.org,2002:str"})  # the others make objects, or numbers without bound
_BARE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_YAML_WORDS: Final = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})


def read_yaml(path: str | os.PathLike[str]) -> object:
    """Plain values of a YAML file of at most 1 MiB.

    Unlike YAML 1.1, ``yes``, ``no``, ``on`` and ``off`` are texts (they are levels more often than truth
    values); so are the numbers ``010``, ``1_0``, ``12:30`` and ``0x10``, which are 8, 10, 750 and 16 there.
    Aliases, tags but ``!!str``, merge keys and a key that occurs twice are refused.
    """
    if not isinstance(path, str | os.PathLike) or not os.path.isfile(path):
        raise SchemaError(
            f"no schema file {shown(path if path is None else str(path))}",
            expected="a path to a YAML file",
            remedy="Correct the path, or write the file from dpglm.Schema.template(columns).",
        )
    try:
        with Path(path).open("rb") as stream:
            text = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise SchemaError(
            f"a schema file that cannot be read ({type(error).__name__})",
            expected="a YAML file that you may read",
            remedy="Change its permissions, or copy it.",
        ) from None
    if len(text) > SIZE_LIMIT:
        raise SchemaError(
            f"a schema file larger than {SIZE_LIMIT} bytes",
            expected="YAML that declares the columns",
            remedy="Check that the path is that of the schema and not that of the data.",
        )
    return parse_yaml(text)


def parse_yaml(text: bytes | str) -> object:
    """Plain values of a YAML text, read as :func:`read_yaml` says."""
    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(safe):  # type: ignore[misc]
        """A safe loader with the scalars of YAML 1.2, without merge and repeated keys."""

        def flatten_mapping(self, node: Any) -> None:
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
                raise yaml.YAMLError("merge keys (<<) are not read: write the entries out")

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [getattr(key, "value", None) for key, _ in getattr(node, "value", ())]
            for key, times in Counter(key for key in keys if isinstance(key, str)).items():
                if times > 1:
                    raise yaml.YAMLError(f"the key {key[:80]} is given twice")
            return super().construct_mapping(node, deep)  # type: ignore[no-any-return]

    Loader.yaml_implicit_resolvers = {
        first: [rule for rule in rules if rule[0] not in _SCALARS]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, (pattern, first_signs) in _SCALARS.items():
        Loader.add_implicit_resolver(tag, re.compile(rf"^(?:{pattern})$"), list(first_signs))
    try:
        for event in yaml.parse(text, Loader=safe):
            if isinstance(event, yaml.AliasEvent):
                raise yaml.YAMLError("aliases (*name) are not read: write the entry out")
            if getattr(event, "tag", None) not in _TAGS:
                raise yaml.YAMLError("tags (!name) are not read: write the value as it is")
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError, LookupError) as error:
        where = getattr(error, "problem_mark", None)  # at the end of a text it is the line after the last
        line = min(where.line + 1, max(len(text.splitlines()), 1)) if where else None
        why = str(error)[:200] if isinstance(error, yaml.YAMLError) else type(error).__name__
        raise SchemaError(
            "a schema that is not YAML" + (f", at line {line}" if where else f": {why}"),
            expected="one entry per column, such as age: {bounds: [18, 95]}",
            remedy="Correct indentation, brackets and quotes; dpglm.Schema.template(columns) shows the form.",
        ) from None


def to_yaml(declarations: Mapping[str, object]) -> str:
    """YAML of the full form of a schema, one column per line."""
    head = [f"{key}: {flow(value)}" for key, value in declarations.items() if key != "variables"]
    variables = declarations["variables"]
    assert isinstance(variables, Mapping)
    lines = [f"  {key_of(name)}: {flow(entry)}" for name, entry in variables.items()]
    return "\n".join([*head, "variables:" if lines else "variables: {}", *lines]) + "\n"


def template(columns: object, uses: Mapping[str, ColumnUse] | None) -> str:
    """A schema to fill in, of ``columns`` or of those in ``uses``."""
    names: list[Any] = [] if columns is None and uses else [None]
    if isinstance(columns, Iterable) and not isinstance(columns, str):
        names = list(columns)
    if not all(isinstance(name, str) for name in names):
        raise SchemaError(
            "columns that are not a list of text",
            expected="the names of the columns",
            remedy='Write dpglm.Schema.template(["age", "sex"]), or formula="ill ~ age + sex".',
        )
    return (
        "# A number has bounds, a category levels: take them from the code book, never from the data.\n"
        "unit: null  # what one row is: one woman\n"
        "variables:\n"
    ) + (template_lines(names) if uses is None else "".join(_used_lines(uses, names)))


def template_lines(columns: Iterable[str]) -> str:
    """The entries of a template, one a line."""
    return "".join(f"  {key_of(name)}: {PLACEHOLDERS['either']}\n" for name in columns)


# What stands for bounds and levels that are to be declared: no schema loads with them.
PLACEHOLDERS: Final = {
    "number": "{bounds: [LOW, HIGH]}",
    "levels": "{levels: LEVELS}  # write [A, B]",
    "either": "{bounds: [LOW, HIGH]}  # or {levels: [A, B]}",
}


def _used_lines(uses: Mapping[str, ColumnUse], names: Sequence[str]) -> Iterator[str]:
    """An entry for each column of a formula, with what it would be used for."""
    for name, use in uses.items():
        line = PLACEHOLDERS[use.kind]
        yield f"  {key_of(name)}: {line}{';' if '#' in line else '  #'} {use.words}\n"
        if names and name not in names:
            yield f"  # the table has no column {json.dumps(name, ensure_ascii=False)}{is_it(name, names)}\n"


def is_it(name: str, known: Sequence[str]) -> str:
    """A question for a name that is not among the known ones; empty where none of these is spelt alike."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; is it {close[0]}?" if close else ""


def key_of(name: str) -> str:
    """The name of a column as the key of its entry."""
    bare = _BARE_NAME.fullmatch(name) and name.lower() not in _YAML_WORDS
    return name if bare else flow(name, style='"')


def flow(value: object, *, style: str | None = None) -> str:
    """A value on one line of YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """The safe dumper, with escapes for what PyYAML would write as a line break."""

        def represent_str(self, data: str) -> yaml.ScalarNode:
            plain = data.isprintable()
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')

    Dumper.add_representer(str, Dumper.represent_str)
    text: str = yaml.dump(
        value,
        Dumper=Dumper,
        default_flow_style=True,
        default_style=style,
        allow_unicode=True,
        width=10**6,
        sort_keys=False,
    )
    return text.removesuffix("\n").removesuffix("\n...")


def from_smartnoise(metadata: object) -> dict[str, object]:
    """The full form of a schema, from what SmartNoise's metadata say of the one table they describe.

    ``lower`` and ``upper`` become bounds, booleans the levels false and true. SmartNoise does not list the
    levels of texts: such columns, and numbers without bounds, are left out and asked for when needed.
    """
    table = _smartnoise_table(metadata)
    variables: dict[str, object] = {}
    for name, entry in table.items():
        if not isinstance(entry, Mapping) or entry.get("private_id"):
            continue
        options = {"missing": entry.get("missing_value"), "source": "SmartNoise metadata"}
        if entry.get("type") == "boolean":
            variables[name] = {"levels": [False, True], **options}
        elif entry.get("lower") is not None and entry.get("upper") is not None:
            variables[name] = {"bounds": [entry["lower"], entry["upper"]], **options}
    return {"variables": variables, "rows": table.get("rows")}


def _smartnoise_table(metadata: object) -> Mapping[str, Any]:
    level = metadata
    for _ in range(4):  # catalogue, schema, table: tables hold columns, which have a type
        if not isinstance(level, Mapping):
            break
        if any(isinstance(entry, Mapping) and "type" in entry for entry in level.values()):
            return level
        inner = [entry for entry in level.values() if isinstance(entry, Mapping)]
        level = inner[0] if len(inner) == 1 else None
    raise SchemaError(
        "metadata that do not describe exactly one table",
        expected="SmartNoise metadata: catalogue, schema, table, columns with their type",
        remedy="Take out the other tables, or declare the columns in dpglm's own form.",
    )


def saved(text: str, path: str | os.PathLike[str] | None) -> str:
    """The text of a schema, also written to ``path`` if given; a SchemaError if that cannot be."""
    if path is not None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise SchemaError(
                f"a path that cannot be written to ({type(error).__name__})",
                expected="the path of a file in a folder that exists",
                remedy="Write to_yaml('table.schema.yaml').",
            ) from None
    return text
