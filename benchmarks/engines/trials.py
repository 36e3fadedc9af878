"""The collections that engines are compared on."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.collection import load_collection
from chamfer.data.judgements import Judgements
from chamfer.index.projection import fit_projection, projected
from chamfer.tokens.batch import TokenBatch
from engines.material import LENGTHS, TOKEN_IDS, VECTORS, write_queries
from first_stages import drawn_queries
from synthetic import DIMENSIONS as SYNTHETIC_DIMENSIONS
from synthetic import QUERY_TOKENS, TOKENS, chunks, word_vectors

# ColBERT's dimensions.
DIMENSIONS = 128


class Trial(NamedTuple):
    """The input of all engines, and the judgements; documents are named by their place."""

    name: str
    folder: Path
    query_ids: list[str]
    judgements: Judgements
    weightings: tuple[str, ...]
    partitions: int
    """Centroids that xtr-warp-rs is given: its own plan for so many tokens takes too long to train here."""
    peers: tuple[str, ...]
    """The other engines that can build an index of it in less than an hour."""


def scifact(folder: Path, data: Path, limit: int | None) -> Trial:
    """All of scifact; uniform weights and softened IDF."""
    return _collection("scifact", folder, data, limit, None, 4096, ("xtr-warp-rs",))


def scifact_plaid(folder: Path, data: Path, limit: int | None) -> Trial:
    """The same with fast-plaid, which alone takes most of an hour."""
    return _collection("scifact", folder, data, limit, None, 4096, ("fast-plaid",))


def acl_titles(folder: Path, data: Path, limit: int | None) -> Trial:
    """20,000 documents of acl-titles, those that answer 500 test queries among them."""
    return _collection("acl-titles", folder, data, limit, 20_000, 8192, ("xtr-warp-rs",))


def synthetic(folder: Path, _data: Path, limit: int | None) -> Trial:
    """5,000 documents of clustered vectors; a query is perturbed tokens of the document that it should find."""
    return _synthetic("synthetic", folder, limit or 5_000, 200, 2048, ("fast-plaid", "xtr-warp-rs"))


def million(folder: Path, _data: Path, limit: int | None) -> Trial:
    """A million such documents, which take 15 GB of disk."""
    return _synthetic("synthetic-1m", folder, limit or 1_000_000, 200, 16_384, ("xtr-warp-rs",))


TRIALS: Mapping[str, Callable[[Path, Path, int | None], Trial]] = {
    "scifact": scifact,
    "scifact-plaid": scifact_plaid,
    "acl-titles": acl_titles,
    "synthetic": synthetic,
    "million": million,
}


def _collection(
    name: str,
    folder: Path,
    data: Path,
    limit: int | None,
    most: int | None,
    partitions: int,
    peers: tuple[str, ...],
) -> Trial:
    """A collection encoded by MiniLM and projected; if it is cut, the relevant documents and others drawn at random."""
    from chamfer.cache.encoded import encode_cached
    from chamfer.support.cache_folder import default_cache
    from chamfer.weights.counting import count_frequencies
    from chamfer.weights.token_weights import TokenWeights
    from corpora import encoder_for

    path = data / name
    collection, encoder = load_collection(path, allow_empty=True), encoder_for(path)
    asked, judged = drawn_queries(collection), collection.judgements["test"]
    if limit:
        asked = dict(list(asked.items())[:30])
    relevant = {one for query in asked for one in judged[query]}
    shuffled = np.random.default_rng(0).permutation(list(collection.documents)).tolist()
    ids = sorted(shuffled, key=lambda one: one not in relevant)[: limit or most]
    texts = [collection.documents[one] for one in ids]
    documents = encode_cached(default_cache(), encoder, ids, texts)
    queries = encode_cached(default_cache(), encoder, list(asked), list(asked.values()), role="query")
    tokens = queries.tokens.take([queries.place[one] for one in asked])
    weights = {
        "uniform": TokenWeights.uniform(encoder.vocabulary).of(tokens),
        "idf-soft": TokenWeights.soft_idf(count_frequencies(encoder, texts), encoder.vocabulary).of(tokens),
    }
    chosen = documents.tokens.take([documents.place[one] for one in ids])
    directions = fit_projection(chosen.vectors[:: max(1, len(chosen.vectors) // 100_000)], DIMENSIONS)
    folder.mkdir()
    _write(folder, _projected(chosen, directions))
    write_queries(folder, _projected(tokens, directions).vectors, tokens.lengths, weights)
    place = {one: str(at) for at, one in enumerate(ids)}
    judgements = {one: {place[found]: grade for found, grade in judged[one].items() if found in place} for one in asked}
    return Trial(name, folder, list(asked), judgements, tuple(weights), partitions, peers)


def _synthetic(name: str, folder: Path, count: int, asked: int, partitions: int, peers: tuple[str, ...]) -> Trial:
    folder.mkdir()
    vectors = np.lib.format.open_memmap(folder / VECTORS, "w+", np.float16, (count * TOKENS, SYNTHETIC_DIMENSIONS))
    token_ids = np.lib.format.open_memmap(folder / TOKEN_IDS, "w+", np.int32, (count * TOKENS,))
    for first, part in chunks(word_vectors(), count):
        rows = slice(first * TOKENS, first * TOKENS + len(part.vectors))
        vectors[rows], token_ids[rows] = part.vectors, part.token_ids
    np.save(folder / LENGTHS, np.full(count, TOKENS, np.int64))
    generator = np.random.default_rng(4)
    wanted = generator.choice(count, asked, replace=asked > count)
    drawn = [one * TOKENS + generator.choice(TOKENS, QUERY_TOKENS, replace=False) for one in wanted]
    moved = vectors[np.concatenate(drawn)].astype(np.float32)
    moved += 0.05 * generator.standard_normal(moved.shape, dtype=np.float32)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    uniform = {"uniform": np.ones(len(moved), np.float32)}
    write_queries(folder, moved.astype(np.float16), np.full(asked, QUERY_TOKENS), uniform)
    vectors.flush()
    token_ids.flush()
    judgements = {f"q{n}": {str(one): 1} for n, one in enumerate(wanted)}
    return Trial(name, folder, list(judgements), judgements, ("uniform",), partitions, peers)


def _projected(tokens: TokenBatch, directions: Any) -> TokenBatch:  # noqa: ANN401
    return TokenBatch(projected(tokens.vectors, directions).astype(np.float16), tokens.token_ids, tokens.offsets)


def _write(folder: Path, documents: TokenBatch) -> None:
    arrays: dict[str, npt.NDArray[Any]] = {
        VECTORS: documents.vectors.astype(np.float16, copy=False),
        TOKEN_IDS: documents.token_ids,
        LENGTHS: documents.lengths.astype(np.int64),
    }
    for name, array in arrays.items():
        np.save(folder / name, array)
