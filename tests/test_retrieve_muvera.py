"""Fixed-dimensional encodings, and the first stage that searches them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer.errors import InputError
from chamfer.retrieve.muvera import FixedEncoding, Muvera
from chamfer.tokens.batch import TokenBatch
from tests.test_retrieve_dense import asked
from tests.test_retrieve_nearest import FakeIndex
from tests.vectors import Floats, batch_of, unit

LENGTHS = [5, 0, 3, 8, 1] * 16


@pytest.fixture(scope="module")
def documents() -> TokenBatch:
    return batch_of(unit(np.random.default_rng(1), sum(LENGTHS), 24).astype(np.float16), LENGTHS)


@pytest.fixture(scope="module")
def stage(documents: TokenBatch, tmp_path_factory: pytest.TempPathFactory) -> Muvera:
    return Muvera(FakeIndex(documents, tmp_path_factory.mktemp("muvera"), (30,)))


def slowly(encoding: FixedEncoding, vectors: Floats, weights: Floats | None) -> Floats:
    """The definition, one bucket at a time: weighted sums for a query, filled means for a document."""
    encoded = np.zeros((encoding.repetitions, 2**encoding.bits, encoding.projected))
    for repetition in range(encoding.repetitions):
        planes = encoding.planes.reshape(-1, encoding.repetitions, encoding.bits)[:, repetition]
        signs = encoding.signs.reshape(-1, encoding.repetitions, encoding.projected)[:, repetition]
        buckets = [sum(1 << bit for bit, side in enumerate(vector @ planes) if side > 0) for vector in vectors]
        for bucket in range(2**encoding.bits):
            inside = [place for place, own in enumerate(buckets) if own == bucket]
            if weights is not None:
                value = (weights[inside, None] * vectors[inside] @ signs).sum(axis=0) / encoding.repetitions
            elif inside:
                value = (vectors[inside] @ signs).mean(axis=0)
            else:
                between = [(own ^ bucket).bit_count() for own in buckets]
                value = vectors[int(np.argmin(between))] @ signs
            encoded[repetition, bucket] = value
    return encoded.ravel()


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_encodings_are_as_defined(bits: int) -> None:
    encoding = FixedEncoding.random(12, repetitions=4, bits=bits, projected=5)
    generator = np.random.default_rng(2)
    lengths = [3, 1, 9]
    batch = batch_of(unit(generator, sum(lengths), 12).astype(np.float32), lengths)
    weights = generator.random(sum(lengths)).astype(np.float32)
    made, asked_for = encoding.documents(batch), encoding.queries(batch, weights)
    assert made.shape == asked_for.shape == (3, encoding.size)
    assert made.dtype == asked_for.dtype == np.float32
    for place in range(3):
        rows = slice(batch.offsets[place], batch.offsets[place + 1])
        vectors = batch.vectors[rows].astype(np.float64)
        np.testing.assert_allclose(made[place], slowly(encoding, vectors, None), atol=1e-5)
        np.testing.assert_allclose(asked_for[place], slowly(encoding, vectors, weights[rows]), atol=1e-5)


def test_a_text_without_tokens_becomes_zeros() -> None:
    encoding = FixedEncoding.random(4, repetitions=2)
    batch = batch_of(unit(np.random.default_rng(3), 2, 4).astype(np.float32), [0, 2, 0])
    made = encoding.documents(batch)
    assert made.any(axis=1).tolist() == [False, True, False]
    assert not encoding.documents(batch_of(np.empty((0, 4), np.float32), [0])).any()


def test_products_of_encodings_follow_the_chamfer_similarity() -> None:
    generator = np.random.default_rng(4)
    query = unit(generator, 8, 32)
    weights = generator.random(8).astype(np.float32)
    documents = unit(generator, 200 * 12, 32).reshape(200, 12, 32)
    for place, document in enumerate(documents):  # from nothing of the query to all of it
        document[:8] += query * (place / 100)
    documents /= np.linalg.norm(documents, axis=2, keepdims=True)
    truth = (weights * (documents @ query.T).max(axis=1)).sum(axis=1)
    encoding = FixedEncoding.random(32, repetitions=60, bits=4, projected=16)
    made = encoding.documents(batch_of(documents.reshape(-1, 32).astype(np.float32), [12] * 200))
    [wanted] = encoding.queries(batch_of(query.astype(np.float32), [8]), weights)
    assert np.corrcoef(made @ wanted, truth)[0, 1] > 0.97


def test_one_token_each_gives_their_product() -> None:
    generator = np.random.default_rng(5)
    encoding = FixedEncoding.random(16, repetitions=200, bits=2, projected=32)
    query, document = unit(generator, 2, 16).astype(np.float32)
    [wanted] = encoding.queries(batch_of(query[None], [1]), np.array([2], np.float32))
    [made] = encoding.documents(batch_of(document[None], [1]))
    assert wanted @ made == pytest.approx(2 * query @ document, abs=0.1)


def test_a_seed_gives_the_same_encoding_and_another_one_another() -> None:
    first, again, other = (FixedEncoding.random(8, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.planes, again.planes)
    np.testing.assert_array_equal(first.signs, again.signs)
    assert (first.planes != other.planes).any()


@settings(deadline=None, max_examples=25)
@given(cut=st.integers(0, 80))
def test_documents_do_not_see_each_other(cut: int, documents: TokenBatch) -> None:
    encoding = FixedEncoding.random(24, repetitions=3)
    apart = [encoding.documents(documents[:cut]), encoding.documents(documents[cut:])]
    np.testing.assert_allclose(np.concatenate(apart), encoding.documents(documents), atol=1e-5)


@pytest.mark.parametrize("wrong", [{"repetitions": 0}, {"bits": 0}, {"bits": 9}, {"projected": 0}])
def test_an_encoding_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least 1 repetition"):
        FixedEncoding.random(4, **wrong)


def test_a_document_holding_the_query_is_found_first(documents: TokenBatch, stage: Muvera) -> None:
    for place in (0, 3, 78):
        vectors = documents[place].vectors
        [found] = stage.find(asked(vectors, np.ones(len(vectors))), 3)
        assert found.places[0] == place


def test_a_document_without_tokens_is_never_found(stage: Muvera) -> None:
    [found] = stage.find(asked(unit(np.random.default_rng(6), 4, 24), np.ones(4)), 80)
    assert sorted(found.places.tolist()) == [place for place, length in enumerate(LENGTHS) if length]


def test_only_what_is_allowed_is_found(stage: Muvera) -> None:
    query = asked(unit(np.random.default_rng(6), 4, 24), np.ones(4))
    [everything] = stage.find(query, 80)
    allowed = np.random.default_rng(7).random(80) < 0.4
    [some] = stage.find(query, 80, allowed)
    assert some.places.tolist() == [place for place in everything.places if allowed[place]]


def test_tokens_of_weight_zero_do_not_matter(stage: Muvera) -> None:
    vectors = unit(np.random.default_rng(8), 5, 24)
    [with_them] = stage.find(asked(vectors, np.array([1.0, 2.0, 3.0, 0.0, 0.0])), 20)
    [without] = stage.find(asked(vectors[:3], np.array([1.0, 2.0, 3.0])), 20)
    np.testing.assert_array_equal(with_them.places, without.places)
    np.testing.assert_allclose(with_them.scores, without.scores, rtol=1e-4)


@settings(deadline=None, max_examples=10)
@given(power=st.integers(-6, 6))
def test_scaling_all_weights_scales_scores_and_changes_no_order(power: int, stage: Muvera) -> None:
    vectors, weights = unit(np.random.default_rng(9), 5, 24), np.arange(1.0, 6.0)
    [once] = stage.find(asked(vectors, weights), 20)
    [scaled] = stage.find(asked(vectors, weights * 2.0**power), 20)
    np.testing.assert_array_equal(once.places, scaled.places)
    np.testing.assert_allclose(once.scores * 2.0**power, scaled.scores, rtol=1e-5)
