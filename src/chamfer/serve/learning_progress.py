"""Progress of the learning job."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from chamfer.support.progress import Advance


class Step(NamedTuple):
    """A step of long work."""

    what: str
    """What is done, as the library reports it."""
    done: int
    of: int
    """The number of items."""


class LearningProgress:
    """Follows long work that runs in another thread.

    Args:
        clock: seconds since any moment.

    >>> job = LearningProgress(iter([10.0, 12.5]).__next__)
    >>> with job, job.progress("fitting weights", 40) as advance:
    ...     advance(8)
    ...     job.step, job.seconds
    (Step(what='fitting weights', done=8, of=40), 2.5)
    >>> job.step is None
    True
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._since = 0.0
        self.step: Step | None = None

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return self._clock() - self._since

    def __enter__(self) -> None:
        self._since = self._clock()

    def __exit__(self, *_: object) -> None:
        self.step = None

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Advance]:
        """Report a step; see :data:`chamfer.support.progress.Progress`."""
        self.step = Step(what, 0, total)

        def advance(done: int) -> None:
            with self._lock:  # several threads may fit weights
                if self.step is not None:
                    self.step = self.step._replace(done=self.step.done + done)

        yield advance
