"""A bar over the draws of an audit; their number is public."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting(total: int, progress: bool | None) -> Iterator[Callable[[], None]]:
    """A function to call at each draw.

    Parameters
    ----------
    total : int
        Number of draws.
    progress : bool or None
        None shows the bar in a terminal only.
    """
    if progress is False:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(
        total=total,
        disable=None if progress is None else not progress,
        unit="draw",
        leave=False,
        mininterval=0.5,
    ) as bar:

        def step() -> None:
            bar.update()

        yield step
