"""Scores with evidence beside the tokens, and with adapted queries: the same in every place that scores a pair."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from chamfer import Encoder, InputError, Searcher, TokenWeights, build_index, explain, rerank
from chamfer.errors import InputWarning
from chamfer.kernels.form import Form
from chamfer.retrieve.word_counts import WordCounts
from chamfer.search.rerank_texts import Request, rerank_requests
from chamfer.weights.adapter import Adapter
from chamfer.weights.mix import NOTHING, Mix
from tests.conftest import DOCUMENTS
from tests.test_search import build, corpus, delete, ids

QUERY = "why do cats sleep at night"
MIX = Mix(lexical=0.05, pooled=0.4)

both_forms = pytest.mark.parametrize("form", ["l2", "cosine"])


def an_adapter(encoder: Encoder) -> Adapter:
    generator = np.random.default_rng(7)
    down, up = (generator.normal(0, 0.3, (encoder.dimensions, 2)).astype(np.float32) for _ in range(2))
    return Adapter(down, np.ascontiguousarray(up.T))


def mixed(encoder: Encoder, mix: Mix = MIX) -> TokenWeights:
    """Weights with everything that weights can carry."""
    generator = np.random.default_rng(3)
    table = generator.uniform(0.2, 3, len(encoder.vocabulary)).astype(np.float32)
    context = generator.normal(0, 0.5, encoder.dimensions).astype(np.float32)
    return TokenWeights(table, encoder.vocabulary, {}, context, an_adapter(encoder), mix)


@pytest.fixture(scope="module")
def folder(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of several segments with deleted documents, which no test changes."""
    folder = build(tmp_path_factory.mktemp("mixed") / "index", encoder, corpus())
    delete(folder, "d03", "d17")
    return folder


@both_forms
@pytest.mark.parametrize("mix", [MIX, Mix(lexical=0.05), Mix(pooled=0.4), NOTHING])
def test_the_same_pair_has_the_same_score_in_search_rerank_and_explain(
    encoder: Encoder, folder: Path, form: Form, mix: Mix
) -> None:
    searcher = Searcher.open(folder, encoder=encoder, weights=mixed(encoder, mix), form=form)
    hits = searcher.search(QUERY, 100)
    explained = searcher.explain(QUERY, ids(hits))
    again = searcher.rerank(QUERY, {hit.id: hit.text for hit in hits})
    by_id = dict(zip(again.document_ids, again.scores, strict=True))
    for hit, why in zip(hits, explained, strict=True):
        assert why.score == pytest.approx(hit.score, abs=1e-5)
        assert by_id[hit.id] == pytest.approx(hit.score, abs=2e-3), "up to the rounding of stored vectors"
    few = searcher.rerank(QUERY, [hit.text for hit in hits[:3]], 2)
    assert len(few) == 2
    best = searcher.search(QUERY, 1)
    assert few.scores[0] == pytest.approx(best[0].score, abs=2e-3)


@pytest.mark.parametrize("stage", ["exhaustive", "centroids", "bm25", "dense", "muvera"])
def test_a_mixed_score_does_not_depend_on_what_found_the_document(encoder: Encoder, folder: Path, stage: str) -> None:
    searcher = Searcher.open(folder, encoder=encoder, weights=mixed(encoder))
    exact = {hit.id: hit.score for hit in searcher.search(QUERY, 100, first_stage="exhaustive")}
    found = searcher.search(QUERY, 100, first_stage=stage)
    assert {hit.id: hit.score for hit in found} == {hit.id: exact[hit.id] for hit in found}
    some = ids(found)[:5]
    among = searcher.search(QUERY, 3, first_stage=stage, among=some)
    assert [(hit.id, hit.score) for hit in among] == [(name, exact[name]) for name in some[:3]]
    even = searcher.search(QUERY, 100, first_stage=stage, where="even = true")
    assert 0 < len(even) < len(found)
    assert all(hit.score == exact[hit.id] for hit in even)


def test_equal_documents_tie_and_a_document_without_tokens_comes_last(encoder: Encoder, tmp_path: Path) -> None:
    texts = {f"{n:02d}": "cats sleep all day" if n % 3 else f"the sky is blue {n}" for n in range(40)}
    build_index(tmp_path / "ties", {**texts, "empty": ""}, encoder, allow_empty=True)
    searcher = Searcher.open(tmp_path / "ties", encoder=encoder, weights=mixed(encoder))
    hits = searcher.search("cats sleep", 100)
    assert hits[-1].id == "empty"
    assert hits[-1].score == 0
    tied = [hit for hit in hits if hit.text == "cats sleep all day"]
    assert len({hit.score for hit in tied}) == 1
    assert ids(tied) == sorted(ids(tied))
    ranked = searcher.rerank("cats sleep", ["", *[hit.text for hit in tied]])
    assert ranked.document_ids == (*(str(n) for n in range(1, len(tied) + 1)), "0")
    assert len(set(ranked.scores[:-1])) == 1


