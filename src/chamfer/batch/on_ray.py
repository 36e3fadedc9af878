"""The workers of a Ray cluster. The only file that knows Ray Data."""

import logging
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from chamfer.batch.joining import imported, joined
from chamfer.batch.workers import HERE, Job, Table
from chamfer.devices import threads_of_torch
from chamfer.errors import InputError
from chamfer.progress import Advance, ignore
from chamfer.threads import VARIABLE, free_cores

# Columns beside those of a result: how many rows it has, and how much was done for it; or instead, why there is none.
ROWS, DONE, REFUSED = "_rows", "_done", "_refused"


@contextmanager
def ray_workers(address: str, *, threads: int | None = None, object_store: int | None = None) -> Iterator["RayWorkers"]:
    """Workers of a cluster, as long as it is held.

    Args:
        address: see :func:`chamfer.batch.joining.joined`.
        threads: cores of a worker. The number of threads moves the last bits of vectors, so it is that of torch in
            this process if not given.
        object_store: bytes that ``local`` keeps in shared memory; Ray's own choice if not given.
    """
    imported("ray.data")
    threads = threads or threads_of_torch()
    # One core more than there are, because one stays free for others: so all cores do our work.
    cores = max(free_cores(), threads) + 1
    with _quiet("ray", "ray.data"), joined(address, cores=cores, object_store=object_store):
        yield RayWorkers(threads)


class Crew(NamedTuple):
    """So many workers, with so many cores and GPUs each."""

    size: int
    cores: int
    gpus: int = 0


def crew_of(nodes: Sequence[Mapping[str, float]], threads: int, *, gpu: bool = False) -> Crew:
    """The workers that a cluster has for us: one for each GPU, else one for every so many cores, at least one.

    One core of the cluster stays free: if all were taken, whoever reads or writes beside us would wait.

    >>> crew_of([{"CPU": 8.0}, {"CPU": 8.0, "GPU": 2.0}], 4), crew_of([{"CPU": 8.0, "GPU": 2.0}], 4, gpu=True)
    (Crew(size=3, cores=4, gpus=0), Crew(size=2, cores=1, gpus=1))
    >>> crew_of([{"CPU": 1.0}], 4)
    Crew(size=1, cores=1, gpus=0)
    """
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    if gpu and gpus:
        return Crew(gpus, cores=1, gpus=1)
    cores = min(threads, max((int(node.get("CPU", 0)) for node in nodes), default=1)) or 1
    fitting = sum(int(node.get("CPU", 0)) // cores for node in nodes)
    free = int(sum(node.get("CPU", 0) for node in nodes)) - 1
    return Crew(max(1, min(fitting, free // cores)), cores)


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
        import pyarrow
        import ray
        import ray.data

        crew = crew_of(_nodes(), self._threads, gpu=gpu)
        waiting = (table for table in tables if _rows(table))
        first = list(islice(waiting, 2))
        if len(first) < 2 and not crew.gpus:  # to start a worker would take longer, and it would be the only one
            yield from HERE.map(job, first, advance=advance)
            return
        # Which rows are together decides the last bits of vectors, so a block is a table, whole.
        dataset = ray.data.from_arrow([pyarrow.table(table) for table in chain(first, waiting)])
        blocks = dataset.num_blocks()
        size = min(crew.size, blocks)
        context = dataset.context
        context.execution_options.preserve_order = True
        context.target_max_block_size = None  # else a large result comes back in pieces
        context.enable_progress_bars = context.print_on_execution_start = False
        sent = ray.put(job)  # held here until all is done, for workers that start anew
        share: dict[str, Any] = {"num_cpus": crew.cores, "num_gpus": crew.gpus}
        if crew.gpus:
            # A process keeps its GPU, so it must be an actor. With a second table waiting at each nobody is idle; with
            # few tables, they must be spread.
            depth = 2 if blocks > 2 * size else 1
            pool = ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=depth)
            share |= {"compute": pool, "fn_constructor_args": (sent, self._threads)}
        else:
            # Ray keeps the processes of tasks, and these what they have loaded, also for the next map. An actor would
            # start anew, which takes ten seconds, and hold its cores while it has nothing to do.
            share |= {"compute": ray.data.TaskPoolStrategy(size=size), "fn_args": (sent, self._threads)}
        work: Any = _Worker if crew.gpus else _work
        results = dataset.map_batches(work, batch_size=None, batch_format="pyarrow", **share)
        with closing(_whole(results.iter_batches(batch_size=None, batch_format="pyarrow"))) as arrived:
            for done, table in arrived:
                advance(done)
                yield table


class _Worker:
    """What a worker does: fetch the job, then work through tables."""

    def __init__(self, job: Any, threads: int) -> None:  # noqa: ANN401 -- Ray's reference to it
        # Before a pool of threads is made: the other cores belong to other workers.
        os.environ[VARIABLE] = os.environ["OMP_NUM_THREADS"] = str(threads)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        self._reference = job
        self._job: Job | None = None

    def __call__(self, block: Any) -> Any:  # noqa: ANN401 -- Arrow tables
        import pyarrow
        import ray

        done: list[int] = []
        try:
            if self._job is None:  # not when an actor starts: an error there would be tried again for ever
                self._job = ray.get(self._reference)
            result = self._job(block.to_pydict(), done.append)
        except InputError as error:  # which Ray would wrap in its own, with a trace
            result = {REFUSED: [str(error)]}
        rows = _rows(result)
        return pyarrow.table({**result, ROWS: [rows] * rows, DONE: [sum(done)] * rows})


@lru_cache(maxsize=2)  # by Ray's reference: a process is sent many tables of one job
def _worker(job: Any, threads: int) -> _Worker:  # noqa: ANN401
    return _Worker(job, threads)


def _work(block: Any, job: Any, threads: int) -> Any:  # noqa: ANN401
    return _worker(job, threads)(block)


def _nodes() -> list[Mapping[str, float]]:
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node["Resources"] for node in nodes if node["Alive"]]


def _whole(batches: Iterable[Any]) -> Generator[tuple[int, Table], None, None]:
    """How much was done, and the result of each table, put together again if it came in pieces."""
    table: Table = {}
    for batch in batches:
        piece: Table = batch.to_pydict()
        if REFUSED in piece:
            raise InputError(piece[REFUSED][0])
        table = {name: table.get(name, []) + values for name, values in piece.items()}
        if _rows(table) == table[ROWS][0]:
            del table[ROWS]
            yield table.pop(DONE)[0], table
            table = {}


def _rows(table: Table) -> int:
    return len(next(iter(table.values()), ()))


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Let Ray tell of nothing but errors: the library tells what it does by ``advance``."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
