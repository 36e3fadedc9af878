"""How long work tells that it goes on, without library code printing anything."""

import logging
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


@contextmanager
def hushed(*names: str, below: int = logging.ERROR) -> Iterator[None]:
    """Keep the loggers of other libraries off the terminal, up to a level, and put their settings back."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(below)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
