"""Learning a map of query vectors, and measuring with it."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chamfer import Encoder, InputError, Searcher, TokenWeights, build_index, learn
from chamfer.index.index import Index
from chamfer.kernels import reference
from chamfer.kernels.form import Form
from chamfer.learn import adapter as learning
from chamfer.learn import neighbours
from chamfer.learn.adapter import PENALTIES, AdapterConfiguration, Problem, fit_adapters
from chamfer.learn.blend import blend
from chamfer.learn.fit import fit_weights
from chamfer.learn.folds import cross_validation, fit_folds, measure_folds
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_index import judge_in_index
from chamfer.learn.quality import quality, ranked
from chamfer.learn.registry import blended_recipes, configurations_of
from chamfer.learn.vectors import IndexVectors, principal
from chamfer.support.progress import Advance, ignore
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors
from chamfer.weights.adapter import Adapter
from chamfer.weights.mix import EVIDENCE, FOR_POOLED_ENCODERS, Mix
from chamfer.workers.jobs import IN_PROCESS, Job, Table, Workers
from tests.problems import SIZE, random_problem, start, uniform
from tests.rotated import DIMENSIONS, Documents, documents, half_of, judged, rotated_problem

THINGS = ["cat", "dog", "sky", "night", "day", "mat"]
JUDGED = {f"why {one} {other}": [f"{one}-{other}"] for one in THINGS for other in THINGS[:2]}
ONE = [AdapterConfiguration(3.0)]
ALL = [AdapterConfiguration(penalty) for penalty in PENALTIES]


@pytest.fixture(scope="module")
def corpus() -> Documents:
    return documents()


@pytest.fixture(scope="module")
def train(corpus: Documents) -> list[JudgedQuery]:
    return rotated_problem(corpus, 1)


@pytest.fixture(scope="module")
def learnt(train: list[JudgedQuery]) -> TokenWeights:
    (weights,) = fit_adapters(train, start(), ONE)
    return weights


def adapter_of(weights: TokenWeights) -> Adapter:
    assert weights.adapter is not None
    return weights.adapter


class TestNeighbours:
    @pytest.mark.parametrize("size", [0.3, 3.0])
    def test_with_all_tokens_kept_the_maxima_after_a_move_are_exact(
        self, corpus: Documents, monkeypatch: pytest.MonkeyPatch, size: float
    ) -> None:
        """Also where documents have fewer tokens than are kept, and however far the move goes."""
        monkeypatch.setattr(neighbours, "CLOSEST", 9)
        directions = corpus.directions(DIMENSIONS // 2)
        (query,) = rotated_problem(corpus, 2, queries=1, tokens=SIZE)
        near = neighbours.neighbours_of(query, start().mix, directions)
        map_ = np.random.default_rng(3).normal(0, size, (DIMENSIONS // 2, DIMENSIONS // 2)).astype(np.float32)
        moves = query.vectors @ directions @ map_
        moved = query.vectors + moves @ directions.T
        products = near.products + np.einsum("tr,tckr->tck", moves, near.coordinates.astype(np.float32)[near.rows])
        places = kept_places(query, near)
        exact = -reference.minima(moved, corpus.tokens(places), "cosine").T
        np.testing.assert_allclose(products.max(axis=2), exact, atol=4e-3 * (1 + size * 3))
        assert (corpus.tokens(places).lengths < 9).any()

    def test_without_a_move_a_few_neighbours_are_enough(self, corpus: Documents) -> None:
        (query,) = rotated_problem(corpus, 4, queries=1)
        near = neighbours.neighbours_of(query, start().mix, corpus.directions(DIMENSIONS))
        places = kept_places(query, near)
        exact = -reference.minima(query.vectors, corpus.tokens(places), "cosine").T
        np.testing.assert_allclose(near.products.max(axis=2), exact, atol=1e-3)
        np.testing.assert_array_equal(near.means, corpus.means(places).astype(np.float16))

    def test_they_are_found_once_per_query(self, corpus: Documents) -> None:
        query, other = rotated_problem(corpus, 5, queries=2)
        directions = corpus.directions(4)
        found = neighbours.neighbours_of(query, start().mix, directions)
        assert neighbours.neighbours_of(query, start().mix, directions) is found
        assert neighbours.neighbours_of(other, start().mix, directions) is not found
        assert neighbours.neighbours_of(replace(query), start().mix, directions) is not found

    def test_long_queries_with_many_relevant_documents_are_sampled(self, corpus: Documents) -> None:
        generator = np.random.default_rng(6)
        places = np.arange(150)
        vectors = corpus.batch.vectors[:100].astype(np.float32)
        grades = (np.arange(150) < 40).astype(np.int32)
        query = judged(
            "long", np.zeros(100, np.int32), vectors, grades, corpus, places, generator.random(150, np.float32)
        )
        near = neighbours.neighbours_of(query, start().mix, corpus.directions(4))
        assert len(near.tokens) == len(np.unique(near.tokens)) == neighbours.MOST_TOKENS
        assert near.relevant.sum() == neighbours.MOST_RELEVANT
        others = np.exp(near.stands_for[~near.relevant]).sum()
        assert others == pytest.approx(110, rel=1e-4), "drawn candidates stand for all the others"


def kept_places(query: JudgedQuery, near: neighbours.Neighbours) -> np.ndarray:
    """The places of the candidates that were kept: all of them, in the order of the query."""
    assert query.places is not None
    assert len(near.relevant) == len(query.places)
    return query.places


class TestLearning:
    @pytest.mark.parametrize("form", ["l2", "cosine"])
    def test_queries_that_were_turned_away_from_their_documents_are_turned_back(self, form: Form) -> None:
        corpus = documents(form=form)
        train, test = rotated_problem(corpus, 1), rotated_problem(corpus, 2)
        without, _ = fit_weights(train, start(), recipe="mix")
        (weights,) = fit_adapters(train, start(), ONE)
        base = quality(test, start().mix).mean()
        assert quality(test, weights).mean() > max(base, quality(test, without).mean()) + 0.15
        assert quality(test, replace(weights, adapter=None)).mean() < base + 0.1, "it is the adapter that does it"

    def test_auto_blends_an_adapter_and_improves_as_well(self, corpus: Documents, train: list[JudgedQuery]) -> None:
        weights, report = fit_weights(train, start())
        assert weights.adapter is not None
        assert report.shares["adapter"] > 0.5
        test = rotated_problem(corpus, 2)
        assert quality(test, weights).mean() > quality(test, start().mix).mean() + 0.1
        blended = next(row for row in report.rows if row.name == "blend")
        mix = next(row for row in report.rows if row.name == "zero-shot mix")
        assert blended.ndcg > mix.ndcg + 0.1

    def test_labels_that_say_nothing_move_rankings_little(self, corpus: Documents, long: bool) -> None:
        moved, gained = [], []
        new = rotated_problem(corpus, 100, queries=100)
        base = quality(new, start().mix).mean()
        for seed in range(3 if long else 1):
            queries = rotated_problem(corpus, seed + 10, queries=40)
            gained.append(quality(new, fit_weights(queries, start(), folds=3).weights).mean() - base)
            generator = np.random.default_rng(seed)
            shuffled = [replace(query, grades=generator.permutation(query.grades)) for query in queries]
            moved.append(quality(new, fit_weights(shuffled, start(), folds=3).weights).mean() - base)
        assert min(gained) > 0.05
        assert abs(np.mean(moved)) < 0.2 * np.mean(gained)

    def test_a_huge_penalty_changes_nothing(self, corpus: Documents, train: list[JudgedQuery]) -> None:
        (weights,) = fit_adapters(train, start(), [AdapterConfiguration(1e9)])
        query = train[0]
        np.testing.assert_allclose(adapter_of(weights).adapted(query.vectors), query.vectors, atol=0.02)
        np.testing.assert_allclose(
            quality(train, weights).mean(axis=0), quality(train, replace(weights, adapter=None)).mean(axis=0), atol=0.01
        )

    def test_the_same_input_gives_the_same_adapter(self, corpus: Documents, learnt: TokenWeights) -> None:
        (again,) = fit_adapters(rotated_problem(corpus, 1), start(), ONE)
        np.testing.assert_array_equal(adapter_of(again).up, adapter_of(learnt).up)
        np.testing.assert_array_equal(adapter_of(again).down, adapter_of(learnt).down)
        assert again.mix == learnt.mix
        (other,) = fit_adapters(rotated_problem(corpus, 3), start(), ONE)
        assert not np.array_equal(adapter_of(other).up, adapter_of(learnt).up)

    def test_a_penalty_does_not_depend_on_those_beside_it(self, train: list[JudgedQuery], learnt: TokenWeights) -> None:
        several = dict(zip(ALL, fit_adapters(train, start(), ALL), strict=True))
        np.testing.assert_array_equal(adapter_of(several[ONE[0]]).up, adapter_of(learnt).up)
        sizes = [float(np.linalg.norm(adapter_of(one).up)) for one in several.values()]
        assert sizes == sorted(sizes), "the lighter the penalty, the further it goes"

    @pytest.mark.parametrize("form", ["l2", "cosine"])
    @pytest.mark.parametrize("stored", [lambda corpus: corpus, half_of], ids=["whole", "projected"])
    def test_the_loss_is_that_of_the_scores_of_a_search(
        self, form: Form, stored: Callable[[Documents], Documents], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Computed from neighbours, it equals the cross-entropy of scores by the definition with adapted queries."""
        monkeypatch.setattr(neighbours, "CLOSEST", 9)
        monkeypatch.setattr(learning, "CLOSEST", 9)
        corpus = stored(documents(form=form))
        found = rotated_problem(documents(form=form), 7, queries=5)
        queries = [
            judged(q.query_id, q.token_ids, q.vectors, q.grades, corpus, q.places, q.evidence()[0])
            for q in found
            if q.places is not None
        ]
        directions = corpus.directions(6)
        matrix = np.random.default_rng(8).normal(0, 0.3, (6, 6)).astype(np.float32)
        weights = replace(start().mix, adapter=Adapter(directions, matrix @ directions.T))
        problem = Problem(queries, weights, start().mix, directions, corpus)
        factor = torch.tensor(np.log(5.0))
        loss = float(problem._loss(problem._items, torch.from_numpy(matrix), factor))
        expected = []
        for query in queries:
            logits = 5 * np.array(list(scores(query, weights, corpus).values()))
            expected.append(np.log(np.exp(logits).sum()) - logits[np.flatnonzero(query.grades)[0]])
        assert loss == pytest.approx(np.mean(expected), abs=5e-3)

    def test_candidates_without_vectors_are_an_error_that_says_what_to_do(self) -> None:
        queries = random_problem(9)
        with pytest.raises(InputError, match="without the vectors of the candidates; give a collection or index"):
            fit_weights(queries, start(), recipe="adapter")

    def test_auto_does_without_an_adapter_where_there_are_no_vectors(self, train: list[JudgedQuery]) -> None:
        queries = random_problem(9)
        assert blended_recipes(train) == ["mix", "adapter"]
        assert blended_recipes(queries) == blended_recipes([*train, *queries]) == ["mix"]
        weights, report = fit_weights(queries, start())
        assert weights.adapter is None
        assert "adapter" not in {row.recipe for row in report.rows}


