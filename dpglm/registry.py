"""One way to find pieces by name: a file registers its class, nobody keeps a list."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from dpglm.errors import MethodError

Piece = TypeVar("Piece")
Concrete = TypeVar("Concrete")


class Registry(Generic[Piece]):
    """Names of classes of one concept.

    Parameters
    ----------
    concept : str
        What is registered, used in error texts: ``"penalty"``.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.register("circle", "disc")
    ... class Circle: ...
    >>> shapes["disc"] is Circle, list(shapes)
    (True, ['circle'])
    """

    def __init__(self, concept: str) -> None:
        self._concept = concept
        self._pieces: dict[str, type[Piece]] = {}
        self._names: list[str] = []

    def register(self, name: str, *aliases: str) -> Callable[[type[Concrete]], type[Concrete]]:
        """Class decorator that files a class under ``name`` and ``aliases``."""

        def file_away(piece: type[Concrete]) -> type[Concrete]:
            for key in (name, *aliases):
                assert key not in self._pieces, f"{self._concept} {key!r} is registered twice"
                self._pieces[key] = piece  # type: ignore[assignment]
            self._names.append(name)
            return piece

        return file_away

    def __getitem__(self, name: str) -> type[Piece]:
        try:
            return self._pieces[name]
        except KeyError:
            raise MethodError(
                f"{self._concept}={name!r}",
                expected=f"one of {', '.join(repr(known) for known in sorted(self._names))}",
                remedy=f"Choose a {self._concept} from this list, or pass an object of your own.",
            ) from None

    def classes(self) -> dict[str, type[Piece]]:
        """Registered classes by class name."""
        return {self._pieces[name].__name__: self._pieces[name] for name in self._names}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))


def import_siblings(path: Iterable[str], package: str) -> None:
    """Import every module of a package, so that each registers what it defines."""
    for module in sorted(found.name for found in pkgutil.iter_modules(path)):
        importlib.import_module(f"{package}.{module}")
