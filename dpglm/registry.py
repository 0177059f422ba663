"""One way to find pieces by name: a file registers its class, nobody keeps a list."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
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
    *homes : str
        Packages whose modules register classes; they are imported when a name is looked up that is not known
        yet, and no earlier.
    beside : sequence of str
        Names that have no class, which some verbs take.
    remedies : mapping of str to str
        What to do instead, by other names in small letters and digits alone.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.register("circle", "disc")
    ... class Circle: ...
    >>> shapes["disc"] is Circle, list(shapes)
    (True, ['circle'])
    """

    def __init__(
        self, concept: str, *homes: str, beside: Sequence[str] = (), remedies: Mapping[str, str] = {}
    ) -> None:
        self._concept, self._homes, self._beside, self._remedies = concept, list(homes), beside, remedies
        self._pieces: dict[str, type[Piece]] = {}
        self._names: list[str] = []

    def discover(self) -> None:
        """Import every module of the homes that exist, so that each registers what it defines."""
        while self._homes:
            home = self._homes.pop()
            if importlib.util.find_spec(home) is not None:
                package = importlib.import_module(home)
                for module in sorted(
                    found.name for found in pkgutil.walk_packages(package.__path__, f"{home}.")
                ):
                    importlib.import_module(module)

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
        if name not in self._pieces and name.isidentifier():  # most stand in a file of their name
            for home in self._homes:
                if importlib.util.find_spec(home) and importlib.util.find_spec(f"{home}.{name}"):
                    importlib.import_module(f"{home}.{name}")
        if name not in self._pieces:
            self.discover()
        try:
            return self._pieces[name]
        except KeyError:
            known = sorted({*self._names, *self._beside} - {name})
            raise MethodError(
                f"{self._concept}={name!r}",
                expected=f"one of {', '.join(map(repr, known))}",
                remedy=self.remedy(name)
                or f"Choose a {self._concept} from this list, or pass an object of your own.",
            ) from None

    def remedy(self, name: str) -> str:
        """What to do where a name has no class, as far as that is known; else empty."""
        return self._remedies.get("".join(filter(str.isalnum, name.lower())), "")

    def classes(self) -> dict[str, type[Piece]]:
        """Registered classes by class name."""
        self.discover()
        return {self._pieces[name].__name__: self._pieces[name] for name in self._names}

    def __iter__(self) -> Iterator[str]:
        self.discover()
        return iter(sorted(self._names))


def options_of(piece: object, *, without: Iterable[str] = ()) -> dict[str, object]:
    """Options of a dataclass that differ from their defaults, as values that JSON keeps.

    Examples
    --------
    >>> from dpglm.glm.penalties.elastic_net import ElasticNet
    >>> options_of(ElasticNet(strength=0.1, l1_ratio=0.9), without=["strength"])
    {'l1_ratio': 0.9}
    """
    options = {}
    for field in dataclasses.fields(piece) if dataclasses.is_dataclass(piece) else ():
        value = getattr(piece, field.name)
        value = value.tolist() if hasattr(value, "tolist") else value
        public = field.init and not field.name.startswith("_")
        if public and field.name not in without and value != field.default:
            options[field.name] = value
    plain: dict[str, object] = json.loads(json.dumps(options, default=_plain))
    return plain


def _plain(value: object) -> object:
    """A numpy value or a path inside an option, as a value that JSON keeps."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, PathLike):
        return str(value)
    raise MethodError(
        f"an option that holds a value of type {type(value).__name__}",
        expected="numbers, texts, arrays, paths, and lists and mappings of them: a saved result keeps them",
        remedy="Give the option in numbers and words.",
    )


def with_options(kind: type[Piece], options: Mapping[str, object], *, without: Iterable[str] = ()) -> Piece:
    """The piece of a class that options, as `options_of` gave them, describe; the class checks each value.

    Raises
    ------
    MethodError
        Options that the class does not have.

    Examples
    --------
    >>> from dpglm.glm.penalties.elastic_net import ElasticNet
    >>> with_options(ElasticNet, {"l1_ratio": 0.9}).l1_ratio
    0.9
    """
    names = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    try:
        if set(options) <= names - set(without):
            return kind(**{name: _tuples(value) for name, value in options.items()})
    except (TypeError, ValueError):
        pass
    raise MethodError(
        f"options of {kind.__name__} that it does not have",
        expected="the options as dpglm wrote them",
        remedy="Save the result again from the fit itself.",
    )


def _tuples(value: object) -> object:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def require_word(
    name: str, value: object, words: Sequence[str | None], remedy: str, *, expected: str | None = None
) -> None:
    """Refuse an argument that is none of ``words``; of what is no text, the error tells the type."""
    if (value is None or isinstance(value, str)) and value in words:
        return
    *most, last = map(repr, words)
    raise MethodError(
        f"{name}={value!r}" if isinstance(value, str) else f"{name} of type {type(value).__name__}",
        expected=expected or f"{', '.join(most)} or {last}",
        remedy=remedy,
    )
