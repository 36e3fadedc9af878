"""Turns: work on the event loop that comes in floods is spread over time."""

import asyncio
from collections import deque

# A second of them takes about a third of a second, so that searches get the rest; a page with all its files is fewer
# than may go on at once.
PER_SECOND, AT_ONCE = 300.0, 50.0


class Turns:
    """Lets tasks go on in the order in which they arrived, some at once and then so many a second.

    Python runs one thread at a time. While a flood keeps the event loop busy, a search in the worker's thread has to
    wait for it after every operation of torch. Nothing is held between two turns, so that no slow client can keep
    others waiting.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._free, self._since = AT_ONCE, 0.0

    async def wait(self) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        self._gain(loop)
        if not self._waiting and self._free >= 1:
            self._free -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            loop.call_later(1 / PER_SECOND, self._admit, loop)
        await turn

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        self._gain(loop)
        while self._waiting and (self._free >= 1 or self._waiting[0].done()):  # done: it was cancelled
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._free -= 1
        if self._waiting:
            loop.call_later(1 / PER_SECOND, self._admit, loop)

    def _gain(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        self._free = min(AT_ONCE, self._free + PER_SECOND * (now - self._since))
        self._since = now
