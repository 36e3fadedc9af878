"""The queues in front of the worker threads."""

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Callable, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar

from chamfer.serve.asgi import Receive
from chamfer.serve.batches import AbandonedError, Batches
from chamfer.serve.limits import Limits
from chamfer.serve.metrics import Metrics
from chamfer.serve.service import Service, settings_of

Call = Callable[[], Any]
Answer = TypeVar("Answer")


class Queues:
    """One queue for each kind of work.

    Learning has a thread of its own, and so have evaluations, changes of documents and descriptions of the index, for
    which all of its documents may have to be counted. The others share one, which runs their batches in turn.

    Args:
        service: does the work.
        limits: how many requests may wait, and how many searches form a batch.
        metrics: records the size of batches.
    """

    def __init__(self, service: Service, limits: Limits, metrics: Metrics) -> None:
        self._worker, self._learner = ThreadPoolExecutor(1, "serve-work"), ThreadPoolExecutor(1, "serve-learn")
        self._writer, self._describer = ThreadPoolExecutor(1, "serve-write"), ThreadPoolExecutor(1, "serve-describe")
        self._evaluator = ThreadPoolExecutor(1, "serve-evaluate")
        worker, waiting = self._worker, limits.waiting
        self.searches = Batches(
            service.search,
            worker,
            most=limits.batch,
            waiting=waiting,
            alike=settings_of,
            observe=metrics.batches.observe,
        )
        self.search_batches = Batches(service.search_batches, worker, most=1, waiting=waiting)
        self.texts = Batches(service.score_texts, worker, most=1, waiting=waiting)
        self.explanations = Batches(service.explain, worker, most=1, waiting=waiting)
        self.changes: Batches[Call, Any] = Batches(_call_all, worker, most=1, waiting=waiting)
        self.documents: Batches[Call, Any] = Batches(_call_all, self._writer, most=1, waiting=waiting)
        self.descriptions: Batches[Call, Any] = Batches(_call_all, self._describer, most=1, waiting=waiting)
        self.learning: Batches[Call, Any] = Batches(_call_all, self._learner, most=1, waiting=1)
        self.evaluating: Batches[Call, Any] = Batches(_call_all, self._evaluator, most=1, waiting=1)

    def __len__(self) -> int:
        """The number of waiting requests."""
        queues: tuple[Sized, ...] = (
            self.searches,
            self.search_batches,
            self.texts,
            self.explanations,
            self.changes,
            self.documents,
            self.descriptions,
            self.learning,
            self.evaluating,
        )
        return sum(map(len, queues))

    def close(self) -> None:
        """Finish the running batches, and drop the others."""
        for executor in (self._worker, self._writer, self._describer, self._learner, self._evaluator):
            executor.shutdown(wait=True, cancel_futures=True)


async def ask_until_abandoned(
    queue: Batches[Call, Any], work: Callable[[Callable[[], bool]], Answer], receive: Receive
) -> Answer:
    """Wait for work until it is done, the client has gone, or the time is up; then nothing of it stays in the queue.

    Args:
        queue: the queue to put it in.
        work: does it, given a function that returns whether it is abandoned.
        receive: the next event of the connection, once the body has been read.
    """
    is_abandoned = Event()
    asking: asyncio.Task[Answer] = asyncio.create_task(queue.ask(lambda: work(is_abandoned.is_set)))
    leaving = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((asking, leaving), return_when=FIRST_COMPLETED)
        if not asking.done():
            raise AbandonedError
        return asking.result()
    finally:
        is_abandoned.set()
        asking.cancel()  # drops what has not begun; what runs asks whether it is abandoned
        leaving.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _call_all(calls: Sequence[Call]) -> list[Any]:
    return [call() for call in calls]
