"""Learning from judged queries of an index, and evaluating weights on it."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import Encoder, InputError, Ranking, Searcher, TokenWeights, build_index, evaluate, learn
from chamfer.errors import InputWarning
from chamfer.evaluate.measures import MEASURES
from chamfer.index.index import Index
from chamfer.kernels import reference
from chamfer.learn import on_index
from chamfer.learn.fit import Fitted, fit_weights
from chamfer.learn.on_index import judge_in_index
from chamfer.serve.learning import merge_judgements
from chamfer.serve.schemas.learning import Judgement
from tests.checkpoints import count_tokenized
from tests.conftest import DOCUMENTS

JUDGED = {"why do cats sleep": {"d4": 2, "d2": 0}, "blue sky": ["d3"], "the dog": ["d2", "d5"]}
THINGS = ["cat", "dog", "sky", "night", "day", "mat"]
PAIRS = [(one, other) for one in THINGS for other in THINGS]


@pytest.fixture
def searcher(encoder: Encoder, tmp_path: Path) -> Searcher:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    return Searcher.open(tmp_path / "index", encoder=encoder)


def test_what_is_learnt_from_are_the_distances_of_the_index(searcher: Searcher, encoder: Encoder) -> None:
    text = "why do cats sleep"
    (judged, ids), *_ = judge_in_index(searcher, {text: text}, {text: {"d4": 2, "d2": 0, "gone": 1}})
    assert list(ids) == sorted(DOCUMENTS)
    assert judged.grades.tolist() == [0, 0, 0, 2, 0], "what is not judged counts as not relevant"
    assert judged.ideal.tolist() == [2, 1]
    query = encoder.encode_queries([text])
    for place, identifier in enumerate(ids):
        document = searcher.index.tokens(int(searcher.index.places([identifier])[0]))
        wanted = reference.minima(query.vectors, document)[0]
        np.testing.assert_allclose(judged.distances[place], wanted, atol=1e-3)


def all_things() -> dict[str, str]:
    return {f"{one}-{other}": f"the {one} and a {other}" for one, other in PAIRS}


@pytest.fixture
def things(encoder: Encoder, tmp_path: Path) -> Searcher:
    """Thirty-six documents about two things each."""
    build_index(tmp_path / "things", all_things(), encoder)
    return Searcher.open(tmp_path / "things", encoder=encoder)


def test_a_judged_document_that_no_search_found_is_not_learnt_from(things: Searcher) -> None:
    texts = {text: text for text in (f"why {one}" for one in THINGS)}
    plain = judge_in_index(things, texts, {text: {} for text in texts}, depth=2)
    missed = {query.query_id: [one for one in sorted(all_things()) if one not in ids][:1] for query, ids in plain}
    again = judge_in_index(things, texts, {text: {ids[0]: 1} for text, ids in missed.items()}, depth=2)
    assert [ids for _, ids in again] == [ids for _, ids in plain]
    assert all(len(ids) <= 4 for _, ids in again)
    easy = {query.query_id: [ids[0]] for query, ids in plain}
    mixed = {**easy, **{text: missed[text] for text in list(missed)[:2]}}
    learnt = learn(things, judgements=mixed, recipe="prior", depth=2)
    assert learnt.left_out.without_relevant == tuple(missed)[:2]
    assert learnt.report.queries == len(THINGS) - 2


def test_a_query_that_is_a_document_has_as_many_candidates_as_others(things: Searcher) -> None:
    text = things.index.documents(things.index.places(["cat-dog"]))[0].text
    [(_, ids)] = judge_in_index(things, {"cat-dog": text}, {"cat-dog": {"cat-cat": 1}}, weightings=["uniform"], depth=3)
    assert len(ids) == 3
    assert "cat-dog" not in ids


def test_a_query_without_candidates_is_left_out(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "one", {"sky": "the sky is blue"}, encoder)
    searcher = Searcher.open(tmp_path / "one", encoder=encoder)
    [(query, ids)] = judge_in_index(searcher, {"sky": "The sky is blue!"}, {"sky": {"gone": 1}})
    assert (list(ids), query.distances.shape[0]) == ([], 0)
    judged = {"sky": {"gone": 1, "sky": 0}}
    with (
        pytest.warns(InputWarning, match="1 of 2 judged documents are not in"),
        pytest.raises(InputError, match="1 have no relevant document among their candidates"),
    ):
        learn(searcher, queries={"sky": "The sky is blue!"}, judgements=judged)
    with pytest.raises(InputError, match=r"none of the 1 judged documents .* ids such as 'gone', documents .* 'sky'"):
        learn(searcher, queries={"sky": "The sky is blue!"}, judgements={"sky": {"gone": 1}})


def long_things() -> dict[str, str]:
    """As many documents, each of whose passages is about other things."""
    generator = np.random.default_rng(1)
    sentences = [f"why the {one} and a {other}? the {one} sat on a {other} at night." for one, other in PAIRS]
    return {f"{one}-{other}": " ".join(generator.choice(sentences, 4)) for one, other in PAIRS}


@pytest.mark.parametrize("passages", [False, 16])
def test_held_out_queries_are_measured_on_what_each_weighting_finds(
    passages: bool | int, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As :func:`chamfer.evaluate` measures them, though the candidates to learn from are few."""
    documents = long_things() if passages else all_things()
    build_index(tmp_path / "things", documents, encoder, passages=passages)

    def only(token: str) -> TokenWeights:
        """Weights that find other documents than those without labels do."""
        return TokenWeights(
            np.array([one == token for one in encoder.vocabulary.tokens], np.float32), encoder.vocabulary
        )

    def fit(*given: Any, **settings: Any) -> Fitted:
        return Fitted(only("why"), fit_weights(*given, **settings).report)

    monkeypatch.setattr(on_index, "fit_weights", fit)
    # A single search by the default depth finds all of these few documents.
    monkeypatch.setattr(on_index, "judge_in_index", partial(judge_in_index, depth=10))
    searcher = Searcher.open(tmp_path / "things", encoder=encoder, weights=only("[CLS]"))
    texts = {text: text for text in (f"why {one} {other}" for one in THINGS for other in THINGS[:2])}
    judged = {text: sorted(all_things())[::2] for text in texts}  # so that every document that is found or not counts
    learnt = learn(searcher, judgements=judged, recipe="prior", hold_out=0.4, depth=5, group_by="text")
    others = {query.query_id for query in learnt.queries} | {*learnt.left_out.without_negatives}
    held_out = {text: grades for text, grades in judged.items() if text not in others}
    systems: dict[str, str | Path | TokenWeights] = {
        "uniform": "uniform",
        "zero_shot": "mix",
        "learnt": learnt.weights,
    }
    searched = evaluate(searcher, systems, judgements=held_out)
    assert learnt.held_out is not None
    assert learnt.held_out.queries == len(held_out) == 5
    for name in systems:
        measured = getattr(learnt.held_out, name)
        assert measured == pytest.approx({measure: searched[name].measures[measure] for measure in measured}), name