def scores(query: JudgedQuery, weights: TokenWeights, corpus: Documents) -> dict[int, float]:
    """The score of each candidate by the definition, with adapted query vectors."""
    assert query.places is not None
    own = weights.of_tokens(query.token_ids, query.vectors)
    moved = query.vectors if weights.adapter is None else weights.adapter.adapted(query.vectors)
    found = corpus.batch.take(query.places)
    compared = corpus.projected(TokenBatch(moved, query.token_ids, np.array([0, len(moved)], np.int64)))
    pooled = mean_vectors(found) @ mean_vectors(compared)[0]
    added = weights.mix.added(own, lexical=query.evidence()[0], pooled=pooled)
    values = reference.score(compared.vectors, own, found, corpus.form, offsets=added)
    return dict(zip(range(len(values)), values.tolist(), strict=True))


class TestQuality:
    def test_candidates_are_ranked_as_the_definition_ranks_them_with_adapted_queries(
        self, corpus: Documents, train: list[JudgedQuery], learnt: TokenWeights
    ) -> None:
        for query in train[:20]:
            by_definition = scores(query, learnt, corpus)
            assert ranked(query, learnt).tolist() == sorted(by_definition, key=lambda at: -by_definition[at])
            assert ranked(query, learnt).tolist() != ranked(query, replace(learnt, adapter=None)).tolist()

    def test_an_adapter_may_rank_only_the_best_without_it(self, train: list[JudgedQuery], learnt: TokenWeights) -> None:
        query = train[0]
        before, after, some = (
            ranked(query, replace(learnt, adapter=None)),
            ranked(query, learnt),
            ranked(query, learnt, adapted=15),
        )
        assert sorted(some[:15]) == sorted(before[:15])
        assert some[:15].tolist() == [at for at in after if at in set(before[:15])]
        np.testing.assert_array_equal(some[15:], before[15:])
        np.testing.assert_array_equal(ranked(query, learnt, adapted=1000), after)

    def test_an_adapter_cannot_be_measured_without_vectors(self, learnt: TokenWeights) -> None:
        with pytest.raises(InputError, match="an adapter needs the vectors of the candidates of query 'q0'"):
            quality(random_problem(1, dimensions=DIMENSIONS), learnt)


