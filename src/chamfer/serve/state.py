"""Whether a backend is well: what ``/health`` reports, and what the log says once."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from chamfer.index.damage import UnreadableError
from chamfer.index.manifest import UnfinishedError
from chamfer.search.query_encoder import OtherModelError

DAMAGED = "files of the index are damaged; the log of the server names them"

OVERDUE_SECONDS = 60.0
"""Seconds without a check, or with a newer commit that is still being opened, until what is served is called stale."""

OVERDUE = "the server has not caught up with the index for more than a minute"


class Problem(NamedTuple):
    """What is wrong with a backend.

    Args:
        status: ``stale`` if a newer commit cannot be served, but the current one is intact; ``failing`` if clients
            should use another server.
        reason: what to tell clients: one sentence, without paths.
        details: what to tell the operator.
    """

    status: Literal["stale", "failing"]
    reason: str
    details: str


def stale_notes(problem: Problem | None) -> list[str]:
    """What to tell clients beside results, if there is a problem.

    Args:
        problem: the problem; with damaged files there are no results.

    >>> stale_notes(Problem("stale", "the index folder is gone", ""))
    ['these results may be out of date: the index folder is gone']
    """
    return [] if problem is None else [f"these results may be out of date: {problem.reason}"]


class Reasons(NamedTuple):
    """Why the newest state of a folder cannot be served: sentences for clients, without paths."""

    gone: str
    empty: str
    unreadable: str
    other_model: str
    unfinished: str
    unopened: str


def problem_of(
    error: Exception, details: str, folder: Path, holds: Callable[[Path], bool], reasons: Reasons
) -> Problem:
    """The problem behind an error.

    Args:
        error: what was raised when the newest state was opened.
        details: what to tell the operator.
        folder: the folder that is served.
        holds: looks for the index or the shards in it.
        reasons: what to tell clients.
    """
    if not still_holds(holds, folder):
        return Problem("failing", reasons.empty if folder.exists() else reasons.gone, details)
    if isinstance(error, PermissionError | UnreadableError):
        return Problem("stale", reasons.unreadable, details)
    if isinstance(error, OtherModelError):
        return Problem("stale", reasons.other_model, details)
    return Problem("stale", reasons.unfinished if isinstance(error, UnfinishedError) else reasons.unopened, details)


def still_holds(holds: Callable[[Path], bool], folder: Path) -> bool:
    """Whether a folder still holds what is served; so it seems if this user may not look into it any more.

    Args:
        holds: looks for the index or the shards.
        folder: the folder.
    """
    try:
        return holds(folder)
    except OSError:
        return True


class State:
    """The current problem of a backend, if there is one; the log gets one line when it changes."""

    def __init__(self) -> None:
        self._problem: Problem | None = None
        self._checked = False
        self._current = time.monotonic()

    @property
    def problem(self) -> Problem | None:
        """What is wrong now; None if all is well."""
        if self._problem is None and self._checked and self.age > OVERDUE_SECONDS:
            return Problem("stale", OVERDUE, f"the last check that ended well was {self.age:.0f} seconds ago")
        return self._problem

    @property
    def age(self) -> float:
        """Seconds since what is served was last known to be the newest."""
        return time.monotonic() - self._current

    def is_current(self) -> None:
        """Report that what is served is the newest."""
        self._checked, self._current = True, time.monotonic()

    def set(self, problem: Problem | None) -> None:
        """Report the current problem, or that there is none."""
        self._checked = True
        before, self._problem = self._problem, problem
        if problem == before:
            return
        log = logging.getLogger("chamfer")
        if problem is not None:
            log.warning("%s: %s", problem.reason, problem.details)
        elif before is not None:
            log.warning("resolved: %s", before.reason)
