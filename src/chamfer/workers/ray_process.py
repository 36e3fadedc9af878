"""What runs in a worker of a Ray cluster, and how tables and jobs get there."""

import os
import pickle
import traceback
from functools import lru_cache
from typing import Any

import numpy as np

from chamfer.errors import InputError, WorkerError
from chamfer.support import devices, threads
from chamfer.workers.jobs import Job, Table
from chamfer.workers.ray_cluster import imported

# Columns of what is sent and comes back, a row for each table: the table in Arrow's format, how much was done for it,
# or the error that there is instead.
TABLE, DONE, ERROR = "table", "done", "error"


class Worker:
    """What a worker does: fetch the job, then work through tables."""

    def __init__(self, job: Any, threads_of_it: int, *, has_gpu: bool = True) -> None:  # noqa: ANN401 -- a reference
        # Before a pool of threads is made: the other cores belong to other workers, and so do GPUs.
        os.environ[threads.VARIABLE] = os.environ["OMP_NUM_THREADS"] = str(threads_of_it)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        if not has_gpu:
            os.environ[devices.VARIABLE] = devices.CPU
        self._reference, self._threads = job, threads_of_it
        self._job: Job | None = None

    def __call__(self, batch: Any) -> Any:  # noqa: ANN401 -- Arrow tables
        """What the job makes of a table, or why it did not."""
        import pyarrow

        done: list[int] = []
        result, failure = None, None
        try:
            devices.limit_torch(self._threads)
            if self._job is None:  # not when an actor starts: an error there would be tried again for ever
                self._job = _unpacked(self._reference)
            [row] = batch.to_pylist()
            result = row_of(self._job(table_of(row[TABLE]), done.append))[TABLE][0].as_py()
        except (InputError, OSError) as error:  # returned, because Ray would wrap it in an error of its own
            failure = pickle.dumps(error)
        except Exception as error:  # a bug in the job, or memory that ran out
            failed = WorkerError(f"a job failed on a Ray worker: {type(error).__name__}: {error}")
            failed.add_note(traceback.format_exc())
            failure = pickle.dumps(failed)
        columns = {TABLE: pyarrow.array([result], pyarrow.large_binary()), DONE: [sum(done)]}
        return pyarrow.table({**columns, ERROR: pyarrow.array([failure], pyarrow.binary())})


@lru_cache(maxsize=1)  # a process is sent many tables of one job
def _worker(job: Any, threads_of_it: int) -> Worker:  # noqa: ANN401
    return Worker(job, threads_of_it, has_gpu=False)


def work(batch: Any, job: Any, threads_of_it: int) -> Any:  # noqa: ANN401 -- Arrow tables, and a reference
    """The same in a task, whose process keeps the job for the next one."""
    return _worker(job, threads_of_it)(batch)


def packed(job: Job) -> Any:  # noqa: ANN401 -- Ray's reference
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


def row_of(table: Table) -> Any:  # noqa: ANN401 -- an Arrow table
    """A table as one row of another."""
    import pyarrow

    content = pyarrow.table(table)
    packed = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(packed, content.schema) as stream:
        stream.write_table(content)
    return pyarrow.table({TABLE: pyarrow.array([memoryview(packed.getvalue())], pyarrow.large_binary())})


def table_of(packed: bytes) -> Table:
    """The table that :func:`row_of` packed."""
    import pyarrow

    unpacked: Table = pyarrow.ipc.open_stream(packed).read_all().to_pydict()
    return unpacked
