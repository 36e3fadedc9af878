"""What unrelated texts score in an index, and what a search says of a query that it has nothing on."""

import json
import pickle
import shutil
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import Encoder, Mix, Searcher, TokenWeights, build_index
from chamfer.data.documents import Document
from chamfer.index.derived import DERIVED
from chamfer.index.snapshot import Snapshot
from chamfer.retrieve import unrelated
from chamfer.retrieve.unrelated import kernel_scores, span_in, spans_of
from chamfer.search import background
from chamfer.search.background import FEWEST, FILE, GROWTH, Estimate, keep_level, level_of, read_level
from tests.test_search import add, build, corpus, delete

QUERY = "why do cats sleep at night"


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    return build(tmp_path / "index", encoder, corpus())


def test_the_same_commit_has_the_same_level(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    level = searcher.unrelated_score()
    assert level is not None
    assert 0 < level < 1
    shutil.rmtree(folder / DERIVED)
    assert Searcher.open(folder, encoder=encoder).unrelated_score() == level


def test_a_level_is_kept_beside_the_index_and_estimated_once_for_each_weighting(folder: Path, encoder: Encoder) -> None:
    heavy = TokenWeights(np.linspace(0, 3, len(encoder.vocabulary), dtype=np.float32), encoder.vocabulary)
    with patch.object(background, "kernel_scores", side_effect=kernel_scores) as scored:
        searcher = Searcher.open(folder, encoder=encoder)
        levels = [searcher.unrelated_score(weights) for weights in ("mix", "uniform", heavy, heavy.with_mix(Mix(0.1)))]
        assert len(set(levels)) == scored.call_count == 4
        again = Searcher.open(folder, encoder=encoder)
        assert [again.unrelated_score(weights) for weights in ("mix", "uniform", heavy)] == levels[:3]
        assert scored.call_count == 4
    assert Searcher.open(folder, encoder=encoder, form="cosine").unrelated_score() not in levels


def test_a_level_holds_until_there_are_twice_or_half_as_many_documents(folder: Path) -> None:
    keep_level(folder, Estimate("some key", 60, 0.25))
    for documents, level in ((60, 0.25), (120, 0.25), (30, 0.25), (121, None), (29, None), (0, None)):
        assert read_level(folder, "some key", documents) == level
    assert read_level(folder, "another key", 60) is None
    keep_level(folder, Estimate("some key", 121, 0.5))
    assert read_level(folder, "some key", 121) == 0.5
    assert len(json.loads((folder / DERIVED / FILE).read_text())["estimates"]) == 1


def test_few_changes_of_the_index_keep_the_level_and_many_renew_it(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    level, documents = searcher.unrelated_score(), len(searcher)
    add(folder, encoder, Document("new", "a blue cat"))
    assert searcher.refreshed().unrelated_score() == level
    add(folder, encoder, *(Document(f"n{n}", f"rain falls on hill {n}") for n in range((GROWTH - 1) * documents)))
    renewed = searcher.refreshed()
    assert len(renewed) > GROWTH * documents
    assert renewed.unrelated_score() != level


@pytest.mark.parametrize("content", ["", "{", '{"estimates": 5}', '{"estimates": [{"key": 1}]}', "[1]"])
def test_a_damaged_file_of_levels_is_estimated_again(folder: Path, encoder: Encoder, content: str) -> None:
    level = Searcher.open(folder, encoder=encoder).unrelated_score()
    (folder / DERIVED / FILE).write_text(content)
    assert Searcher.open(folder, encoder=encoder).unrelated_score() == level
    assert json.loads((folder / DERIVED / FILE).read_text())["estimates"]


def test_an_index_that_cannot_be_written_is_estimated_once_by_each_searcher(folder: Path, encoder: Encoder) -> None:
    with (
        patch.object(background, "unfinished_name", side_effect=PermissionError),
        patch.object(background, "kernel_scores", side_effect=kernel_scores) as scored,
    ):
        searcher = Searcher.open(folder, encoder=encoder)
        assert len({searcher.unrelated_score() for _ in range(3)}) == 1
    assert scored.call_count == 1


def test_an_index_of_few_documents_has_no_level(encoder: Encoder, tmp_path: Path) -> None:
    texts = {f"d{n}": f"a cat and {n} dogs" for n in range(FEWEST - 1)}
    build_index(tmp_path / "few", texts, encoder)
    searcher = Searcher.open(tmp_path / "few", encoder=encoder)
    assert searcher.unrelated_score() is None
    assert searcher.search(QUERY).probably_nothing is None
    assert not (tmp_path / "few" / DERIVED / FILE).exists()


def test_a_search_says_whether_its_best_document_scores_better_than_unrelated_ones(
    folder: Path, encoder: Encoder
) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    hits = searcher.search(QUERY)
    level = searcher.unrelated_score()
    assert level is not None
    assert hits.probably_nothing is (hits[0].score < level)
    for forced, expected in ((hits[0].score, False), (np.nextafter(hits[0].score, 2), True)):
        with patch.object(Searcher, "unrelated_score", return_value=float(forced)):
            assert searcher.search(QUERY).probably_nothing is expected
            assert searcher.search(QUERY, min_score=1).probably_nothing is expected, "whatever is left out"
            assert searcher.search(QUERY, offset=1).probably_nothing is None, "later pages lack the best document"
    assert searcher.search(QUERY, among=[]).probably_nothing is True


def test_nothing_is_estimated_until_somebody_asks(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    with patch.object(background, "kernel_scores", side_effect=kernel_scores) as scored:
        first, second = searcher.search([QUERY, "zebra"])
        assert not scored.called
        assert not (folder / DERIVED / FILE).exists()
        assert [type(hits.probably_nothing) for hits in (first, second, first)] == [bool] * 3
        assert scored.call_count == 1


def test_hits_can_be_pickled_with_what_they_know(folder: Path, encoder: Encoder) -> None:
    hits = Searcher.open(folder, encoder=encoder).search(QUERY)
    again = pickle.loads(pickle.dumps(hits))
    assert (again, again.probably_nothing, again.query_read) == (hits, hits.probably_nothing, None)
    assert again.probably_nothing is not None


def test_documents_below_the_lowest_score_are_left_out(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    every = searcher.search(QUERY, 20)
    least = every[7].score
    assert searcher.search(QUERY, 20, min_score=least) == [hit for hit in every if hit.score >= least]
    assert searcher.search(QUERY, 20, offset=5, min_score=least) == every[5 : 5 + len(every[5:8])]
    assert searcher.search(QUERY, min_score=1.0) == []


def test_a_span_is_never_paired_with_its_own_document_and_deleted_ones_are_not_drawn(
    folder: Path, encoder: Encoder
) -> None:
    delete(folder, "d03", "d17")
    searcher = Searcher.open(folder, encoder=encoder)
    index = searcher.index
    spans = spans_of(index)
    assert {span.document for span in spans}.isdisjoint({"d03", "d17"})
    queries = searcher.queries.encode([span.text for span in spans])
    found = kernel_scores(index, searcher.ranker.evidence, queries, [span.document for span in spans])
    live = len(searcher)
    assert {len(scores) for scores in found} == {live - 1}
    other = kernel_scores(index, searcher.ranker.evidence, queries, ["nowhere"] * len(spans))
    assert {len(scores) for scores in other} == {live}


def test_spans_are_consecutive_words_or_characters_of_a_script_without_spaces() -> None:
    generator = np.random.default_rng(0)
    words = " ".join(f"w{n}" for n in range(100))
    for _ in range(50):
        assert span_in(words, generator) in words
    lengths = [len(span_in(words, generator).split()) for _ in range(500)]
    assert (min(lengths), max(lengths)) == (unrelated.SHORTEST, unrelated.LONGEST)
    text = "東京は日本の首都であり世界でも最大級の都市である" * 4
    for _ in range(50):
        span = span_in(text, generator)
        assert span in text
        assert len(span) <= unrelated.LONGEST


def test_without_pairs_there_is_no_level() -> None:
    assert level_of([]) is None
    assert level_of([np.empty(0)]) is None
    assert level_of([np.arange(101) / 100]) == pytest.approx(0.99)


def test_an_index_of_passages_has_a_level(encoder: Encoder, tmp_path: Path) -> None:
    texts = {f"d{n:02d}": " ".join([f"the cat number {n} sat on a mat"] * 8) for n in range(FEWEST)}
    build_index(tmp_path / "long", texts, encoder, passages=16)
    searcher = Searcher.open(tmp_path / "long", encoder=encoder)
    assert len(Snapshot.open(tmp_path / "long")) > FEWEST
    assert searcher.unrelated_score() is not None
