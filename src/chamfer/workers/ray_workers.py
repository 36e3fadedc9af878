"""The workers of a Ray cluster. The only file that knows Ray Data."""

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
from chamfer.workers.ray_cluster import imported, joined
from chamfer.workers.ray_process import DONE, ERROR, TABLE, Worker, packed, row_of, table_of, work

# How often a part is done again whose worker died: more often, and it may be the part that kills.
AGAIN = 3


@contextmanager
def ray_workers(address: str, *, object_store: int | None = None) -> Iterator["RayWorkers"]:
    """Workers of a cluster, as long as it is held.

    The number of threads moves the last bits of vectors, so a worker has as many as torch has in this process.

    Args:
        address: see :func:`chamfer.workers.ray_cluster.joined`.
        object_store: bytes that ``local`` keeps in shared memory; Ray's own choice if not given.
    """
    imported("ray.data")
    each = devices.threads_of_torch()
    cores = max(threads.free_cores(), each)
    # The library tells what it does by `advance`, and what failed in a sentence.
    with (
        quiet_loggers("ray", "ray.data", below=logging.CRITICAL),
        joined(address, cores=cores, object_store=object_store),
    ):
        yield RayWorkers(each)


class Crew(NamedTuple):
    """So many workers, with so many cores and GPUs each."""

    size: int
    cores: int
    gpus: int = 0


def crew_of(nodes: Sequence[Mapping[str, float]], threads: int, *, gpu: bool = False) -> Crew:
    """The workers that a cluster has for us: one for each GPU, else one for every so many cores, at least one.

    >>> crew_of([{"CPU": 8.0}, {"CPU": 8.0, "GPU": 2.0}], 4), crew_of([{"CPU": 8.0, "GPU": 2.0}], 4, gpu=True)
    (Crew(size=4, cores=4, gpus=0), Crew(size=2, cores=1, gpus=1))
    >>> crew_of([{"CPU": 1.0}], 4)
    Crew(size=1, cores=1, gpus=0)
    """
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    if gpu and gpus:
        return Crew(gpus, cores=1, gpus=1)
    most = max((int(node.get("CPU", 0)) for node in nodes), default=0)
    if most == 0:
        raise InputError("the Ray cluster has no processors to work on; start a node with: ray start --num-cpus")
    cores = min(threads, most)
    return Crew(sum(int(node.get("CPU", 0)) // cores for node in nodes), cores)


class RayWorkers:
    """Processes of a Ray cluster, each of which loads what a job needs once; this process alone writes.

    A worker that dies is started again, and what it was working on is done again, with the same result.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self.at_once = max(2, crew_of(_nodes(), threads).size)  # never 1, which means this process

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        """See :meth:`chamfer.workers.jobs.Workers.map`. All tables are read at once, into Ray's memory."""
        ray, data = imported("ray"), imported("ray.data")
        crew = crew_of(_nodes(), self._threads, gpu=gpu)
        waiting = iter(tables)
        first = list(islice(waiting, 2))
        if len(first) < 2 and not crew.gpus:  # to start a worker would take longer, and it would be the only one
            yield from IN_PROCESS.map(job, first, advance=advance)
            return
        # Which rows are together decides the last bits of vectors, so a table travels whole, as one row.
        sent = [ray.put(row_of(table)) for table in chain(first, waiting)]
        dataset = data.from_arrow_refs(sent)
        context = dataset.context
        context.execution_options.preserve_order = True
        context.enable_progress_bars = context.print_on_execution_start = False
        size, sent_job = min(crew.size, len(sent)), packed(job)  # held until all is done, for workers that start anew
        share: dict[str, Any] = {"num_cpus": crew.cores}
        function: Any = work
        if crew.gpus:
            # A process keeps its GPU, so it must be an actor. With a second table waiting at each nobody is idle; with
            # few tables, they must be spread.
            function, depth = Worker, 2 if len(sent) > 2 * size else 1
            pool = data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=depth)
            share |= {"compute": pool, "fn_constructor_args": (sent_job, self._threads), "num_gpus": crew.gpus}
            share |= {"max_restarts": AGAIN, "max_task_retries": AGAIN}
        else:
            # Ray keeps the processes of tasks, and these what they have loaded, also for the next map. An actor would
            # start anew, which takes ten seconds, and hold its cores while it has nothing to do.
            share |= {"compute": data.TaskPoolStrategy(size=size), "fn_args": (sent_job, self._threads)}
            share |= {"max_retries": AGAIN}
        with warnings.catch_warnings():
            # How often to try again has no named parameter yet, and Ray 2.64 will take no others.
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
                f"Ray workers were lost again and again ({last_line(error)}); "
                "check the cluster, then run the same again to resume"
            ) from error


def _nodes() -> list[Mapping[str, float]]:
    return [node["Resources"] for node in imported("ray").nodes() if node["Alive"]]
