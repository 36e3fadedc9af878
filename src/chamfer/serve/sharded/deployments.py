"""Shards as Ray Serve deployments, each with some replicas that Ray restarts when they fail."""

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.filters import Filter
from chamfer.index.shards import ShardVersion, current_version, read_set
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import AUTO
from chamfer.retrieve.unrelated import Span
from chamfer.retrieve.word_counts import WordCounts
from chamfer.serve.rankings import Ranked
from chamfer.serve.sharded.pages import Placed
from chamfer.serve.sharded.question import Response
from chamfer.serve.sharded.shard import Described, Opened, Shard, Stored
from chamfer.support.threads import VARIABLE
from chamfer.workers.ray_cluster import LOCAL, connected, import_extra

# Size of Ray's object store, if Ray is started here: it holds only answers in transit.
OBJECT_BYTES = 512 << 20
# Seconds between Ray's health checks of a replica, which decide how soon a lost one is replaced; and seconds until a
# check fails, because it queues behind questions.
CHECK_SECONDS, CHECK_TIMEOUT = 2.0, 30.0
# Seconds between a replica's checks for a new version.
FOLLOW_SECONDS = 1.0
# Questions that a replica accepts at a time, although it answers them one by one.
ONGOING = 64
# Ray namespace of the actors that mark shards as being served; such an actor lives as long as its server.
NAMESPACE = "chamfer"

Answer = TypeVar("Answer")


class ShardReplica:
    """One replica of a shard; it answers one question at a time, with as many threads as Ray gives it CPUs."""

    def __init__(self, folder: str, number: int, first_stage: str, verify: bool, threads: int) -> None:
        os.environ[VARIABLE] = str(threads)
        self._shard = Shard(folder, number, first_stage=first_stage, verify=verify)
        # Opening a version may take long, so it has a thread of its own beside the one that answers.
        self._working, self._opening = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        Thread(target=self._follow, name="next-version", daemon=True).start()

    async def check_health(self) -> None:
        """Called by Ray; a replica whose work hangs does not return, and is replaced."""
        await _run(self._working, int)

    async def prepare(self, version: ShardVersion) -> Opened:
        """See :meth:`Shard.prepare`."""
        return await _run(self._opening, self._shard.prepare, version)

    async def ready(self, version: ShardVersion) -> Opened:
        """See :meth:`Shard.ready`; queues behind other questions."""
        return await _run(self._working, self._shard.ready, version)

    async def holds(self, version: ShardVersion) -> bool:
        """See :meth:`Shard.holds`."""
        return self._shard.holds(version)

    async def rank(
        self, version: ShardVersion, groups: Sequence[Queries], k: int, where: Filter | None = None, offset: int = 0
    ) -> list[Ranked]:
        """See :meth:`Shard.rank`."""
        return await _run(self._working, self._shard.rank, version, groups, k, where, offset)

    async def place(
        self, version: ShardVersion, groups: Sequence[Queries], k: int, where: Filter | None, offset: int
    ) -> list[Placed]:
        """See :meth:`Shard.place`."""
        return await _run(self._working, self._shard.place, version, groups, k, where, offset)

    async def documents_at(self, version: ShardVersion, places: Sequence[int]) -> list[Document]:
        """See :meth:`Shard.documents_at`."""
        return await _run(self._working, self._shard.documents_at, version, places)

    async def count_words(self, version: ShardVersion, queries: Sequence[str]) -> WordCounts:
        """See :meth:`Shard.count_words`."""
        return await _run(self._working, self._shard.count_words, version, queries)

    async def describe(self, version: ShardVersion) -> Described:
        """See :meth:`Shard.describe`."""
        return await _run(self._working, self._shard.describe, version)

    async def spans(self, version: ShardVersion, count: int) -> list[Span]:
        """See :meth:`Shard.spans`."""
        return await _run(self._working, self._shard.spans, version, count)

    async def unrelated(
        self, version: ShardVersion, queries: Queries, documents: Sequence[str], count: int
    ) -> list[npt.NDArray[np.float32]]:
        """See :meth:`Shard.unrelated`."""
        return await _run(self._working, self._shard.unrelated, version, queries, documents, count)

    async def documents(
        self,
        version: ShardVersion,
        ids: Sequence[str],
        where: Filter | None = None,
        query: Queries | None = None,
        passages: Mapping[str, int] | None = None,
    ) -> list[Stored]:
        """See :meth:`Shard.documents`."""
        return await _run(self._working, self._shard.documents, version, ids, where, query, passages)

    async def about(self, _version: ShardVersion) -> tuple[int, list[ShardVersion]]:
        """The process id of the replica that answers, and the versions that it has open."""
        return os.getpid(), self._shard.versions

    def _follow(self) -> None:
        while True:
            time.sleep(FOLLOW_SECONDS)
            self._shard.follow()


