"""Running a transformer on the CPU with OpenVINO, without torch. The only file that imports OpenVINO to run it."""

import importlib.util
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.encode.forks import Process
from chamfer.encode.settings import Arithmetic
from chamfer.errors import InputError
from chamfer.support.threads import cores

TELEMETRY = "openvino_telemetry"


def has_openvino() -> bool:
    """Whether the extra ``chamfer[openvino]`` is installed."""
    return importlib.util.find_spec("openvino") is not None


def can_run_openvino() -> bool:
    """Whether OpenVINO is installed and works in this process: not in a forked child in whose parent it was used."""
    return has_openvino() and _first_use().is_current


def check_openvino() -> None:
    """Refuse to go on without OpenVINO, or in a forked child in whose parent it was used: it would wait forever."""
    if not has_openvino():
        raise InputError("the engine 'openvino' is not installed; run: pip install 'chamfer[openvino]'")
    _first_use().check("OpenVINO")


class Runner:
    """A compiled transformer: arrays in, the states of its last layer out. Threads may share it.

    Args:
        graph: what OpenVINO converted, or the file that it was saved in.
        arithmetic: number format to compute in.
    """

    def __init__(self, graph: Any, arithmetic: Arithmetic) -> None:  # noqa: ANN401 -- OpenVINO is not typed
        with without_telemetry():
            import openvino
        self._compiled = openvino.Core().compile_model(
            graph,
            "CPU",
            {
                "PERFORMANCE_HINT": "THROUGHPUT",  # several batches at once, on about one core each
                "INFERENCE_PRECISION_HINT": "bf16" if arithmetic == "bfloat16" else "f32",
                "INFERENCE_NUM_THREADS": cores(),
            },
        )
        self._threads = threading.local()

    def __call__(self, arrays: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        """``(texts, tokens, dimensions)`` the states, in memory that the next call in this thread overwrites."""
        if not hasattr(self._threads, "request"):
            self._threads.request = self._compiled.create_infer_request()
        states: npt.NDArray[np.float32] = self._threads.request.infer(list(arrays), share_inputs=True)[0]
        return states


def save_graph(graph: Any, path: Path) -> None:  # noqa: ANN401
    """Save a graph in two files, ``path`` and its weights beside it."""
    with without_telemetry():
        import openvino
    openvino.save_model(graph, path, compress_to_fp16=False)


@contextmanager
def without_telemetry() -> Iterator[None]:
    """Hide the package that OpenVINO uses to report every import to a server; one thread at a time."""
    with _hiding:
        before = sys.modules.get(TELEMETRY)
        sys.modules[TELEMETRY] = None  # type: ignore[assignment]  # makes the import fail
        try:
            yield
        finally:
            sys.modules.pop(TELEMETRY, None)
            if before is not None:
                sys.modules[TELEMETRY] = before


_hiding = threading.Lock()


@cache
def _first_use() -> Process:
    return Process()