def test_held_out_queries_that_cannot_be_kept_apart_by_documents_say_why(searcher: Searcher) -> None:
    judged = {text: {"d4": 1} for text in ("why do cats sleep", "blue sky", "the dog", "a mat", "the night")}
    learnt = learn(searcher, judgements=judged, recipe="prior", hold_out=0.4)
    assert learnt.held_out is not None
    assert learnt.held_out.kept_apart == (
        "share no query text (relevant documents connect 5 of 5 queries, too many to keep on one side)"
    )
    assert learnt.held_out.as_json()["kept_apart"] == learnt.held_out.kept_apart


def test_weights_can_be_searched_with_and_say_where_they_come_from(searcher: Searcher) -> None:
    learnt = learn(searcher, judgements=JUDGED, recipe="prior")
    assert (learnt.report.queries, learnt.unknown) == (3, 0)
    assert learnt.weights.metadata["learnt_from"] == 3
    assert learnt.weights.metadata["form"] == "l2"
    assert searcher.search("blue sky", k=1, weights=learnt.weights)
    assert (learnt.chosen, learnt.why) == (learnt.report.choice.name, learnt.report.choice.why)
    assert repr(learnt) == f"Learnt(chosen={learnt.chosen!r}, queries=3)"


def test_the_recipe_of_the_paper_takes_a_published_preset(searcher: Searcher) -> None:
    learnt = learn(searcher, judgements=JUDGED, recipe="paper", preset="scifact")
    assert [row.name for row in learnt.report.rows if row.recipe == "paper"] == ["paper (0.1, 50, 250)"]


