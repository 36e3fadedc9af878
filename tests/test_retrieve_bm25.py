"""BM25 over an index: the scores of bm25s, whatever the segments and whatever was deleted."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import InputError
from chamfer.index.derived import Content
from chamfer.retrieve import postings as postings_file
from chamfer.retrieve.bm25 import BM25, BM25Stage
from chamfer.retrieve.postings import Postings, write_postings
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.tokens.batch import TokenBatch

TEXTS = ["cats cats sleep", "dogs bark", "a cat and many dogs", "the of", "", "birds sing to cats"]
LETTERS = ["alpha", "beta", "gamma", "delta", "the", "of", "cats", "running"]

texts_of_few_words = st.lists(st.lists(st.sampled_from(LETTERS), max_size=8).map(" ".join), min_size=1, max_size=12)


@dataclass
class FakeSegment:
    folder: Path
    content: Sequence[str]
    made: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.content)

    def texts(self) -> Iterator[str]:
        return iter(self.content)

    def derived(
        self, name: str, make: Callable[[Path], None], read: Callable[[Path], Content], *, sources: Any = None
    ) -> Content:
        if name not in self.made:
            (self.folder / name).mkdir(parents=True)
            make(self.folder / name)
            self.made.append(name)
        return read(self.folder / name)


@dataclass
class FakeIndex:
    segments: Sequence[FakeSegment]
    starts: npt.NDArray[np.int64]
    live: npt.NDArray[np.bool_] | None = None


def index_of(folder: Path, texts: Sequence[str], cuts: Sequence[int] = (), deleted: Sequence[int] = ()) -> FakeIndex:
    """An index whose segments end at ``cuts``."""
    starts = [0, *sorted(cuts), len(texts)]
    segments = [FakeSegment(folder / str(n), texts[a:b]) for n, (a, b) in enumerate(pairwise(starts))]
    live = np.ones(len(texts), np.bool_)
    live[list(deleted)] = False
    return FakeIndex(segments, np.array(starts, np.int64), live if len(deleted) else None)


def queries_of(*texts: str) -> Queries:
    no_tokens = TokenBatch(np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.zeros(len(texts) + 1, np.int64))
    return Queries(texts, no_tokens, np.zeros(0, np.float32))


def found_by_bm25s(texts: Sequence[str], query: str, deleted: Sequence[int] = (), depth: int = 1000) -> Candidates:
    """What the class ``BM25`` finds among the texts that are left."""
    left = {f"{place:06}": text for place, text in enumerate(texts) if place not in deleted}
    ranking = BM25(left).search({"q": query}, depth)[0] if left else None
    places, scores = (ranking.document_ids, ranking.scores) if ranking else ((), ())
    return Candidates(np.array([int(name) for name in places], np.int64), np.array(scores, np.float32))


def assert_same(found: Candidates, expected: Candidates) -> None:
    assert found.places.dtype == np.int64
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.places, expected.places)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)


@given(data=st.data(), texts=texts_of_few_words, query=st.lists(st.sampled_from(LETTERS), max_size=6).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_rankings_are_those_of_bm25s_over_the_live_documents(data: st.DataObject, texts: list[str], query: str) -> None:
    places = st.integers(0, len(texts) - 1)
    cuts = data.draw(st.lists(st.integers(0, len(texts)), max_size=3), label="cuts")
    deleted = data.draw(st.lists(places, max_size=6), label="deleted")
    depth = data.draw(st.integers(1, 12), label="depth")
    with TemporaryDirectory() as folder:
        stage = BM25Stage(index_of(Path(folder), texts, cuts, deleted))
        assert_same(stage.find(queries_of(query), depth)[0], found_by_bm25s(texts, query, deleted, depth))


def test_many_words_and_documents_rank_as_with_bm25s(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    vocabulary = [f"w{number:x}" for number in range(3000)]
    draws = [random.zipf(1.3, size) % len(vocabulary) for size in random.integers(0, 60, 2000)]
    texts = [" ".join(vocabulary[number] for number in draw) for draw in draws]
    deleted = list(range(0, 2000, 7))
    queries = [" ".join(vocabulary[number] for number in random.zipf(1.3, 12) % len(vocabulary)) for _ in range(8)]
    stage = BM25Stage(index_of(tmp_path, texts, [100, 150, 1500], deleted))
    for query, found in zip(queries, stage.find(queries_of(*queries), 300), strict=True):
        assert len(found.places) == 300
        assert_same(found, found_by_bm25s(texts, query, deleted, 300))


def test_a_filter_changes_what_is_found_but_no_score(tmp_path: Path) -> None:
    stage = BM25Stage(index_of(tmp_path, TEXTS, [2]))
    everything = stage.find(queries_of("sleeping cats"), 10)[0]
    allowed = np.array([False, True, True, True, True, True])
    filtered = stage.find(queries_of("sleeping cats"), 10, allowed)[0]
    kept = allowed[everything.places]
    assert everything.places.tolist() == [0, 2, 5]
    np.testing.assert_array_equal(filtered.places, everything.places[kept])
    np.testing.assert_array_equal(filtered.scores, everything.scores[kept])


def test_a_filter_cannot_bring_back_what_was_deleted(tmp_path: Path) -> None:
    stage = BM25Stage(index_of(tmp_path, TEXTS, deleted=[0]))
    assert stage.find(queries_of("cats"), 10, np.ones(len(TEXTS), np.bool_))[0].places.tolist() == [2, 5]


def test_a_filtered_best_document_leaves_room_for_the_next(tmp_path: Path) -> None:
    stage = BM25Stage(index_of(tmp_path, TEXTS))
    allowed = np.arange(len(TEXTS)) > 0
    assert stage.find(queries_of("cats"), 1, allowed)[0].places.tolist() == [2]


def test_equal_scores_go_by_place_across_segments(tmp_path: Path) -> None:
    stage = BM25Stage(index_of(tmp_path, ["red fish"] * 5 + ["blue bird"], [2, 4]))
    assert stage.find(queries_of("fish"), 10)[0].places.tolist() == [0, 1, 2, 3, 4]
    assert stage.find(queries_of("fish"), 3)[0].places.tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["", "the of", "unknownword", "\ud800\udcff \x00\n"])
def test_a_query_without_known_words_finds_nothing(tmp_path: Path, text: str) -> None:
    first, second = BM25Stage(index_of(tmp_path, TEXTS)).find(queries_of(text, "bark"), 10)
    assert (len(first.places), len(first.scores)) == (0, 0)
    assert second.places.tolist() == [1]


@pytest.mark.parametrize("texts", [[], [""], ["the", "of it"]])
def test_an_index_without_words_finds_nothing(tmp_path: Path, texts: list[str]) -> None:
    assert len(BM25Stage(index_of(tmp_path, texts, [0])).find(queries_of("cats"), 10)[0].places) == 0


def test_an_index_whose_documents_are_all_deleted_finds_nothing(tmp_path: Path) -> None:
    stage = BM25Stage(index_of(tmp_path, TEXTS, deleted=range(len(TEXTS))))
    assert len(stage.find(queries_of("cats"), 10)[0].places) == 0


def test_an_index_without_segments_finds_nothing() -> None:
    stage = BM25Stage(FakeIndex([], np.zeros(1, np.int64)))
    assert len(stage.find(queries_of("cats"), 10)[0].places) == 0
    assert stage.find(queries_of(), 10) == []


def test_words_of_any_script_are_found_and_broken_characters_separate_words(tmp_path: Path) -> None:
    texts = ["größe über", "北京 大学", "кошка спит", "whole\ud800words", "e\u0301te\u0301 x\U0001d49c\U0001d49c"]
    stage = BM25Stage(index_of(tmp_path, texts))
    found = stage.find(queries_of("Größe", "北京", "КОШКА", "words", "x\U0001d49c\U0001d49c"), 10)
    assert [each.places.tolist() for each in found] == [[0], [1], [2], [3], [4]]


def test_postings_are_made_once_per_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(tmp_path, TEXTS, [3])
    BM25Stage(index)
    monkeypatch.setattr(postings_file, "write_postings", lambda *_: pytest.fail("made twice"))
    assert BM25Stage(index).find(queries_of("bark"), 1)[0].places.tolist() == [1]


def test_k1_and_b_are_those_of_the_formula(tmp_path: Path) -> None:
    index = index_of(tmp_path, TEXTS, [3])
    for k1, b in ((0.9, 0.4), (0.0, 0.75), (1.2, 0.0), (2.0, 1.0)):
        expected = BM25(dict(zip("abcdef", TEXTS, strict=True)), k1=k1, b=b).search({"q": "cats sleep"})[0]
        found = BM25Stage(index, k1=k1, b=b).find(queries_of("cats sleep"), 10)[0]
        assert tuple("abcdef"[place] for place in found.places) == expected.document_ids
        assert found.scores.tolist() == pytest.approx(list(expected.scores), rel=1e-5)


@given(texts=texts_of_few_words, portion=st.integers(1, 60))
@settings(max_examples=30, deadline=None)
def test_files_do_not_depend_on_the_portions_in_which_texts_were_read(texts: list[str], portion: int) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other, pytest.MonkeyPatch.context() as patch:
        write_postings(Path(one), texts)
        patch.setattr(postings_file, "PORTION", portion)
        write_postings(Path(other), texts)
        names = sorted(path.name for path in Path(one).iterdir())
        assert len(names) == 5  # and what was set aside is gone
        for name in names:
            assert (Path(one) / name).read_bytes() == (Path(other) / name).read_bytes()


def test_postings_name_documents_in_order_and_count_repetitions(tmp_path: Path) -> None:
    write_postings(tmp_path, TEXTS)
    postings = Postings.open(tmp_path, len(TEXTS))
    documents, counts = postings.find("cat")
    assert (documents.tolist(), counts.tolist()) == ([0, 2, 5], [2, 1, 1])
    assert postings.lengths.tolist() == [3, 2, 3, 0, 0, 3]
    assert postings.words == sorted([b"cat", b"sleep", b"dog", b"bark", b"mani", b"bird", b"sing"])


@pytest.mark.parametrize("name", ["words.txt", "starts.npy", "documents.npy", "counts.npy", "lengths.npy"])
@pytest.mark.parametrize("size", [0, -3, None])
def test_files_that_were_cut_short_or_removed_are_refused(tmp_path: Path, name: str, size: int | None) -> None:
    write_postings(tmp_path, TEXTS)
    path = tmp_path / name
    if size is None:
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size + size if size else 0)
    with pytest.raises(InputError, match=r"(damaged: .*|missing); delete .* to have it computed again"):
        Postings.open(tmp_path, len(TEXTS))


def test_values_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    index = index_of(tmp_path, TEXTS)
    with pytest.raises(InputError, match="from 0 to 1, not k1 = 1"):
        BM25Stage(index, b=1.5)
    with pytest.raises(InputError, match="k1 = nan"):
        BM25Stage(index, k1=float("nan"))
    with pytest.raises(InputError, match="at least 1, not 0"):
        BM25Stage(index).find(queries_of("cats"), 0)
    with pytest.raises(InputError, match="a filter needs 6 entries, one per place, not shape"):
        BM25Stage(index).find(queries_of("cats"), 1, np.ones(5, np.bool_))
    write_postings(tmp_path, TEXTS)
    with pytest.raises(InputError, match="its files are inconsistent"):
        Postings.open(tmp_path, 7)


@pytest.mark.parametrize(("name", "value"), [("documents.npy", 6), ("documents.npy", -1), ("counts.npy", 0)])
def test_postings_that_cannot_be_are_an_error_of_our_own(tmp_path: Path, name: str, value: int) -> None:
    write_postings(tmp_path, TEXTS)
    values = np.load(tmp_path / name)
    values[:] = value
    np.save(tmp_path / name, values)
    with pytest.raises(InputError, match="the postings of 'cat' are impossible; delete"):
        Postings.open(tmp_path, len(TEXTS)).find("cat")
    starts = np.load(tmp_path / "starts.npy")
    starts[1:-1] = 0
    np.save(tmp_path / "starts.npy", starts)
    assert len(Postings.open(tmp_path, len(TEXTS)).find("cat")[0]) == 0


@pytest.mark.parametrize("chosen", [None, "true"])
def test_jax_keeps_no_gpu_memory_when_bm25s_imports_it_and_the_environment_stays(
    tmp_path: Path, chosen: str | None
) -> None:
    """A stand-in for JAX tells what the real one would have read when it was imported."""
    variable = "XLA_PYTHON_CLIENT_PREALLOCATE"
    environment = {name: value for name, value in os.environ.items() if name != variable}
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text(
        f"import os\nprint(os.environ.get({variable!r}))\nraise ImportError\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", f"import chamfer.retrieve.bm25, os; print('then', os.environ.get({variable!r}))"],
        env={**environment, "PYTHONPATH": str(tmp_path)} | ({} if chosen is None else {variable: chosen}),
        capture_output=True,
        text=True,
        check=True,
    )
    during, after = told.stdout.split("then")
    assert set(during.split()) == {chosen or "false"}
    assert after.strip() == str(chosen)
