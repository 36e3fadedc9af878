"""Identities that the score keeps, on every backend."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import TokenBatch
from chamfer.kernels import dispatch
from chamfer.kernels.form import Form
from tests.backends import BACKENDS, FORMS, Floats, documents_of, every_backend, vectors_of

LENGTHS = [2, 0, 3, 1]

# Query tokens, dimensions and a seed: more tokens than fit one register, and dimensions that do not fill one.
problems = st.tuples(st.integers(1, 20), st.integers(1, 40), st.integers(0, 2**32 - 1))
Problem = tuple[int, int, int]
quick = settings(deadline=None, max_examples=30)


def made(problem: Problem) -> tuple[Floats, TokenBatch, np.random.Generator]:
    tokens, dimensions, seed = problem
    generator = np.random.default_rng(seed)
    return vectors_of(generator, tokens, dimensions), documents_of(generator, LENGTHS, dimensions), generator


def minima(backend: str, query: Floats, documents: TokenBatch, form: Form) -> Floats:
    return BACKENDS[backend](query, documents, np.arange(len(documents)), form)


def score(backend: str, query: Floats, weights: Floats, documents: TokenBatch, form: Form) -> Floats:
    distances = minima(backend, query, documents, form)
    return dispatch.score(distances.astype(np.float32), weights.astype(np.float32))


def assert_same(backend: str, found: Floats, expected: Floats) -> None:
    """Equal to the last bit, but for BLAS, whose rounding depends on the shape of the product.

    A distance is the root of a difference of squares, so where it is small, little is left of 32 bits.
    """
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 if backend == "blas" else 0)


@every_backend
@quick
@given(problems)
def test_scaling_a_query_vector_equals_weighting_it_in_the_cosine_form(backend: str, problem: Problem) -> None:
    query, documents, generator = made(problem)
    weights = generator.uniform(0, 3, len(query))
    scaled = score(backend, query * weights[:, None], np.ones(len(query)), documents, "cosine")
    np.testing.assert_allclose(scaled, score(backend, query, weights, documents, "cosine"), atol=1e-5)


@every_backend
@quick
@given(problems)
def test_a_repeated_document_token_changes_nothing(backend: str, problem: Problem) -> None:
    query, documents, _ = made(problem)
    one = documents[2]
    twice = TokenBatch.pack([np.concatenate([one.vectors, one.vectors[:2]])], [[0] * 5])
    for form in FORMS:
        assert_same(backend, minima(backend, query, twice, form), minima(backend, query, one, form))


@every_backend
@quick
@given(problems, st.permutations(range(len(LENGTHS))))
def test_permuting_documents_permutes_scores(backend: str, problem: Problem, order: list[int]) -> None:
    query, documents, generator = made(problem)
    weights = generator.uniform(0, 3, len(query))
    for form in FORMS:
        permuted = score(backend, query, weights, documents.take(order), form)
        expected = score(backend, query, weights, documents, form)[order]
        assert np.isneginf(permuted).tolist() == np.isneginf(expected).tolist()
        filled = np.isfinite(expected)
        assert_same(backend, permuted[filled], expected[filled])


@every_backend
@quick
@given(problems)
def test_permuting_query_tokens_permutes_distances(backend: str, problem: Problem) -> None:
    query, documents, generator = made(problem)
    order = generator.permutation(len(query))
    documents = documents.take([0, 2, 3])
    for form in FORMS:
        permuted = minima(backend, query[order], documents, form)
        assert_same(backend, permuted, minima(backend, query, documents, form)[:, order])


@every_backend
@quick
@given(problems)
def test_one_more_document_token_never_lowers_a_score(backend: str, problem: Problem) -> None:
    query, documents, _ = made(problem)
    more = TokenBatch.pack([documents[0].vectors, documents.vectors[:5]], [[0] * 2, [0] * 5])
    for form in FORMS:
        fewer_tokens, more_tokens = score(backend, query, np.ones(len(query)), more, form)
        assert more_tokens >= fewer_tokens - (1e-3 if backend == "blas" else 0)


@every_backend
@quick
@given(problems)
def test_the_square_of_a_distance_is_two_minus_twice_the_cosine(backend: str, problem: Problem) -> None:
    query, documents, _ = made(problem)
    documents = documents.take([0, 2, 3])
    distances, products = (minima(backend, query, documents, form) for form in FORMS)
    # 16 bits leave document vectors of a length near 1, up to 2^-11 for each number.
    np.testing.assert_allclose(distances**2, 2 + 2 * products, atol=4e-3)
