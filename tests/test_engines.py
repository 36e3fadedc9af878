"""What docs/guides/engines.md says of sentence-transformers."""

import numpy as np
import pytest
import torch
from sentence_transformers.util import maxsim, mean_maxsim

from chamfer import TokenBatch
from chamfer.kernels import dispatch
from chamfer.kernels.fold import fold
from tests.vectors import as_query, batch_of, unit


@pytest.fixture
def query() -> TokenBatch:
    return as_query(unit(np.random.default_rng(0), 5, 8))


@pytest.fixture
def documents() -> TokenBatch:
    return batch_of(unit(np.random.default_rng(1), 30, 8).astype(np.float32), [10, 3, 17])


WEIGHTS = np.array([0.02, 1, 0, 3, 0.5], np.float32)


def tensors(batch: TokenBatch) -> list[torch.Tensor]:
    return [torch.from_numpy(batch[place].vectors) for place in range(len(batch))]


def expected(query: TokenBatch, documents: TokenBatch) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The sums of the weighted MaxSim; our score is their mean over the query's tokens."""
    return dispatch.score(dispatch.minima(query, documents, form="cosine"), WEIGHTS) * 5


def test_maxsim_of_a_folded_query_is_weighted(query: TokenBatch, documents: TokenBatch) -> None:
    found = maxsim(tensors(fold(query, WEIGHTS)), tensors(documents))
    np.testing.assert_allclose(found[0], expected(query, documents), atol=1e-5)


def test_weights_can_be_the_mask_of_the_query(query: TokenBatch, documents: TokenBatch) -> None:
    found = maxsim(tensors(query), tensors(documents), a_mask=[torch.from_numpy(WEIGHTS)])  # type: ignore[arg-type]
    np.testing.assert_allclose(found[0], expected(query, documents), atol=1e-5)


def test_the_mean_is_over_the_tokens_that_have_weight(query: TokenBatch, documents: TokenBatch) -> None:
    folded = mean_maxsim(tensors(fold(query, WEIGHTS)), tensors(documents))
    masked = mean_maxsim(tensors(query), tensors(documents), a_mask=[torch.from_numpy(WEIGHTS)])  # type: ignore[arg-type]
    np.testing.assert_allclose(folded[0], expected(query, documents) / 4, atol=1e-5)
    np.testing.assert_allclose(masked[0], expected(query, documents) / 4, atol=1e-5)


def test_normalising_a_folded_query_again_makes_weights_uniform(query: TokenBatch, documents: TokenBatch) -> None:
    again = torch.nn.functional.normalize(tensors(fold(query, np.full(5, 0.3, np.float32) + WEIGHTS))[0], dim=1)
    torch.testing.assert_close(maxsim([again], tensors(documents)), maxsim(tensors(query), tensors(documents)))
