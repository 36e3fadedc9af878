"""Work shared among threads, each with a BLAS of one thread.

BLAS splits small products badly, and its threads and ours would wait for each other.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from chamfer.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

PREFIX = "chamfer"
VARIABLE = "CHAMFER_THREADS"


def in_threads(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call a function for every item, on all cores, and give the results in the order of the items.

    After an error or an interruption, what has not begun never does.
    """
    if _is_worker():  # all threads are busy: waiting for one would be for ever
        return [function(item) for item in items]
    with _one_blas_thread():
        futures = [_pool().submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


def free_cores() -> int:
    """How many threads of its own a caller may start: one where others already keep the cores busy."""
    return 1 if _is_worker() else _cores()


def _is_worker() -> bool:
    return threading.current_thread().name.startswith(f"{PREFIX}_")  # as the pool names them


def _cores() -> int:
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        return len(os.sched_getaffinity(0))
    if not asked.isdecimal() or int(asked) < 1:
        raise InputError(f"{VARIABLE} must be a whole number of at least 1, not {asked!r}")
    return int(asked)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix=PREFIX)


@cache
def _libraries(loaded: frozenset[str]) -> ThreadpoolController:
    """Every BLAS of the process; looked up again when a package was loaded that brings one of its own."""
    return ThreadpoolController()


def _loaded() -> frozenset[str]:
    return frozenset({"faiss", "scipy", "sklearn", "torch"} & sys.modules.keys())


_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """BLAS's number of threads belongs to the process: the first caller in lowers it, the last one out restores it."""
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = _libraries(_loaded()).limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


def _start_anew() -> None:
    """A forked child has none of its parent's threads, only the pool that believes in them."""
    global _lock, _inside
    _pool.cache_clear()
    _lock, _inside = threading.Lock(), 0


os.register_at_fork(after_in_child=_start_anew)
