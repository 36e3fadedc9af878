"""Work spread over threads."""

import multiprocessing
import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from chamfer import InputError
from chamfer.support.threads import free_cores, map_in_threads


def blas_threads() -> set[int]:
    """Threads of the BLAS that NumPy and SciPy call; that of faiss uses OpenMP, see ``one_faiss_thread``."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library["threading_layer"] != "openmp"
    }


def square(number: int) -> int:
    return number * number


def test_results_come_in_the_order_of_the_items() -> None:
    assert map_in_threads(square, range(50)) == [number * number for number in range(50)]
    assert map_in_threads(square, []) == []


def test_blas_has_one_thread_inside_and_its_own_again_outside() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    before = blas_threads()
    assert map_in_threads(lambda _: blas_threads(), [1]) == [{1}]
    assert blas_threads() == before


def test_nested_calls_do_not_deadlock() -> None:
    assert map_in_threads(lambda size: sum(map_in_threads(square, range(size))), [3, 4, 5, 6]) == [5, 14, 30, 55]


def test_a_caller_waits_for_no_thread_that_has_not_begun() -> None:
    held, over = threading.Barrier(free_cores() + 1), threading.Event()

    def hold(_: int) -> None:
        held.wait()
        over.wait()

    holder = threading.Thread(target=map_in_threads, args=(hold, range(free_cores())))
    found: list[list[int]] = []
    caller = threading.Thread(target=lambda: found.append(map_in_threads(square, range(4))))
    holder.start()
    held.wait()  # all threads of the pool that a call can have are taken
    caller.start()
    caller.join(timeout=10)
    before = list(found)
    over.set()
    caller.join()
    holder.join()
    assert before == [[0, 1, 4, 9]]


def test_an_error_is_raised_and_the_rest_never_begins() -> None:
    begun = []

    def fail(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError("no")
        threading.Event().wait(0.01)

    with pytest.raises(ValueError, match="no"):
        map_in_threads(fail, range(1000))
    assert len(begun) < 1000


@pytest.mark.filterwarnings("ignore:This process")  # Python warns of a fork while threads run, which is what this tests
def test_a_forked_child_has_threads_of_its_own() -> None:
    map_in_threads(square, range(8))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(map_in_threads, (square, range(4))).get(timeout=20) == [0, 1, 4, 9]


def test_only_threads_of_the_pool_are_workers_whatever_they_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMFER_THREADS", "3")
    found: list[int] = []
    stranger = threading.Thread(target=lambda: found.append(free_cores()), name="chamfer_0")
    stranger.start()
    stranger.join()
    assert found == [3]
    assert map_in_threads(lambda _: free_cores(), range(4)) == [1, 1, 1, 1]


def test_all_cores_are_used_where_the_system_does_not_say_which_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHAMFER_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    assert free_cores() == os.cpu_count()
    assert map_in_threads(square, range(4)) == [0, 1, 4, 9]


def test_the_number_of_threads_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMFER_THREADS", "1")
    assert free_cores() == 1
    monkeypatch.setenv("CHAMFER_THREADS", "many")
    with pytest.raises(InputError, match="whole number of at least 1, not 'many'"):
        free_cores()
