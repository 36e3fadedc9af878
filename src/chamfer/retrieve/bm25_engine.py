"""The library ``bm25s``, imported without letting JAX take the GPU."""

import os

# bm25s asks JAX for a small computation when it is imported, if JAX is installed. On a GPU, JAX would then keep three
# quarters of the memory from the model and the documents. It reads this variable at its first computation.
VARIABLE = "XLA_PYTHON_CLIENT_PREALLOCATE"

_was_set = VARIABLE in os.environ
os.environ.setdefault(VARIABLE, "false")
try:
    import bm25s
finally:
    if not _was_set:
        del os.environ[VARIABLE]

__all__ = ["bm25s"]
