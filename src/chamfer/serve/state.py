"""Whether a backend is well: what ``/health`` reports, and what the log says once."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

DAMAGED = "files of the index are damaged; the log of the server names them"


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
        self.problem: Problem | None = None

    def set(self, problem: Problem | None) -> None:
        """Report the current problem, or that there is none."""
        before, self.problem = self.problem, problem
        if problem == before:
            return
        log = logging.getLogger("chamfer")
        if problem is not None:
            log.warning("%s: %s", problem.reason, problem.details)
        elif before is not None:
            log.warning("resolved: %s", before.reason)
