"""8-bit codes beside a corpus on disk."""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import Ranking, TokenBatch, TokenWeights
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoding import encode_corpus
from chamfer.cache.text_encoder import EncodedTexts
from chamfer.kernels import dispatch, native
from chamfer.kernels.codes import Codes
from chamfer.search.rerank_encoded import rerank_encoded
from chamfer.support.progress import Advance
from chamfer.tokens.vocabulary import Vocabulary
from tests.vectors import as_query, batch_of, planted

compiled = pytest.mark.skipif(not native.paths(), reason="chamfer was installed without a C++ compiler")


def made_corpus(folder: Path, documents: TokenBatch) -> EncodedCorpus:
    ids = [f"d{place:03}" for place in range(len(documents))]

    def encode(texts: Sequence[str], _: Advance) -> EncodedTexts:
        tokens = documents[int(texts[0][1:]) : int(texts[-1][1:]) + 1]
        return EncodedTexts(tokens, [np.empty(0, np.int32)] * len(texts), [False] * len(texts))

    return encode_corpus(folder, ids, ids, encode=encode, made_from={})


VOCABULARY = Vocabulary(tokens=("a", "b"), special_ids=frozenset())


@compiled
def test_the_top_k_from_disk_are_the_first_k_of_the_full_ranking(tmp_path: Path) -> None:
    query, documents = planted(np.random.default_rng(4))
    corpus = made_corpus(tmp_path, documents)
    candidates = Ranking("q", tuple(reversed(corpus.ids)), tuple(range(300)))
    weightings = {"uniform": TokenWeights.uniform(VOCABULARY)}
    everything = rerank_encoded(query, candidates, corpus, weightings)["uniform"]
    best = rerank_encoded(query, candidates, corpus, weightings, k=12)["uniform"]
    assert best.document_ids == everything.document_ids[:12]
    np.testing.assert_allclose(best.scores, everything.scores[:12], rtol=1e-4)


@compiled
def test_equal_scores_from_disk_are_ordered_by_id(tmp_path: Path) -> None:
    documents = batch_of(np.tile(np.eye(1, 4, dtype=np.float16), (30, 1)), [1] * 30)
    corpus = made_corpus(tmp_path, documents)
    candidates = Ranking("q", tuple(reversed(corpus.ids)), tuple(range(30)))
    weightings = {"uniform": TokenWeights.uniform(VOCABULARY)}
    best = rerank_encoded(as_query(np.eye(1, 4)), candidates, corpus, weightings, k=3)["uniform"]
    assert best.document_ids == ("d000", "d001", "d002")


def codes_of(corpus: EncodedCorpus) -> Codes | None:
    return None if corpus.coded is None else corpus.coded.codes


@compiled
def test_codes_on_disk_are_made_once_and_whole(tmp_path: Path) -> None:
    _, documents = planted(np.random.default_rng(5))
    corpus = made_corpus(tmp_path, documents)
    (tmp_path / ".codes").mkdir()  # what an interrupted run leaves behind
    (tmp_path / ".codes" / "codes.u8").write_bytes(b"half")
    with patch("chamfer.cache.codes.AT_A_TIME", 100):
        first = codes_of(corpus)
    assert first is not None
    assert not (tmp_path / ".codes").exists()
    with patch.object(Codes, "of", side_effect=AssertionError("made again")):
        again = codes_of(EncodedCorpus.open(tmp_path))
    assert again is not None
    expected = Codes.of(documents)
    for found in (first, again):
        np.testing.assert_array_equal(found.codes, expected.codes)
        np.testing.assert_array_equal(found.scales, expected.scales)
        np.testing.assert_array_equal(found.bounds, expected.bounds)


@compiled
@pytest.mark.parametrize("damaged", ["scales.f32", "manifest.json", "bounds.f32"])
def test_codes_that_are_not_those_of_the_corpus_are_made_again(tmp_path: Path, damaged: str) -> None:
    _, documents = planted(np.random.default_rng(5))
    corpus = made_corpus(tmp_path, documents)
    assert corpus.coded is not None
    (tmp_path / "codes" / damaged).write_bytes(b"{}")
    again = codes_of(EncodedCorpus.open(tmp_path))
    assert again is not None
    np.testing.assert_array_equal(again.scales, Codes.of(documents).scales)


@compiled
def test_where_codes_cannot_be_written_vectors_are_read(tmp_path: Path) -> None:
    query, documents = planted(np.random.default_rng(6))
    corpus = made_corpus(tmp_path, documents)
    with patch("chamfer.cache.codes._make", side_effect=PermissionError("read-only")):
        assert corpus.coded is None
        [found] = dispatch.best(query, np.ones(40, np.float32), corpus, k=4)
        assert found.read == 300
    assert corpus.coded is not None  # the next call tries again
    [found] = dispatch.best(query, np.ones(40, np.float32), corpus, k=4)
    assert found.read < 300
