"""How vectors are kept: centroids, what they leave, fewer vectors, fewer dimensions, in all precisions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import TokenBatch
from chamfer.data.documents import Document
from chamfer.index.clusters import MOST, count_for, train_clusters
from chamfer.index.pooling import pool
from chamfer.index.projection import fit_projection, projected
from chamfer.index.settings import PRECISIONS, Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.trained import Trained, train
from chamfer.index.verify import verify
from chamfer.index.writing import writing
from chamfer.kernels.residuals import train_residuals
from tests.vectors import Floats, batch_of, unit


def clustered(seed: int, count: int, dimensions: int = 16, *, around: int = 20) -> Floats:
    """Unit vectors near a few directions, as those of tokens are."""
    generator = np.random.default_rng(seed)
    vectors = unit(generator, around, dimensions)[generator.integers(around, size=count)]
    vectors = vectors + 0.1 * generator.standard_normal(vectors.shape)
    made: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return made


def lengths(vectors: Floats) -> Floats:
    found: Floats = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return found


# Centroids


def test_centroids_are_named_by_16_bits_however_large_the_corpus() -> None:
    counts = [count_for(tokens) for tokens in (0, 1, 10, 10**4, 10**6, 10**9, 10**12)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, MOST)


def test_the_same_vectors_give_the_same_centroids() -> None:
    vectors = clustered(0, 600)
    first, second = (train_clusters(vectors, 32) for _ in range(2))
    assert first.centroids.tobytes() == second.centroids.tobytes()
    assert np.abs(lengths(first.centroids) - 1).max() < 1e-5
    assert 16 <= len(first) <= 40


def test_two_levels_find_nearly_the_closest_centroid() -> None:
    vectors = clustered(1, 2_000)
    clusters = train_clusters(vectors, 128)
    products = vectors @ clusters.centroids.T
    found = np.take_along_axis(products, clusters.nearest(vectors)[:, None].astype(int), axis=1)[:, 0]
    assert (found == products.max(axis=1)).mean() > 0.95
    assert (products.max(axis=1) - found).max() < 0.2


def test_every_centroid_is_its_own() -> None:
    clusters = train_clusters(clustered(2, 500), 64)
    assert (clusters.nearest(clusters.centroids) == np.arange(len(clusters))).mean() > 0.9


@pytest.mark.parametrize("count", [1, 2, 64])
def test_few_or_equal_vectors_are_their_own_centroids(count: int) -> None:
    one = clustered(3, 1)
    assert np.allclose(train_clusters(np.repeat(one, 5, axis=0), count).centroids, one, atol=1e-3)
    some = clustered(3, 4)
    if count >= 4:
        clusters = train_clusters(some, count)
        assert np.allclose(clusters.centroids[clusters.nearest(some)], some, atol=1e-6)


# Residuals


@pytest.mark.parametrize(("bits", "lost"), [(4, 0.05), (2, 0.15)])
def test_residuals_lose_little_and_more_bits_less(bits: int, lost: float) -> None:
    vectors = clustered(4, 3_000)
    clusters = train_clusters(vectors, 64)
    chosen = clusters.nearest(vectors)
    left = vectors - clusters.centroids[chosen]
    residuals = train_residuals(left, bits)
    packed = residuals.encode(left)
    assert packed.shape == (len(vectors), vectors.shape[1] * bits // 8)
    again = residuals.decode(packed, clusters.centroids, chosen)
    assert np.abs(lengths(again) - 1).max() < 2e-3
    assert lengths(again - vectors).mean() < lost


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4]))
def test_what_was_rounded_once_is_not_changed_again(seed: int, bits: int) -> None:
    generator = np.random.default_rng(seed)
    residuals = train_residuals(generator.standard_normal((50, 8)).astype(np.float32), bits)
    packed = generator.integers(0, 256, (20, bits), np.uint8)
    levels = residuals._of_byte[packed].reshape(20, 8) * residuals.spread
    assert np.array_equal(residuals.encode(levels), packed)


# Pooling


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 5))
def test_pooling_keeps_one_vector_for_so_many_tokens(sizes: list[int], factor: int) -> None:
    tokens = batch_of(clustered(5, sum(sizes)), sizes)
    pooled = pool(tokens, factor)
    assert (pooled.lengths <= -(-tokens.lengths // factor)).all()
    assert ((pooled.lengths > 0) == (tokens.lengths > 0)).all()
    assert np.allclose(lengths(pooled.vectors), 1, atol=1e-5)


def test_equal_tokens_share_a_vector_and_the_id_of_the_first() -> None:
    first, second = np.eye(2, 8, dtype=np.float32)
    tokens = TokenBatch.pack([np.array([first, second, first, second])], [[5, 6, 7, 8]])
    pooled = pool(tokens, 2)
    assert {tuple(vector) for vector in pooled.vectors} == {tuple(first), tuple(second)}
    assert sorted(pooled.token_ids.tolist()) == [5, 6]


def test_opposite_tokens_still_give_a_vector_of_unit_length() -> None:
    vector = np.eye(1, 8, dtype=np.float32)
    pooled = pool(TokenBatch.pack([np.concatenate([vector, -vector])], [[5, 6]]), 2)
    assert np.abs(pooled.vectors).tolist() == vector.tolist()


# Projection


def test_a_projection_keeps_products_where_the_vectors_vary() -> None:
    directions = np.linalg.qr(np.random.default_rng(6).standard_normal((16, 4)))[0]
    inner = clustered(6, 200, 4)
    vectors = (inner @ directions.T).astype(np.float32)
    fewer = projected(vectors, fit_projection(vectors, 4))
    assert fewer.shape == (200, 4)
    assert np.allclose(fewer @ fewer.T, vectors @ vectors.T, atol=1e-4)
    assert np.allclose(lengths(fewer), 1, atol=1e-5)


# All of it, in an index

SETTINGS = [
    *(Settings(16, 50, precision) for precision in PRECISIONS),  # type: ignore[arg-type]
    Settings(16, 50, "int8", pool=2),
    Settings(16, 50, "4bit", projected=8),
    Settings(16, 50, "float16", pool=3, projected=5),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: f"{one.precision}-{one.pool}-{one.projected}")
def test_vectors_come_back_as_well_as_their_precision_allows(tmp_path: Path, settings: Settings) -> None:
    tokens = batch_of(clustered(7, 600), [5] * 120)
    ids = [f"d{number:03}" for number in range(120)]
    with writing(tmp_path, settings) as writer:
        writer.train(tokens, tokens=600)
        for start in range(0, 120, 12):
            part = slice(start, start + 12)
            writer.add([Document(identifier, "text") for identifier in ids[part]], tokens[part])
        writer.delete(ids[::7])
        writer.compact()
    index = Snapshot.open(tmp_path)
    assert verify(tmp_path) == []
    kept = [place for place in range(120) if place % 7]
    assert index.ids(np.arange(len(index))) == [ids[place] for place in kept]
    expected = index.trained.projected(pool(tokens.take(kept), settings.pool))
    found = index.segments[0].take(slice(None))
    assert found.lengths.tolist() == expected.lengths.tolist()
    assert index.dimensions == found.dimensions == settings.kept
    lost = {"float16": 1e-3, "int8": 0.02, "4bit": 0.08, "2bit": 0.3}[settings.precision]
    assert lengths(found.vectors - expected.vectors).mean() < lost


@pytest.mark.parametrize("precision", PRECISIONS)
def test_an_index_that_outgrows_its_centroids_learns_new_ones(tmp_path: Path, precision: Precision) -> None:
    tokens = batch_of(clustered(8, 1_000), [5] * 200)
    with writing(tmp_path, Settings(16, 50, precision)) as writer:
        writer.add([Document("d000", "text")], tokens[:1])
        first = writer.trained
        writer.add([Document(f"d{place:03}", "text") for place in range(1, 200)], tokens[1:])
        assert first is not None
        assert writer.trained is not None
        assert len(writer.trained.clusters) >= 4 * len(first.clusters)
        assert writer.trained.asked == count_for(1_000)
        writer.compact()
    index = Snapshot.open(tmp_path)
    lost = lengths(index.segments[0].take(slice(None)).vectors - tokens.vectors)
    assert np.median(lost) < {"float16": 1e-3, "int8": 0.02, "4bit": 0.08, "2bit": 0.25}[precision]


def test_what_was_learnt_comes_back_from_disk(tmp_path: Path) -> None:
    settings = replace(Settings(16, 50, "4bit"), projected=8)
    learnt = train(clustered(9, 300), settings, tokens=300)
    learnt.save(tmp_path / "trained.safetensors")
    again = Trained.load(tmp_path / "trained.safetensors", settings)
    assert again.projection is not None
    assert again.residuals is not None
    vectors = batch_of(clustered(10, 20), [20])
    before, after = learnt.projected(vectors).vectors, again.projected(vectors).vectors
    assert before.tobytes() == after.tobytes()
    assert learnt.clusters.nearest(before).tolist() == again.clusters.nearest(after).tolist()
