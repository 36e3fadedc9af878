"""Shards as deployments of Ray Serve: some replicas each, restarted by Ray where they are lost."""

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from chamfer.errors import InputError
from chamfer.index.shards import ShardVersion, current_version, read_set
from chamfer.kernels.form import Form
from chamfer.retrieve.stage import Queries
from chamfer.serve.sharded.question import Response
from chamfer.serve.sharded.shard import Kept, Opened, Ranked, Shard
from chamfer.support.threads import VARIABLE
from chamfer.workers.ray_cluster import LOCAL, connected, import_extra

# What Ray may keep in shared memory where it is started here: answers that are on their way.
OBJECT_BYTES = 512 << 20
# Ray looks so often whether a replica lives, which decides how soon a lost one is replaced; and how long it may take to
# say so, behind the questions that wait.
HEALTH_SECONDS, HEALTH_PATIENCE = 2.0, 30.0
# How often a replica looks for a new version of its set.
LOOK = 1.0
# Questions that a replica takes in; it works on one at a time.
ONGOING = 64
# Where it is noted who serves a set: as long as that process lives, so does an actor of this name.
NAMESPACE = "chamfer"

Answer = TypeVar("Answer")


class ShardReplica:
    """One replica: a shard, asked one question at a time, on as many threads as Ray gives it processors."""

    def __init__(self, folder: str, number: int, form: Form, first_stage: str, threads: int) -> None:
        os.environ[VARIABLE] = str(threads)
        self._shard = Shard(folder, number, form=form, first_stage=first_stage)
        # A version is opened beside the work, for that may take long: when there is one, or when it is asked for.
        self._working, self._opening = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        Thread(target=self._follow, name="next-version", daemon=True).start()

    async def check_health(self) -> None:
        """Asked by Ray: a replica whose work hangs does not answer, and is replaced."""
        await _run(self._working, int)

    async def prepare(self, version: ShardVersion) -> Opened:
        """See :meth:`Shard.prepare`."""
        return await _run(self._opening, self._shard.prepare, version)

    async def ready(self, version: ShardVersion) -> Opened:
        """See :meth:`Shard.ready`; behind other questions, as any."""
        return await _run(self._working, self._shard.ready, version)

    async def holds(self, version: ShardVersion) -> bool:
        """See :meth:`Shard.holds`."""
        return self._shard.holds(version)

    async def rank(self, version: ShardVersion, queries: Queries, k: int, where: str | None = None) -> list[Ranked]:
        """See :meth:`Shard.rank`."""
        return await _run(self._working, self._shard.rank, version, queries, k, where)

    async def documents(self, version: ShardVersion, ids: Sequence[str], where: str | None = None) -> list[Kept]:
        """See :meth:`Shard.documents`."""
        return await _run(self._working, self._shard.documents, version, ids, where)

    async def about(self, _version: ShardVersion) -> tuple[int, list[ShardVersion]]:
        """The process of the replica that answers, and the versions that it has open."""
        return os.getpid(), self._shard.versions

    def _follow(self) -> None:
        while True:
            time.sleep(LOOK)
            self._shard.follow()


async def _run(executor: Executor, function: Callable[..., Answer], *arguments: Any) -> Answer:  # noqa: ANN401
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)


class RayReplicas:
    """The replicas of one shard; Ray Serve chooses the one that answers, and retries what none had begun to answer.

    What a replica had begun when it was lost is an error here, and asked again by
    :class:`chamfer.serve.sharded.scatter.Scatter`.
    """

    def __init__(self, handle: Any, count: int) -> None:  # noqa: ANN401 -- a DeploymentHandle, which mypy may not know
        self._handle, self.count = handle, count

    def ask(self, method: str, *arguments: Any) -> Response:  # noqa: ANN401 -- those of the method
        """Ask without waiting."""
        response: Response = getattr(self._handle, method).remote(*arguments)
        return response


@contextmanager
def deployed(
    folder: str | Path,
    address: str = LOCAL,
    *,
    replicas: int = 1,
    cpus: float = 1.0,
    form: Form = "l2",
    first_stage: str = "auto",
) -> Iterator[dict[str, RayReplicas]]:
    """The shards of a set on Ray, by name, as long as the context lasts.

    Args:
        folder: of the set; every machine that runs a replica reads it at this path.
        address: of a Ray cluster; ``local`` starts Ray on this machine, and ends it afterwards.
        replicas: of each shard.
        cpus: processors that each replica is given, and threads that it uses.
        form: ``l2`` or ``cosine``.
        first_stage: a name, see :mod:`chamfer.retrieve.stages`.
    """
    serve = import_extra("ray.serve")
    logging.getLogger("ray.serve").setLevel(logging.ERROR)  # it tells of every step, in its own format
    folder = Path(folder).resolve()
    names = [part.name for part in read_set(folder, current_version(folder)).shards]
    # One set may be served once on a cluster, several sets beside each other.
    prefix = f"chamfer-{hashlib.sha256(f'{folder} {form} {first_stage}'.encode()).hexdigest()[:8]}"
    applications = [f"{prefix}-{name}" for name in names]
    # Replicas may be more than processors, on one machine; Ray would wait for ever for some that are free.
    cores = max(os.cpu_count() or 1, ceil(len(names) * replicas * cpus) + 1)
    with connected(address, cores=cores, object_store=OBJECT_BYTES) as is_ours, _owned(prefix, folder):
        deploying = False
        try:
            serve.start(proxy_location="Disabled", logging_config={"log_level": "WARNING"})
            left = serve.status().applications.keys() & set(applications)
            for application in left:  # by a server that was killed
                serve.delete(application)
            deploying = True
            made = serve.deployment(
                ShardReplica,
                num_replicas=replicas,
                max_ongoing_requests=ONGOING,
                health_check_period_s=HEALTH_SECONDS,
                health_check_timeout_s=HEALTH_PATIENCE,
                graceful_shutdown_timeout_s=5.0,
                ray_actor_options={"num_cpus": cpus},
            )
            targets = [
                serve.RunTarget(
                    made.options(name=name).bind(str(folder), number, form, first_stage, max(1, int(cpus))),
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
    """Note that this process serves a set, for as long as it lives; one that another serves is refused."""
    ray = import_extra("ray")
    try:
        actor = ray.remote(num_cpus=0)(_Owner).options(name=name, namespace=NAMESPACE).remote()
    except ValueError as error:  # the name is taken
        raise InputError(f"{folder} is served on this cluster already; stop the other server first") from error
    try:
        yield
    finally:
        ray.kill(actor)


class _Owner:
    """An actor that ends with the process that made it."""