class TestBlend:
    def test_adapters_and_mixes_are_averaged_as_they_are(self) -> None:
        generator = np.random.default_rng(0)
        down = generator.normal(size=(6, 2)).astype(np.float32)
        ups = [generator.normal(size=(2, 6)).astype(np.float32) for _ in range(2)]
        several = [
            uniform().with_mix(Mix(lexical=0.1)),
            replace(uniform(), adapter=Adapter(down, ups[0]), mix=Mix(lexical=0.2, pooled=1.0)),
            replace(uniform(), adapter=Adapter(down, ups[1])),
        ]
        blended = blend(several, [0.5, 0.3, 0.2])
        np.testing.assert_array_equal(adapter_of(blended).down, down)
        np.testing.assert_allclose(adapter_of(blended).up, 0.3 * ups[0] + 0.2 * ups[1], rtol=1e-5)
        assert [getattr(blended.mix, name) for name in EVIDENCE] == pytest.approx([0.11, 0.3])
        assert blend(several[:1], [1.0]).adapter is None

    def test_adapters_with_different_directions_are_refused(self) -> None:
        generator = np.random.default_rng(0)
        several = [
            replace(uniform(), adapter=Adapter(*(generator.normal(size=size).astype(np.float32) for size in sizes)))
            for sizes in (((6, 2), (2, 6)), ((6, 2), (2, 6)), ((6, 3), (3, 6)))
        ]
        for pair in (several[:2], several[1:]):
            with pytest.raises(InputError, match="only if they share their directions"):
                blend(pair, [0.5, 0.5])


