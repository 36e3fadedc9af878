"""First stages over an index of vectors: centroids, everything, and two joined."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer.data.documents import Document
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.kernels import native, reference
from chamfer.kernels.form import Form
from chamfer.kernels.inverted_lists import InvertedLists
from chamfer.retrieve import centroids
from chamfer.retrieve.centroids import Centroids
from chamfer.retrieve.exhaustive import Exhaustive, best
from chamfer.retrieve.fusion import fuse
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.retrieve.stages import check_stage, open_stage, stage_names
from chamfer.tokens.batch import TokenBatch
from tests.vectors import Floats, batch_of, unit

DOCUMENTS, TOKENS, DIMENSIONS = 400, 12, 16


def near(generator: np.random.Generator, vectors: Floats, noise: float) -> Floats:
    moved: Floats = vectors + noise * generator.standard_normal(vectors.shape)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved


@pytest.fixture(scope="module")
def documents() -> TokenBatch:
    """Tokens in clusters, as those of texts are; every fiftieth document has none."""
    generator = np.random.default_rng(0)
    centres = unit(generator, 60, DIMENSIONS)
    lengths = [0 if place % 50 == 49 else TOKENS for place in range(DOCUMENTS)]
    vectors = near(generator, centres[generator.integers(60, size=sum(lengths))], 0.1)
    return batch_of(vectors.astype(np.float16), lengths)


@pytest.fixture(scope="module")
def index(documents: TokenBatch, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Three segments, ten documents deleted."""
    folder = tmp_path_factory.mktemp("index")
    names = [Document(f"{place:03d}", "") for place in range(DOCUMENTS)]
    with writing(folder, Settings(DIMENSIONS, 10)) as writer:
        writer.train(documents, tokens=len(documents.vectors))
        for start, stop in pairwise([0, 150, 300, DOCUMENTS]):
            writer.add(names[start:stop], documents[start:stop])
        writer.delete([f"{place:03d}" for place in range(0, DOCUMENTS, 40)])
    return Snapshot.open(folder)


def asked(vectors: Floats, weights: Sequence[float] | Floats, lengths: list[int] | None = None) -> Queries:
    batch = batch_of(vectors.astype(np.float32), lengths or [len(vectors)])
    return Queries([""] * len(batch), batch, np.asarray(weights, np.float32))


def like(documents: TokenBatch, place: int, seed: int = 1) -> Floats:
    """A query of six tokens that lie near those of a document."""
    own = documents[place].vectors[:6].astype(np.float64)
    return near(np.random.default_rng(seed), own, 0.02)