@both_forms
def test_the_score_of_tokens_alone_and_the_evidence_are_weighed_against_each_other(
    encoder: Encoder, folder: Path, form: Form
) -> None:
    weights = mixed(encoder)
    searcher = Searcher.open(folder, encoder=encoder, weights=weights, form=form)
    alone = {hit.id: hit.score for hit in searcher.search(QUERY, 100, weights=weights.with_mix(NOTHING))}
    one = 2**0.5 if form == "l2" else 1  # what a perfect match of every token is worth
    for hit in searcher.search(QUERY, 5):
        parts = searcher.explain(QUERY, hit.id).evidence
        perfect = one + sum(part.factor * part.perfect for part in parts)
        score = (one * alone[hit.id] + sum(part.factor * part.value for part in parts)) / perfect
        assert hit.score == pytest.approx(score, abs=1e-5)


class TestExplanations:
    @both_forms
    def test_contributions_of_tokens_and_evidence_add_up_to_the_score(
        self, encoder: Encoder, folder: Path, form: Form
    ) -> None:
        searcher = Searcher.open(folder, encoder=encoder, weights=mixed(encoder), form=form)
        for why in searcher.explain(QUERY):
            assert [part.name for part in why.evidence] == ["lexical", "pooled"]
            assert [part.factor for part in why.evidence] == [0.05, 0.4]
            contributions = [match.contribution for match in why.matches]
            contributions += [part.contribution for part in why.evidence]
            assert why.score == pytest.approx(math.fsum(contributions), abs=1e-9)
            shares = [word.share for word in why.words] + [why.share_of(part) for part in why.evidence]
            assert sum(shares) == pytest.approx(1)

    def test_two_explanations_differ_by_words_and_by_evidence(self, encoder: Encoder, folder: Path) -> None:
        searcher = Searcher.open(folder, encoder=encoder, weights=mixed(encoder))
        above, below = searcher.explain(QUERY)
        differences = above.against(below)
        assert {one.text for one in differences if one.is_evidence} == {"lexical", "pooled"}
        assert sum(one.gain for one in differences) == pytest.approx(above.score - below.score)
        gains = [abs(one.gain) for one in differences]
        assert gains == sorted(gains, reverse=True)

    def test_uniform_weights_have_no_evidence(self, encoder: Encoder, folder: Path) -> None:
        why = Searcher.open(folder, encoder=encoder, weights=mixed(encoder)).explain(QUERY, "d05")
        uniform = why.with_uniform_weights()
        assert uniform.evidence == ()
        assert uniform.paper_score == pytest.approx(-np.mean([match.distance for match in why.matches]))
        assert uniform.score == pytest.approx(1 + uniform.paper_score / 2**0.5)
        differences = why.against(uniform)
        assert sum(one.gain for one in differences) == pytest.approx(why.score - uniform.score)
        assert [one.other for one in differences if one.is_evidence] == [0, 0]

    def test_evidence_is_in_the_json_and_in_the_html(self, encoder: Encoder, folder: Path) -> None:
        why = Searcher.open(folder, encoder=encoder, weights=mixed(encoder)).explain(QUERY, "d05")
        shown = json.loads(json.dumps(why.as_json()))["evidence"]
        assert [one["name"] for one in shown] == ["lexical", "pooled"]
        assert shown[1] == why.evidence[1]._asdict()
        html = why._repr_html_()
        assert html.count("lexical evidence") == html.count("pooled evidence") == 1


