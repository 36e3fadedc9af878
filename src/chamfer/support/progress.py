"""Progress reporting: library code calls a callback, and prints nothing itself."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING

from chamfer.support.pace import Clock, Pace, duration

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int], None]
"""Progress callback; its argument is the number of items finished since the last call."""

Progress = Callable[[str, int], AbstractContextManager[Advance]]
"""``with progress("encoding documents", total) as advance: ... advance(32)``"""

# Seconds until the first line in a log, between two lines, and between two drawings of a bar.
FIRST, EVERY, DRAWN = 10.0, 30.0, 0.1
# What is counted, if the last word of its name says so; then its speed is shown.
UNITS = ("documents", "passages", "queries")


class Before(int):
    """A number of items that were finished before this run: they count as done, but say nothing about speed."""


def ignore(_done: int) -> None:
    """Report nothing."""


@contextmanager
def quiet(_what: str, _total: int) -> Iterator[Advance]:
    """Show nothing; the default of every internal function."""
    yield ignore


_in_logs: ContextVar[bool] = ContextVar("progress_in_logs", default=False)


@contextmanager
def lines_in_logs() -> Iterator[None]:
    """Write a line now and then, inside this context, where stderr is no terminal; the command line does."""
    token = _in_logs.set(True)
    try:
        yield
    finally:
        _in_logs.reset(token)


def shown(progress: bool | None, console: "Console | None" = None, *, clock: Clock = monotonic) -> Progress:
    """A progress bar on stderr, lines in a log, or nothing.

    Args:
        progress: ``True`` always shows a bar, or lines if stderr is no terminal; ``False`` shows nothing; ``None``
            shows a bar if stderr is a terminal, or a notebook that can draw it, and lines only for the command line.
        console: console to draw on; a new one on stderr by default.
        clock: the clock.

    >>> with shown(False)("encoding documents", 2) as advance:
    ...     advance(2)
    """
    if progress is False:
        return quiet

    @contextmanager
    def reported(what: str, total: int) -> Iterator[Advance]:
        # Imported here, because rich takes 50 ms to import and most programs draw no bar.
        from rich.console import Console

        target = console or Console(stderr=True, highlight=False, emoji=False)
        if _is_watched(target):
            chosen = _bar(target, what, Pace(total, clock), clock)
        elif progress or _in_logs.get():
            chosen = _lines(target, what, Pace(total, clock), clock, always=progress is True)
        else:
            chosen = quiet(what, total)
        with chosen as advance:
            yield advance

    return reported


@contextmanager
def _bar(console: "Console", what: str, pace: Pace, clock: Clock) -> Iterator[Advance]:
    """A bar that disappears at its end.

    It is drawn by those who report, not by a thread of its own: a thread holds locks, which a forked child would wait
    for forever.
    """
    from rich import progress as rich_progress

    columns = (
        rich_progress.TextColumn("{task.description:<20}"),
        rich_progress.BarColumn(bar_width=max(8, min(40, console.width - 70))),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("{task.fields[pace]}"),
    )
    with rich_progress.Progress(*columns, console=console, transient=True, auto_refresh=False) as bars:
        task = bars.add_task(what, total=pace.total, pace="")
        drawn = clock()

        def draw() -> None:
            nonlocal drawn
            now = clock()
            if now - drawn >= DRAWN or pace.done >= pace.total:
                drawn = now
                bars.update(task, completed=pace.done, pace=pace.in_words(_unit(what)), refresh=True)

        bars.refresh()
        yield _counting(pace, draw)


@contextmanager
def _lines(console: "Console", what: str, pace: Pace, clock: Clock, *, always: bool) -> Iterator[Advance]:
    """A line now and then, and one at the end if there were others, or always."""
    due, said = clock() + FIRST, False

    def say(rest: str) -> None:
        percent = f" ({100 * pace.done // pace.total}%)" if pace.total else ""
        text = f"{what}: {pace.done:,} of {pace.total:,}{percent}" + (f", {rest}" if rest else "")
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    def look() -> None:
        nonlocal due, said
        now = clock()
        if now >= due and pace.done < pace.total:
            due, said = now + EVERY, True
            say(pace.in_words(_unit(what)))

    yield _counting(pace, look)
    if said or always:
        say(f"took {duration(pace.seconds)}")


def _counting(pace: Pace, then: Callable[[], None]) -> Advance:
    """Count, then show it; in a forked child, do nothing."""
    process = os.getpid()

    def advance(done: int) -> None:
        if os.getpid() == process:
            pace.advance(done, before=isinstance(done, Before))
            then()

    return advance


def _unit(what: str) -> str | None:
    last = what.rpartition(" ")[2]
    return last if last in UNITS else None


def _is_watched(console: "Console") -> bool:
    # Without ipywidgets, rich shows only a warning in a notebook.
    return console.is_terminal and (not console.is_jupyter or find_spec("ipywidgets") is not None)


def alongside(advance: Advance, others: int, *, of: int) -> Advance:
    """Report ``others`` items evenly beside ``of`` items that are being finished, so that progress is steady.

    >>> reported = []
    >>> advance = alongside(reported.append, 10, of=4)
    >>> advance(1)
    >>> advance(3)
    >>> reported
    [3, 11]
    """
    if not of:
        advance(others)
        return advance
    reported = finished = 0

    def both(done: int) -> None:
        nonlocal reported, finished
        finished += done
        share = others * finished // of - reported
        reported += share
        advance(done + share)

    return both


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
