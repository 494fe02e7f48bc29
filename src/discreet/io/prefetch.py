"""Prefetching: a thread makes the next batch while the current one is in use; the order stays."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from discreet.kernels.parallel import thread_count

Item = TypeVar("Item")


def prefetched(items: Iterator[Item], threads: int | None = None) -> Iterator[Item]:
    """Yield the same items in the same order; a thread makes the next item while the current one is in use.

    Args:
        items: what is made.
        threads: as for `thread_count`; one makes every item when it is asked for.
    """
    if thread_count(threads) == 1:
        yield from items
        return
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(_next, items)
        while found := following.result():
            following = pool.submit(_next, items)
            yield from found


def _next(items: Iterator[Item]) -> tuple[Item, ...]:
    """Return the next item, if there is one."""
    return tuple(islice(items, 1))
