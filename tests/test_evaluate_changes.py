"""What an evaluation knows beyond its means: intervals, the outcome of each query, and why it was won or lost."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import Collection, Encoder, Evaluation, InputError, Ranking, Searcher, TokenWeights, build_index, evaluate
from chamfer.data.queries import words_of
from chamfer.errors import InputWarning
from chamfer.evaluate import evaluation as evaluations
from chamfer.evaluate.changes import change_of
from chamfer.evaluate.headline import headline
from chamfer.evaluate.measures import MEASURES, meaning
from chamfer.evaluate.significance import FEWEST_UNITS, Comparison, bootstrap_interval, compare
from chamfer.explain.explanation import Explanation
from chamfer.weights.learnt_queries import with_learnt_queries
from chamfer.weights.mix import NOTHING, Mix

WORDS = ["cat", "dog", "sky", "night", "day", "mat", "blue", "sleep"]
DOCUMENTS = {f"{one}-{other}": f"the {one} and a {other}, all day" for one in WORDS for other in WORDS if one != other}
QUERIES = {
    str(number): f"why is the {one} {other}"
    for number, (one, other) in enumerate(zip(WORDS, WORDS[1:] + WORDS[:1], strict=True))
}
JUDGED = {number: {f"{text.split()[-2]}-{text.split()[-1]}": 1} for number, text in QUERIES.items()}
PETS = Collection(name="pets", documents=DOCUMENTS, queries=QUERIES, judgements={"test": JUDGED})


def heavy(encoder: Encoder, seed: int, mix: Mix = NOTHING) -> TokenWeights:
    """Weights that rank other documents high than uniform ones do."""
    uniform = TokenWeights.uniform(encoder.vocabulary)
    table = np.random.default_rng(seed).exponential(size=len(uniform.table)).astype(np.float32) ** 2
    return replace(uniform, table=table, mix=mix)


@pytest.fixture(scope="module")
def on_collection(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    weights: dict[str, str | TokenWeights] = {
        "uniform": "uniform",
        "heavy": heavy(encoder, 1),
        "mixed": heavy(encoder, 2, Mix(0.02, 0.4)),
    }
    return evaluate(PETS, weights, encoder=encoder, cache=tmp_path_factory.mktemp("cache"), first_stage="exhaustive")


@pytest.fixture(scope="module")
def on_index(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    folder = tmp_path_factory.mktemp("folder") / "index"
    build_index(folder, DOCUMENTS, encoder)
    judged = {QUERIES[number]: [*grades] for number, grades in JUDGED.items()}
    weights: dict[str, str | TokenWeights] = {
        "uniform": "uniform",
        "heavy": heavy(encoder, 1),
        "mixed": heavy(encoder, 2, Mix(0.02, 0.4)),
    }
    return evaluate(Searcher.open(folder, encoder=encoder), weights, judgements=judged)


@pytest.fixture(params=["on_collection", "on_index"])
def evaluation(request: pytest.FixtureRequest) -> Evaluation:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Evaluation)
    return found


class TestIntervals:
    def test_an_interval_is_that_of_the_mean_difference(self, evaluation: Evaluation) -> None:
        assert evaluation.units == evaluation.queries == len(QUERIES)
        for system in evaluation.others:
            for name in MEASURES:
                differences = system.values[name] - evaluation["uniform"].values[name]
                assert evaluation.interval(system, name) == pytest.approx(bootstrap_interval(differences))
        assert evaluation.interval(evaluation["uniform"], "nDCG@10") is None, "it is the baseline"

    def test_queries_that_share_a_relevant_document_or_their_words_count_as_one(
        self, encoder: Encoder, tmp_path: Path
    ) -> None:
        def measured(judged: dict[str, dict[str, int]], queries: dict[str, str]) -> Evaluation:
            collection = replace(PETS, queries=queries, judgements={"test": judged})
            weights: dict[str, str | TokenWeights] = {"uniform": "uniform", "heavy": heavy(encoder, 1)}
            return evaluate(collection, weights, encoder=encoder, cache=tmp_path)

        once = measured(JUDGED, QUERIES)
        again = {f"{number} again": text for number, text in QUERIES.items()}
        judged = {f"{number} again": grades for number, grades in JUDGED.items()}
        twice = measured(JUDGED | judged, QUERIES | again)
        assert (twice.queries, twice.units) == (2 * once.queries, once.units)
        one, two = (each.against_baseline(each["heavy"], "RR@10") for each in (once, twice))
        assert two.p_value == one.p_value
        assert two.wins == 2 * one.wins
        assert twice.interval(twice["heavy"], "RR@10") == pytest.approx(once.interval(once["heavy"], "RR@10"))

    def test_few_queries_have_no_interval(self, encoder: Encoder, tmp_path: Path) -> None:
        for count, given in ((FEWEST_UNITS - 1, False), (FEWEST_UNITS, True)):
            few = dict(list(JUDGED.items())[:count])
            weights: dict[str, str | TokenWeights] = {"uniform": "uniform", "heavy": heavy(encoder, 1)}
            found = evaluate(replace(PETS, judgements={"test": few}), weights, encoder=encoder, cache=tmp_path)
            assert (found.interval(found["heavy"], "nDCG@10") is not None) == given
            assert found.as_json()["systems"][0]["against_baseline"]["R@10"]["wins"] >= 0


class TestOutcomes:
    def test_every_query_is_won_lost_or_unchanged_as_the_comparison_counts(self, evaluation: Evaluation) -> None:
        for system in evaluation.others:
            for name in MEASURES:
                outcomes = evaluation.outcomes(system, name)
                compared = evaluation.against_baseline(system, name)
                happened = [one.happened for one in outcomes]
                counted = [happened.count(kind) for kind in ("won", "unchanged", "lost")]
                assert counted == [compared.wins, compared.ties, compared.losses]
                assert [one.difference for one in outcomes] == sorted(one.difference for one in outcomes)
                assert {one.query for one in outcomes} == set(evaluation.texts)


class TestChanges:
    def test_gaps_add_up_to_the_difference_of_the_scores(self, evaluation: Evaluation) -> None:
        explained = 0
        for system in evaluation.others:
            for outcome in evaluation.outcomes(system):
                change = evaluation.explain(outcome.query, system)
                if outcome.happened == "unchanged" and change is None:
                    continue
                assert change is not None
                assert change.other is not None
                for one, moved in ((evaluation["uniform"], "before"), (system, "after")):
                    ranking = one.by_query[outcome.query]
                    ids = ranking.document_ids
                    ranks = [getattr(document, moved) for document in (change.relevant, change.other)]
                    assert ranks == [ids.index(document.id) + 1 for document in (change.relevant, change.other)]
                    if one.name in ("bm25", "exhaustive"):
                        continue
                    higher, lower = (ranking.scores[rank - 1] for rank in ranks)
                    gaps = sum(getattr(gap, moved) or 0.0 for gap in change.gaps)
                    assert gaps == pytest.approx(higher - lower, abs=2e-3), "vectors of an index are rounded"
                before, after = change.relevant.before, change.relevant.after
                assert before is not None
                assert after is not None
                assert (after < before) == (outcome.happened == "won")
                assert change.relevant.id in evaluation.judgements[outcome.query]
                explained += 1
        assert explained >= 4

    def test_evidence_is_a_gap_of_its_own(self, evaluation: Evaluation) -> None:
        changes = [evaluation.explain(query, evaluation["mixed"]) for query in evaluation.texts]
        kinds = {(gap.kind, gap.text) for change in changes if change for gap in change.gaps if gap.kind == "evidence"}
        assert kinds == {("evidence", "lexical"), ("evidence", "pooled")}
        plain = [evaluation.explain(query, evaluation["heavy"]) for query in evaluation.texts]
        assert not any(gap.kind == "evidence" for change in plain if change for gap in change.gaps)

    def test_marks_are_words_of_the_text(self, evaluation: Evaluation) -> None:
        change = next(
            filter(
                None,
                (
                    evaluation.explain(one.query, evaluation["heavy"])
                    for one in evaluation.outcomes(evaluation["heavy"])
                ),
            )
        )
        assert change.other is not None
        for document in (change.relevant, change.other):
            assert document.text == DOCUMENTS[document.id]
            assert document.marks
            assert max(strength for *_, strength in document.marks) == 1
            assert all(document.text[start:stop].isalnum() for start, stop, _ in document.marks)

    def test_a_system_without_token_weights_says_so(self, encoder: Encoder, tmp_path: Path) -> None:
        backwards = [
            Ranking(number, tuple(sorted(DOCUMENTS, reverse=True)), tuple(range(len(DOCUMENTS), 0, -1)))
            for number in QUERIES
        ]
        runs = {"theirs": backwards, "same": backwards[:1]}
        found = evaluate(PETS, ["uniform"], runs=runs, encoder=encoder, cache=tmp_path, first_stage="exhaustive")
        told = {one.unexplained for query in QUERIES if (one := found.explain(query, found["theirs"]))}
        assert told == {"theirs ranks without token weights, so its words are missing"}
        against = replace(found, baseline="theirs")
        change = next(filter(None, (against.explain(query, against["exhaustive"]) for query in QUERIES)))
        assert change.unexplained == "theirs and exhaustive rank without token weights, so there are no words"
        assert change.gaps == ()
        assert change.other is not None
        one = next(filter(None, (against.explain(query, against["uniform"]) for query in QUERIES)))
        assert {gap.before for gap in one.gaps} == {None}
        assert one.relevant.text
        with pytest.raises(InputError, match="no query that was measured has the id 'nothing'"):
            found.explain("nothing", found["theirs"])

    def test_an_evaluation_that_was_pickled_has_no_documents_any_more(self, on_index: Evaluation) -> None:
        again = pickle.loads(pickle.dumps(on_index))
        assert again.table() == on_index.table()
        change = next(filter(None, (again.explain(query, again["heavy"]) for query in again.texts)))
        assert "no longer available" in change.unexplained


def ranked(*documents: str) -> tuple[str, Ranking]:
    return "system", Ranking("q", documents, tuple(float(-rank) for rank in range(len(documents))))


class TestWhichDocument:
    def test_the_relevant_document_is_the_one_whose_fall_costs_most(self) -> None:
        grades = {"top": 1, "low": 1, "no": 0}
        change = change_of(
            "q", grades, ranked("top", "a", "b", "c", "low"), ranked("a", "top", "b", "no", "c", "low"), None
        )
        assert change is not None
        assert (change.relevant.id, change.relevant.before, change.relevant.after) == ("top", 1, 2)
        assert change.other is not None
        assert (change.other.id, change.other.grade, change.other.before, change.other.after) == ("a", None, 2, 1)

    def test_the_first_that_is_less_relevant_is_the_other_one(self) -> None:
        grades = {"good": 1, "better": 2}
        change = change_of("q", grades, ranked("good", "better", "x"), ranked("better", "x", "good"), None)
        assert change is not None
        assert change.relevant.id == "better", "all in all, the query is won"
        lost = change_of(
            "q", {"good": 2, "same": 2}, ranked("good", "x", "same"), ranked("same", "x", "y", "good"), None
        )
        assert lost is not None
        assert (lost.relevant.id, lost.other and lost.other.id) == ("good", "x")

    def test_a_document_may_come_from_nowhere_or_leave(self) -> None:
        gained = change_of("q", {"a": 1}, ranked("x", "y"), ranked("x", "a", "y"), None)
        assert gained is not None
        assert (gained.relevant.before, gained.relevant.after, gained.other and gained.other.id) == (None, 2, "y")
        gone = change_of("q", {"a": 1}, ranked("a", "x"), ("system", None), None)
        assert gone is not None
        assert (gone.relevant.after, gone.other, gone.unexplained) == (None, None, "no other document took its place")

    @pytest.mark.parametrize("grades", [{"a": 0, "x": 1}, {}, {"unknown": 1}])
    def test_nothing_moved(self, grades: dict[str, int]) -> None:
        assert change_of("q", grades, ranked("x", "a", "b"), ranked("x", "b", "a"), None) is None

    def test_a_document_without_tokens_has_no_words(self) -> None:
        def explain(_system: str, _query: str, documents: Sequence[str]) -> list[Explanation | None]:
            return [None for _ in documents]

        change = change_of("q", {"a": 1}, ranked("a", "b"), ranked("b", "a"), explain)
        assert change is not None
        told = "document 'a' is not in the collection, or has no tokens, so its score has no words"
        assert change.unexplained == told


def interrupted(_done: int) -> None:
    raise InterruptedError


class TestUnits:
    def test_queries_with_a_relevant_document_in_common_count_as_one(
        self, encoder: Encoder, tmp_path: Path, on_collection: Evaluation
    ) -> None:
        assert (on_collection.units, on_collection.grouped_by) == (8, "document")
        judged = {number: ({"cat-dog": 1} if int(number) < 4 else grades) for number, grades in JUDGED.items()}
        half = replace(PETS, judgements={"test": judged})
        found = evaluate(half, ["uniform", "idf"], encoder=encoder, cache=tmp_path)
        assert (found.units, found.grouped_by, found.notes()) == (5, "document", [])

    def test_where_that_would_leave_hardly_any_only_words_count_and_a_note_says_what_that_means(
        self, encoder: Encoder, tmp_path: Path
    ) -> None:
        judged = {number: ({"cat-dog": 1} if int(number) < 5 else grades) for number, grades in JUDGED.items()}
        found = evaluate(
            replace(PETS, judgements={"test": judged}), ["uniform", "idf"], encoder=encoder, cache=tmp_path
        )
        assert (found.units, found.grouped_by, found.as_json()["grouped_by"]) == (8, "text", "text")
        assert found.notes() == [
            "relevant documents connect 5 of 8 queries, too many to count as one, so in tests and intervals only "
            "queries with the same words do; p-values may be too small"
        ]

    def test_each_comparison_is_computed_once(self, on_collection: Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = list[int]()

        def counted(*arguments: Any, **options: Any) -> Comparison:
            calls.append(1)
            return compare(*arguments, **options)

        monkeypatch.setattr(evaluations, "compare", counted)
        found = replace(on_collection)
        for _ in range(2):
            found.as_json()
            found.table()
            found.headline(found["heavy"])
        assert len(calls) == len(found.systems) * len(MEASURES)

    def test_comparisons_and_explanations_can_be_stopped(self, on_collection: Evaluation) -> None:
        advances = list[int]()
        found = replace(on_collection).made_json(3, advances.append)
        changes = sum(len(system["changes"]) for system in found["systems"])
        assert len(advances) >= len(found["systems"]) * len(MEASURES) + changes > changes > 0
        with pytest.raises(InterruptedError):
            replace(on_collection).made_json(3, interrupted)


class TestInPlainWords:
    def test_a_headline_counts_queries_and_says_whether_it_could_be_chance(self) -> None:
        lost = headline("a", "b", Comparison(-0.01, 0.0001, 1, 0, 9), units=10)
        assert lost.endswith("lower for 9 in the top 10. The mean loss is unlikely to be chance (p < 0.001).")
        few = headline("a", "b", Comparison(0.3, 0.25, 3, 0, 0), units=3)
        assert few.endswith("could be chance (p = 0.250); these are too few queries to tell.")
        assert "On average, nothing is gained or lost." in headline("a", "b", Comparison(0.0, 1.0, 1, 3, 1), units=5)
        alike = headline("a", "b", Comparison(0.0, 1.0, 0, 1, 0), units=1)
        assert alike == "a and b rank relevant documents equally high in the top 10 for the only query."

    def test_every_measure_has_a_meaning(self) -> None:
        assert all("top 10" in meaning(name) for name in MEASURES)

    def test_notes_say_what_was_learnt_from_the_same_queries(self, encoder: Encoder, tmp_path: Path) -> None:
        metadata = with_learnt_queries({"recipe": "blend", "learnt_from": 8}, map(words_of, QUERIES.values()))
        mine = replace(heavy(encoder, 1), metadata=metadata)
        weights: dict[str, str | TokenWeights] = {"uniform": "uniform", "mine": mine}
        found = evaluate(PETS, weights, encoder=encoder, cache=tmp_path)
        assert [note for note in found.notes() if "mine" in note] == [
            "mine was learnt from 8 of these 8 queries, so its measures are too high: chamfer learn --hold-out "
            "measures on others"
        ]
        known = {"0": JUDGED["0"] | {"gone": 1}, "1": JUDGED["1"]}
        with pytest.warns(InputWarning) as told:
            other = evaluate(PETS, ["uniform"], judgements=known, encoder=encoder, cache=tmp_path)
        assert other.notes() == ["1 of 3 judged documents are not in pets, such as 'gone', so no search can find them"]
        assert [str(one.message) for one in told] == other.notes(), "so the command line says it once"


def test_json_holds_what_a_report_needs(evaluation: Evaluation) -> None:
    found = json.loads(json.dumps(evaluation.as_json(explained=2)))
    assert [one["text"] for one in found["judged"]] == list(evaluation.texts.values())
    assert set(found["measures"]) == set(MEASURES)
    for system in found["systems"]:
        assert all(len(values) == found["queries"] for values in system["values"].values())
        is_baseline = system["name"] == "uniform"
        assert (system["headline"] == "") == is_baseline
        lost = system["against_baseline"]["nDCG@10"]["losses"]
        won = system["against_baseline"]["nDCG@10"]["wins"]
        assert len(system["changes"]) == min(2, lost) + min(2, won)
        assert all(change["gaps"] for change in system["changes"] if system["name"] != "exhaustive")
    assert evaluation.as_json()["systems"][-1]["changes"] == []