class Elsewhere:
    """Runs each table as another process would: everything is pickled on the way there and back."""

    at_once = 2

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        for table in tables:
            there: Any = pickle.loads(pickle.dumps((job, table)))
            yield pickle.loads(pickle.dumps(there[0](there[1], advance)))


def test_fitted_adapters_and_mixes_return_from_workers_as_they_are(train: list[JudgedQuery]) -> None:
    folds = cross_validation(train[:30], folds=2)
    configurations = [*configurations_of(["mix"])[:1], *configurations_of(["adapter"])[:2]]
    several: tuple[Workers, Workers] = IN_PROCESS, Elsewhere()
    here, there = (fit_folds(folds, start(), configurations, workers=one) for one in several)
    direct = list(fit_adapters(folds[1].train, start(), ALL[:2]))
    for one in configurations:
        for own, other in zip(here[one], there[one], strict=True):
            np.testing.assert_array_equal(own.table, other.table)
            assert own.mix == other.mix != FOR_POOLED_ENCODERS
            assert own.metadata == other.metadata
            assert (own.adapter is None) == (other.adapter is None) == (one.recipe == "mix")
            if own.adapter is not None:
                np.testing.assert_array_equal(own.adapter.up, adapter_of(other).up)
    np.testing.assert_array_equal(adapter_of(here[configurations[2]][1]).up, adapter_of(direct[1]).up)
    assert here[configurations[2]][1].mix == direct[1].mix
    measured = measure_folds(folds, there)
    for contender, values in measure_folds(folds, here).items():
        np.testing.assert_array_equal(values, measured[contender])


