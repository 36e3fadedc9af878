"""Sparse vectors give the scores of BM25, whatever the segments and whatever was deleted."""

from pathlib import Path

import numpy as np
import pytest

from chamfer.retrieve import sparse
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.sparse import SparseVector, sparse_documents, sparse_query
from chamfer.retrieve.stage import Queries
from chamfer.tokens.batch import TokenBatch
from tests.test_retrieve_bm25 import TEXTS, index_of


def product(a: SparseVector, b: SparseVector) -> float:
    values = dict(zip(a.indices, a.values, strict=True))
    return sum(values.get(index, 0.0) * value for index, value in zip(b.indices, b.values, strict=True))


@pytest.mark.parametrize("deleted", [[], [1, 3]])
@pytest.mark.parametrize("cuts", [[], [2, 4]])
def test_a_query_times_a_document_is_its_score(tmp_path: Path, cuts: list[int], deleted: list[int]) -> None:
    stage = BM25Stage(index_of(tmp_path, TEXTS, cuts, deleted))
    places = np.array([n for n in range(len(TEXTS)) if n not in deleted])
    documents = sparse_documents(stage, places, [TEXTS[n] for n in places])
    for text in ("cats and dogs", "cat cat sleeping", "birds", "the", "unknown"):
        query = sparse_query(text)
        scores = {int(n): product(query, document) for n, document in zip(places, documents, strict=True)}
        [found] = stage.find(Queries([text], TokenBatch.empty(1), np.ones(0, np.float32)), 9)
        assert {n for n, score in scores.items() if score} == set(found.places.tolist())
        for n, score in zip(found.places.tolist(), found.scores.tolist(), strict=True):
            assert scores[n] == pytest.approx(score, abs=1e-6)


def test_words_that_share_a_number_count_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = BM25Stage(index_of(tmp_path, TEXTS))
    [apart] = sparse_documents(stage, np.array([1]), [TEXTS[1]])
    monkeypatch.setattr(sparse, "_number", lambda word: 7)
    [joined] = sparse_documents(stage, np.array([1]), [TEXTS[1]])
    assert joined.indices == [7]
    assert joined.values == pytest.approx([sum(apart.values)])
    assert sparse_query("dogs bark and bark") == SparseVector([7], [3.0])


def test_numbers_of_words_fit_in_32_bits_and_never_change() -> None:
    assert sparse_query("cats").indices == [3138554730]
    assert all(0 <= index < 2**32 for index in sparse_query(" ".join(TEXTS)).indices)
