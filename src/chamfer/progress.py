"""How long work tells that it goes on, without library code printing anything."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[int], None]
"""Called with how much was done since the last call."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""``with progress("encoding documents", total) as advance: ... advance(32)``"""


def ignore(_done: int) -> None:
    """Tell nobody."""


@contextmanager
def quiet(_what: str, _total: int) -> Iterator[Advance]:
    """Tell nothing: what the library does unless it is given something better."""
    yield ignore
