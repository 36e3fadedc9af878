import math
from pathlib import Path

import pytest

from chamfer import InputError
from chamfer.data.collection import load_collection
from chamfer.evaluate.measures import measure
from chamfer.evaluate.rankings import find_candidates
from chamfer.retrieve.bm25 import BM25

DOCUMENTS = {"a": "cats cats sleep", "b": "dogs bark", "c": "a cat and many dogs", "d": "the of"}


def test_scores_are_the_lucene_formula() -> None:
    found = BM25(DOCUMENTS).search({"q": "cat"})[0]
    lengths = {"a": 3, "b": 2, "c": 3, "d": 0}  # words that are left without stop words
    average = sum(lengths.values()) / 4
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    expected = {
        name: idf * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * lengths[name] / average)) for name, tf in (("a", 2), ("c", 1))
    }
    assert dict(zip(found.document_ids, found.scores, strict=True)) == pytest.approx(expected, rel=1e-5)


def test_only_documents_that_share_a_word_are_found_and_ties_go_by_id() -> None:
    stage = BM25({"z": "red fish", "y": "red fish", "x": "red fish", "w": "blue bird"})
    assert stage.search({"q": "fish"})[0].document_ids == ("x", "y", "z")
    assert stage.search({"q": "fish"}, k=2)[0].document_ids == ("x", "y")
    assert stage.search({"q": "the unknownword"})[0].document_ids == ()


def test_a_corpus_without_words_finds_nothing() -> None:
    assert BM25({"a": "the", "b": ""}).search({"q": "cat"})[0].document_ids == ()
    with pytest.raises(InputError, match="at least one document"):
        BM25({})


@pytest.mark.parametrize(
    ("name", "ndcg", "recall"), [("scifact", 0.686, 0.819), ("nfcorpus", 0.321, 0.147), ("arguana", 0.493, 0.780)]
)
def test_published_collections_score_as_the_data_readme_says(
    shared_data: Path, name: str, ndcg: float, recall: float
) -> None:
    collection = load_collection(shared_data / name)
    found = measure(find_candidates(collection, collection.judged_queries("test")), collection.judgements["test"])
    assert found["nDCG@10"].mean() == pytest.approx(ndcg, abs=0.005)
    assert found["R@10"].mean() == pytest.approx(recall, abs=0.005)


def test_given_documents_have_the_scores_that_a_search_gives_them() -> None:
    stage = BM25(DOCUMENTS)
    found = stage.search({"q": "many cats"})[0]
    assert stage.scores("many cats", found.document_ids).tolist() == list(found.scores)


def test_a_document_that_shares_no_word_scores_0() -> None:
    stage = BM25(DOCUMENTS)
    assert stage.scores("cat", ["d", "a", "b"]).tolist() == [0.0, stage.search({"q": "cat"})[0].scores[0], 0.0]
    assert stage.scores("the unknownword", list(DOCUMENTS)).tolist() == [0.0] * 4
    assert stage.scores("cat", []).tolist() == []
    assert BM25({"a": "the", "b": ""}).scores("cat", ["b", "a"]).tolist() == [0.0, 0.0]
