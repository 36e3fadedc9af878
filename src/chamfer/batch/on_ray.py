"""The workers of a Ray cluster. The only file that knows Ray Data."""

import logging
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from chamfer import devices, threads
from chamfer.batch.joining import imported, joined
from chamfer.batch.workers import HERE, Job, Table
from chamfer.errors import InputError
from chamfer.progress import Advance, ignore

# How often a part is done again whose worker died: more often, and it may be the part that kills.
AGAIN = 3
# Columns of what is sent and comes back, a row for each table: the table in Arrow's format, how much was done for it,
# or the error that there is instead.
TABLE, DONE, ERROR = "table", "done", "error"


@contextmanager
def ray_workers(address: str, *, object_store: int | None = None) -> Iterator["RayWorkers"]:
    """Workers of a cluster, as long as it is held.

    The number of threads moves the last bits of vectors, so a worker has as many as torch has in this process.

    Args:
        address: see :func:`chamfer.batch.joining.joined`.
        object_store: bytes that ``local`` keeps in shared memory; Ray's own choice if not given.
    """
    imported("ray.data")
    each = devices.threads_of_torch()
    cores = max(threads.free_cores(), each)
    with _quiet("ray", "ray.data"), joined(address, cores=cores, object_store=object_store):
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
        """See :meth:`chamfer.batch.workers.Workers.map`. All tables are read at once, into Ray's memory."""
        ray, data = imported("ray"), imported("ray.data")
        crew = crew_of(_nodes(), self._threads, gpu=gpu)
        waiting = iter(tables)
        first = list(islice(waiting, 2))
        if len(first) < 2 and not crew.gpus:  # to start a worker would take longer, and it would be the only one
            yield from HERE.map(job, first, advance=advance)
            return
        # Which rows are together decides the last bits of vectors, so a table travels whole, as one row.
        sent = [ray.put(_row(table)) for table in chain(first, waiting)]
        dataset = data.from_arrow_refs(sent)
        context = dataset.context
        context.execution_options.preserve_order = True
        context.enable_progress_bars = context.print_on_execution_start = False
        size, packed = min(crew.size, len(sent)), _packed(job)  # held until all is done, for workers that start anew
        share: dict[str, Any] = {"num_cpus": crew.cores}
        work: Any = _work
        if crew.gpus:
            # A process keeps its GPU, so it must be an actor. With a second table waiting at each nobody is idle; with
            # few tables, they must be spread.
            work, depth = _Worker, 2 if len(sent) > 2 * size else 1
            pool = data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=depth)
            share |= {"compute": pool, "fn_constructor_args": (packed, self._threads), "num_gpus": crew.gpus}
            share |= {"max_restarts": AGAIN, "max_task_retries": AGAIN}
        else:
            # Ray keeps the processes of tasks, and these what they have loaded, also for the next map. An actor would
            # start anew, which takes ten seconds, and hold its cores while it has nothing to do.
            share |= {"compute": data.TaskPoolStrategy(size=size), "fn_args": (packed, self._threads)}
            share |= {"max_retries": AGAIN}
        results = dataset.map_batches(work, batch_size=1, batch_format="pyarrow", **share)
        try:
            for batch in results.iter_batches(batch_size=1, batch_format="pyarrow"):
                [row] = batch.to_pylist()
                if row[ERROR] is not None:
                    raise pickle.loads(row[ERROR])
                advance(row[DONE])
                yield _table(row[TABLE])
        except ray.exceptions.RayError as error:
            said = (str(error).strip() or type(error).__name__).splitlines()[-1]
            raise InputError(f"the work failed on a worker, also when it was tried again: {said}") from error


class _Worker:
    """What a worker does: fetch the job, then work through tables."""

    def __init__(self, job: Any, threads_of_it: int, *, has_gpu: bool = True) -> None:  # noqa: ANN401 -- a reference
        # Before a pool of threads is made: the other cores belong to other workers, and so do GPUs.
        os.environ[threads.VARIABLE] = os.environ["OMP_NUM_THREADS"] = str(threads_of_it)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        if not has_gpu:
            os.environ[devices.VARIABLE] = devices.PROCESSOR
        self._reference, self._threads = job, threads_of_it
        self._job: Job | None = None

    def __call__(self, batch: Any) -> Any:  # noqa: ANN401 -- Arrow tables
        import pyarrow

        done: list[int] = []
        result, failure = None, None
        try:
            devices.limit_torch(self._threads)
            if self._job is None:  # not when an actor starts: an error there would be tried again for ever
                self._job = _unpacked(self._reference)
            [row] = batch.to_pylist()
            result = _row(self._job(_table(row[TABLE]), done.append))[TABLE][0].as_py()
        except (InputError, OSError) as error:  # which Ray would wrap in its own, with a trace
            failure = pickle.dumps(error)
        columns = {TABLE: pyarrow.array([result], pyarrow.large_binary()), DONE: [sum(done)]}
        return pyarrow.table({**columns, ERROR: pyarrow.array([failure], pyarrow.binary())})


@lru_cache(maxsize=1)  # a process is sent many tables of one job
def _worker(job: Any, threads_of_it: int) -> _Worker:  # noqa: ANN401
    return _Worker(job, threads_of_it, has_gpu=False)


def _work(batch: Any, job: Any, threads_of_it: int) -> Any:  # noqa: ANN401
    return _worker(job, threads_of_it)(batch)


def _packed(job: Job) -> Any:  # noqa: ANN401 -- Ray's reference
    """Put a job into Ray's memory: arrays so that processes of a node share them, the rest for us to unpack.

    Ray itself would unpack it where no error of ours is seen, and try for ever.
    """
    ray = imported("ray")
    arrays: list[pickle.PickleBuffer] = []
    content = ray.cloudpickle.dumps(job, protocol=5, buffer_callback=arrays.append)
    return ray.put((content, [np.asarray(one.raw()) for one in arrays]))


def _unpacked(job: Any) -> Job:  # noqa: ANN401
    content, arrays = imported("ray").get(job)
    unpacked: Job = pickle.loads(content, buffers=arrays)
    return unpacked


def _row(table: Table) -> Any:  # noqa: ANN401 -- an Arrow table
    """A table as one row of another."""
    import pyarrow

    content = pyarrow.table(table)
    packed = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(packed, content.schema) as stream:
        stream.write_table(content)
    return pyarrow.table({TABLE: pyarrow.array([memoryview(packed.getvalue())], pyarrow.large_binary())})


def _table(packed: bytes) -> Table:
    import pyarrow

    unpacked: Table = pyarrow.ipc.open_stream(packed).read_all().to_pydict()
    return unpacked


def _nodes() -> list[Mapping[str, float]]:
    return [node["Resources"] for node in imported("ray").nodes() if node["Alive"]]


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Let Ray tell of nothing: the library tells what it does by ``advance``, and what failed in a sentence."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