def test_a_document_named_like_a_query_text_can_be_relevant(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", {**DOCUMENTS, "sky": "the sky is blue"}, encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder)
    (judged, ids), *_ = judge_in_index(searcher, {"sky": "sky"}, {"sky": {"sky": 1}})
    assert judged.grades[list(ids).index("sky")] == 1
    (judged, ids), *_ = judge_in_index(searcher, {"sky": "blue things"}, {"sky": {"sky": 1}})
    assert judged.grades[list(ids).index("sky")] == 1, "a document of the same name is another text"
    (_, ids), *_ = judge_in_index(searcher, {"sky": "The sky is blue!"}, {"sky": {"d3": 1}})
    assert "sky" not in ids, "a query that is a document is not asked to find itself, as in ArguAna"
    (_, ids), *_ = judge_in_index(searcher, {"sky": "The sky is blue!"}, {"sky": {"sky": 1}})
    assert "sky" in ids, "unless it is judged relevant"
    found = evaluate(searcher, ["uniform"], judgements={"sky": ["sky"]})
    assert "sky" in found.systems[0].rankings[0].document_ids
    assert found.systems[0].measures["R@100"] == 1


def test_queries_may_have_ids_and_some_may_be_held_out(searcher: Searcher, tmp_path: Path) -> None:
    queries = {str(place): text for place, text in enumerate(JUDGED)}
    judgements = {str(place): grades for place, grades in enumerate(JUDGED.values())}
    by_id = learn(searcher, queries=queries, judgements=judgements, recipe="prior")
    by_text = learn(searcher, judgements=JUDGED, recipe="prior")
    np.testing.assert_array_equal(by_id.weights.table, by_text.weights.table)
    judged = {**JUDGED, "a mat": ["d1"], "gone": ["x"]}
    with pytest.warns(InputWarning, match="1 of 6 judged documents are not in .*, such as 'x'"):
        held_out = learn(searcher, judgements=judged, recipe="prior", hold_out=0.4)
    assert held_out.held_out is not None
    assert held_out.held_out.queries == 2
    assert held_out.unknown == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"judgements": {"blue sky": ["d3"]}}, "at least 2 queries"),
        ({}, "learning from an index needs judgements"),
        ({"judgements": JUDGED, "test": "test"}, "for an index, use hold_out"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(searcher: Searcher, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn(searcher, **arguments)  # type: ignore[arg-type]


def test_judgements_of_one_query_are_merged() -> None:
    def judgement(query: str, relevant: list[str], not_relevant: list[str]) -> Judgement:
        return Judgement(query=query, relevant=relevant, not_relevant=not_relevant)

    judgements = [judgement("the dog", ["d2"], []), judgement("the dog", ["d5"], ["d1"]), judgement("sky", ["d3"], [])]
    assert merge_judgements(judgements) == {"the dog": {"d2": 1, "d5": 1, "d1": 0}, "sky": {"d3": 1}}
    with pytest.raises(InputError, match="relevant and not relevant"):
        merge_judgements([*judgements, judgement("the dog", ["d1"], [])])


def test_an_index_is_evaluated_by_searching_it(searcher: Searcher, encoder: Encoder) -> None:
    table = learn(searcher, judgements=JUDGED, recipe="prior").weights
    found = evaluate(searcher, {"uniform": "uniform", "soft": "idf-soft", "mine": table}, judgements=JUDGED)
    assert [system.name for system in found.systems] == ["uniform", "soft", "mine"]
    assert (found.dataset, found.queries, found.documents, found.baseline) == ("index", 3, 5, "uniform")
    for name, weights in (("soft", "idf-soft"), ("mine", table)):
        hits = searcher.search(list(JUDGED), k=5, weights=weights)
        expected = [
            Ranking.of(query, [hit.id for hit in one], [hit.score for hit in one])
            for query, one in zip(JUDGED, hits, strict=True)
        ]
        assert [ranking.document_ids for ranking in found[name].rankings] == [one.document_ids for one in expected]
    assert [list(row)[1 : len(MEASURES) + 1] for row in found.table()] == [list(MEASURES)] * 3
    assert "soft" in str(found)
    assert found._repr_html_().count("<tr>") == 4


def test_an_evaluation_tokenises_every_query_once(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = count_tokenized(monkeypatch)
    long = "why do cats sleep" + " and sleep" * 80
    found = evaluate(searcher, judgements={**JUDGED, long: {"d4": 1}})
    assert sorted(seen) == sorted([*JUDGED, long])
    assert found.truncated == {"queries": 1}


def test_an_index_may_be_given_by_its_folder(searcher: Searcher, encoder: Encoder) -> None:
    by_index = evaluate(Index.open(searcher.index.folder), "idf", judgements=JUDGED, encoder=encoder)
    by_folder = evaluate(searcher.index.folder, "idf", judgements=JUDGED, encoder=encoder)
    assert by_index["idf"].measures == by_folder["idf"].measures
    assert by_folder["idf"].measures == evaluate(searcher, "idf", judgements=JUDGED)["idf"].measures
    with pytest.raises(InputError, match="evaluating an index needs judgements"):
        evaluate(searcher)
    with pytest.raises(InputError, match="only available for a collection, not for an index"):
        evaluate(searcher, judgements=JUDGED, special="auto")
