"""The queues in front of the worker threads."""

from collections.abc import Callable, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chamfer.serve.batches import Batches
from chamfer.serve.guard import Limits
from chamfer.serve.metrics import Metrics
from chamfer.serve.service import Service

Call = Callable[[], Any]


class Queues:
    """One queue for each kind of work. All but learning share one thread, which takes their batches in turn.

    Args:
        service: does the work.
        limits: how many requests may wait, and how many searches form a batch.
        metrics: records the size of batches.
    """

    def __init__(self, service: Service, limits: Limits, metrics: Metrics) -> None:
        self._working, self._learning = ThreadPoolExecutor(1, "serve-work"), ThreadPoolExecutor(1, "serve-learn")
        working, waiting = self._working, limits.waiting
        self.searches = Batches(
            service.search, working, most=limits.batch, waiting=waiting, observe=metrics.batches.observe
        )
        self.texts = Batches(service.score_texts, working, most=1, waiting=waiting)
        self.explanations = Batches(service.explain, working, most=1, waiting=waiting)
        self.changes: Batches[Call, Any] = Batches(_call_all, working, most=1, waiting=waiting)
        self.lessons: Batches[Call, Any] = Batches(_call_all, self._learning, most=1, waiting=1)

    def __len__(self) -> int:
        """The number of requests that wait."""
        queues: tuple[Sized, ...] = (self.searches, self.texts, self.explanations, self.changes, self.lessons)
        return sum(map(len, queues))

    def close(self) -> None:
        """Finish the batch at work, and drop what waits."""
        for executor in (self._working, self._learning):
            executor.shutdown(wait=True, cancel_futures=True)


def _call_all(calls: Sequence[Call]) -> list[Any]:
    return [call() for call in calls]
