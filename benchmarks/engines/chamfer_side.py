"""chamfer builds or searches, without an encoder and without torch."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.data.documents import Document
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.trained import sample_size
from chamfer.index.writing import writing
from chamfer.retrieve.exhaustive import best
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import depth_of, open_stage
from chamfer.tokens.batch import TokenBatch, offsets_of
from engines.material import TOKEN_IDS, Material
from engines.measuring import bytes_in, memory_watched, timed
from engines.side import K, Request, answer

STAGE, EXACT = "centroids", "exhaustive"

# Documents that are added at a time.
ADDED = 10_000


def build(material: Material, request: Request) -> dict[str, Any]:
    """Build an index, including texts and the lists of its first stage; documents are named by their place."""
    token_ids = np.load(Path(request.material) / TOKEN_IDS, mmap_mode="r")
    settings = Settings(material.vectors.shape[1], int(token_ids.max(initial=0)) + 1, **request.settings)
    offsets, many = material.offsets, len(material.vectors)
    found: dict[str, Any] = {}
    with memory_watched(found):
        started = time.perf_counter()
        documents = len(material.lengths)
        wanted = max(1, int(sample_size(many) / many * documents))
        drawn = np.sort(np.random.default_rng(2).choice(documents, wanted, replace=False))
        rows = np.concatenate([np.arange(offsets[place], offsets[place + 1]) for place in drawn])
        sample = TokenBatch(material.vectors[rows], np.asarray(token_ids[rows]), offsets_of(material.lengths[drawn]))
        with writing(Path(request.folder), settings) as writer:
            writer.train(sample, tokens=many)
            for first in range(0, documents, ADDED):
                last = min(first + ADDED, documents)
                rows_of = slice(int(offsets[first]), int(offsets[last]))
                part = offsets_of(material.lengths[first:last])
                tokens = TokenBatch(material.vectors[rows_of], np.asarray(token_ids[rows_of]), part)
                writer.add([Document(f"{place:09}", "") for place in range(first, last)], tokens)
        index = Snapshot.open(Path(request.folder))
        open_stage(STAGE, index)
        found["seconds"] = round(time.perf_counter() - started, 2)
    return found | {"bytes": bytes_in(Path(request.folder)), "centroids": len(index.trained.clusters)}


def search(material: Material, request: Request) -> dict[str, Any]:
    """Search an index like ``Searcher.rank``, but without loading an encoder."""
    found: dict[str, Any] = {}
    with memory_watched(found):
        index = Snapshot.open(Path(request.folder))
        lengths = np.array([len(query) for query in material.queries])
        vectors = np.concatenate(material.queries)
        tokens = TokenBatch(vectors, np.zeros(len(vectors), np.int32), offsets_of(lengths))
        every = Queries([""] * len(tokens), tokens, material.weights)
        single = [Queries([""], tokens[n], every.weights_of(n)) for n in range(len(tokens))]
        answers = _answers(index, request.settings.get("first_stage", STAGE))
        found |= timed(lambda n: answers(single[n])[0], lambda: answers(every), len(tokens))
    found["found"] = [[int(one) for one in index.ids(np.array(places, int))] for places in found["found"]]
    return found


def _answers(index: Snapshot, stage: str) -> Callable[[Queries], list[Any]]:
    if stage == EXACT:
        return lambda queries: [one.places for one in best(index, queries, K)]
    opened, depth = open_stage(stage, index), depth_of(stage)

    def answers(queries: Queries) -> list[Any]:
        candidates = opened.find(queries, depth, None)
        return [one.places for one in best(index, queries, K, [one.places for one in candidates])]

    return answers


if __name__ == "__main__":
    answer(build, search)
