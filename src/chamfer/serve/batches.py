"""Batching: requests that arrive while a batch runs form the next one, and a full queue refuses more."""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class BusyError(Exception):
    """The queue is full."""


class AbandonedError(Exception):
    """Nobody waits for the answer any more, so the work stops."""


class Batches(Generic[Item, Answer]):
    """A queue that hands its items to a worker in batches.

    While one batch runs, new items wait and form the next. Several queues may share an executor of one thread, which
    runs their batches in turn.

    Args:
        work: answers a batch of items, in order; runs in the executor. An answer that is an exception is raised for
            its item alone; one that is raised makes the items of the batch be tried again, one by one.
        executor: executor to run it in, usually of one thread.
        most: largest number of items in a batch.
        waiting: largest number of items that may wait; one more raises :class:`BusyError`.
        alike: key of an item; the items of a batch have the same key. All of them, by default.
        observe: called with the size of every batch.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Answer | Exception]],
        executor: Executor,
        *,
        most: int,
        waiting: int,
        alike: Callable[[Item], Hashable] = lambda item: None,
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._work, self._executor, self._most, self._limit = work, executor, most, waiting
        self._alike, self._observe = alike, observe
        self._waiting: deque[tuple[Item, asyncio.Future[Answer]]] = deque()
        self._running: asyncio.Task[None] | None = None
        self._at_work = False

    def __len__(self) -> int:
        """The number of waiting items."""
        return len(self._waiting)

    async def ask(self, item: Item) -> Answer:
        """Wait for the answer to one item; if cancelled before its batch starts, the item is dropped."""
        # While no batch runs, the next one is about to take what waits.
        room = self._limit if self._at_work else self._limit + self._most
        if sum(not future.done() for _, future in self._waiting) >= room:
            raise BusyError
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while batch := self._next():
                self._at_work = True
                self._observe(len(batch))
                await self._answer(batch)
                self._at_work = False
        finally:
            self._running, self._at_work = None, False

    def _next(self) -> list[tuple[Item, asyncio.Future[Answer]]]:
        """The item that has waited longest, and others like it."""
        waiting = [(item, future) for item, future in self._waiting if not future.done()]
        batch = [one for one in waiting if self._alike(one[0]) == self._alike(waiting[0][0])][: self._most]
        taken = {future for _, future in batch}
        self._waiting = deque(one for one in waiting if one[1] not in taken)
        return batch

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._executor, self._work, [item for item, _ in batch])
        except asyncio.CancelledError:
            for _, future in batch:
                future.cancel()
            raise
        except BaseException as error:  # a panic in a compiled library is not an Exception, and a client still waits
            if len(batch) == 1:
                if not batch[0][1].done():
                    batch[0][1].set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
                return
            for one in batch:  # run them one by one, so that only the bad one fails
                if not one[1].done():
                    await self._answer([one])
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
