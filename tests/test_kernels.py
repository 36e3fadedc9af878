"""One grid for every backend, and what the dispatcher accepts and refuses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from chamfer import InputError, TokenBatch
from chamfer.kernels import dispatch, reference
from chamfer.kernels.form import Form
from tests.backends import BACKENDS, FORMS, documents_of, every_backend, vectors_of
from tests.vectors import batch_of


@every_backend
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unit", [True, False], ids=["unit", "any length"])
@pytest.mark.parametrize("dimensions", [1, 48, 96, 128, 384])
@pytest.mark.parametrize("query_tokens", [1, 12, 33])
def test_every_backend_gives_the_reference(
    backend: str, form: Form, unit: bool, dimensions: int, query_tokens: int
) -> None:
    generator = np.random.default_rng(dimensions * query_tokens)
    query = vectors_of(generator, query_tokens, dimensions, unit=unit)
    documents = documents_of(generator, [3, 0, 1, 40, 0, 7], dimensions, unit=unit)
    chosen = np.array([5, 1, 3, 3, 0], dtype=np.int64)
    found = BACKENDS[backend](query, documents, chosen, form)
    expected = reference.minima(query, documents.take(chosen), form)
    # A distance is the root of a difference of squares, so 32 bits leave an error of about
    # sqrt(size^2 * 2^-23) where two tokens nearly coincide.
    size = 1 if unit else float(np.abs(documents.vectors).max()) * np.sqrt(dimensions)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3 * size if form == "l2" else 1e-5 * size**2)


@every_backend
def test_more_documents_than_fit_one_block(backend: str) -> None:
    generator = np.random.default_rng(0)
    lengths = generator.integers(0, 3000, size=30).tolist()
    documents = documents_of(generator, lengths, 4)
    query = vectors_of(generator, 3, 4)
    found = BACKENDS[backend](query, documents, np.arange(30), "l2")
    np.testing.assert_allclose(found, reference.minima(query, documents), atol=1e-3)


def test_the_reference_is_the_definition() -> None:
    query = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    documents = TokenBatch.pack([np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)], [[1, 2]])
    np.testing.assert_allclose(reference.minima(query, documents), [[0, np.sqrt(0.4)]], atol=1e-7)
    np.testing.assert_allclose(reference.minima(query, documents, "cosine"), [[-1, -0.8]], atol=1e-7)
    weights = np.array([2.0, 3.0])
    np.testing.assert_allclose(reference.score(query, weights, documents), [-3 * np.sqrt(0.4) / 2], atol=1e-7)
    np.testing.assert_allclose(reference.score(query, weights, documents, "cosine"), [(2 + 2.4) / 2], atol=1e-7)
    added = reference.score(query, weights, documents, offsets=[0.5])
    np.testing.assert_allclose(added, [0.5 - 3 * np.sqrt(0.4) / 2], atol=1e-7)
    assert reference.match(query, documents)[1].tolist() == [[0, 1]]


def one_query(tokens: int = 2, dimensions: int = 4) -> TokenBatch:
    return TokenBatch.pack([vectors_of(np.random.default_rng(1), tokens, dimensions)], [list(range(tokens))])


def test_scores_from_minima_equal_the_reference() -> None:
    documents = documents_of(np.random.default_rng(2), [3, 0, 5], 4)
    query, weights = one_query(), np.array([0.0, 2.5], np.float32)
    for form in FORMS:
        found = dispatch.score(dispatch.minima(query, documents, form=form), weights)
        np.testing.assert_allclose(found, reference.score(query.vectors, weights, documents, form), atol=1e-4)


@pytest.mark.parametrize("weights", [[1.0, 1.0], [0.0, 0.0]])
def test_a_document_without_tokens_never_wins(weights: list[float]) -> None:
    documents = documents_of(np.random.default_rng(3), [0, 1], 4)
    scores = dispatch.score(dispatch.minima(one_query(), documents), np.array(weights, np.float32))
    assert scores[0] == -np.inf
    assert np.isfinite(scores[1])


def test_no_candidate_gives_no_score() -> None:
    documents = documents_of(np.random.default_rng(3), [0, 1], 4)
    assert dispatch.minima(one_query(), documents, candidates=[]).shape == (0, 2)


@pytest.mark.parametrize(
    ("query", "candidates", "form", "message"),
    [
        (one_query(dimensions=3), [0], "l2", "queries have 3 dimensions but documents have 4"),
        (one_query(tokens=0), [0], "l2", "one query with tokens"),
        (one_query(), [2], "l2", "places from 0 to 1"),
        (one_query(), [-1], "l2", "places from 0 to 1"),
        (one_query(), [0], "dot", "'l2' or 'cosine', not 'dot'"),
    ],
)
def test_what_cannot_be_scored_is_refused(query: TokenBatch, candidates: list[int], form: Form, message: str) -> None:
    documents = documents_of(np.random.default_rng(3), [2, 1], 4)
    with pytest.raises(InputError, match=message):
        dispatch.minima(query, documents, candidates=candidates, form=form)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_weights_that_do_not_fit_are_refused(weights: list[float]) -> None:
    with pytest.raises(InputError, match="weight"):
        dispatch.score(np.zeros((3, 2), np.float32), np.array(weights, np.float32))


@dataclass(frozen=True)
class Decoding:
    """Ten documents of which nothing is known but how to decode them, as of residuals."""

    take: Callable[[npt.NDArray[np.int64]], TokenBatch]
    dimensions: int = 8
    on_device: None = None
    tokens: None = None
    coded: None = None

    def __len__(self) -> int:
        return 10


def test_what_queries_share_is_decoded_once() -> None:
    generator = np.random.default_rng(0)
    documents = batch_of(generator.standard_normal((30, 8)).astype(np.float32), [3] * 10)
    queries = batch_of(generator.standard_normal((6, 8)).astype(np.float32), [2, 3, 1])
    weights = generator.random(6, dtype=np.float32)
    taken: list[int] = []

    def take(places: npt.NDArray[np.int64]) -> TokenBatch:
        taken.extend(places.tolist())
        return documents.take(places)

    shared, own = np.arange(10), np.array([7, 2])
    found = dispatch.best(queries, weights, Decoding(take), k=3, candidates=[shared, own, shared])
    assert sorted(taken) == sorted([*range(10), 2, 7])
    for place, candidates in enumerate((shared, own, shared)):
        mine = weights[queries.offsets[place] : queries.offsets[place + 1]]
        (alone,) = dispatch.best(queries[place], mine, Decoding(documents.take), k=3, candidates=[candidates])
        assert found[place].places.tolist() == alone.places.tolist()
        np.testing.assert_array_equal(found[place].scores, alone.scores)
