"""Plain MaxSim of a folded query is the weighted score."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import InputError, TokenBatch
from chamfer.kernels import dispatch
from chamfer.kernels.fold import fold
from tests.vectors import as_query, batch_of, unit

weights_of_tokens = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.5]), min_size=6, max_size=6)


@given(weights=weights_of_tokens, seed=st.integers(0, 99))
def test_plain_maxsim_of_a_folded_query_is_the_weighted_score(weights: list[float], seed: int) -> None:
    generator = np.random.default_rng(seed)
    query = as_query(unit(generator, 6, 8))
    documents = batch_of(unit(generator, 12, 8).astype(np.float16), [3, 5, 4])
    expected = dispatch.score(dispatch.minima(query, documents, form="cosine"), np.array(weights, np.float32))
    products = fold(query, np.array(weights, np.float32)).vectors @ documents.vectors.astype(np.float32).T
    sums = np.array([products[:, rows].max(axis=1).sum() for rows in np.split(np.arange(12), [3, 8])])
    np.testing.assert_allclose(sums / 6, expected, atol=1e-5)


def test_tokens_without_weight_are_left_out_of_each_query() -> None:
    queries = TokenBatch.pack([np.eye(3), np.eye(2, 3), np.eye(1, 3)], [[1, 2, 3], [4, 5], [6]])
    folded = fold(queries, np.array([0, 2, 0, 1, 0.5, 3], np.float32))
    assert folded.lengths.tolist() == [1, 2, 1]
    assert folded.token_ids.tolist() == [2, 4, 5, 6]
    assert np.linalg.norm(folded.vectors, axis=1).tolist() == [2, 1, 0.5, 3]


def test_a_query_without_any_weight_keeps_no_token_and_its_place() -> None:
    queries = TokenBatch.pack([np.eye(2), np.eye(1, 2)], [[1, 2], [3]])
    folded = fold(queries, np.array([0, 0, 1], np.float32))
    assert folded.lengths.tolist() == [0, 1]


def test_queries_in_16_bits_are_folded_in_32() -> None:
    query = as_query(unit(np.random.default_rng(0), 3, 4))
    half = TokenBatch(query.vectors.astype(np.float16), query.token_ids, query.offsets)
    assert fold(half, np.full(3, 0.3, np.float32)).vectors.dtype == np.float32


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1], "expected 3 weights, one per query token"),
        ([1, -1, 1], "not negative"),
        ([1, np.nan, 1], "finite"),
        ([1, 1, 2e9], "above 1e\\+09"),
    ],
)
def test_weights_that_cannot_be_folded_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fold(as_query(np.eye(3)), np.array(weights, np.float32))
