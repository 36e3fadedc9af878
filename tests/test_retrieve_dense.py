"""Mean token vectors as a first stage."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer.retrieve.dense import Dense
from chamfer.retrieve.stage import Queries
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors
from tests.test_retrieve_nearest import FakeIndex
from tests.vectors import Floats, batch_of, unit

LENGTHS = [5, 0, 3, 8] * 20


@pytest.fixture(scope="module")
def documents() -> TokenBatch:
    return batch_of(unit(np.random.default_rng(1), sum(LENGTHS), 24).astype(np.float16), LENGTHS)


@pytest.fixture(scope="module")
def stage(documents: TokenBatch, tmp_path_factory: pytest.TempPathFactory) -> Dense:
    return Dense(FakeIndex(documents, tmp_path_factory.mktemp("dense"), (30,)))


def asked(vectors: Floats, weights: Floats, lengths: list[int] | None = None) -> Queries:
    lengths = lengths or [len(vectors)]
    return Queries([""] * len(lengths), batch_of(vectors.astype(np.float32), lengths), weights.astype(np.float32))


def test_documents_are_ordered_by_the_cosine_of_means(documents: TokenBatch, stage: Dense) -> None:
    generator = np.random.default_rng(2)
    vectors, weights = unit(generator, 6, 24), generator.random(6)
    [found] = stage.find(asked(vectors, weights), 60)
    mean = (weights[:, None] * vectors).sum(axis=0)
    for place, score in zip(found.places, found.scores, strict=True):
        document = documents[int(place)].vectors.astype(np.float64).mean(axis=0)
        cosine = document @ mean / np.linalg.norm(document) / np.linalg.norm(mean)
        assert score == pytest.approx(cosine, abs=2e-3)
    assert (np.diff(found.scores) <= 0).all()


def test_a_document_without_tokens_is_never_found(stage: Dense) -> None:
    [found] = stage.find(asked(unit(np.random.default_rng(3), 4, 24), np.ones(4)), 80)
    assert sorted(found.places.tolist()) == [place for place, length in enumerate(LENGTHS) if length]


def test_only_what_is_allowed_is_found(stage: Dense) -> None:
    query = asked(unit(np.random.default_rng(3), 4, 24), np.ones(4))
    [everything] = stage.find(query, 80)
    allowed = np.random.default_rng(4).random(80) < 0.4
    [some] = stage.find(query, 80, allowed)
    assert some.places.tolist() == [place for place in everything.places if allowed[place]]


def test_tokens_of_weight_zero_do_not_matter(stage: Dense) -> None:
    vectors = unit(np.random.default_rng(5), 5, 24)
    [with_them] = stage.find(asked(vectors, np.array([1.0, 2.0, 3.0, 0.0, 0.0])), 20)
    [without] = stage.find(asked(vectors[:3], np.array([1.0, 2.0, 3.0])), 20)
    np.testing.assert_array_equal(with_them.places, without.places)
    np.testing.assert_allclose(with_them.scores, without.scores, rtol=1e-5)


@settings(deadline=None, max_examples=20)
@given(power=st.integers(-6, 6))
def test_scaling_all_weights_changes_nothing(power: int, stage: Dense) -> None:
    vectors, weights = unit(np.random.default_rng(6), 5, 24), np.arange(1.0, 6.0)
    [once] = stage.find(asked(vectors, weights), 20)
    [scaled] = stage.find(asked(vectors, weights * 2.0**power), 20)
    np.testing.assert_array_equal(once.places, scaled.places)
    np.testing.assert_allclose(once.scores, scaled.scores, rtol=1e-5)


def test_queries_of_a_batch_do_not_see_each_other(stage: Dense) -> None:
    vectors, weights = unit(np.random.default_rng(7), 9, 24), np.arange(1.0, 10.0)
    both = stage.find(asked(vectors, weights, [4, 5]), 10)
    alone = [*stage.find(asked(vectors[:4], weights[:4]), 10), *stage.find(asked(vectors[4:], weights[4:]), 10)]
    for one, other in zip(both, alone, strict=True):
        np.testing.assert_array_equal(one.places, other.places)


def test_a_query_without_weight_is_the_zero_vector() -> None:
    batch = batch_of(unit(np.random.default_rng(8), 3, 4).astype(np.float32), [3])
    assert not mean_vectors(batch, np.zeros(3, np.float32)).any()


def test_vectors_are_made_once(documents: TokenBatch, tmp_path: Path) -> None:
    Dense(FakeIndex(documents, tmp_path))
    [path] = tmp_path.rglob("*.faiss")
    before = path.stat().st_mtime_ns
    Dense(FakeIndex(documents, tmp_path))
    assert path.stat().st_mtime_ns == before
