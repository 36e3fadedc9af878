"""Token weights in PyLate and fast-plaid: their results for folded queries, compared with our weighted scores.

Runs in PyLate's environment, whose pins differ from ours, with this library's sources on the path. Prints JSON.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from fast_plaid import search  # type: ignore[import-not-found]
from pylate import indexes, rank  # type: ignore[import-not-found]

from chamfer.kernels import reference
from chamfer.kernels.fold import fold
from chamfer.tokens.batch import TokenBatch

DOCUMENTS, QUERIES, DIMENSIONS, K = 300, 20, 64, 10


def main() -> None:
    """Make documents near the queries, search with every engine, compare."""
    generator = np.random.default_rng(0)
    queries = [unit(generator.standard_normal((int(n), DIMENSIONS))) for n in generator.integers(5, 12, QUERIES)]
    documents = [planted(generator, queries) for _ in range(DOCUMENTS)]
    weights = [generator.choice([0, 0.02, 0.3, 1, 4], len(query)).astype(np.float32) for query in queries]
    weights = [one if one.any() else np.ones_like(one) for one in weights]
    packed = TokenBatch.pack(documents, [np.zeros(len(one), np.int32) for one in documents])
    expected = [reference.score(q, w, packed, "cosine") * len(q) for q, w in zip(queries, weights, strict=True)]
    uniform = [reference.score(q, np.ones(len(q)), packed, "cosine") for q in queries]
    folded = [torch.from_numpy(folded_vectors(q, w)) for q, w in zip(queries, weights, strict=True)]
    again = [torch.nn.functional.normalize(query, dim=1) for query in folded]

    ids = [[str(n) for n in range(DOCUMENTS)]] * QUERIES
    tensors = [torch.from_numpy(one) for one in documents]
    ranked = rank.rerank(documents_ids=ids, queries_embeddings=folded, documents_embeddings=[tensors] * QUERIES)
    normalised = rank.rerank(documents_ids=ids, queries_embeddings=again, documents_embeddings=[tensors] * QUERIES)
    found: dict[str, Any] = {
        "versions": {name: version(name) for name in ("pylate", "fast-plaid", "sentence-transformers", "torch")},
        "rank.rerank": agreement([[int(hit["id"]) for hit in hits] for hits in ranked], expected),
        "rank.rerank, largest difference of scores": max(
            abs(hit["score"] - expected[n][int(hit["id"])]) for n, hits in enumerate(ranked) for hit in hits
        ),
        "rank.rerank, normalised again": agreement([[int(hit["id"]) for hit in hits] for hits in normalised], expected),
        "uniform weights": agreement([np.argsort(-one).tolist() for one in uniform], expected),
    }
    with tempfile.TemporaryDirectory() as folder:
        index = indexes.PLAID(folder, "plaid", override=True, nbits=8, n_ivf_probe=32, n_full_scores=DOCUMENTS)
        index.add_documents(ids[0], tensors)
        hits = [index(queries_embeddings=[query], k=K)[0] for query in folded]  # one by one, to avoid padding
        found["indexes.PLAID"] = agreement([[int(hit["id"]) for hit in some] for some in hits], expected)
    with tempfile.TemporaryDirectory() as folder:
        engine = search.FastPlaid(index=folder, device="cpu")
        engine.create(documents_embeddings=tensors, nbits=8)
        for probes in (1, 32):
            settings = {"top_k": K, "n_ivf_probe": probes, "n_full_scores": DOCUMENTS, "show_progress": False}
            answers = [engine.search([query], **settings)[0] for query in folded]
            found[f"fast-plaid, n_ivf_probe {probes}"] = agreement(
                [[int(place) for place, _ in answer] for answer in answers], expected
            )
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


def unit(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Unit vectors."""
    scaled: np.ndarray[Any, Any] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled.astype(np.float32)


def planted(generator: np.random.Generator, queries: Sequence[np.ndarray[Any, Any]]) -> Any:  # noqa: ANN401
    """A document with some tokens near a query's."""
    near = queries[int(generator.integers(len(queries)))]
    near = near[generator.random(len(near)) < 0.5]
    noise = generator.standard_normal((len(near), DIMENSIONS)) * 0.12
    return unit(np.concatenate([near + noise, generator.standard_normal((15, DIMENSIONS))]))


def folded_vectors(query: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401
    """A query with its weights folded in."""
    return fold(TokenBatch.pack([query], [np.zeros(len(query), np.int32)]), weights).vectors


def agreement(found: Sequence[Sequence[int]], expected: Sequence[np.ndarray[Any, Any]]) -> float:
    """The fraction of the top k that an engine finds."""
    best = [np.argsort(-scores)[:K].tolist() for scores in expected]
    return float(np.mean([len(set(some[:K]) & set(own)) / K for some, own in zip(found, best, strict=True)]))


if __name__ == "__main__":
    main()
