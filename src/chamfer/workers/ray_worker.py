"""The code that runs in a Ray worker, and how jobs and tables are sent there."""

import os
import pickle
import traceback
from functools import lru_cache
from typing import Any

import numpy as np

from chamfer.errors import InputError, WorkerError
from chamfer.support import devices, threads
from chamfer.workers.jobs import Job, Table
from chamfer.workers.ray_cluster import import_extra

# Columns of the datasets sent to workers and back, which have one row per table: the table in Arrow's format, the
# progress made on it, and the error that was raised instead.
TABLE, DONE, ERROR = "table", "done", "error"


class Worker:
    """Runs one job in a worker: fetches it, then processes tables."""

    def __init__(self, job: Any, thread_count: int, *, has_gpu: bool = True) -> None:  # noqa: ANN401 -- a reference
        # Set before any thread pool is created: the other cores and GPUs belong to other workers.
        os.environ[threads.VARIABLE] = os.environ["OMP_NUM_THREADS"] = str(thread_count)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        if not has_gpu:
            os.environ[devices.VARIABLE] = devices.CPU
        self._reference, self._threads = job, thread_count
        self._job: Job | None = None

    def __call__(self, batch: Any) -> Any:  # noqa: ANN401 -- Arrow tables
        """The job's result for a table, or the error it raised."""
        import pyarrow

        done: list[int] = []
        result, failure = None, None
        try:
            devices.set_torch_threads(self._threads)
            if self._job is None:  # not in the constructor, where Ray would retry forever after an error
                self._job = _get_job(self._reference)
            [row] = batch.to_pylist()
            result = row_of(self._job(table_of(row[TABLE]), done.append))[TABLE][0].as_py()
        except (InputError, OSError) as error:  # returned, because Ray would wrap it in an error of its own
            failure = pickle.dumps(error)
        except Exception as error:  # a bug in the job, or out of memory
            failed = WorkerError(f"a job failed on a Ray worker: {type(error).__name__}: {error}")
            failed.add_note(traceback.format_exc())
            failure = pickle.dumps(failed)
        columns = {TABLE: pyarrow.array([result], pyarrow.large_binary()), DONE: [sum(done)]}
        return pyarrow.table({**columns, ERROR: pyarrow.array([failure], pyarrow.binary())})


@lru_cache(maxsize=1)  # a process is sent many tables of one job
def _worker(job: Any, thread_count: int) -> Worker:  # noqa: ANN401
    return Worker(job, thread_count, has_gpu=False)


def work(batch: Any, job: Any, thread_count: int) -> Any:  # noqa: ANN401 -- Arrow tables, and a reference
    """Run a job in a task; the process keeps the job for its next task."""
    return _worker(job, thread_count)(batch)


def put_job(job: Job) -> Any:  # noqa: ANN401 -- Ray's reference
    """Put a job into Ray's object store, where the processes of a node share its arrays.

    The job is pickled here and unpickled by :class:`Worker`: Ray would unpickle it before our code can catch an error,
    and retry forever.
    """
    ray = import_extra("ray")
    arrays: list[pickle.PickleBuffer] = []
    content = ray.cloudpickle.dumps(job, protocol=5, buffer_callback=arrays.append)
    return ray.put((content, [np.asarray(array.raw()) for array in arrays]))


def _get_job(job: Any) -> Job:  # noqa: ANN401
    content, arrays = import_extra("ray").get(job)
    unpacked: Job = pickle.loads(content, buffers=arrays)
    return unpacked


def row_of(table: Table) -> Any:  # noqa: ANN401 -- an Arrow table
    """A table, serialised into one row of another table."""
    import pyarrow

    content = pyarrow.table(table)
    packed = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(packed, content.schema) as stream:
        stream.write_table(content)
    return pyarrow.table({TABLE: pyarrow.array([memoryview(packed.getvalue())], pyarrow.large_binary())})


def table_of(packed: bytes) -> Table:
    """The table that :func:`row_of` serialised."""
    import pyarrow

    unpacked: Table = pyarrow.ipc.open_stream(packed).read_all().to_pydict()
    return unpacked
