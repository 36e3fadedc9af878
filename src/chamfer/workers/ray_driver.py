"""Running jobs on a Ray cluster. The only file that uses Ray Data."""

import logging
import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, NamedTuple

from chamfer.errors import InputError, WorkerError, last_line
from chamfer.support import devices, threads
from chamfer.support.progress import Advance, ignore, quiet_loggers
from chamfer.workers.jobs import IN_PROCESS, Job, Table
from chamfer.workers.ray_cluster import connected, import_extra
from chamfer.workers.ray_worker import DONE, ERROR, TABLE, Worker, put_job, row_of, table_of, work

# Retries of a table whose worker died. If it fails more often, the table itself may be the cause.
RETRIES = 3


@contextmanager
def ray_workers(address: str, *, object_store: int | None = None) -> Iterator["RayWorkers"]:
    """The workers of a cluster, to be used inside the ``with`` block.

    Each worker uses as many threads as torch does in this process, because their number affects the last bits of
    vectors.

    Args:
        address: see :func:`chamfer.workers.ray_cluster.connected`.
        object_store: bytes of shared memory for ``local``; Ray's own choice by default.
    """
    import_extra("ray.data")
    each = devices.torch_threads()
    cores = max(threads.free_cores(), each)
    # Progress and errors are reported by chamfer, so Ray's own log lines would only repeat them.
    with (
        quiet_loggers("ray", "ray.data", below=logging.CRITICAL),
        connected(address, cores=cores, object_store=object_store),
    ):
        yield RayWorkers(each)


class Pool(NamedTuple):
    """Number of workers, and cores and GPUs per worker."""

    size: int
    cores: int
    gpus: int = 0


def pool_for(nodes: Sequence[Mapping[str, float]], threads: int, *, gpu: bool = False) -> Pool:
    """The workers that fit on a cluster: one per GPU if ``gpu`` and there are any, else one per ``threads`` cores.

    Args:
        nodes: resources of each node.
        threads: number of threads per worker.
        gpu: whether each worker should get a GPU of its own.

    >>> pool_for([{"CPU": 8.0}, {"CPU": 8.0, "GPU": 2.0}], 4), pool_for([{"CPU": 8.0, "GPU": 2.0}], 4, gpu=True)
    (Pool(size=4, cores=4, gpus=0), Pool(size=2, cores=1, gpus=1))
    >>> pool_for([{"CPU": 1.0}], 4)
    Pool(size=1, cores=1, gpus=0)
    """
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    if gpu and gpus:
        return Pool(gpus, cores=1, gpus=1)
    most = max((int(node.get("CPU", 0)) for node in nodes), default=0)
    if most == 0:
        raise InputError("the Ray cluster has no CPUs; start a node with: ray start --num-cpus")
    cores = min(threads, most)
    return Pool(sum(int(node.get("CPU", 0)) // cores for node in nodes), cores)


class RayWorkers:
    """Runs jobs in processes of a Ray cluster, each of which loads a job once.

    A worker that dies is replaced, and its table is processed again, with the same result.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self.at_once = max(2, pool_for(_nodes(), threads).size)  # 1 would mean this process

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        """See :meth:`chamfer.workers.jobs.Workers.map`. All tables are put into Ray's object store at once."""
        ray, data = import_extra("ray"), import_extra("ray.data")
        pool = pool_for(_nodes(), self._threads, gpu=gpu)
        waiting = iter(tables)
        first = list(islice(waiting, 2))
        if len(first) < 2 and not pool.gpus:  # a single worker would be slower than this process
            yield from IN_PROCESS.map(job, first, advance=advance)
            return
        # Ray may regroup rows, which would change the last bits of vectors, so each table is sent as one row.
        sent = [ray.put(row_of(table)) for table in chain(first, waiting)]
        dataset = data.from_arrow_refs(sent)
        context = dataset.context
        context.execution_options.preserve_order = True
        context.enable_progress_bars = context.print_on_execution_start = False
        size = min(pool.size, len(sent))
        sent_job = put_job(job)  # referenced until the end, for workers that replace dead ones
        share: dict[str, Any] = {"num_cpus": pool.cores}
        function: Any = work
        if pool.gpus:
            # A worker keeps its GPU, so it must be an actor. Each has a second table waiting, so that it is never idle,
            # unless there are so few tables that they should be spread evenly.
            function, depth = Worker, 2 if len(sent) > 2 * size else 1
            strategy = data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=depth)
            share |= {"compute": strategy, "fn_constructor_args": (sent_job, self._threads), "num_gpus": pool.gpus}
            share |= {"max_restarts": RETRIES, "max_task_retries": RETRIES}
        else:
            # Ray reuses the processes of tasks, with everything they have loaded, for the next map too. Actors would
            # be started for each map, which takes ten seconds, and would hold their cores while idle.
            share |= {"compute": data.TaskPoolStrategy(size=size), "fn_args": (sent_job, self._threads)}
            share |= {"max_retries": RETRIES}
        with warnings.catch_warnings():
            # Ray warns that retries have no parameter of their own yet.
            warnings.simplefilter("ignore")
            results = dataset.map_batches(function, batch_size=1, batch_format="pyarrow", **share)
        try:
            for batch in results.iter_batches(batch_size=1, batch_format="pyarrow"):
                [row] = batch.to_pylist()
                if row[ERROR] is not None:
                    raise pickle.loads(row[ERROR])
                advance(row[DONE])
                yield table_of(row[TABLE])
        except ray.exceptions.RayError as error:
            raise WorkerError(
                f"Ray workers died repeatedly ({last_line(error)}); check the cluster, then repeat the call to resume"
            ) from error


def _nodes() -> list[Mapping[str, float]]:
    return [node["Resources"] for node in import_extra("ray").nodes() if node["Alive"]]
