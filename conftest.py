"""How the suite runs: threads, campaigns, the order of files, and what is not collected."""

import os
from importlib.util import find_spec
from itertools import compress
from typing import Any

import pytest

# Workers of pytest-xdist share the cores. Before anything imports torch, whose threads spin while they wait.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if WORKERS > 1:
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // WORKERS)))

NEEDED = {
    "kernels/cuda/*.py": "triton",
    "integrations/langchain.py": "langchain_core",
    "integrations/llamaindex.py": "llama_index",
    "integrations/pyterrier.py": "pyterrier",
    "integrations/qdrant/*.py": "qdrant_edge",
    "serve/*.py": "fastapi",
}

# Modules behind extras that are not installed cannot be imported. The first two run in processes of their own.
collect_ignore = [
    "tests/served_formats.py",
    "tests/cuda_compiles.py",
    *(["tests/test_cuda.py"] if find_spec("triton") is None else []),
]
collect_ignore_glob = [f"src/chamfer/{path}" for path, library in NEEDED.items() if find_spec(library) is None]

BROWSER = "tests/browser/"
# The slowest files start first, or one process of `make test` would end with them while the other waits.
FIRST = (
    "tests/test_serve_sharded_ray.py",
    "tests/test_cuda.py",
    "tests/test_workers.py",
    BROWSER,
    "tests/test_cli.py",
    "tests/test_serve_running.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--long``, for ``make test-long``."""
    parser.addoption("--long", action="store_true", help="run the campaigns at full length, and nothing else")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--long`` leave out the tests marked long; with it, keep those and the ones that ask for ``long``."""
    long = config.getoption("--long")
    wanted = [is_campaign(item) if long else item.get_closest_marker("long") is None for item in items]
    config.hook.pytest_deselected(items=[item for item, is_wanted in zip(items, wanted, strict=True) if not is_wanted])
    items[:] = sorted(compress(items, wanted), key=lambda item: place(unit(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # noqa: ANN401 -- pytest-xdist may be missing
    """``--dist loadfile``, with the tests of the page taken for one file."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

    return Scheduling(config, log)


def unit(nodeid: str) -> str:
    """What one process runs whole: a file, or all tests of the page, which share a server and a browser."""
    return BROWSER if nodeid.startswith(BROWSER) else nodeid.partition("::")[0]


def place(unit: str) -> int:
    """When a file is run: the slowest in their order, then the others."""
    return FIRST.index(unit) if unit in FIRST else len(FIRST)


def is_campaign(item: pytest.Item) -> bool:
    """Whether a test has a long version."""
    return item.get_closest_marker("long") is not None or "long" in getattr(item, "fixturenames", ())
