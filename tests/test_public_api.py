"""What users import is documented, has examples, and takes no loose keyword arguments."""

from __future__ import annotations

import inspect

import pytest

import dpglm

PUBLIC = {
    name: thing
    for name, thing in ((name, getattr(dpglm, name)) for name in dpglm.__all__)
    if inspect.isclass(thing) or inspect.isfunction(thing)
}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_things_have_a_docstring_with_an_example(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name])
    assert text
    assert text.splitlines()[0].endswith((".", ":"))
    assert ">>>" in text, f"{name} shows no example"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_methods_are_documented_and_take_no_loose_arguments(name: str) -> None:
    thing = PUBLIC[name]
    members = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else [(name, thing)]
    for member, function in members:
        if member.startswith("_"):
            continue
        assert inspect.getdoc(function), f"{name}.{member} has no docstring"
        if (name, member) == ("FitResult", "grid"):
            continue  # its keywords are the user's columns
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, f"{name}.{member} takes **kwargs"


def test_fit_takes_two_arguments_by_position() -> None:
    parameters = inspect.signature(dpglm.fit).parameters.values()
    positional = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert positional == ["formula", "data"]


def test_everything_promised_is_there() -> None:
    assert all(hasattr(dpglm, name) for name in dpglm.__all__)
