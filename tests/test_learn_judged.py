"""Judged queries: their minima on disk, their quality, their splits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import Encoder, InputError, Ranking, TokenWeights
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import load_collection
from chamfer.encode.fingerprints import parameters_digest
from chamfer.encode.library_model import module_of
from chamfer.evaluate.measures import measure
from chamfer.kernels import dispatch
from chamfer.learn import judged
from chamfer.learn.judged import LeftOut, judged_minima, teachable
from chamfer.learn.quality import quality
from chamfer.learn.recipes.prior import fit_prior
from chamfer.learn.splits import divide, split_queries
from tests.problems import random_problem, uniform

Parts = tuple[EncodedCorpus, EncodedCorpus, list[Ranking], Mapping[str, Mapping[str, int]]]


def test_quality_is_what_ir_measures_gives() -> None:
    weights = fit_prior(random_problem(9), uniform())
    queries = random_problem(10, queries=20, candidates=40)
    generator = np.random.default_rng(11)
    judgements, rankings = {}, []
    for query in queries:
        query.grades[generator.choice(40, 3)] = 2
        names = [f"d{place:02}" for place in range(40)]
        judgements[query.query_id] = {
            name: int(grade) for name, grade in zip(names, query.grades, strict=True) if grade
        }
        ideal = np.sort(query.grades[query.grades > 0])[::-1]
        object.__setattr__(query, "ideal", ideal)
        rankings.append(Ranking.of(query.query_id, names, -(query.distances @ weights.table[query.token_ids])))
    found, expected = quality(queries, weights), measure(rankings, judgements)
    np.testing.assert_allclose(found[:, 0], expected["nDCG@10"], atol=1e-9)
    np.testing.assert_allclose(found[:, 1], expected["R@10"], atol=1e-9)


def test_given_splits_are_used_and_others_drawn_with_a_seed() -> None:
    train, dev, test = (random_problem(seed, queries=20) for seed in (21, 22, 23))
    assert split_queries({"train": train, "dev": dev, "test": test}) == (train, dev, test)
    for name in ("train", "dev"):
        splits = split_queries({name: train, "test": test})
        assert [len(part) for part in splits] == [16, 4, 20]
        assert splits.test is test
    parts = split_queries({"test": test}, seed=1)
    assert [len(part) for part in parts] == [7, 3, 10]
    assert {query.query_id for part in parts for query in part} == {query.query_id for query in test}
    assert split_queries({"test": test}, seed=1) == parts
    assert split_queries({"test": test}, seed=2) != parts
    with pytest.raises(InputError, match="holding out 50% of 1 judged queries"):
        divide([1], 0.5)


def uniform_of(encoder: Encoder) -> TokenWeights:
    return TokenWeights.uniform(encoder.vocabulary)


class TestJudgedMinima:
    @pytest.fixture
    def parts(self, collection_folder: Path, encoder: Encoder, tmp_path: Path) -> Parts:
        collection = load_collection(collection_folder)
        queries = collection.judged_queries("test")
        corpus = encode_cached(tmp_path, encoder, list(collection.documents), list(collection.documents.values()))
        encoded = encode_cached(tmp_path, encoder, list(queries), list(queries.values()), role="query")
        found = {"q1": ("d5", "d4"), "q2": ("d1", "d3"), "q3": ("d2", "d3"), "d2": ("d5", "d1")}
        candidates = [Ranking(query, found[query], (2.0, 1.0)) for query in queries]
        return encoded, corpus, candidates, collection.judgements["test"]

    def test_distances_and_grades_are_those_of_the_candidates(self, parts: Parts, tmp_path: Path) -> None:
        encoded, corpus, candidates, judgements = parts
        found = judged_minima(tmp_path, *parts)
        assert teachable(found) == (found, LeftOut())
        for query, ranking in zip(found, candidates, strict=True):
            relevant = {document for document, grade in judgements[query.query_id].items() if grade > 0}
            names = sorted(ranking.document_ids)
            places = [corpus.place[name] for name in names]
            tokens = encoded.tokens[encoded.place[query.query_id]]
            np.testing.assert_array_equal(query.distances, dispatch.minima(tokens, corpus.tokens, candidates=places))
            assert [names[place] for place in np.flatnonzero(query.grades)] == sorted(relevant & set(names))
            assert len(query.ideal) == len(relevant), "what the first stage missed still counts for the measures"

    def test_nothing_is_computed_twice_and_interrupted_work_goes_on(
        self, parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(judged, "PART", 1)
        compute = judged._minima
        calls: list[int] = []

        def counted(*arguments: Any) -> Any:
            if len(calls) == 2 and not (tmp_path / "go on").exists():
                raise KeyboardInterrupt
            calls.append(1)
            return compute(*arguments)

        monkeypatch.setattr(judged, "_minima", counted)
        with pytest.raises(KeyboardInterrupt):
            judged_minima(tmp_path, *parts)
        (tmp_path / "go on").touch()
        first = judged_minima(tmp_path, *parts)
        second = judged_minima(tmp_path, *parts)
        assert len(calls) == len(first) == 4
        np.testing.assert_array_equal(first[3].distances, second[3].distances)

    def test_queries_that_teach_nothing_are_named(self, parts: Parts, tmp_path: Path, encoder: Encoder) -> None:
        encoded, corpus, candidates, _ = parts
        everything = dict.fromkeys(corpus.ids, 1)
        judgements = {"q1": {"gone": 1}, "q2": everything, "q3": {"d2": 1, "d1": 0}}
        chosen = [ranking for ranking in candidates if ranking.query_id in judgements]
        found = judged_minima(tmp_path, encoded, corpus, chosen, judgements)
        kept, left_out = teachable(found)
        assert [query.query_id for query in kept] == ["q3"]
        assert left_out == LeftOut(("q1",), ("q2",))
        assert quality(found, uniform_of(encoder)).tolist()[0] == [0, 0], "measured all the same"
        with pytest.raises(InputError, match="nothing can be learnt: of 2 judged queries, 1 have no relevant"):
            teachable(found[:2])
        with pytest.raises(InputError, match="query 'q1' has no usable positive and negative"):
            fit_prior(found, uniform_of(encoder))

    def test_damaged_minima_are_named(self, parts: Parts, tmp_path: Path) -> None:
        judged_minima(tmp_path, *parts)
        (path,) = tmp_path.glob("minima-*/*.npy")
        for damaged in (path.read_bytes()[:-8], b"", b"nonsense"):
            path.write_bytes(damaged)
            with pytest.raises(InputError, match="is damaged; delete"):
                judged_minima(tmp_path, *parts)

    def test_learning_leaves_the_model_as_it_was(self, parts: Parts, tmp_path: Path, encoder: Encoder) -> None:
        before = parameters_digest(module_of(encoder._model))
        found = judged_minima(tmp_path, *parts)
        weights = fit_prior(found, TokenWeights.uniform(encoder.vocabulary), context_penalty=1.0)
        assert np.isfinite(weights.table).all()
        assert parameters_digest(module_of(encoder._model)) == before
