"""Mean vectors beside a corpus on disk."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import TokenBatch
from chamfer.cache.corpus import EncodedCorpus
from chamfer.kernels.cosines import cosines
from chamfer.tokens.means import mean_vectors
from tests.test_cache_codes import made_corpus
from tests.vectors import batch_of, planted


def expected_means(documents: TokenBatch) -> np.ndarray:
    return mean_vectors(documents).astype(np.float16)


def test_means_on_disk_are_made_once_and_whole(tmp_path: Path) -> None:
    _, documents = planted(np.random.default_rng(5))
    corpus = made_corpus(tmp_path, documents)
    (tmp_path / ".means").mkdir()  # what an interrupted run leaves behind
    (tmp_path / ".means" / "means.f16").write_bytes(b"half")
    with patch("chamfer.cache.means.AT_A_TIME", 100):
        first = corpus.means
    assert not (tmp_path / ".means").exists()
    with patch("chamfer.cache.means.mean_vectors", side_effect=AssertionError("made again")):
        again = EncodedCorpus.open(tmp_path).means
    for found in (first, again):
        assert found.dtype == np.float16
        assert isinstance(found, np.memmap)
        np.testing.assert_array_equal(found, expected_means(documents))


@pytest.mark.parametrize("damaged", ["means.f16", "manifest.json"])
def test_means_that_are_not_those_of_the_corpus_are_made_again(tmp_path: Path, damaged: str) -> None:
    _, documents = planted(np.random.default_rng(5))
    assert made_corpus(tmp_path, documents).means is not None
    (tmp_path / "means" / damaged).write_bytes(b"{}")
    np.testing.assert_array_equal(EncodedCorpus.open(tmp_path).means, expected_means(documents))


def test_where_means_cannot_be_written_they_are_computed_in_memory(tmp_path: Path) -> None:
    _, documents = planted(np.random.default_rng(6))
    corpus = made_corpus(tmp_path, documents)
    with patch("chamfer.cache.means._make", side_effect=PermissionError("read-only")):
        np.testing.assert_array_equal(corpus.means, expected_means(documents))
    assert not (tmp_path / "means").exists()


def test_a_document_without_tokens_has_a_mean_of_zeros(tmp_path: Path) -> None:
    corpus = made_corpus(tmp_path, batch_of(np.eye(2, 4, dtype=np.float16), [1, 0, 1]))
    assert corpus.means.tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


def test_a_corpus_without_documents_has_no_means(tmp_path: Path) -> None:
    assert made_corpus(tmp_path, TokenBatch.empty(4)).means.shape[0] == 0


def test_a_cosine_does_not_depend_on_the_other_documents() -> None:
    generator = np.random.default_rng(0)
    means = generator.normal(size=(500, 96)).astype(np.float16)
    query = generator.normal(size=96).astype(np.float32)
    alone = np.concatenate([cosines(means[place : place + 1], query) for place in range(len(means))])
    np.testing.assert_array_equal(cosines(means, query), alone)