class TestTextsWithoutAnIndex:
    def test_lexical_evidence_is_left_out_with_one_warning(self, encoder: Encoder) -> None:
        weights = mixed(encoder)
        with pytest.warns(InputWarning, match="lexical evidence needs the word counts.*Searcher.rerank") as caught:
            ranking = rerank(QUERY, DOCUMENTS, encoder=encoder, weights=weights)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert ranking == rerank(QUERY, DOCUMENTS, encoder=encoder, weights=weights.with_mix(Mix(pooled=0.4)))
        with pytest.warns(InputWarning, match="Searcher.explain") as caught:
            why = explain(QUERY, DOCUMENTS["d4"], encoder=encoder, weights=weights)
        assert [part.name for part in why.evidence] == ["pooled"]
        assert caught[0].filename == __file__
        scores = dict(zip(ranking.document_ids, ranking.scores, strict=True))
        assert why.score == pytest.approx(scores["d4"], abs=1e-5)

    def test_many_requests_warn_once(self, encoder: Encoder) -> None:
        weights = mixed(encoder)
        requests = [Request("here", str(n), QUERY, list(DOCUMENTS), list(DOCUMENTS.values())) for n in range(3)]
        with pytest.warns(InputWarning) as caught:
            answers = list(rerank_requests(requests, encoder=encoder, weights=weights))
        assert len(caught) == 1
        expected = rerank(QUERY, DOCUMENTS, encoder=encoder, weights=weights.with_mix(Mix(pooled=0.4)))
        assert [one.ranking.scores for one in answers] == [expected.scores] * 3

    def test_the_words_of_a_corpus_are_lexical_evidence_as_in_an_index(self, encoder: Encoder, tmp_path: Path) -> None:
        build_index(tmp_path / "index", DOCUMENTS, encoder)
        searcher = Searcher.open(tmp_path / "index", encoder=encoder, weights=mixed(encoder))
        requests = [Request("here", "q", QUERY, list(DOCUMENTS), list(DOCUMENTS.values()))]
        counts = WordCounts.of(list(DOCUMENTS.values()))
        [answer] = rerank_requests(requests, encoder=encoder, weights=mixed(encoder), counts=counts)
        assert answer.ranking.scores == searcher.rerank(QUERY, DOCUMENTS).scores

    def test_a_mix_without_lexical_evidence_warns_of_nothing(self, encoder: Encoder) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rerank(QUERY, DOCUMENTS, encoder=encoder, weights=mixed(encoder, Mix(pooled=1)))


def test_an_index_of_pooled_and_projected_vectors_scores_texts_alike(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", [*corpus()], encoder, pool=2, dimensions=8)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder, weights=mixed(encoder))
    hits = searcher.search(QUERY, 5)
    again = searcher.rerank(QUERY, {hit.id: hit.text for hit in hits})
    assert again.document_ids == tuple(ids(hits))
    assert list(again.scores) == pytest.approx([hit.score for hit in hits], abs=5e-3)


def test_evidence_is_opened_before_the_first_search_and_again_for_a_newer_commit(
    encoder: Encoder, tmp_path: Path
) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    tokens = Searcher.open(tmp_path / "index", encoder=encoder, weights="idf-soft")
    assert tokens.ranker.evidence.opened == NOTHING
    lexical = Searcher.open(tmp_path / "index", encoder=encoder, weights=mixed(encoder, Mix(lexical=1)))
    assert lexical.ranker.evidence.opened == Mix(lexical=1)
    lexical.search(QUERY, weights=mixed(encoder))
    delete(tmp_path / "index", "d1")
    assert lexical.refreshed().ranker.evidence.opened == Mix(lexical=1, pooled=1)


def test_a_mix_takes_any_real_numbers_and_says_what_is_too_large(encoder: Encoder, folder: Path) -> None:
    assert Mix(lexical=np.float32(0.5), pooled=1) == Mix(0.5, 1.0)  # type: ignore[arg-type]  # as users may
    heavy = TokenWeights(np.full(len(encoder.vocabulary), 1e9, np.float32), encoder.vocabulary, mix=Mix(lexical=10))
    searcher = Searcher.open(folder, encoder=encoder)
    for ask in (searcher.search, lambda query, weights: searcher.rerank(query, DOCUMENTS, weights=weights)):
        with pytest.raises(InputError, match="these weights and their mix add more than 1e"):
            ask(QUERY, weights=heavy)


def test_the_default_weights_can_be_made_without_an_index(encoder: Encoder, folder: Path) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    made = TokenWeights.zero_shot(searcher.index.frequencies, encoder)
    assert searcher.search(QUERY, weights=made) == searcher.search(QUERY)


def test_evidence_counts_by_default(encoder: Encoder, folder: Path) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    why = searcher.explain(QUERY, "d05")
    assert why == searcher.explain(QUERY, "d05", weights="mix")
    assert [part.name for part in why.evidence] == ["lexical", "pooled"]
    without = searcher.queries.resolve("mix").with_mix(NOTHING)
    plain = searcher.explain(QUERY, "d05", weights=without)
    assert plain.evidence == ()
    assert plain.paper_score == why.paper_score
    assert plain.score != why.score
