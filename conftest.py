"""Rooms behind extras that are not installed cannot be imported, so their examples are not collected."""

from importlib.util import find_spec

NEEDED = {
    "kernels/cuda/*.py": "triton",
    "integrations/langchain.py": "langchain_core",
    "integrations/llamaindex.py": "llama_index",
    "integrations/pyterrier.py": "pyterrier",
    "integrations/qdrant/*.py": "qdrant_edge",
    "serve/*.py": "fastapi",
}

# What schemathesis imports in a process of its own is no module of tests either.
collect_ignore = [
    "tests/served_formats.py",
    "tests/cuda_compiles.py",
    *(["tests/test_cuda.py"] if find_spec("triton") is None else []),
]
collect_ignore_glob = [f"src/chamfer/{path}" for path, library in NEEDED.items() if find_spec(library) is None]
