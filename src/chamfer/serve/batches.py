"""Requests that arrive while others are worked on are worked on together; what would wait too long is refused."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class BusyError(Exception):
    """Too many requests wait already."""


class Batches(Generic[Item, Answer]):
    """A queue in front of work that several items share.

    While a batch is worked on, items wait, and are the next batch. Several queues may share one thread: it takes
    their batches in turn.

    Args:
        work: answers some items, in their order; runs in the executor.
        executor: one thread, usually.
        most: items in a batch.
        waiting: items that may wait; one more is refused with :class:`BusyError`.
        tell: called with the size of every batch.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Answer]],
        executor: Executor,
        *,
        most: int,
        waiting: int,
        tell: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._work, self._executor, self._most, self._limit, self._tell = work, executor, most, waiting, tell
        self._waiting: deque[tuple[Item, asyncio.Future[Answer]]] = deque()
        self._running: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Items that wait."""
        return len(self._waiting)

    async def ask(self, item: Item) -> Answer:
        """Wait for the answer to one item; if this is cancelled before its turn comes, no work is done for it."""
        if sum(not future.done() for _, future in self._waiting) >= self._limit:
            raise BusyError
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch: list[tuple[Item, asyncio.Future[Answer]]] = []
                while self._waiting and len(batch) < self._most:
                    item, future = self._waiting.popleft()
                    if not future.done():
                        batch.append((item, future))
                if batch:
                    self._tell(len(batch))
                    await self._answer(batch)
        finally:
            self._running = None

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._executor, self._work, [item for item, _ in batch])
        except asyncio.CancelledError:
            for _, future in batch:
                future.cancel()
            raise
        except BaseException as error:  # a panic in a compiled library is no Exception, and somebody waits all the same
            if len(batch) == 1:
                if not batch[0][1].done():
                    batch[0][1].set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
                return
            for one in batch:  # one of them is to blame, and the others must not suffer for it
                if not one[1].done():
                    await self._answer([one])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)
