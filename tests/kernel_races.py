"""Run by test_native_races.py in a process of its own: a kernel reads arrays that another thread keeps changing."""

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from chamfer.errors import InputError
from chamfer.kernels import native
from chamfer.kernels.codes import Codes
from chamfer.kernels.documents import CodedDocuments, QuantizedDocuments, ResidualDocuments
from chamfer.kernels.residuals import Measured, Residuals
from chamfer.tokens.batch import TokenBatch
from tests.vectors import batch_of, unit

FAR = 1 << 40  # out of bounds in every array

# What to call, the array to change meanwhile, and what to write into it.
Race = tuple[Callable[[], object], np.ndarray[Any, Any], object]


def documents() -> TokenBatch:
    return batch_of(unit(np.random.default_rng(0), 40_000, 64).astype(np.float16), [40] * 1000)


def quantize() -> Race:
    batch = documents()
    return lambda: Codes.of(batch), batch.offsets, FAR


def decode_residuals() -> Race:
    generator = np.random.default_rng(1)
    rows, chosen = 200_000, np.zeros(200_000, np.uint16)
    packed = generator.integers(256, size=(rows, 32)).astype(np.uint8)
    levels, spread = np.linspace(-1, 1, 16, dtype=np.float32), np.ones(64, np.float32)
    centroids = np.ones((1, 64), np.float32)
    wanted = np.arange(rows)
    return lambda: native.decode_residuals(packed, levels, spread, centroids, chosen, wanted), chosen, 65_535


def probe(changed: str) -> Race:
    generator = np.random.default_rng(2)
    tokens, lists = 200, 1000
    arrays: dict[str, Any] = {
        "starts": np.arange(0, 1_000_001, 1000),
        "lists": generator.integers(lists, size=tokens * 16),
        "ends": np.arange(16, tokens * 16 + 1, 16),
        "gains": np.ones(tokens * 16, np.float32),
        "places": generator.integers(50_000, size=1_000_000).astype(np.uint32),
    }

    def call() -> object:
        return native.probe(**arrays, documents=50_000, allowed=None, depth=10)

    return call, arrays[changed], FAR


def rank(changed: str) -> Race:
    batch = documents()
    codes = Codes.of(batch)
    query, weights = unit(np.random.default_rng(3), 32, 64).astype(np.float32), np.ones(32, np.float32)
    candidates, handle = np.arange(1000), CodedDocuments(batch, codes).handle
    added = np.zeros(1000, np.float32)
    arrays: dict[str, Any] = {"query": query, "offsets": batch.offsets, "vectors": batch.vectors, "added": added}
    arrays |= {"scales": codes.scales, "bounds": codes.bounds}
    bad = FAR if changed == "offsets" else np.nan
    return lambda: native.best(query, weights, handle, candidates, 500, "l2", 2, added), arrays[changed], bad


def survivors() -> Race:
    batch = documents()
    codes = Codes.of(batch).for_decoded_vectors(batch)
    query, weights = unit(np.random.default_rng(3), 32, 64).astype(np.float32), np.ones(32, np.float32)
    handle = QuantizedDocuments(codes, batch.offsets, 64).handle
    return lambda: native.survivors(query, weights, handle, np.arange(1000), 500, "l2"), codes.bounds, np.nan


def residual_survivors(changed: str) -> Race:
    generator = np.random.default_rng(4)
    centroids = unit(generator, 4000, 64).astype(np.float32)
    residuals = Residuals(np.linspace(-2, 2, 16, dtype=np.float32), np.full(64, 0.05, np.float32))
    chosen = generator.integers(4000, size=20_000).astype(np.uint16)
    packed, offsets = generator.integers(256, size=(20_000, 32)).astype(np.uint8), np.arange(0, 20_001, 20)
    measured = Measured.of(residuals, packed, centroids, chosen, offsets)
    kept = ResidualDocuments(residuals, packed, centroids, chosen, offsets, measured)
    query, weights = unit(generator, 32, 64).astype(np.float32), np.ones(32, np.float32)
    arrays: dict[str, Any] = {"chosen": chosen, "centroids": centroids, "offsets": offsets}
    arrays |= {"factors": measured.factors, "bounds": measured.bounds}
    handle, some = kept.handle, np.arange(0, 1000, 2)
    bad = {"chosen": 65_535, "offsets": FAR}.get(changed, np.nan)
    return lambda: native.survivors(query, weights, handle, some, 400, "l2"), arrays[changed], bad


def measure_residuals(changed: str) -> Race:
    generator = np.random.default_rng(5)
    residuals = Residuals(np.linspace(-2, 2, 16, dtype=np.float32), np.full(64, 0.05, np.float32))
    packed, offsets = generator.integers(256, size=(20_000, 32)).astype(np.uint8), np.arange(0, 20_001, 20)
    chosen, centroids = np.zeros(20_000, np.uint16), unit(generator, 1, 64).astype(np.float32)
    changes: dict[str, Any] = {"chosen": (chosen, 65_535), "offsets": (offsets, FAR)}
    return lambda: Measured.of(residuals, packed, centroids, chosen, offsets), *changes[changed]


def choose() -> Race:
    products = np.random.default_rng(6).standard_normal((100, 4000)).astype(np.float32)
    many, same, weights = np.full(100, 50), np.full(100, -1), np.ones(100, np.float32)
    return lambda: native.choose(products, many, same, 0.95, weights, "cosine")[0], products, -np.inf


def held() -> Race:
    """Validation and use of offsets that are read more than once; NumPy writes without the interpreter lock."""
    offsets = np.zeros(2_000_001, np.int64)
    empty = TokenBatch.trusted(np.empty((0, 4), np.float16), np.empty(0, np.int32), offsets)
    query, some = np.eye(1, 4, dtype=np.float32), np.arange(0, 2_000_000, 1000)
    return lambda: native.minima(query, empty, some), offsets, FAR


RACES: dict[str, Callable[[], Race]] = {
    "quantize": quantize,
    "decode_residuals": decode_residuals,
    **{f"probe, {name}": partial(probe, name) for name in ("starts", "lists", "ends")},
    **{f"rank, {name}": partial(rank, name) for name in ("query", "offsets", "scales", "bounds", "vectors", "added")},
    "survivors": survivors,
    **{
        f"residual survivors, {name}": partial(residual_survivors, name)
        for name in ("chosen", "centroids", "offsets", "factors", "bounds")
    },
    **{f"measure_residuals, {name}": partial(measure_residuals, name) for name in ("chosen", "offsets")},
    "choose": choose,
    "held": held,
}


def run(race: Race, calls: int = 6) -> None:
    """Make some calls while another thread writes bad values and the good ones in turn."""
    call, changed, bad = race
    some = changed.reshape(-1)[1::2]
    good, over = some.copy(), threading.Event()

    def change() -> None:
        while not over.is_set():
            some[...] = bad
            some[...] = good

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(calls):
            try:
                found = call()
            except InputError:  # the kernel noticed
                continue
            if isinstance(found, tuple) and not np.isfinite(found[1]).all():
                raise ValueError("a score is not a number")
    finally:
        over.set()
        other.join()
    some[...] = good
    call()


if __name__ == "__main__":
    for name in sys.argv[1:] or RACES:
        sys.stderr.write(f"{name}\n")
        run(RACES[name]())
