"""The queues in front of the worker threads."""

from collections.abc import Callable, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chamfer.serve.batches import Batches
from chamfer.serve.limits import Limits
from chamfer.serve.metrics import Metrics
from chamfer.serve.service import Service, settings_of

Call = Callable[[], Any]


class Queues:
    """One queue for each kind of work.

    Learning has a thread of its own, and so have changes of documents. The others share one, which runs their batches
    in turn.

    Args:
        service: does the work.
        limits: how many requests may wait, and how many searches form a batch.
        metrics: records the size of batches.
    """

    def __init__(self, service: Service, limits: Limits, metrics: Metrics) -> None:
        self._worker, self._learner = ThreadPoolExecutor(1, "serve-work"), ThreadPoolExecutor(1, "serve-learn")
        self._writer = ThreadPoolExecutor(1, "serve-write")
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
        self.learning: Batches[Call, Any] = Batches(_call_all, self._learner, most=1, waiting=1)

    def __len__(self) -> int:
        """The number of waiting requests."""
        queues: tuple[Sized, ...] = (
            self.searches,
            self.search_batches,
            self.texts,
            self.explanations,
            self.changes,
            self.documents,
            self.learning,
        )
        return sum(map(len, queues))

    def close(self) -> None:
        """Finish the running batches, and drop the others."""
        for executor in (self._worker, self._writer, self._learner):
            executor.shutdown(wait=True, cancel_futures=True)


def _call_all(calls: Sequence[Call]) -> list[Any]:
    return [call() for call in calls]
