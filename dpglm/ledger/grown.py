"""A sequence that grows without being copied: what a ledger holds of its lines."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item")


class Grown(Sequence[Item]):
    """Items that never change; more of them make another sequence, which shares these.

    Examples
    --------
    >>> two = Grown("ab")
    >>> three, other = two.with_more("c"), two.with_more("d")
    >>> list(two), list(three), list(other), three[1:]
    (['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'd'], ('b', 'c'))
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._all, self._count, self._lock = list(items), 0, threading.Lock()
        self._count = len(self._all)

    def with_more(self, items: Iterable[Item]) -> Grown[Item]:
        """These and more: they follow in the shared list, unless others already do."""
        more = list(items)
        other = object.__new__(type(self))
        with self._lock:
            if len(self._all) == self._count:
                self._all.extend(more)
                other._all, other._lock = self._all, self._lock
            else:
                other._all, other._lock = [*self._all[: self._count], *more], threading.Lock()
        other._count = self._count + len(more)
        return other

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(place, slice):
            return tuple(self._all[at] for at in range(*place.indices(self._count)))
        return self._all[range(self._count)[place]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (tuple(self),)
