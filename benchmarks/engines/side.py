"""One engine in a process of its own: a request as JSON in, the figures as JSON out."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engines.material import Material, read_material

K = 10


class Request(NamedTuple):
    """What a side is asked to do."""

    do: str
    """``build`` or ``search``."""
    material: str
    """Folder of the vectors and queries."""
    folder: str
    """Folder of the index."""
    threads: int
    """Threads that it may use."""
    settings: Mapping[str, Any]
    """Settings of the engine."""
    weights: str = "uniform"
    """Name of the weighting."""


Work = Callable[[Material, Request], dict[str, Any]]


def ask(python: Path, module: str, request: Request, out: Path) -> dict[str, Any]:
    """Run a request in a process that has as many cores as threads."""
    names = ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "CHAMFER_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    limits = dict.fromkeys(names, str(request.threads)) | {"PYTHONPATH": str(Path(__file__).parents[1])}
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[: request.threads]))
    name = f"{module.rpartition('.')[2]} {request.do} {Path(request.folder).name} {request.weights}"
    print(f"{name}, {request.threads} threads", file=sys.stderr, flush=True)
    command = ["taskset", "-c", cores, str(python), "-m", module, json.dumps([request._asdict(), str(out)])]
    subprocess.run(command, env=os.environ | limits, check=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def answer(build: Work, search: Work) -> None:
    """Do what this process was asked to, and write the figures."""
    asked, out = json.loads(sys.argv[1])
    request = Request(**asked)
    material = read_material(Path(request.material), request.weights)
    found = {"build": build, "search": search}[request.do](material, request)
    Path(out).write_text(json.dumps(found))