async def _run(executor: Executor, function: Callable[..., Answer], *arguments: Any) -> Answer:  # noqa: ANN401
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)


class RayReplicas:
    """The replicas of one shard. Ray Serve picks one for each question, and retries a question that none has started.

    A question that a replica had started when it was lost raises an error here;
    :class:`chamfer.serve.sharded.question.Question` retries it.
    """

    def __init__(self, handle: Any, count: int) -> None:  # noqa: ANN401 -- a DeploymentHandle, which mypy may not know
        self._handle, self.count = handle, count

    def ask(self, method: str, *arguments: Any) -> Response:  # noqa: ANN401 -- the arguments of the method
        """Send a question without waiting for its answer."""
        response: Response = getattr(self._handle, method).remote(*arguments)
        return response


@contextmanager
def deployed(
    folder: str | Path,
    address: str = LOCAL,
    *,
    replicas: int = 1,
    cpus: float = 1.0,
    form: Form = DEFAULT_FORM,
    first_stage: str = AUTO,
    verify: bool = False,
) -> Iterator[dict[str, RayReplicas]]:
    """Deploy shards on Ray for the duration of the context; yields their replicas by name of the shard.

    Args:
        folder: folder of the shards; every machine that runs a replica must see it at this path.
        address: address of a Ray cluster; ``local`` starts Ray on this machine and stops it afterwards.
        replicas: number of replicas of each shard.
        cpus: number of CPUs, and threads, of each replica.
        form: ``l2`` or ``cosine``; servers of different forms may serve the same folder on one cluster.
        first_stage: name of the first stage, see :mod:`chamfer.retrieve.stages`.
        verify: verify every version before it is served; in the background by default.
    """
    serve = import_extra("ray.serve")
    logging.getLogger("ray.serve").setLevel(logging.ERROR)  # it logs every step, in its own format
    folder = Path(folder).resolve()
    names = [part.name for part in read_set(folder, current_version(folder)).shards]
    # A cluster may serve several folders of shards, but each of them only once.
    prefix = f"chamfer-{hashlib.sha256(f'{folder} {form} {first_stage}'.encode()).hexdigest()[:8]}"
    applications = [f"{prefix}-{name}" for name in names]
    # One machine may run more replicas than it has CPUs; Ray would wait forever for free ones.
    cores = max(os.cpu_count() or 1, ceil(len(names) * replicas * cpus) + 1)
    with connected(address, cores=cores, object_store=OBJECT_BYTES) as is_ours, _owned(prefix, folder):
        deploying = False
        try:
            serve.start(proxy_location="Disabled", logging_config={"log_level": "WARNING"})
            left = serve.status().applications.keys() & set(applications)
            for application in left:  # left by a server that was killed
                serve.delete(application)
            deploying = True
            made = serve.deployment(
                ShardReplica,
                num_replicas=replicas,
                max_ongoing_requests=ONGOING,
                health_check_period_s=CHECK_SECONDS,
                health_check_timeout_s=CHECK_TIMEOUT,
                graceful_shutdown_timeout_s=5.0,
                ray_actor_options={"num_cpus": cpus},
            )
            targets = [
                serve.RunTarget(
                    made.options(name=name).bind(str(folder), number, first_stage, verify, max(1, int(cpus))),
                    name=application,
                    route_prefix=None,
                )
                for number, (name, application) in enumerate(zip(names, applications, strict=True))
            ]
            handles = serve.run_many(targets)
            yield {name: RayReplicas(handle, replicas) for name, handle in zip(names, handles, strict=True)}
        finally:
            if is_ours:
                serve.shutdown()
            elif deploying:
                for application in applications:
                    serve.delete(application)


@contextmanager
def _owned(name: str, folder: Path) -> Iterator[None]:
    """Mark shards as served by this process while it lives; raise an error if another server has them."""
    ray = import_extra("ray")
    try:
        actor = ray.remote(num_cpus=0)(_Owner).options(name=name, namespace=NAMESPACE).remote()
    except ValueError as error:  # the name exists already
        raise InputError(f"{folder} is already served on this cluster; stop the other server first") from error
    try:
        yield
    finally:
        ray.kill(actor)


class _Owner:
    """An actor that ends with the process that created it."""
