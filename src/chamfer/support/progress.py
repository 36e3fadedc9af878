"""Progress reporting: library code calls a callback, and prints nothing itself."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int], None]
"""Progress callback; its argument is the number of items finished since the last call."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""``with progress("encoding documents", total) as advance: ... advance(32)``"""


def ignore(_done: int) -> None:
    """Report nothing."""


@contextmanager
def quiet(_what: str, _total: int) -> Iterator[Advance]:
    """Show nothing; the default of every internal function."""
    yield ignore


def shown(progress: bool | None, console: "Console | None" = None) -> Progress:
    """A progress bar on stderr, or none.

    Args:
        progress: ``True`` always shows a bar, ``False`` never does, and ``None`` shows one if stderr is a terminal or
            a notebook that can draw it.
        console: console to draw on; a new one on stderr by default.

    >>> with shown(False)("encoding documents", 2) as advance:
    ...     advance(2)
    """
    if progress is False:
        return quiet

    @contextmanager
    def bar(what: str, total: int) -> Iterator[Advance]:
        # Imported here, because rich takes 50 ms to import and most programs draw no bar.
        from rich import progress as rich_progress
        from rich.console import Console

        target = console or Console(stderr=True, highlight=False, emoji=False)
        columns = (
            rich_progress.TextColumn("{task.description:<20}"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeRemainingColumn(),
        )
        # On a terminal, a finished bar disappears. In a log file, rich writes one line for each bar at its end.
        with rich_progress.Progress(
            *columns, console=target, transient=target.is_terminal, disable=not (progress or _is_watched(target))
        ) as bars:
            task = bars.add_task(what, total=total)
            yield lambda done: bars.advance(task, done)

    return bar


def _is_watched(console: "Console") -> bool:
    # Without ipywidgets, rich shows only a warning in a notebook.
    return console.is_terminal and (not console.is_jupyter or find_spec("ipywidgets") is not None)


@contextmanager
def quiet_loggers(*names: str, below: int = logging.ERROR) -> Iterator[None]:
    """Silence other libraries' loggers below a level, and restore their levels afterwards."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(below)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
