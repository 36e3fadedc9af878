"""The answer to a slow question, shared by everybody who asks it at about the same time."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Recent(Generic[Answer]):
    """The answer to a slow question, asked once at a time, and again once the answer is too old.

    Args:
        ask: asks the question; runs in a thread.
        seconds: how long an answer is kept.
    """

    def __init__(self, ask: Callable[[], Answer], *, seconds: float) -> None:
        self._ask, self._seconds = ask, seconds
        self._asked: asyncio.Task[Answer] | None = None
        self._until = 0.0

    async def get(self) -> Answer:
        """The latest answer; callers who come while the question is being asked wait for it together."""
        if self._asked is None or (self._asked.done() and time.monotonic() >= self._until):
            self._asked = asyncio.create_task(self._answer())
        return await asyncio.shield(self._asked)  # the others still wait if one of them gives up

    async def _answer(self) -> Answer:
        try:
            return await asyncio.to_thread(self._ask)
        finally:
            self._until = time.monotonic() + self._seconds
