"""First stages: queries in, candidates out."""

import os

# bm25s asks JAX for a small computation when it is imported, if JAX is installed. On a GPU, JAX would then keep three
# quarters of the memory from the model and the documents.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
