"""Residuals that the native kernel rules out without decoding them, against the definition."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chamfer.errors import DamagedError, InputError
from chamfer.index.clusters import train_clusters
from chamfer.kernels import dispatch, native, reference
from chamfer.kernels.documents import CodedDocuments, ResidualDocuments
from chamfer.kernels.form import Form
from chamfer.kernels.limits import RESIDUAL_BOUNDS
from chamfer.kernels.residuals import Measured, Residuals, train_residuals
from chamfer.tokens.batch import offsets_of
from tests.test_native import (
    compiled,
    every_path,
    few_numbers,
    forced,
    huge,
    in_clusters,
    of_any_length,
    with_an_outlier,
)
from tests.vectors import OFFSETS, Floats, as_query, offsets_for, planted, unit

FORMS: tuple[Form, ...] = ("l2", "cosine")

# Residuals, packed codes, centroids, and the centroid of each token.
Stored = tuple[Residuals, npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.uint16]]
Make = Callable[[np.random.Generator, int, int, int], Stored]


def trained(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    """As an index stores vectors that lie in clusters."""
    vectors = in_clusters(generator, count + 50, dimensions).astype(np.float32)
    centroids = vectors[generator.integers(len(vectors), size=5)]
    chosen = (vectors @ centroids.T).argmax(axis=1).astype(np.uint16)
    left = vectors - centroids[chosen]
    residuals = train_residuals(left, bits)
    return residuals, residuals.encode(left[:count]), centroids, chosen[:count]


def any_codes(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    """Whatever the bytes say, with a spread that differs much between dimensions, and levels that are not centred."""
    levels = np.sort(generator.standard_normal(2**bits) + generator.choice([0, 0, 5])).astype(np.float32)
    spread = (0.1 * 10.0 ** generator.uniform(-5, 1, dimensions)).astype(np.float32)
    packed = generator.integers(0, 256, (count, dimensions * bits // 8), np.uint8)
    centroids = unit(generator, 40, dimensions).astype(np.float32)
    return Residuals(levels, spread), packed, centroids, generator.integers(40, size=count).astype(np.uint16)


def nothing_left(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    """Every vector is its own centroid, so there was nothing to learn levels from."""
    residuals, packed, centroids, chosen = any_codes(generator, count, dimensions, bits)
    return Residuals(0 * residuals.levels, 0 * residuals.spread + np.float32(1e-6)), packed, centroids, chosen


def cancelling(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    """Sums that are 0, nearly 0, or what rounding leaves, beside others."""
    levels = np.linspace(-1, 1, 2**bits, dtype=np.float32)
    spread = generator.uniform(0.1, 1, dimensions).astype(np.float32)
    some = generator.integers(2**bits, size=(6, dimensions))
    centroids = (-spread * levels[some]).astype(np.float32)
    centroids[1] *= np.float32(1 + 1e-6)
    centroids[2] += 1e-13
    centroids[3] = 0
    chosen = generator.integers(6, size=count).astype(np.uint16)
    codes = np.where(generator.random((count, 1)) < 0.7, some[chosen], generator.integers(2**bits, size=dimensions))
    per_byte = 8 // bits
    shifts = bits * np.arange(per_byte)
    packed = (codes.reshape(count, dimensions // per_byte, per_byte) << shifts).sum(axis=2).astype(np.uint8)
    return Residuals(levels, spread), packed, centroids, chosen


def at_the_limits(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    residuals, packed, centroids, chosen = any_codes(generator, count, dimensions, bits)
    spread = 10.0 ** generator.choice([-30, 0, 6], dimensions)
    large = Residuals((residuals.levels * 1e5).astype(np.float32), spread.astype(np.float32))
    return large, packed, (centroids * 10.0 ** generator.uniform(-30, 6)).astype(np.float32), chosen


def around_one_centroid(
    generator: np.random.Generator, count: int, dimensions: int, bits: int, levels: Floats, most: int
) -> Stored:
    spread = np.full(dimensions, 0.3 / dimensions**0.5, np.float32)
    codes = generator.integers(2**bits - most, most, size=(count, dimensions // (8 // bits), 8 // bits))
    packed = (codes << (bits * np.arange(8 // bits))).sum(axis=2).astype(np.uint8)
    residuals = Residuals(levels.astype(np.float32), spread)
    return residuals, packed, unit(generator, 1, dimensions).astype(np.float32), np.zeros(count, np.uint16)


def far_levels(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    """Two levels that no code has, so far from the others that 8 bits hardly tell these apart."""
    levels = np.linspace(-1, 1, 2**bits)
    levels[[0, -1]] = -100, 100
    return around_one_centroid(generator, count, dimensions, bits, levels, 2**bits - 1)


def whole_levels(generator: np.random.Generator, count: int, dimensions: int, bits: int) -> Stored:
    """Levels that are not rounded, and alike in the first dimension, so that only rounding a query loses something."""
    levels = np.rint(127 * np.linspace(-1, 1, 2**bits)) / 64
    residuals, packed, centroids, chosen = around_one_centroid(generator, count, dimensions, bits, levels, 2**bits)
    packed[:, 0] = 2**bits // 2
    return residuals, packed, 0 * centroids, chosen


def tiny(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    return unit(generator, count, dimensions) * 10.0 ** generator.uniform(-38, -20, (count, 1))


def coarse(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    """One dimension so far from the others that 8 bits see nothing of these."""
    vectors = with_an_outlier(generator, count, dimensions)
    vectors[:, 0] *= 3
    return vectors


MAKERS: list[Make] = [trained, any_codes, nothing_left, cancelling, at_the_limits, far_levels, whole_levels]
QUERIES = [unit, few_numbers, of_any_length, huge, tiny, coarse]

problems: dict[str, st.SearchStrategy[Any]] = {
    "make": st.sampled_from(MAKERS),
    "asked": st.sampled_from(QUERIES),
    "bits": st.sampled_from([2, 4]),
    "dimensions": st.sampled_from([8, 16, 24, 32, 40, 64, 96, 128, 136, 384]),
    "query_length": st.one_of(st.integers(1, 40), st.sampled_from([1, 8, 9, 16, 17, 32, 40])),
    "lengths": st.lists(st.one_of(st.integers(0, 20), st.sampled_from([0, 1, 7, 8, 9, 300])), min_size=1, max_size=25),
    "form": st.sampled_from(FORMS),
    "kind": st.sampled_from([None, *OFFSETS]),
    "seed": st.integers(0, 2**32 - 1),
    "k": st.integers(0, 30),
}


def documents_of(stored: Stored, lengths: list[int]) -> ResidualDocuments:
    offsets = offsets_of(np.array(lengths))
    return ResidualDocuments(*stored, offsets, Measured.of(*stored, offsets))


@compiled
@every_path
@settings(deadline=None, max_examples=200)
@given(**problems)
@example(trained, unit, 4, 128, 32, [10_000, 3], "l2", None, 0, 1)
@example(trained, unit, 4, 128, 21, [40] * 25, "l2", "as the scores", 0, 5)
@example(any_codes, few_numbers, 2, 8, 5, [4] * 25, "cosine", None, 0, 5)
@example(cancelling, unit, 4, 16, 9, [3] * 25, "l2", None, 1, 3)
@example(far_levels, few_numbers, 4, 64, 1, [1] * 2000, "cosine", None, 0, 1)
@example(far_levels, few_numbers, 2, 64, 1, [1] * 2000, "l2", None, 1, 1)
@example(whole_levels, coarse, 4, 64, 1, [1] * 2000, "cosine", None, 0, 1)
@example(whole_levels, coarse, 2, 64, 1, [1] * 2000, "l2", None, 1, 1)
@example(cancelling, tiny, 2, 16, 9, [3] * 25, "cosine", None, 1, 3)
def test_residuals_alone_never_miss_one_of_the_best(
    path: str,
    make: Make,
    asked: Callable[[np.random.Generator, int, int], Floats],
    bits: int,
    dimensions: int,
    query_length: int,
    lengths: list[int],
    form: Form,
    kind: str | None,
    seed: int,
    k: int,
) -> None:
    generator = np.random.default_rng(seed)
    stored = make(generator, sum(lengths), dimensions, bits)
    query = as_query(asked(generator, query_length, dimensions))
    weights = generator.uniform(0, 2, query_length).astype(np.float32)
    weights[generator.random(query_length) < 0.2] = 0
    places = generator.integers(len(lengths), size=len(lengths) + 3)
    with forced(path):
        documents = documents_of(stored, lengths)
        decoded = documents.take(np.arange(len(lengths)))
        scores = reference.score(query.vectors, weights, decoded, form)[places]
        own = None if kind is None else offsets_for(generator, scores, kind)
        survivors = native.survivors(query.vectors, weights, documents.handle, places, k, form, own)
        offsets = None if own is None else [own]
        [found] = dispatch.best(query, weights, documents, k=k, candidates=[places], form=form, offsets=offsets)
    with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):  # which rounds in another way in between
        again = documents.take(np.arange(len(lengths)))
    assert survivors.tolist() == sorted(set(survivors.tolist()))
    filled = decoded.lengths[places] > 0
    for batch in (decoded, again):
        if k and filled.any():  # whoever scores like the last of the best belongs to them
            reached = reference.score(query.vectors, weights, batch, form)[places] + (0 if own is None else own)
            bar = np.sort(reached[filled])[::-1][: min(k, filled.sum())][-1]
            assert set(np.flatnonzero(filled & (reached >= bar)).tolist()) <= set(survivors.tolist())
    with forced(path):  # as if every candidate were decoded
        plain = CodedDocuments(decoded, None)
        [everything] = dispatch.best(query, weights, plain, k=k, candidates=[places], form=form, offsets=offsets)
    np.testing.assert_array_equal(np.isinf(found.scores), np.isinf(everything.scores))
    longest = np.linalg.norm(query.vectors.astype(np.float64), axis=1).max() + 1
    finite = ~np.isinf(found.scores)
    tolerance = 2e-3 * longest if form == "l2" else 1e-5 * longest
    np.testing.assert_allclose(found.scores[finite], everything.scores[finite], rtol=1e-4, atol=2 * tolerance)


@compiled
@every_path
@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("form", FORMS)
def test_few_are_left_to_decode(path: str, bits: int, form: Form) -> None:
    query, batch = planted(np.random.default_rng(9))
    vectors = batch.vectors.astype(np.float32)
    clusters = train_clusters(vectors, 256)
    chosen = clusters.nearest(vectors)
    left = vectors - clusters.centroids[chosen]
    residuals = train_residuals(left, bits)
    with forced(path):
        documents = documents_of((residuals, residuals.encode(left), clusters.centroids, chosen), [30] * 300)
        found = native.survivors(query.vectors, np.ones(40, np.float32), documents.handle, np.arange(300), 5, form)
    assert 5 <= len(found) < 30


@compiled
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("bits", [2, 4])
def test_every_path_decodes_the_same(make: Make, bits: int) -> None:
    for dimensions in (8, 24, 40, 136):
        stored = make(np.random.default_rng(dimensions), 300, dimensions, bits)
        made: list[tuple[bytes, bytes]] = []
        for path in native.paths():
            with forced(path):
                documents = documents_of(stored, [100, 0, 200])
                vectors = documents.take(np.arange(3)).vectors
                made.append((vectors.tobytes(), documents.measured.factors.tobytes()))
        assert len(set(made)) == 1


@compiled
@every_path
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("bits", [2, 4])
def test_measured_bounds_hold(path: str, make: Make, bits: int) -> None:
    stored = make(np.random.default_rng(bits), 300, 40, bits)
    residuals, packed, centroids, chosen = stored
    with forced(path):
        documents = documents_of(stored, [100, 0, 200])
        decoded = documents.take(np.arange(3)).vectors.astype(np.float64)
    measured = documents.measured
    shifts = np.arange(0, 8, bits)
    levels = residuals.levels[(packed[:, :, None] >> shifts) & (2**bits - 1)].reshape(len(packed), -1)
    sums = centroids[chosen].astype(np.float64) + residuals.spread.astype(np.float64) * levels
    lost = np.linalg.norm(decoded - measured.factors[:, None].astype(np.float64) * sums, axis=1)
    norms = np.linalg.norm(decoded, axis=1)
    rounded, exact, reach, longest, shortest = measured.bounds
    for document, part in ((0, slice(0, 100)), (2, slice(100, 300))):
        assert lost[part].max() <= exact[document] <= rounded[document] * (1 + 1e-6) + 1e-3
        assert shortest[document] <= norms[part].min() <= norms[part].max() <= longest[document]
        assert measured.factors[part].max() <= reach[document]
    assert measured.bounds[:, 1].tolist() == [0] * RESIDUAL_BOUNDS


def some_documents() -> ResidualDocuments:
    return documents_of(trained(np.random.default_rng(4), 60, 16, 4), [20, 0, 40])


@compiled
@every_path
@pytest.mark.parametrize("damage", ["centroid", "factor", "negative", "not a number"])
def test_damage_is_noticed_and_never_read(path: str, damage: str) -> None:
    with forced(path):
        documents = some_documents()
        handle, query = documents.handle, np.eye(2, 16, dtype=np.float32)
        if damage == "centroid":
            documents.chosen[30] = 60_000
        else:
            documents.measured.factors[30] = {"factor": 60_000, "negative": -1, "not a number": np.nan}[damage]
        native.survivors(query, np.ones(2, np.float32), handle, np.array([0]), 1, "l2")
        with pytest.raises(DamagedError, match="delete the folder 'derived' of the index"):
            native.survivors(query, np.ones(2, np.float32), handle, np.array([0, 2]), 1, "l2")


@compiled
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packed": np.zeros((59, 8), np.uint8)}, "must match in shape|offsets must run"),
        ({"packed": np.zeros((60, 9), np.uint8)}, "must match in shape"),
        ({"chosen": np.zeros(59, np.uint16)}, "must match in shape"),
        ({"factors": np.zeros(59, np.float16)}, "factors and bounds must match"),
        ({"bounds": np.zeros((4, 3), np.float32)}, "factors and bounds must match"),
        ({"bounds": np.full((5, 3), np.nan, np.float32)}, "finite and not negative"),
        ({"bounds": np.full((5, 3), -1, np.float32)}, "finite and not negative"),
        ({"levels": np.zeros(8, np.float32)}, "2 bits and 4 levels, or 4 bits and 16 levels"),
        ({"levels": np.full(16, 2e6, np.float32)}, "no number above 1e6"),
        ({"spread": np.full(16, np.nan, np.float32)}, "must be finite"),
        ({"centroids": np.full((5, 16), np.inf, np.float32)}, "must be finite"),
        ({"centroids": np.zeros((65_537, 16), np.float32)}, "at most 65536 centroids"),
        ({"offsets": np.array([0, 20, 10, 60])}, "offsets must not decrease"),
    ],
)
def test_arrays_that_lie_are_refused(changes: dict[str, Any], message: str) -> None:
    documents = some_documents()
    arrays: dict[str, Any] = {
        "offsets": documents.offsets,
        "packed": documents.packed,
        "levels": documents.residuals.levels,
        "spread": documents.residuals.spread,
        "centroids": documents.centroids,
        "chosen": documents.chosen,
        "factors": documents.measured.factors,
        "bounds": documents.measured.bounds,
    }
    native.residuals_only(**arrays)
    with pytest.raises(InputError, match=message):
        native.residuals_only(**arrays | changes)
    if not {"bounds", "factors"} & changes.keys():
        with pytest.raises(InputError, match=message):
            native.measure_residuals(**arrays | changes)


@compiled
def test_residuals_of_other_dimensions_are_decoded_but_not_screened() -> None:
    levels, spread = np.linspace(-1, 1, 16, dtype=np.float32), np.ones(6, np.float32)
    packed, centroids = np.arange(30, dtype=np.uint8).reshape(10, 3), np.ones((1, 6), np.float32)
    stored = Residuals(levels, spread), packed, centroids, np.zeros(10, np.uint16)
    for path in native.paths():
        with forced(path):
            found = stored[0].decode(*stored[1:])
        with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):
            np.testing.assert_allclose(found, stored[0].decode(*stored[1:]), atol=1e-3)
    with pytest.raises(InputError, match="multiple of 8 dimensions"):
        documents_of(stored, [10])


@compiled
def test_a_query_too_long_for_a_table_rules_nothing_out() -> None:
    documents = some_documents()
    centroids = np.repeat(documents.centroids, 13_000, axis=0)  # 65,000 of them
    many = ResidualDocuments(
        documents.residuals, documents.packed, centroids, documents.chosen, documents.offsets, documents.measured
    )
    query = unit(np.random.default_rng(5), 1_100, 16).astype(np.float32)
    found = native.survivors(query, np.ones(1_100, np.float32), many.handle, np.array([0, 2]), 1, "l2")
    assert found.tolist() == [0, 1]
