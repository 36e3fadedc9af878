"""xtr-warp-rs builds or searches; runs in the environment of the other engines."""

import json
import time
from pathlib import Path
from typing import Any

from engines.material import VECTORS, Material
from engines.measuring import bytes_in, memory_watched, timed
from engines.side import K, Request, answer

IN_MEMORY = 2_000_000
"""Tokens that are given as a list of tensors, which its documentation shows; more are read from their file."""


def build(material: Material, request: Request) -> dict[str, Any]:
    """Build an index on disk; the list of document views is made before the clock starts."""
    import torch
    from xtr_warp import XTRWarp  # type: ignore[import-not-found]

    torch.set_num_threads(request.threads)
    source: Any = str(Path(request.material) / VECTORS)
    if len(material.vectors) <= IN_MEMORY:
        bounds = zip(material.offsets, material.offsets[1:], strict=False)
        source = [torch.from_numpy(material.vectors[start:stop]) for start, stop in bounds]
    found: dict[str, Any] = {}
    with memory_watched(found):
        started = time.perf_counter()
        made = XTRWarp(index=request.folder, device="cpu")
        made.create(source, device="cpu", show_progress=False, **request.settings)
        found["seconds"] = round(time.perf_counter() - started, 2)
    metadata = json.loads((Path(request.folder) / "metadata.json").read_text())
    centroids = metadata.get("num_centroids", metadata["num_partitions"])
    return found | {"bytes": bytes_in(Path(request.folder)), "centroids": centroids, "torch": torch.__version__}


def search(material: Material, request: Request) -> dict[str, Any]:
    """Search an index; weights are folded into the query.

    Queries of one call are padded with zeros to the longest. That changes no score, but settings that it derives from
    the number of query tokens.
    """
    import torch
    from xtr_warp import XTRWarp

    torch.set_num_threads(request.threads)
    found: dict[str, Any] = {}
    with memory_watched(found):
        queries = [torch.from_numpy(query) for query in material.folded]
        opened = XTRWarp(index=request.folder, device="cpu")
        opened.load(device="cpu")

        def answers(asked: list[Any]) -> list[list[int]]:
            given = opened.search(asked, top_k=K, num_threads=request.threads, show_progress=False, **request.settings)
            return [[place for place, _ in one] for one in given]

        found |= timed(lambda n: answers([queries[n]])[0], lambda: answers(queries), len(queries))
    return found


if __name__ == "__main__":
    answer(build, search)
