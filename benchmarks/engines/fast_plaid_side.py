"""fast-plaid builds or searches; runs in the environment of the other engines."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from engines.material import Material
from engines.measuring import bytes_in, memory_watched, timed
from engines.side import K, Request, answer


def build(material: Material, request: Request) -> dict[str, Any]:
    """Build an index on disk; the list of document views is made before the clock starts."""
    import torch
    from fast_plaid import search as fast_plaid  # type: ignore[import-not-found]

    torch.set_num_threads(request.threads)
    bounds = zip(material.offsets, material.offsets[1:], strict=False)
    documents = [torch.from_numpy(material.vectors[start:stop]) for start, stop in bounds]
    found: dict[str, Any] = {}
    with memory_watched(found):
        started = time.perf_counter()
        made = fast_plaid.FastPlaid(index=request.folder, device="cpu")
        made.create(documents_embeddings=documents, **request.settings)
        found["seconds"] = round(time.perf_counter() - started, 2)
    centroids = np.load(Path(request.folder) / "centroids.npy", mmap_mode="r")
    return found | {"bytes": bytes_in(Path(request.folder)), "centroids": len(centroids), "torch": torch.__version__}


def search(material: Material, request: Request) -> dict[str, Any]:
    """Search an index; weights are folded into the query, which is exact for dot products."""
    import torch
    from fast_plaid import search as fast_plaid

    torch.set_num_threads(request.threads)
    found: dict[str, Any] = {}
    with memory_watched(found):
        queries = [torch.from_numpy(query) for query in material.folded]
        opened = fast_plaid.FastPlaid(index=request.folder, device="cpu")
        if opened.devices != ["cpu"] or torch.cuda.is_available():
            raise SystemExit("fast-plaid must run on the CPU here")

        def answers(asked: list[Any]) -> list[list[int]]:
            given = opened.search(asked, top_k=K, show_progress=False, **request.settings)
            return [[place for place, _ in one] for one in given]

        found |= timed(lambda n: answers([queries[n]])[0], lambda: answers(queries), len(queries))
    return found


if __name__ == "__main__":
    answer(build, search)
