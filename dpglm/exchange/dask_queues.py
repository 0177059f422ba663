"""Queues of a dask cluster as carrier of messages, for holders that are its workers."""

from __future__ import annotations

from typing import Any

from dpglm.errors import ExchangeError
from dpglm.exchange.transport import Box


class DaskQueues:
    """Messages in queues of a dask scheduler, each of which a client or a task can write to and read.

    The coordinator runs where the client is. A holder is a task that is pinned to the worker at its table:
    ``client.submit(dpglm.answer, plan, "north.csv", site="north", transport=DaskQueues(), ...,
    workers=["north-worker"], pure=False)``. The scheduler sees all messages, as any network may.

    Parameters
    ----------
    client : distributed.Client, optional
        None: the one of this process or, in a task, of its worker.

    Examples
    --------
    >>> carrier = DaskQueues()  # doctest: +SKIP
    """

    def __init__(self, client: Any = None) -> None:
        self._client = client

    def send(self, box: Box, message: bytes) -> None:
        self._queue(box).put(message)

    def receive(self, box: Box, timeout: float) -> bytes | None:
        try:
            message = self._queue(box).get(timeout=max(timeout, 0.05))
        except TimeoutError:
            return None
        return message if isinstance(message, bytes) else b""

    def _queue(self, box: Box) -> Any:
        try:
            from distributed import Queue
        except ImportError:
            raise ExchangeError(
                "no package distributed",
                expected="dask with its scheduler, for messages in its queues",
                remedy="Install dpglm[dask], or use dpglm.exchange.Folder.",
            ) from None
        made: Any = Queue
        return made(f"dpglm/{box.run}/{box.site}/{box.way}", client=self._client)

    def __reduce__(self) -> tuple[Any, ...]:
        return DaskQueues, ()  # a client stays in its process: a task uses that of its worker
