"""Vector indexes of segments: how they are made, searched, filtered and joined."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer.errors import InputError
from chamfer.index.derived import Content
from chamfer.retrieve.nearest import Nearest
from chamfer.retrieve.stage import Candidates
from chamfer.tokens.batch import TokenBatch, offsets_of
from tests.vectors import Floats, batch_of, unit

SIZE = 16


class FakeSegment:
    """Documents in memory; what follows from them in a folder."""

    def __init__(self, batch: TokenBatch, folder: Path) -> None:
        self.batch, self.folder = batch, folder
        self.offsets = batch.offsets

    def __len__(self) -> int:
        return len(self.batch)

    def take(self, places: npt.NDArray[np.int64]) -> TokenBatch:
        return self.batch.take(places)

    def parts(self) -> Iterator[TokenBatch]:
        for start in range(0, len(self.batch), 700):
            yield self.batch[start : start + 700]

    def derived(
        self, name: str, make: Callable[[Path], None], read: Callable[[Path], Content], *, sources: Any = None
    ) -> Content:
        if not (self.folder / name).exists():
            (self.folder / name).mkdir(parents=True)
            make(self.folder / name)
        return read(self.folder / name)


class FakeIndex:
    """Segments in memory, cut where it is said."""

    def __init__(self, batch: TokenBatch, folder: Path, cuts: tuple[int, ...] = ()) -> None:
        edges = [0, *cuts, len(batch)]
        self.segments = tuple(
            FakeSegment(batch[start:stop], folder / f"{start}-{stop}") for start, stop in pairwise(edges)
        )
        self.starts = offsets_of([len(segment) for segment in self.segments])
        self.dimensions = batch.dimensions


def single(vectors: Floats) -> TokenBatch:
    """Documents of one token each."""
    return batch_of(vectors.astype(np.float32), [1] * len(vectors))


def first_tokens(batch: TokenBatch) -> npt.NDArray[np.float32]:
    """The first token of each document; zeros for none."""
    vectors = np.zeros((len(batch), batch.dimensions), np.float32)
    some = batch.lengths > 0
    vectors[some] = batch.vectors[batch.offsets[:-1][some]]
    return vectors


def opened(batch: TokenBatch, folder: Path, cuts: tuple[int, ...] = ()) -> Nearest:
    return Nearest(FakeIndex(batch, folder, cuts), "first", first_tokens, size=batch.dimensions)


def best_places(vectors: Floats, query: Floats, depth: int, allowed: npt.NDArray[np.bool_] | None = None) -> list[int]:
    scores = vectors.astype(np.float16).astype(np.float32) @ query
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
        depth = min(depth, int(allowed.sum()))
    return [int(place) for place in np.argsort(-scores, kind="stable")[:depth]]


def same(first: list[Candidates], second: list[Candidates]) -> None:
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.places, other.places)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-5)


@pytest.fixture
def vectors() -> Floats:
    return unit(np.random.default_rng(1), 300, SIZE).astype(np.float32)


@pytest.fixture
def queries() -> npt.NDArray[np.float32]:
    return unit(np.random.default_rng(2), 4, SIZE).astype(np.float32)


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Floats, Nearest]:
    """2,000 documents around 40 centres, in lists."""
    generator = np.random.default_rng(3)
    near = unit(generator, 40, SIZE)[generator.integers(40, size=2000)] + 0.1 * generator.standard_normal((2000, SIZE))
    vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    with patch("chamfer.retrieve.nearest.FLAT", 1000 * SIZE):
        return vectors, opened(single(vectors), tmp_path_factory.mktemp("lists"))


def test_the_best_come_first_with_their_products(vectors: Floats, queries: Floats, tmp_path: Path) -> None:
    for query, found in zip(queries, opened(single(vectors), tmp_path).find(queries, 10), strict=True):
        assert found.places.tolist() == best_places(vectors, query, 10)
        np.testing.assert_allclose(found.scores, vectors[found.places] @ query, atol=2e-3)
        assert found.places.dtype == np.int64
        assert found.scores.dtype == np.float32


def test_all_documents_can_be_asked_for(vectors: Floats, queries: Floats, tmp_path: Path) -> None:
    [found] = opened(single(vectors), tmp_path, (100,)).find(queries[:1], 1000)
    assert sorted(found.places.tolist()) == list(range(300))


@settings(deadline=None, max_examples=15)
@given(cuts=st.lists(st.integers(0, 300), max_size=4).map(sorted), depth=st.integers(1, 40))
def test_how_documents_are_split_over_segments_changes_nothing(
    cuts: list[int], depth: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    batch = single(unit(np.random.default_rng(1), 300, SIZE))
    queries = unit(np.random.default_rng(2), 4, SIZE).astype(np.float32)
    whole = opened(batch, tmp_path_factory.mktemp("whole"))
    split = opened(batch, tmp_path_factory.mktemp("split"), tuple(cuts))
    allowed = np.arange(300) % 3 > 0
    same(split.find(queries, depth), whole.find(queries, depth))
    same(split.find(queries, depth, allowed), whole.find(queries, depth, allowed))


def test_only_what_is_allowed_is_found(vectors: Floats, queries: Floats, tmp_path: Path) -> None:
    nearest = opened(single(vectors), tmp_path, (120,))
    for share in (0.0, 0.01, 0.3, 1.0):
        allowed = np.random.default_rng(4).random(300) < share
        for query, found in zip(queries, nearest.find(queries, 10, allowed), strict=True):
            assert found.places.tolist() == best_places(vectors, query, 10, allowed)


def test_equal_scores_are_ordered_by_place(queries: Floats, tmp_path: Path) -> None:
    batch = single(np.tile(np.eye(1, SIZE), (9, 1)))
    [found] = opened(batch, tmp_path, (4, 6)).find(np.eye(1, SIZE, dtype=np.float32), 9)
    assert found.places.tolist() == list(range(9))


@pytest.mark.parametrize("flat", [0, 1000 * SIZE])
def test_a_document_without_tokens_is_never_found(flat: int, tmp_path: Path) -> None:
    lengths = [1, 0] * 100
    batch = batch_of(unit(np.random.default_rng(5), 100, SIZE).astype(np.float32), lengths)
    query = -first_tokens(batch).sum(axis=0, keepdims=True)  # most products lie below the 0 of an empty document
    with patch("chamfer.retrieve.nearest.FLAT", flat):
        nearest = opened(batch, tmp_path)
    for allowed in (None, np.ones(200, bool)):
        [found] = nearest.find(query, 200, allowed)
        assert sorted(found.places.tolist()) == list(range(0, 200, 2))


def test_an_index_without_documents_finds_nothing(queries: Floats, tmp_path: Path) -> None:
    found = opened(TokenBatch.empty(SIZE), tmp_path).find(queries, 5)
    assert [len(one.places) for one in found] == [0, 0, 0, 0]


def test_no_queries_have_no_answers(vectors: Floats, tmp_path: Path) -> None:
    assert opened(single(vectors), tmp_path).find(np.empty((0, SIZE), np.float32), 5) == []


def test_lists_keep_nearly_all_of_the_best(clustered: tuple[Floats, Nearest]) -> None:
    vectors, nearest = clustered
    queries = vectors[::50]
    found = nearest.find(queries, 10)
    kept = [
        len({*one.places.tolist()} & {*best_places(vectors, query, 10)})
        for query, one in zip(queries, found, strict=True)
    ]
    assert np.mean(kept) > 9


@pytest.mark.parametrize("share", [0.002, 0.01, 0.1])
def test_a_filter_never_starves_the_answer_from_lists(share: float, clustered: tuple[Floats, Nearest]) -> None:
    vectors, nearest = clustered
    allowed = np.random.default_rng(6).random(2000) < share
    for found in nearest.find(vectors[::100], 30, allowed):
        assert len(found.places) == min(30, allowed.sum())
        assert allowed[found.places].all()


def test_what_lies_far_from_the_query_is_found_if_nothing_else_is_allowed(clustered: tuple[Floats, Nearest]) -> None:
    vectors, nearest = clustered
    query = vectors[:1]
    farthest = np.argsort(vectors @ query[0])[:50]
    allowed = np.zeros(2000, bool)
    allowed[farthest] = True
    with patch.multiple("chamfer.retrieve.nearest", BREADTH=0.001, PER_ASKED=0):  # a first search that sees too little
        [found] = nearest.find(query, 50, allowed)
    assert sorted(found.places.tolist()) == sorted(farthest.tolist())


def test_lists_are_the_same_whenever_they_are_made(clustered: tuple[Floats, Nearest], tmp_path: Path) -> None:
    vectors, nearest = clustered
    with patch("chamfer.retrieve.nearest.FLAT", 1000 * SIZE):
        again = opened(single(vectors), tmp_path)
    same(again.find(vectors[:20], 10), nearest.find(vectors[:20], 10))


def test_lists_are_learnt_from_a_bounded_sample(clustered: tuple[Floats, Nearest], tmp_path: Path) -> None:
    vectors, _ = clustered
    encoded = []

    def counting(batch: TokenBatch) -> npt.NDArray[np.float32]:
        encoded.append(len(batch))
        return first_tokens(batch)

    with patch.multiple("chamfer.retrieve.nearest", FLAT=1000 * SIZE, SAMPLE_BYTES=500 * SIZE * 4, AT_A_TIME=64):
        nearest = Nearest(FakeIndex(single(vectors), tmp_path), "first", counting, size=SIZE)
    assert sum(encoded) == 480 + 2000  # 12 lists, 40 documents for each
    assert max(encoded) <= 64
    assert all(len(one.places) == 10 for one in nearest.find(vectors[:5], 10))


@pytest.mark.parametrize("flat", [0, 1 << 20])
def test_a_large_segment_has_several_files(flat: int, vectors: Floats, queries: Floats, tmp_path: Path) -> None:
    limits = patch.multiple("chamfer.retrieve.nearest", FLAT=flat, FILE_BYTES=90 * SIZE, AT_A_TIME=64)
    with limits:
        nearest = opened(single(vectors), tmp_path, (20,))
    assert len(list(tmp_path.rglob("*.faiss"))) == 1 + 4
    allowed = np.arange(300) % 3 > 0
    for query, found, some in zip(
        queries, nearest.find(queries, 300), nearest.find(queries, 300, allowed), strict=True
    ):
        assert sorted(found.places.tolist()) == list(range(300))
        assert sorted(some.places.tolist()) == np.flatnonzero(allowed).tolist()
        if flat:  # lists learnt from so few vectors know little of the others
            assert found.places.tolist() == best_places(vectors, query, 300)


def test_vectors_are_made_once(vectors: Floats, queries: Floats, tmp_path: Path) -> None:
    batch = single(vectors)
    first = opened(batch, tmp_path).find(queries, 5)

    def never(_: TokenBatch) -> npt.NDArray[np.float32]:
        raise AssertionError("made again")

    again = Nearest(FakeIndex(batch, tmp_path), "first", never, size=SIZE)
    same(again.find(queries, 5), first)


def test_a_file_of_other_vectors_is_refused(vectors: Floats, tmp_path: Path) -> None:
    opened(single(vectors), tmp_path)
    with pytest.raises(InputError, match="should hold 300 vectors of 3 numbers"):
        Nearest(FakeIndex(single(vectors), tmp_path), "first", first_tokens, size=3)


def test_a_damaged_file_is_refused_by_name(vectors: Floats, tmp_path: Path) -> None:
    opened(single(vectors), tmp_path)
    [path] = tmp_path.rglob("*.faiss")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"vectors-0\.faiss is damaged: .* to have it computed again"):
        opened(single(vectors), tmp_path)


def test_at_least_one_document_must_be_asked_for(vectors: Floats, queries: Floats, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 1"):
        opened(single(vectors), tmp_path).find(queries, 0)
