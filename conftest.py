"""How the suite runs: threads, campaigns, the order of files, and what is not collected."""

import os
from importlib.util import find_spec
from itertools import compress

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

# The slowest files start first, or one worker of `make test` would end with them while the other waits.
FIRST = (
    "test_serve_sharded_ray.py",
    "test_cuda.py",
    "test_workers.py",
    "browser",
    "test_cli.py",
    "test_serve_running.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--long``, for ``make test-long``."""
    parser.addoption("--long", action="store_true", help="run the campaigns at full length, and nothing else")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without ``--long`` leave out the tests marked long; with it, keep those and the ones that ask for ``long``."""
    long = config.getoption("--long")
    wanted = [is_campaign(item) if long else item.get_closest_marker("long") is None for item in items]
    config.hook.pytest_deselected(items=[item for item, is_wanted in zip(items, wanted, strict=True) if not is_wanted])
    items[:] = sorted(
        compress(items, wanted), key=lambda item: FIRST.index(unit(item)) if unit(item) in FIRST else len(FIRST)
    )
    if WORKERS > 1:
        for item in items:
            item.add_marker(pytest.mark.xdist_group(unit(item)))


def unit(item: pytest.Item) -> str:
    """What one worker runs whole: a file, or all tests of the page, which share a server and a browser."""
    return "browser" if item.path.parent.name == "browser" else item.path.name


def is_campaign(item: pytest.Item) -> bool:
    """Whether a test has a long version."""
    return item.get_closest_marker("long") is not None or "long" in getattr(item, "fixturenames", ())
