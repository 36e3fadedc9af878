"""The pace of long work: how much is done, how fast it goes, and how long it will still take."""

import math
from collections import deque
from collections.abc import Callable
from time import monotonic

Clock = Callable[[], float]
"""Seconds since some moment, such as :func:`time.monotonic`."""

# Seconds over which speed is measured: at least this many, and at least half of the time that has passed. An index is
# built in chunks of some twenty seconds, of which a part needs no encoding, so a shorter window would jump.
WINDOW = 60.0
# Seconds between two points that are remembered, and before the first estimate.
MARK, SOON = 1.0, 2.0


class Pace:
    """Counts what is done, and measures how fast it goes.

    Args:
        total: number of items in all.
        clock: the clock.

    >>> seconds = iter([0.0, 4.0, 4.0, 4.0])
    >>> pace = Pace(100, clock=lambda: next(seconds))
    >>> pace.advance(40)
    >>> pace.in_words("documents")
    '10 documents/s, 6 s left'
    """

    def __init__(self, total: int, clock: Clock = monotonic) -> None:
        self.total, self.done = total, 0
        self._clock = clock
        self._new = 0
        self._started = clock()
        self._marks = deque([(self._started, 0)])

    def advance(self, count: int, *, before: bool = False) -> None:
        """Count finished items; those that were finished before this run say nothing about speed."""
        self.done += count
        now = self._clock()
        if before and not self._new:
            self._started = now
            self._marks = deque([(now, 0)])
        if before:
            return
        self._new += count
        if now - self._marks[-1][0] >= max(MARK, (now - self._started) / 100):
            self._marks.append((now, self._new))
        window = max(WINDOW, (now - self._started) / 2)
        while len(self._marks) > 1 and self._marks[1][0] <= now - window:
            self._marks.popleft()

    @property
    def seconds(self) -> float:
        """Seconds of work so far, what was done before left out."""
        return self._clock() - self._started

    @property
    def speed(self) -> float | None:
        """Items per second lately; None as long as that is not known."""
        then, new = self._marks[0]
        passed = self._clock() - then
        return (self._new - new) / passed if passed >= SOON and self._new > new else None

    def in_words(self, unit: str | None) -> str:
        """Speed and time left, as far as they are known; without a unit, only the time."""
        speed = self.speed
        if speed is None:
            return ""
        left = f"{duration((self.total - self.done) / speed)} left"
        return left if unit is None else f"{number(speed)} {unit}/s, {left}"


def number(speed: float) -> str:
    """A speed with two or more significant digits.

    >>> number(1234.5), number(57.3), number(5.26), number(0.0312)
    ('1,234', '57', '5.3', '0.031')
    """
    if speed >= 10:
        return f"{speed:,.0f}"
    places = 1 - math.floor(math.log10(speed)) if speed > 0 else 0
    return f"{speed:.{places}f}"


def duration(seconds: float) -> str:
    """A duration, rounded up, in the units that people use.

    >>> duration(54.2), duration(100), duration(3000), duration(7000)
    ('55 s', '1 min 40 s', '50 min', '1 h 57 min')
    """
    whole = math.ceil(seconds)
    if whole < 90:
        return f"{whole} s"
    if whole < 600:
        tens = -(-whole // 10) * 10
        return f"{tens // 60} min {tens % 60} s" if tens % 60 else f"{tens // 60} min"
    minutes = -(-whole // 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
