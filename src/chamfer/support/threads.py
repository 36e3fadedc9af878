"""A thread pool for the whole process, in which BLAS uses one thread per call.

BLAS parallelises small products badly, and its threads would compete with ours.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from chamfer.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

VARIABLE = "CHAMFER_THREADS"


class _Thread(threading.local):
    """State of the current thread."""

    is_worker = False


_thread = _Thread()


def map_in_threads(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call a function for every item, on all cores; results are in the order of the items.

    The caller's thread takes items too, and waits for no thread that has not begun: on a busy machine, that could take
    longer than the work. After an error or an interruption, no further call starts.

    >>> map_in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    given = list(items)
    if _thread.is_worker:  # all threads are busy, so waiting for one would be a deadlock
        return [function(item) for item in given]
    results: dict[int, R] = {}
    waiting = deque(enumerate(given))

    def work() -> None:
        try:
            while waiting:
                try:
                    place, item = waiting.popleft()
                except IndexError:  # another thread took the last one
                    break
                results[place] = function(item)
        finally:
            waiting.clear()

    with _one_blas_thread():
        helpers = [_pool().submit(work) for _ in range(min(cores(), len(given)) - 1)]
        _thread.is_worker = True
        try:
            work()
        finally:
            _thread.is_worker = False
            wait([helper for helper in helpers if not helper.cancel()])
        for helper in helpers:
            if not helper.cancelled():
                helper.result()
    return [results[place] for place in range(len(given))]


def free_cores() -> int:
    """Number of threads that a caller may start: one inside :func:`map_in_threads`, where all cores are busy."""
    return 1 if _thread.is_worker else cores()


def cores() -> int:
    """Number of threads to use in all: ``CHAMFER_THREADS``, else a thread for each core of this process."""
    asked = os.environ.get(VARIABLE, "")
    if not asked:
        # Only Linux knows which cores this process may use.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise InputError(f"{VARIABLE} must be a whole number of at least 1, not {asked!r}")
    return int(asked)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="chamfer", initializer=_mark_as_worker)


def _mark_as_worker() -> None:
    _thread.is_worker = True


@cache
def _libraries(loaded: frozenset[str]) -> ThreadpoolController:
    """Every BLAS library in the process; looked up again once another package that brings one is loaded."""
    return ThreadpoolController()


def _loaded() -> frozenset[str]:
    return frozenset({"faiss", "scipy", "sklearn", "torch"} & sys.modules.keys())


_lock = threading.Lock()
_inside = 0
_limit: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread. The limit is global: the first caller in sets it, the last one out restores it."""
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


def _reset_after_fork() -> None:
    """Forget the pool in a forked child, which has none of its parent's threads.

    OpenMP would wait for them forever, so it is limited to one thread there, as in the workers of torch's data loader.
    """
    global _lock, _inside
    _pool.cache_clear()
    _lock, _inside = threading.Lock(), 0
    _thread.is_worker = False
    if loaded := _loaded():
        _libraries(loaded).limit(limits=1, user_api="openmp")


os.register_at_fork(after_in_child=_reset_after_fork)
