"""Progress bars over public numbers of steps: the one door to tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


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