class TestOnAnIndex:
    @pytest.fixture(params=[None, 8], ids=["plain", "projected"])
    def searcher(self, encoder: Encoder, tmp_path: Path, request: pytest.FixtureRequest) -> Searcher:
        """Thirty-six documents about two things each."""
        texts = {f"{one}-{other}": f"the {one} and a {other}" for one in THINGS for other in THINGS}
        build_index(tmp_path / "things", texts, encoder, dimensions=request.param)
        return Searcher.open(tmp_path / "things", encoder=encoder)

    def test_candidates_are_ranked_as_a_search_ranks_them(self, searcher: Searcher) -> None:
        learnt = learn(searcher, judgements=JUDGED, recipe="adapter", folds=2, group_by="text")
        weights = learnt.weights
        assert weights.adapter is not None
        generator = np.random.default_rng(0)
        up = generator.normal(0, 0.3, weights.adapter.up.shape).astype(np.float32)
        far = replace(weights, adapter=Adapter(weights.adapter.down, up))
        texts = {text: text for text in JUDGED}
        grades = {text: dict.fromkeys(relevant, 1) for text, relevant in JUDGED.items()}
        differ = 0
        for query, ids in judge_in_index(searcher, texts, grades):
            for one in (weights, far):
                hits = searcher.search(query.query_id, len(ids), weights=one)
                assert [ids[at] for at in ranked(query, one)] == [hit.id for hit in hits]
            differ += ranked(query, far).tolist() != ranked(query, weights).tolist()
        assert differ > 6, "the adapter matters"

    def test_auto_learns_an_adapter_that_can_be_saved_and_searched_with(
        self, searcher: Searcher, tmp_path: Path
    ) -> None:
        learnt = learn(searcher, judgements=JUDGED, folds=2, hold_out=0.2, group_by="text")
        assert learnt.weights.adapter is not None
        assert learnt.weights.mix
        assert learnt.held_out is not None
        learnt.weights.save(tmp_path / "mine.safetensors")
        text = next(iter(JUDGED))
        again = searcher.search(text, 5, weights=str(tmp_path / "mine.safetensors"))
        assert again == searcher.search(text, 5, weights=learnt.weights)

    def test_the_vectors_of_an_index_are_found_again_by_another_process(
        self, searcher: Searcher, encoder: Encoder
    ) -> None:
        vectors = IndexVectors(searcher.index, "l2")
        places = np.array([3, 0, 30])
        pickled = pickle.dumps(vectors)
        assert len(pickled) < 1000, "by name"
        again = pickle.loads(pickled)
        np.testing.assert_array_equal(again.tokens(places).vectors, vectors.tokens(places).vectors)
        np.testing.assert_array_equal(again.means(places), vectors.means(places))
        np.testing.assert_array_equal(again.directions(5), vectors.directions(5))
        Index.open(searcher.index.folder, encoder=encoder).add({"new": "a new cat"})
        with pytest.raises(InputError, match="has changed since learning began; learn again"):
            pickle.loads(pickled)

    def test_vectors_have_the_products_of_what_is_stored(self, searcher: Searcher, encoder: Encoder) -> None:
        vectors = IndexVectors(searcher.index, "cosine")
        query, places = encoder.encode_queries(["why cat"]), np.arange(10)
        lifted = vectors.tokens(places)
        assert lifted.vectors.shape[1] == encoder.dimensions
        assert vectors.means(places).shape[1] == searcher.index.dimensions
        inside = searcher.index.trained.projected(query)
        wide = (
            lifted.vectors
            if searcher.index.trained.projection is None
            else inside.vectors @ searcher.index.trained.projection.T
        )
        expected = reference.minima(
            query.vectors if searcher.index.trained.projection is None else wide, lifted, "cosine"
        )
        np.testing.assert_allclose(vectors.minima(query, places), expected, atol=2e-3)


def test_directions_are_orthonormal_and_the_longest_come_first() -> None:
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(500, 5)) * [1, 5, 2, 4, 3]
    found = principal(vectors, 3)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-5)
    assert np.abs(found).argmax(axis=0).tolist() == [1, 3, 4]
    assert found.dtype == np.float32
