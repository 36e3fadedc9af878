"""Calls of every kernel with valid arguments, and what the answer must be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from tests.vectors import as_query, batch_of, unit

from chamfer.kernels import dispatch, native, reference
from chamfer.kernels.best import Best
from chamfer.kernels.codes import Codes
from chamfer.kernels.documents import CodedDocuments, QuantizedDocuments
from chamfer.kernels.form import Form
from chamfer.kernels.inverted_lists import InvertedLists
from chamfer.kernels.residuals import Residuals
from chamfer.tokens.batch import TokenBatch, offsets_of

Array = npt.NDArray[Any]
Generator = np.random.Generator

# Integers and the sizes of arrays are forged for the native kernel, which validates everything. NumPy's implementations
# are called with valid arrays only, and validate queries, weights and candidates.
ASKED = ("query", "weights", "candidates", "k")
STORED = ("vectors", "offsets", "codes", "scales", "bounds")


@dataclass(frozen=True, slots=True)
class Problem:
    """One call.

    Args:
        arguments: valid arguments.
        call: the kernel.
        may_be_forged: names of arguments that the kernel validates.
        may_change: names of arrays that other threads may change during the call.
        is_right: whether an answer is that of the reference.
        fits: whether an answer to other arguments is finite and of the right shape.
    """

    arguments: dict[str, Any]
    call: Callable[..., Any]
    may_be_forged: tuple[str, ...]
    may_change: tuple[str, ...]
    is_right: Callable[[Any], bool]
    fits: Callable[..., bool]


def _documents(generator: Generator, dimensions: int) -> TokenBatch:
    lengths = generator.integers(0, generator.choice([3, 9, 40]), size=generator.integers(1, 40)).tolist()
    kind = generator.integers(3)
    vectors = unit(generator, sum(lengths), dimensions) if sum(lengths) else np.empty((0, dimensions))
    if kind == 1:
        vectors = np.round(vectors * 2)
    elif kind == 2:
        vectors = vectors * 10.0 ** generator.uniform(-3, 3, (len(vectors), 1))
    return batch_of(vectors.astype(np.float16), lengths)


def _dimensions(generator: Generator) -> int:
    return int(generator.choice([1, 3, 4, 15, 16, 17, 32, 64, 100, 130]))


def _stored(documents: TokenBatch, codes: Codes) -> dict[str, Array]:
    return {
        "vectors": documents.vectors,
        "offsets": documents.offsets,
        "codes": codes.codes,
        "scales": codes.scales,
        "bounds": codes.bounds,
    }


def _asked(generator: Generator, documents: TokenBatch) -> dict[str, Any]:
    tokens = int(generator.choice([1, 2, 7, 8, 9, 17, 33]))
    weights = generator.uniform(0, 2, tokens).astype(np.float32)
    weights[generator.random(tokens) < 0.2] = 0
    return {
        "query": unit(generator, tokens, documents.dimensions).astype(np.float32),
        "weights": weights,
        "candidates": generator.integers(len(documents), size=generator.integers(0, 60)),
        "k": int(generator.integers(0, 50)),
    }


def best(generator: Generator, kernel: str) -> Problem:
    """The top k, through everything that validates."""
    documents = _documents(generator, _dimensions(generator))
    form: Form = "l2" if generator.random() < 0.5 else "cosine"
    arguments: dict[str, Any] = {**_asked(generator, documents), **_stored(documents, Codes.of(documents))}

    def call(query: Array, weights: Array, candidates: Array, k: int, **stored: Array) -> Best:
        ids = np.zeros(len(stored["vectors"]), np.int32)
        tokens = TokenBatch(stored["vectors"], ids, stored["offsets"])
        codes = Codes(stored["codes"], stored["scales"], stored["bounds"])
        queries = TokenBatch(query, np.zeros(len(query), np.int32), offsets_of([len(query)]))
        coded = CodedDocuments(tokens, codes if kernel != native.NUMPY else None)
        return dispatch.best(queries, weights, coded, k=k, candidates=[candidates], form=form)[0]

    def is_right(found: Best) -> bool:
        places, k = arguments["candidates"], arguments["k"]
        exact = reference.score(arguments["query"], arguments["weights"], documents, form)
        scores = exact.astype(np.float32)[places]
        order = np.argsort(-scores, kind="stable")[:k]
        if kernel != native.NUMPY:
            return bool(np.array_equal(found.places, places[order]) and np.array_equal(found.scores, scores[order]))
        longest = float(np.linalg.norm(documents.vectors.astype(np.float64), axis=1).max(initial=1))
        return np.allclose(found.scores, scores[order], rtol=1e-3, atol=4e-3 * longest)

    def fits(found: Best, k: int, **_: object) -> bool:
        return len(found.places) == len(found.scores) <= k and not np.isnan(found.scores).any()

    if kernel == native.NUMPY:
        return Problem(arguments, call, ASKED, ("query", "vectors", "offsets"), is_right, fits)
    return Problem(arguments, call, (*ASKED, *STORED), (*ASKED[:-1], *STORED), is_right, fits)


def survivors(generator: Generator, kernel: str) -> Problem:
    """The documents that codes do not rule out."""
    if kernel == native.NUMPY:
        return best(generator, kernel)
    documents = _documents(generator, _dimensions(generator))
    form: Form = "l2" if generator.random() < 0.5 else "cosine"
    codes = Codes.of(documents).for_decoded_vectors(documents)
    stored = _stored(documents, codes)
    del stored["vectors"]
    arguments: dict[str, Any] = {**_asked(generator, documents), **stored, "dimensions": documents.dimensions}
    arguments["candidates"] = np.flatnonzero(documents.lengths)

    def call(query: Array, weights: Array, candidates: Array, k: int, dimensions: int, **stored: Array) -> Array:
        handle = native.codes_only(dimensions, **stored)
        return native.survivors(query, weights, handle, candidates, k, form)

    def is_right(found: Array) -> bool:
        decoded = batch_of(codes.vectors(documents.dimensions), documents.lengths.tolist())
        scores = reference.score(arguments["query"], arguments["weights"], decoded, form)[arguments["candidates"]]
        bar = np.sort(scores)[::-1][: arguments["k"]][-1:]
        return not len(bar) or set(np.flatnonzero(scores >= bar[0]).tolist()) <= set(found.tolist())

    def fits(found: Array, candidates: Array, **_: object) -> bool:
        return len(found) <= len(candidates) and (not len(found) or 0 <= found.min() <= found.max() < len(candidates))

    names = tuple(arguments)
    arrays = tuple(name for name in names if isinstance(arguments[name], np.ndarray))
    return Problem(arguments, call, names, arrays, is_right, fits)


def minima(generator: Generator, kernel: str) -> Problem:
    """Distances, from 16-bit vectors."""
    documents = _documents(generator, _dimensions(generator))
    form: Form = "l2" if generator.random() < 0.5 else "cosine"
    asked = _asked(generator, documents)
    arguments: dict[str, Any] = {name: asked[name] for name in ("query", "candidates")}
    arguments |= {"vectors": documents.vectors, "offsets": documents.offsets}

    def call(query: Array, candidates: Array, vectors: Array, offsets: Array) -> Array:
        if kernel != native.NUMPY:
            tokens = TokenBatch.trusted(vectors, np.zeros(len(vectors), np.int32), offsets)
            return native.minima(query, tokens, candidates, form)
        tokens = TokenBatch(vectors, np.zeros(len(vectors), np.int32), offsets)
        queries = TokenBatch(query, np.zeros(len(query), np.int32), offsets_of([len(query)]))
        return dispatch.minima(queries, tokens, candidates=candidates, form=form)

    def is_right(found: Array) -> bool:
        expected = reference.minima(arguments["query"], documents, form)[arguments["candidates"]]
        longest = float(np.linalg.norm(documents.vectors.astype(np.float64), axis=1).max(initial=1))
        return np.allclose(found, expected, rtol=1e-4, atol=2e-3 * longest)

    def fits(found: Array, query: Array, candidates: Array, **_: object) -> bool:
        return found.shape == (len(candidates), len(query)) and not np.isnan(found).any()

    native_only = kernel != native.NUMPY
    forged = ("query", "candidates", *(("vectors", "offsets") if native_only else ()))
    changed = ("query", "vectors", "offsets", *(("candidates",) if native_only else ()))
    return Problem(arguments, call, forged, changed, is_right, fits)


def quantize(generator: Generator, kernel: str) -> Problem:
    """8-bit codes."""
    documents = _documents(generator, _dimensions(generator))
    arguments: dict[str, Any] = {"vectors": documents.vectors, "offsets": documents.offsets}

    def call(vectors: Array, offsets: Array) -> Codes:
        return Codes.of(TokenBatch(vectors, np.zeros(len(vectors), np.int32), offsets))

    def is_right(found: Codes) -> bool:
        decoded = (found.codes[:, : documents.dimensions].astype(np.float64) - 128) * found.scales[:, None]
        lost = np.linalg.norm(decoded - documents.vectors, axis=1)
        worst = np.repeat(found.bounds[1], documents.lengths)
        return bool((lost <= worst * 1.0001 + 1e-9).all())

    def fits(found: Codes, vectors: Array, **_: object) -> bool:
        return len(found.codes) == len(found.scales) == len(vectors)

    changed = ("vectors", "offsets") if kernel != native.NUMPY else ()
    return Problem(arguments, call, tuple(arguments), changed, is_right, fits)


def decode_codes(generator: Generator, kernel: str) -> Problem:
    """Vectors from 8-bit codes."""
    documents = _documents(generator, dimensions := _dimensions(generator))
    codes = Codes.of(documents)
    rows = generator.integers(max(1, len(codes.codes)), size=generator.integers(0, 600) if len(codes.codes) else 0)
    arguments: dict[str, Any] = {"codes": codes.codes, "scales": codes.scales, "dimensions": dimensions, "rows": rows}

    def call(codes: Array, scales: Array, dimensions: int, rows: Array) -> Array:
        if kernel != native.NUMPY:
            return native.decode_codes(codes, scales, dimensions, rows)
        return Codes(codes, scales, np.empty((4, 0), np.float32)).vectors(dimensions, rows)

    def is_right(found: Array) -> bool:
        expected = (codes.codes[rows, :dimensions].astype(np.float32) - 128) * codes.scales[rows][:, None]
        return bool(np.array_equal(found, expected.astype(np.float16)))

    def fits(found: Array, dimensions: int, rows: Array, **_: object) -> bool:
        return found.shape == (len(rows), dimensions) and found.dtype == np.float16

    some = ("codes", "scales", "rows") if kernel != native.NUMPY else ()
    return Problem(arguments, call, (*some, *(("dimensions",) if some else ())), some, is_right, fits)


def decode_residuals(generator: Generator, kernel: str) -> Problem:
    """Vectors from centroids and residuals."""
    bits, dimensions, tokens = int(generator.choice([2, 4])), 4 * int(generator.integers(1, 40)), 300
    centroids = unit(generator, int(generator.integers(1, 9)), dimensions).astype(np.float32)
    arguments: dict[str, Any] = {
        "packed": generator.integers(256, size=(tokens, dimensions * bits // 8)).astype(np.uint8),
        "levels": np.sort(generator.standard_normal(2**bits)).astype(np.float32),
        "spread": generator.uniform(0.01, 0.1, dimensions).astype(np.float32),
        "centroids": centroids,
        "chosen": generator.integers(len(centroids), size=tokens).astype(np.uint16),
        "rows": generator.integers(tokens, size=generator.integers(0, 600)),
    }

    def call(packed: Array, levels: Array, spread: Array, centroids: Array, chosen: Array, rows: Array) -> Array:
        if kernel != native.NUMPY:
            return native.decode_residuals(packed, levels, spread, centroids, chosen, rows)
        return Residuals(levels, spread).decode(packed, centroids, chosen, rows)

    def is_right(found: Array) -> bool:
        shifts = np.arange(0, 8, bits)
        codes = (arguments["packed"][arguments["rows"]][..., None] >> shifts & 2**bits - 1).reshape(
            len(found), dimensions
        )
        vectors = centroids[arguments["chosen"][arguments["rows"]]] + arguments["spread"] * arguments["levels"][codes]
        return np.allclose(found, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=2e-3)

    def fits(found: Array, spread: Array, rows: Array, **_: object) -> bool:
        return found.shape == (len(rows), len(spread)) and found.dtype == np.float16

    names = tuple(arguments) if kernel != native.NUMPY else ()
    return Problem(arguments, call, names, names, is_right, fits)


def probe(generator: Generator, kernel: str) -> Problem:
    """Documents by the lists that they are in."""
    documents, count, tokens = int(generator.integers(1, 400)), int(generator.integers(1, 30)), 2000
    owners = np.sort(generator.integers(documents, size=tokens))
    lists = InvertedLists.of(
        generator.integers(count, size=tokens), offsets_of(np.bincount(owners, minlength=documents)), count
    )
    many = generator.integers(0, min(count, 8) + 1, generator.integers(0, 20))
    chosen = np.concatenate([np.empty(0, np.int64), *(generator.choice(count, size, replace=False) for size in many)])
    arguments: dict[str, Any] = {
        "starts": lists.starts,
        "places": lists.places,
        "ends": np.cumsum(many),
        "lists": chosen.astype(np.int64),
        "gains": generator.integers(0, 5, len(chosen)).astype(np.float32),
        "depth": int(generator.integers(0, 100)),
        "allowed": generator.random(documents) < 0.5,
    }

    def call(starts: Array, places: Array, depth: int, **rest: Array) -> tuple[Array, Array]:
        if kernel != native.NUMPY:
            return native.probe(starts, places, documents, depth=depth, **rest)
        known = InvertedLists(starts, places, documents)
        ends, chosen, gains = rest["ends"], rest["lists"], rest["gains"]
        return known.probe(ends, chosen, gains, depth=depth, allowed=rest["allowed"])

    def is_right(found: tuple[Array, Array]) -> bool:
        gained = np.zeros(documents)
        for first, last in zip([0, *arguments["ends"]], arguments["ends"], strict=False):
            seen: set[int] = set()
            for n in range(first, last):
                own = lists.places[lists.starts[chosen[n]] : lists.starts[chosen[n] + 1]]
                new = [place for place in own.tolist() if place not in seen and arguments["allowed"][place]]
                gained[new] += arguments["gains"][n]
                seen.update(new)
        return bool((np.diff(found[1]) <= 0).all() and np.array_equal(gained[found[0]], found[1]))

    def fits(found: tuple[Array, Array], depth: int, **_: object) -> bool:
        places, gains = found
        inside = not len(places) or 0 <= places.min() <= places.max() < documents
        return len(places) == len(gains) <= depth and inside and not np.isnan(gains).any()

    names = tuple(arguments) if kernel != native.NUMPY else ()
    arrays = tuple(name for name in names if name != "depth")
    return Problem(arguments, call, names, arrays, is_right, fits)


def decoded(generator: Generator, kernel: str) -> Problem:
    """The top k of documents that are stored as codes alone."""
    documents = _documents(generator, _dimensions(generator))
    codes = Codes.of(documents).for_decoded_vectors(documents)
    asked = _asked(generator, documents)

    def call(query: Array, weights: Array, candidates: Array, k: int) -> Best:
        stored = QuantizedDocuments(codes, documents.offsets, documents.dimensions)
        return dispatch.best(as_query(query), weights, stored, k=k, candidates=[candidates])[0]

    def is_right(found: Best) -> bool:
        vectors = batch_of(codes.vectors(documents.dimensions), documents.lengths.tolist())
        scores = np.sort(reference.score(asked["query"], asked["weights"], vectors)[asked["candidates"]])[::-1]
        longest = float(np.linalg.norm(vectors.vectors.astype(np.float64), axis=1).max(initial=1))
        return np.allclose(found.scores, scores[: asked["k"]], rtol=1e-3, atol=4e-3 * longest)

    def fits(found: Best, k: int, **_: object) -> bool:
        return len(found.places) == len(found.scores) <= k and not np.isnan(found.scores).any()

    changed = ("query", "weights") if kernel != native.NUMPY else ("query",)
    return Problem(asked, call, ("weights", "candidates", "k"), changed, is_right, fits)


PROBLEMS = cast(
    dict[str, Callable[[Generator, str], Problem]],
    {
        made.__name__: made
        for made in (best, survivors, minima, quantize, decode_codes, decode_residuals, probe, decoded)
    },
)
