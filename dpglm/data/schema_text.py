"""A schema as text: YAML in and out, the template to fill in, and the metadata of SmartNoise."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from dpglm.errors import SchemaError

SIZE_LIMIT: Final = 2**20
_BARE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_YAML_WORDS: Final = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})


def read_yaml(path: str | os.PathLike[str]) -> object:
    """Plain values of a YAML file of at most 1 MiB.

    Unlike YAML 1.1, ``yes``, ``no``, ``on`` and ``off`` are texts (they are levels more often than truth
    values), and a key that occurs twice is refused.

    Raises
    ------
    SchemaError
        If the file does not exist, is too large or no YAML.
    """
    file = Path(path)
    if not file.is_file():
        raise SchemaError(
            f"no schema file {str(path)!r}",
            expected="a path to a YAML file",
            remedy="Mend the path, or write the file from dpglm.Schema.template(columns).",
        )
    with file.open("rb") as stream:
        text = stream.read(SIZE_LIMIT + 1)
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

    class Loader(yaml.SafeLoader):
        """The safe loader with the truth values of YAML 1.2 and without repeated keys."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [getattr(key, "value", None) for key, _ in getattr(node, "value", ())]
            for key in keys:
                if isinstance(key, str) and keys.count(key) > 1:
                    raise yaml.YAMLError(f"the key {key} is given twice")
            return super().construct_mapping(node, deep)

    boolean = "tag:yaml.org,2002:bool"
    Loader.yaml_implicit_resolvers = {
        first: [rule for rule in rules if rule[0] != boolean]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(boolean, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    try:
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        where = getattr(error, "problem_mark", None)
        raise SchemaError(
            "a schema that is not YAML" + (f", at line {where.line + 1}" if where else f": {error}"),
            expected="one entry a column, such as age: {bounds: [18, 95]}",
            remedy="Mend indentation, brackets and quotes; dpglm.Schema.template(columns) shows the form.",
        ) from None


def to_yaml(declarations: Mapping[str, object]) -> str:
    """YAML of the full form of a schema, one column a line."""
    head = [f"{key}: {_flow(value)}" for key, value in declarations.items() if key != "variables"]
    variables = declarations["variables"]
    assert isinstance(variables, Mapping)
    lines = [f"  {_key(name)}: {_flow(entry)}" for name, entry in variables.items()]
    return "\n".join([*head, "variables:" if lines else "variables: {}", *lines]) + "\n"


def template(columns: Iterable[str]) -> str:
    """YAML to fill in: the column names, and nothing of what stands below them."""
    return (
        "# A number has bounds, a category levels: take them from the code book, never from the data.\n"
        "unit: null  # what one row is: one woman\n"
        "variables:\n" + template_lines(columns)
    )


def template_lines(columns: Iterable[str]) -> str:
    """The entries of a template, one a line."""
    return "".join(f"  {_key(name)}: {{bounds: [LOW, HIGH]}}  # or {{levels: [A, B]}}\n" for name in columns)


def _key(name: str) -> str:
    bare = _BARE_NAME.fullmatch(name) and name.lower() not in _YAML_WORDS
    return name if bare else _flow(name, style='"')


def _flow(value: object, *, style: str | None = None) -> str:
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
        fill = {} if entry.get("missing_value") is None else {"missing": entry["missing_value"]}
        source = {"source": "SmartNoise metadata"}
        if entry.get("type") == "boolean":
            variables[name] = {"levels": [False, True], **fill, **source}
        elif entry.get("lower") is not None and entry.get("upper") is not None:
            variables[name] = {"bounds": [entry["lower"], entry["upper"]], **fill, **source}
    rows = table.get("rows")
    return {"variables": variables, **({} if rows is None else {"rows": rows})}


def _smartnoise_table(metadata: object) -> Mapping[str, Any]:
    found = metadata
    for _ in range(4):  # catalogue, schema, table: tables hold columns, which have a type
        if not isinstance(found, Mapping):
            break
        if any(isinstance(entry, Mapping) and "type" in entry for entry in found.values()):
            return found
        inner = [entry for entry in found.values() if isinstance(entry, Mapping)]
        found = inner[0] if len(inner) == 1 else None
    raise SchemaError(
        "metadata that do not describe exactly one table",
        expected="SmartNoise metadata: catalogue, schema, table, columns with their type",
        remedy="Take out the other tables, or declare the columns in dpglm's own form.",
    )
