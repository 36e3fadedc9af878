"""What cibuildwheel runs with every wheel: an index is built, opened and searched by the native kernel.

No model is needed.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from chamfer import Document, Index, TokenBatch
from chamfer.index.encoded import build_encoded
from chamfer.index.settings import Settings
from chamfer.kernels import native
from chamfer.retrieve.exhaustive import best
from chamfer.retrieve.stage import Queries


def main() -> None:
    """Build an index of one-token documents, and find each of them."""
    assert native.path(), "the wheel has no native kernel"
    axes = np.eye(32, dtype=np.float32)
    ids = [f"{number:02}" for number in range(len(axes))]
    tokens = TokenBatch.pack([axes[number : number + 1] for number in range(len(axes))], [[1]] * len(axes))
    with TemporaryDirectory() as folder:
        build_encoded(Path(folder), [Document(name, name) for name in ids], tokens, Settings(32, 2))
        index = Index.open(folder)
        assert not index.verify()
        found = best(index.snapshot, Queries(ids, tokens, np.ones(len(axes), np.float32)), 1)
        assert [index.snapshot.ids(one.places) for one in found] == [[name] for name in ids]


if __name__ == "__main__":
    main()