def test_a_rare_token_is_found_by_its_name_where_no_centroid_is_near_it(
    documents: TokenBatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator, rare, common = np.random.default_rng(5), 7, 3
    name = unit(generator, 1, DIMENSIONS).astype(np.float16)
    batches = [documents[place] for place in range(40)]
    vectors = [batch.vectors for batch in batches]
    vectors[20] = np.concatenate([vectors[20][1:], name])
    ids = [np.full(len(one), common, np.int32) for one in vectors]
    ids[20][-1] = rare
    with writing(tmp_path, Settings(DIMENSIONS, 10)) as writer:
        writer.train(documents[100:], tokens=len(documents[100:].vectors))  # without the name
        writer.add([Document(f"{place:03d}", "") for place in range(40)], TokenBatch.pack(vectors, ids))
    index = Snapshot.open(tmp_path)
    monkeypatch.setattr(centroids, "RARE", 0.05)
    tokens = np.concatenate([like(documents, 3), name]).astype(np.float32)
    query = TokenBatch.pack([tokens], [[common] * 6 + [rare]])
    queries = Queries([""], query, np.array([0.1] * 6 + [3.0], np.float32))
    assert Exhaustive(index).find(queries, 1, None)[0].places.tolist() == [20]
    assert Centroids(index, probes=2).find(queries, 1, None)[0].places.tolist() == [20]
    monkeypatch.setattr(centroids, "RARE", -1.0)
    assert Centroids(index, probes=2).find(queries, 1, None)[0].places.tolist() != [20]


class TestCentroids:
    @pytest.mark.parametrize("form", ["l2", "cosine"])
    def test_they_find_most_of_the_best(self, index: Snapshot, documents: TokenBatch, form: Form) -> None:
        stage, exact = Centroids(index, probes=8), Exhaustive(index)
        shared = 0
        for place in range(1, 40):
            queries = asked(like(documents, place), np.linspace(0.2, 2, 6))._replace(form=form)
            [found], [wanted] = stage.find(queries, 60, index.live), exact.find(queries, 5, index.live)
            assert place in found.places[:10]
            shared += len(set(found.places.tolist()) & set(wanted.places.tolist()))
        assert shared >= 0.9 * 39 * 5

    def test_candidates_are_ordered_by_gain_and_equal_ones_by_place(
        self, index: Snapshot, documents: TokenBatch
    ) -> None:
        [found] = Centroids(index).find(asked(like(documents, 7), np.ones(6)), 100, None)
        order = np.lexsort((found.places, -found.scores))
        np.testing.assert_array_equal(order, np.arange(100))

    def test_a_heavy_token_looks_into_more_lists_and_one_without_weight_into_none(
        self, index: Snapshot, documents: TokenBatch
    ) -> None:
        seen: list[npt.NDArray[np.int64]] = []
        probe = InvertedLists.probe

        def spy(
            self: InvertedLists,
            ends: npt.NDArray[np.int64],
            chosen: npt.NDArray[np.int64],
            gains: npt.NDArray[np.float32],
            *,
            depth: int,
            allowed: npt.NDArray[np.bool_] | None = None,
        ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
            seen.append(np.diff(ends, prepend=0))
            return probe(self, ends, chosen, gains, depth=depth, allowed=allowed)

        with patch.object(InvertedLists, "probe", spy):
            Centroids(index, probes=10).find(asked(like(documents, 7), [1, 1, 2, 0, 4, 0]), 10, None)
        assert len(seen) == len(index.segments)
        for many in seen:
            assert many.tolist() == [5, 5, 10, 20]

    def test_tokens_without_weight_do_not_matter(self, index: Snapshot, documents: TokenBatch) -> None:
        vectors = like(documents, 7)
        [with_them] = Centroids(index).find(asked(vectors, [1, 2, 3, 0, 0, 0]), 50, None)
        [without] = Centroids(index).find(asked(vectors[:3], [1, 2, 3]), 50, None)
        np.testing.assert_array_equal(with_them.places, without.places)
        np.testing.assert_allclose(with_them.scores, without.scores, rtol=1e-5)

    def test_a_query_without_weight_finds_nothing(self, index: Snapshot, documents: TokenBatch) -> None:
        [found] = Centroids(index).find(asked(like(documents, 7), np.zeros(6)), 50, None)
        assert len(found.places) == len(found.scores) == 0

    @pytest.mark.parametrize("few", [1, 5, 60, 200])
    def test_a_filter_is_kept_and_never_leaves_the_answer_short(
        self, index: Snapshot, documents: TokenBatch, few: int
    ) -> None:
        allowed = np.zeros(DOCUMENTS, bool)
        allowed[np.random.default_rng(2).permutation(np.flatnonzero(documents.lengths))[:few]] = True
        [found] = Centroids(index, probes=1).find(asked(like(documents, 7), np.ones(6)), 50, allowed)
        assert allowed[found.places].all()
        assert len(set(found.places.tolist())) == len(found.places) == min(50, few)

    def test_all_documents_with_tokens_are_found_if_asked_for(self, index: Snapshot, documents: TokenBatch) -> None:
        [found] = Centroids(index, probes=1).find(asked(like(documents, 7), [1, 0, 0, 0, 0, 9]), 1000, None)
        assert sorted(found.places.tolist()) == np.flatnonzero(documents.lengths).tolist()

    def test_queries_of_a_batch_do_not_see_each_other(self, index: Snapshot, documents: TokenBatch) -> None:
        vectors = np.concatenate([like(documents, place) for place in (3, 170, 390)])
        weights = np.linspace(0, 1, 18)
        together = Centroids(index).find(asked(vectors, weights, [6, 6, 6]), 20, index.live)
        for n, found in enumerate(together):
            part = slice(6 * n, 6 * n + 6)
            [alone] = Centroids(index).find(asked(vectors[part], weights[part]), 20, index.live)
            np.testing.assert_array_equal(found.places, alone.places)

    @given(st.integers(0, 2**32 - 1), st.integers(1, 700), st.integers(1, 700), st.sampled_from(["l2", "cosine"]))
    def test_the_native_kernel_chooses_the_same_lists(
        self, index: Snapshot, seed: int, count: int, probes: int, form: Form
    ) -> None:
        generator, stage = np.random.default_rng(seed), Centroids(index)
        products = generator.uniform(-1, 1.01, (5, count)).astype(np.float32)
        weights, token_ids = (
            generator.uniform(0.1, 3, 5).astype(np.float32),
            generator.integers(10, size=5, dtype=np.int32),
        )
        rare = np.where(generator.random(10) < 0.5, 0, 300)
        with patch.object(stage, "_index", replace(index, frequencies=replace(index.frequencies, counts=rare))):
            chosen = stage._probes_for(products, token_ids, weights, form, probes)
            with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):
                expected = stage._probes_for(products, token_ids, weights, form, probes)
        for one, other in zip(chosen, expected, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_lists_are_made_once(self, index: Snapshot) -> None:
        Centroids(index)
        with patch.object(InvertedLists, "of", side_effect=AssertionError("made again")):
            Centroids(Snapshot.open(index.folder))


class TestExhaustive:
    @pytest.mark.parametrize("form", ["l2", "cosine"])
    @pytest.mark.parametrize("filtered", [False, True])
    def test_it_is_the_definition(self, index: Snapshot, documents: TokenBatch, form: Form, filtered: bool) -> None:
        allowed = np.random.default_rng(3).random(DOCUMENTS) < 0.3 if filtered else None
        queries = asked(like(documents, 7), np.linspace(0, 1, 6))._replace(form=form)
        scores = reference.score(queries.tokens.vectors, queries.weights, documents, form).astype(np.float32)
        possible = np.arange(DOCUMENTS) if allowed is None else np.flatnonzero(allowed)
        order = possible[np.argsort(-scores[possible], kind="stable")][:20]
        [found] = Exhaustive(index).find(queries, 20, allowed)
        assert found.places.tolist() == order.tolist()
        np.testing.assert_allclose(found.scores, scores[order], atol=1e-6)

    def test_candidates_may_come_in_any_order(self, index: Snapshot, documents: TokenBatch) -> None:
        queries = asked(like(documents, 7), np.ones(6))
        chosen = np.random.default_rng(4).permutation(DOCUMENTS)[:90]
        [found] = best(index, queries, 10, [chosen])
        [again] = best(index, queries, 10, [np.sort(chosen)])
        np.testing.assert_array_equal(found.places, again.places)
        assert set(found.places.tolist()) <= set(chosen.tolist())

    def test_documents_without_tokens_come_last_ordered_by_id(self, index: Snapshot, documents: TokenBatch) -> None:
        [found] = Exhaustive(index).find(asked(like(documents, 7), np.ones(6)), DOCUMENTS, None)
        assert found.places[-8:].tolist() == list(range(49, DOCUMENTS, 50))
        assert np.isneginf(found.scores[-8:]).all()


def candidates(places: list[int]) -> Candidates:
    return Candidates(np.array(places, np.int64), -np.arange(len(places), dtype=np.float32))


class TestFusion:
    @given(
        answers=st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), min_size=1, max_size=3),
        depth=st.integers(1, 20),
    )
    def test_it_adds_up_reciprocal_ranks(self, answers: list[list[int]], depth: int) -> None:
        found = fuse([candidates(places) for places in answers], depth)
        shares = {
            place: sum(1 / (61 + places.index(place)) for places in answers if place in places)
            for places in answers
            for place in places
        }
        assert set(found.places.tolist()) <= set(shares)
        assert len(found.places) == min(depth, len(shares))
        np.testing.assert_allclose(found.scores, [shares[place] for place in found.places.tolist()], rtol=1e-6)
        np.testing.assert_allclose(found.scores, sorted(shares.values(), reverse=True)[:depth], rtol=1e-6)

    def test_of_equal_ranks_the_earlier_place_comes_first(self) -> None:
        assert fuse([candidates([9, 4]), candidates([4, 9])], 5).places.tolist() == [4, 9]

    def test_a_fused_stage_finds_what_either_finds(self, index: Snapshot, documents: TokenBatch) -> None:
        queries = asked(like(documents, 7), np.ones(6))
        [one] = open_stage("centroids", index).find(queries, 20, index.live)
        [two] = open_stage("dense", index).find(queries, 20, index.live)
        [both] = open_stage("centroids+dense", index).find(queries, 40, index.live)
        assert {7, *one.places[:3], *two.places[:3]} <= set(both.places.tolist())


class TestNames:
    def test_every_stage_can_be_opened_and_finds_only_what_is_allowed(
        self, index: Snapshot, documents: TokenBatch
    ) -> None:
        queries = asked(like(documents, 7), np.ones(6))
        allowed = np.random.default_rng(5).random(DOCUMENTS) < 0.2
        for name in ("auto", *stage_names(), "bm25+muvera"):
            check_stage(name)
            [found] = open_stage(name, index).find(queries, 1000, allowed)
            assert allowed[found.places].all()
            if name != "bm25":  # the documents have vectors, but no words
                filled = allowed & (documents.lengths > 0)
                assert set(np.flatnonzero(filled).tolist()) <= set(found.places.tolist())
