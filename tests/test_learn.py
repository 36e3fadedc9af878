"""Learning: losses and gradients, recipes, selection, theory."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import Encoder, InputError, Ranking, TokenWeights, kernels
from chamfer.cache import encode_cached
from chamfer.evaluation.beir import load_collection
from chamfer.evaluation.measures import measure
from chamfer.exchange import export_weights
from chamfer.learn import judged
from chamfer.learn.blend import blend
from chamfer.learn.candidates import Candidate, Start, candidates_of, fit_candidates
from chamfer.learn.curve import learning_curve
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import LeftOut, judged_minima
from chamfer.learn.objective import cross_entropy, pack
from chamfer.learn.paper import PRESETS, Preset, fit_paper
from chamfer.learn.plot import check_plot, plot_learning
from chamfer.learn.prior import Learner, fit_prior
from chamfer.learn.quality import quality
from chamfer.learn.selection import choose
from chamfer.learn.splits import divide, split_queries
from chamfer.learn.theory import generalisation_bound, pairs_needed, sample_complexity
from chamfer.learn.trials import cross_validation, fit_trials, measure_trials
from chamfer.store.corpus import EncodedCorpus
from tests.problems import random_problem, uniform

Parts = tuple[EncodedCorpus, EncodedCorpus, list[Ranking], Mapping[str, Mapping[str, int]]]


def test_the_gradient_is_that_of_the_loss() -> None:
    queries = random_problem(0, queries=5, candidates=6)
    for context in (False, True):
        learner = Learner(queries, uniform(), context=context)
        size = len(learner._seen) + learner._dimensions
        x = np.random.default_rng(1).normal(0, 0.3, size)
        steps = np.eye(size) * 1e-2
        quotients = [(learner._loss(x + h, 3.0, 1.0)[0] - learner._loss(x - h, 3.0, 1.0)[0]) / 2e-2 for h in steps]
        # 32-bit arithmetic inside, so the quotients are good to about 1e-3
        np.testing.assert_allclose(learner._loss(x, 3.0, 1.0)[1], quotients, atol=2e-3)


def test_cross_entropy_counts_relevant_and_the_hardest_others() -> None:
    scores = np.array([[2.0, 1.0, 0.0, -1.0, 9.0]], np.float32)
    relevant = np.array([[True, False, False, False, False]])
    is_candidate = np.array([[True, True, True, True, False]])
    loss, gradient = cross_entropy(scores, relevant, is_candidate, negatives=2)
    shares = np.exp([2.0, 1.0, 0.0])
    np.testing.assert_allclose(loss, [-np.log(shares[0] / shares.sum())], rtol=1e-5)
    np.testing.assert_allclose(gradient[0, :3], shares / shares.sum() - [1, 0, 0], rtol=1e-5)
    np.testing.assert_array_equal(gradient[0, 3:], [0, 0])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_paper_loss_is_convex_in_the_weights(seed: int) -> None:
    generator = np.random.default_rng(seed)
    distances = generator.uniform(0, 2, (8, 5))
    relevant = np.arange(8)[None] < 2

    def loss(weights: np.ndarray) -> float:
        scores = -(distances @ weights)[None].astype(np.float64)
        return float(cross_entropy(scores, relevant, np.ones((1, 8), np.bool_), negatives=8)[0][0])

    one, other = generator.uniform(0, 3, (2, 5))
    assert loss((one + other) / 2) <= (loss(one) + loss(other)) / 2 + 1e-9
    shares = np.exp(-distances @ one) / np.exp(-distances @ one).sum()
    centred = distances - shares @ distances
    assert np.linalg.eigvalsh(centred.T @ (centred * shares[:, None])).min() >= -1e-12


def test_hidden_weights_are_recovered_once_the_matrix_has_full_rank() -> None:
    queries = random_problem(2, queries=60)
    hidden = np.random.default_rng(3).uniform(0.1, 2, 12)
    rows, scores = [], []
    for query in queries:
        x = np.zeros((len(query.distances), 12))
        np.add.at(x.T, query.token_ids, query.distances.T)
        rows.append(x)
        scores.append(x @ hidden)
    recovered = np.linalg.lstsq(np.concatenate(rows), np.concatenate(scores), rcond=None)[0]
    np.testing.assert_allclose(recovered, hidden, atol=1e-6)
    assert sample_complexity(queries).smallest_eigenvalue > 0


@pytest.mark.parametrize("recipe", ["paper", "prior", "context"])
def test_recipes_find_what_matters(recipe: str) -> None:
    train, test = random_problem(4, queries=150), random_problem(5, queries=80)
    if recipe == "paper":
        weights = fit_paper(train, uniform())
    else:
        weights = fit_prior(train, uniform(), penalty=1.0, context_penalty=1.0 if recipe == "context" else None)
    assert weights.table[:4].min() > weights.table[4:].max()
    # Adam's steps of 1e-4 on weights that sum to 1 move the paper's little in 100 iterations
    assert quality(test, weights).mean() > quality(test, uniform()).mean() + (0.0 if recipe == "paper" else 0.1)


def test_the_same_input_gives_the_same_weights() -> None:
    queries = random_problem(6)
    first, second = (fit_prior(queries, uniform(), context_penalty=1.0) for _ in range(2))
    np.testing.assert_array_equal(first.table, second.table)
    assert first.context is not None
    assert second.context is not None
    np.testing.assert_array_equal(first.context, second.context)
    np.testing.assert_array_equal(fit_paper(queries, uniform()).table, fit_paper(queries, uniform()).table)


def test_a_heavy_penalty_keeps_the_prior() -> None:
    weights = fit_prior(random_problem(7), uniform(), penalty=1e9)
    np.testing.assert_allclose(weights.table, 1, atol=1e-3)


def test_the_paper_keeps_idf_where_no_query_has_the_token_and_the_mass_where_one_has() -> None:
    queries = [q for q in random_problem(8) if 11 not in q.token_ids]
    idf = uniform()
    idf.table[11] = 7
    weights = fit_paper(queries, idf)
    assert weights.table[11] == 7
    assert weights.table[:11].sum() == pytest.approx(11, rel=1e-5)
    assert (weights.table >= 0).all()


def test_the_published_presets_are_complete() -> None:
    assert len(PRESETS) == 13
    assert PRESETS["scifact"] == Preset(0.1, 50, 250)
    assert Preset() == Preset(0.1, 10, 100)


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


def test_packing_keeps_every_distance_and_every_relevant_document() -> None:
    queries = random_problem(12, queries=70) + random_problem(13, queries=3, tokens=9, candidates=50)
    blocks = pack(queries, pool=10)
    assert sorted(place for block in blocks for place in block.places) == list(range(73))
    for block in blocks:
        assert (block.relevant.sum(axis=1) >= 1).all()
        assert block.is_candidate.sum(axis=1).max() <= 11


def test_the_bounds_fall_with_more_pairs() -> None:
    assert generalisation_bound(100, 10**7) < generalisation_bound(100, 10**6)
    needed = pairs_needed(100, 0.5)
    assert generalisation_bound(100, needed) <= 0.5 < generalisation_bound(100, int(needed * 0.99))
    with pytest.raises(InputError, match="above 0"):
        pairs_needed(100, 0)


def start() -> Start:
    return Start(uniform(), uniform(), uniform())


def test_cross_validation_measures_every_query_once_on_weights_that_never_saw_it() -> None:
    queries = random_problem(14, queries=31)
    candidates = candidates_of(["prior"])
    trials = cross_validation(queries, folds=3)
    assert sorted(np.concatenate([trial.places for trial in trials])) == list(range(31))
    for trial in trials:
        assert len(trial.train) + len(trial.held_out) == 31
        assert not {query.query_id for query in trial.train} & {query.query_id for query in trial.held_out}
    fitted = fit_trials(trials, start(), candidates)
    measured = measure_trials(trials, fitted)
    assert set(measured) == {candidate.name for candidate in candidates}
    one = candidates[0].name
    np.testing.assert_array_equal(measured[one][trials[2].places], quality(trials[2].held_out, fitted[one][2]))
    again = measure_trials(trials, fit_trials(cross_validation(queries, folds=3), start(), candidates))
    np.testing.assert_array_equal(again[one], measured[one])
    with pytest.raises(InputError, match="at least 3 judged queries"):
        cross_validation(queries[:2], folds=3)


def test_a_blend_is_the_geometric_mean_of_its_members() -> None:
    queries = random_problem(26)
    several = [fit_prior(queries, uniform(), penalty=p, context_penalty=c) for p, c in ((1, None), (3, 1.0), (10, 0.1))]
    ids, vectors = queries[0].token_ids, queries[0].vectors
    expected = np.exp(np.mean([np.log(one.of_tokens(ids, vectors)) for one in several], axis=0))
    np.testing.assert_allclose(blend(several).of_tokens(ids, vectors), expected, rtol=1e-4)
    silent = TokenWeights(np.zeros(12, np.float32), uniform().vocabulary, {"converged": True})
    assert (blend([several[0], silent]).table > 0).all()
    assert blend([several[0]]).context is None


def test_every_recipe_is_fitted_under_its_own_name() -> None:
    candidates = candidates_of(["paper", "prior", "context"], search=True)
    assert len({candidate.name for candidate in candidates}) == len(candidates)
    fitted = dict(fit_candidates(random_problem(15, queries=12), start(), candidates[-3:]))
    assert {weights.metadata["recipe"] for weights in fitted.values()} == {"context"}
    assert all(weights.context is not None for weights in fitted.values())


def test_uniform_stays_when_nothing_beats_it_beyond_noise() -> None:
    generator = np.random.default_rng(16)
    uniform_values = generator.uniform(0, 1, (50, 2))
    noisy = np.clip(uniform_values + generator.normal(0.001, 0.2, (50, 2)), 0, 1)
    better = np.clip(uniform_values + generator.normal(0.2, 0.1, (50, 2)), 0, 1)
    assert choose({"uniform": uniform_values, "prior": uniform_values - 0.1}).name == "uniform"
    assert choose({"uniform": uniform_values, "prior": better}).name == "prior"
    kept = choose({"uniform": uniform_values, "prior": noisy}, confidence=0.999)
    assert kept.name == "uniform"
    assert "beyond noise" in kept.why


@pytest.mark.parametrize("recipe", ["auto", "paper", "prior", "context"])
def test_fit_weights_reports_every_candidate_and_its_choice(recipe: Any) -> None:
    train, validation = random_problem(19, queries=60), random_problem(20, queries=30)
    for held_out in ((), validation):
        weights, report = fit_weights(train, start(), recipe=recipe, validation=held_out)
        names = [row.name for row in report.rows]
        assert report.choice.name in names
        assert {"uniform", "idf", "soft"} < set(names)
        assert report.queries == 60 + len(held_out)
        assert all(row.ndcg_interval[0] <= row.ndcg <= row.ndcg_interval[1] for row in report.rows)
        assert all(row.wins + row.ties + row.losses == (30 if held_out else 60) for row in report.rows)
        assert np.isfinite(weights.table).all()
        json.dumps(report.as_json())
    if recipe != "paper":
        assert quality(validation, weights).mean() > quality(validation, uniform()).mean()


def test_fit_weights_keeps_uniform_where_labels_say_nothing() -> None:
    for seed in range(5):
        queries = random_problem(seed, queries=30)
        generator = np.random.default_rng(seed)
        for query in queries:
            query.grades[:] = generator.permutation(query.grades)
        weights, report = fit_weights(queries, start())
        assert report.choice.name == "uniform"
        np.testing.assert_array_equal(weights.table, 1)
    with pytest.raises(InputError, match="a recipe is auto, paper, prior, context, not 'magic'"):
        fit_weights(queries, start(), recipe="magic")  # type: ignore[arg-type]


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
    with pytest.raises(InputError, match="1 judged queries cannot be divided so that 50% are held out"):
        divide([1], 0.5)


def test_the_curve_rises_with_more_judged_queries() -> None:
    points = learning_curve(random_problem(24, queries=120), start(), [Candidate("prior", penalty=1.0)], repeats=2)
    assert [point.queries for point in points] == [0, 10, 20, 40, 80]
    assert points[0].ndcg < points[1].ndcg < points[-1].ndcg
    assert all(point.ndcg_lowest <= point.ndcg <= point.ndcg_highest for point in points)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_report_is_drawn(tmp_path: Path, kind: str) -> None:
    queries = random_problem(25, queries=30)
    weights, report = fit_weights(queries, start(), recipe="prior")
    points = learning_curve(queries, start(), candidates_of(["prior"])[:2], repeats=1)
    for curve in ((), points):
        plot_learning(tmp_path / f"report.{kind}", report, weights, uniform(), queries, curve)
        head = (tmp_path / f"report.{kind}").read_bytes()[:300]
        assert {"png": b"PNG", "svg": b"<svg", "pdf": b"%PDF"}[kind] in head or b"<!DOCTYPE svg" in head


def test_a_plot_that_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"saved as .png, .svg, .pdf, not 'report.gif'"):
        check_plot(tmp_path / "report.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'chamfer\[plot\]'"):
        check_plot(tmp_path / "report.png")


def test_one_query_is_no_evidence() -> None:
    train = random_problem(27, queries=40)
    weights, report = fit_weights(train, start(), validation=random_problem(28, queries=1))
    assert report.choice.name == "uniform"
    np.testing.assert_array_equal(weights.table, 1)


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

    def test_distances_grades_and_missed_documents(self, parts: Parts, tmp_path: Path) -> None:
        encoded, corpus, candidates, judgements = parts
        found, left_out = judged_minima(tmp_path, *parts)
        assert left_out == LeftOut()
        for query, ranking in zip(found, candidates, strict=True):
            relevant = {document for document, grade in judgements[query.query_id].items() if grade > 0}
            names = sorted({*ranking.document_ids, *relevant})
            places = [corpus.place[name] for name in names]
            tokens = encoded.tokens[encoded.place[query.query_id]]
            np.testing.assert_array_equal(query.distances, kernels.minima(tokens, corpus.tokens, candidates=places))
            assert [names[place] for place in np.flatnonzero(query.grades)] == sorted(relevant)
            assert [names[place] for place in np.flatnonzero(~query.retrieved)] == sorted(
                relevant - set(ranking.document_ids)
            )

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
        first, _ = judged_minima(tmp_path, *parts)
        second, _ = judged_minima(tmp_path, *parts)
        assert len(calls) == len(first) == 4
        np.testing.assert_array_equal(first[3].distances, second[3].distances)

    def test_queries_that_teach_nothing_are_named(self, parts: Parts, tmp_path: Path) -> None:
        encoded, corpus, candidates, _ = parts
        everything = dict.fromkeys(corpus.ids, 1)
        judgements = {"q1": {"gone": 1}, "q2": everything, "q3": {"d2": 1, "d1": 0}}
        chosen = [ranking for ranking in candidates if ranking.query_id in judgements]
        found, left_out = judged_minima(tmp_path, encoded, corpus, chosen, judgements)
        assert [query.query_id for query in found] == ["q3"]
        assert left_out == LeftOut(("q1",), ("q2",), 1)
        with pytest.raises(InputError, match="nothing can be learnt"):
            judged_minima(tmp_path, encoded, corpus, chosen[:2], judgements)

    def test_learning_leaves_the_model_as_it_was(self, parts: Parts, tmp_path: Path, encoder: Encoder) -> None:
        before = Encoder._parameters_digest.func(encoder)  # type: ignore[attr-defined]
        found, _ = judged_minima(tmp_path, *parts)
        weights = fit_prior(found, TokenWeights.uniform(encoder.vocabulary), context_penalty=1.0)
        assert np.isfinite(weights.table).all()
        assert Encoder._parameters_digest.func(encoder) == before  # type: ignore[attr-defined]


def test_context_is_kept_with_the_weights(tmp_path: Path) -> None:
    learnt = fit_prior(random_problem(17), uniform(), context_penalty=0.1)
    learnt.save(tmp_path / "w.safetensors")
    loaded = TokenWeights.load(tmp_path / "w.safetensors")
    query = random_problem(18, queries=1)[0]
    assert learnt.context is not None
    expected = learnt.table[query.token_ids] * np.exp(query.vectors @ learnt.context)
    np.testing.assert_allclose(loaded.of_tokens(query.token_ids, query.vectors), expected, rtol=1e-5)
    with pytest.raises(InputError, match="vectors of 6 dimensions, not 3"):
        loaded.of_tokens(query.token_ids, query.vectors[:, :3])
    with pytest.raises(InputError, match="one number per token"):
        export_weights(loaded, tmp_path / "w.json")
