"""Explanations: contributions, words, spans, comparisons, HTML."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import Encoder, InputError, Ranking, Searcher, TokenBatch, TokenWeights, build_index
from chamfer.explain.explanation import Explanation
from chamfer.explain.matching import closest, explain, explain_tokens
from chamfer.explain.words import Spelling, placed
from chamfer.index.settings import Precision
from chamfer.kernels import reference
from chamfer.kernels.form import Form
from chamfer.support.notebook import marked, table
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.scale import Scale
from tests import checkpoints
from tests.conftest import DOCUMENTS
from tests.vectors import as_query, unit

QUERY = "why do cats sleep"

both_forms = pytest.mark.parametrize("form", ["l2", "cosine"])


def some_weights(encoder: Encoder) -> TokenWeights:
    table = np.linspace(0, 2, len(encoder.vocabulary), dtype=np.float32)
    return TokenWeights(table, encoder.vocabulary)


def an_explanation(encoder: Encoder, document: str = DOCUMENTS["d4"], form: Form = "l2") -> Explanation:
    return explain(QUERY, document, encoder=encoder, weights=some_weights(encoder), form=form)


@both_forms
def test_contributions_add_up_to_the_score_exactly(encoder: Encoder, form: Form) -> None:
    weights = some_weights(encoder)
    query, document = encoder.encode_queries([QUERY]), encoder.encode_documents(["cats sleep"])
    explained = explain(QUERY, "cats sleep", encoder=encoder, weights=weights, form=form)
    assert math.fsum(match.contribution for match in explained.matches) == explained.score
    assert math.fsum(word.contribution for word in explained.words) == pytest.approx(explained.score, abs=1e-15)
    kernel = reference.score(query.vectors, weights.of(query), document, form)
    assert explained.score == pytest.approx(Scale(weights.of(query), form=form).scores(kernel)[0], abs=1e-12)
    assert explained.paper_score == pytest.approx(kernel[0], abs=1e-6)
    assert [match.token for match in explained.matches] == ["[CLS]", "why", "do", "cats", "sleep", "[SEP]"]


@both_forms
@pytest.mark.parametrize("precision", ["float16", "int8", "4bit"])
def test_the_explanation_of_a_hit_adds_up_to_its_score(
    encoder: Encoder, tmp_path: Path, form: Form, precision: Precision
) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder, precision=precision)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder, form=form)
    hits = searcher.search(QUERY)
    assert len(hits) == len(DOCUMENTS)
    for hit, explained in zip(hits, searcher.explain(QUERY, [hit.id for hit in hits]), strict=True):
        assert (explained.document_id, explained.document) == (hit.id, hit.text)
        assert explained.score == pytest.approx(hit.score, abs=1e-6)


@both_forms
@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_closest_tokens_are_those_of_the_reference(form: Form, seed: int) -> None:
    generator = np.random.default_rng(seed)
    query, document = as_query(unit(generator, 4, 8)), as_query(unit(generator, 9, 8))
    distances, places = closest(query.vectors, document.vectors, form)
    wanted, wanted_places = reference.match(query.vectors, document, form)
    np.testing.assert_allclose(distances, wanted[0], atol=1e-9)
    assert places.tolist() == wanted_places[0].tolist()


@both_forms
def test_the_best_match_has_the_largest_share(encoder: Encoder, form: Form) -> None:
    explained = explain(QUERY, "cats sleep", encoder=encoder, form=form)
    closest_first = sorted(explained.matches, key=lambda match: match.distance)
    assert [one.contribution for one in closest_first] == sorted(one.contribution for one in closest_first)[::-1]
    perfect = explain(QUERY, QUERY, encoder=encoder, form=form)
    assert perfect.score == pytest.approx(1, abs=1e-3)


def test_special_tokens_are_one_line_at_the_end(encoder: Encoder) -> None:
    explained = an_explanation(encoder)
    assert [line.text for line in explained.lines] == ["why", "do", "cats", "sleep", "special tokens"]
    assert math.fsum(line.contribution for line in explained.lines) == pytest.approx(explained.score, abs=1e-12)
    assert explained.lines[-1].share == pytest.approx(explained.special_share)


def test_special_tokens_have_their_share_of_the_score(encoder: Encoder) -> None:
    explained = an_explanation(encoder)
    special = [match for match in explained.matches if match.special]
    assert [match.token for match in special] == ["[CLS]", "[SEP]"]
    assert explained.special_share == pytest.approx(
        sum(match.contribution for match in special) / explained.score, abs=1e-12
    )
    assert sum(word.share for word in explained.words) == pytest.approx(1)


def test_word_pieces_are_merged_into_words() -> None:
    wordpiece = Spelling(Vocabulary(("[CLS]", "un", "##believ", "##able", "story"), frozenset({0})))
    assert [wordpiece.text(word) for word in wordpiece.words([0, 1, 2, 3, 4])] == ["[CLS]", "unbelievable", "story"]
    byte_level = Spelling(Vocabulary(("<s>", "Ġcaf", "Ã©", "ĠbÃ", "¼"), frozenset({0})))
    assert [byte_level.text(word) for word in byte_level.words([0, 1, 2, 3, 4])] == ["<s>", "café", "bü"]
    pieces = Spelling(Vocabulary(("<s>", "▁un", "believ", "able", "▁story"), frozenset({0})))
    assert [pieces.text(word) for word in pieces.words([0, 1, 2, 3, 4])] == ["<s>", "unbelievable", "story"]


def test_spans_point_at_the_matched_words(encoder: Encoder) -> None:
    explained = an_explanation(encoder, "Cats, all day,  sleep.")
    assert explained.document is not None
    by_token = {match.token: match for match in explained.matches}
    for token in ("cats", "sleep"):
        match = by_token[token]
        assert match.span is None or explained.document[slice(*match.span)].lower() == match.matched.removeprefix("##")
    read = encoder.spans("Cats, all day,  sleep.")
    shown = ["Cats, all day,  sleep."[slice(*span)] for _, span in read if span is not None]
    assert shown == ["Cats", ",", "all", "day", ",", "sleep", "."]
    assert read[0][1] is None
    assert read[-1][1] is None


def test_spans_leave_markers_and_skipped_punctuation_out(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    encoder = Encoder.load(str(tmp_path))
    text = "the cat, sat on a mat."
    kept = encoder.encode_documents([text])
    found = placed(kept.token_ids, encoder.spans(text), Spelling(encoder.vocabulary))
    shown = [
        (encoder.vocabulary.tokens[token], text[slice(*one.span)] if one.span else None)
        for token, one in zip(kept.token_ids, found, strict=True)
    ]
    assert shown == [
        ("[CLS]", None),
        ("[unused1]", None),
        *((word, word) for word in ("the", "cat", "sat", "on", "a", "mat")),
        ("[SEP]", None),
    ]


def test_words_of_a_pooled_index_are_those_of_the_text(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder, pool=2)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder)
    for explained in searcher.explain(QUERY, list(DOCUMENTS)):
        assert explained.document is not None
        words = {*explained.document.split(), "[CLS]", "[SEP]"}
        assert {match.word for match in explained.matches} <= words
        for match in explained.matches:
            assert match.span is None or explained.document[slice(*match.span)] == match.word
        assert any(match.span is not None for match in explained.matches)


def test_words_of_bytes_are_spelled_whole() -> None:
    vocabulary = Vocabulary(("<s>", "ĠbÃ", "¼"), frozenset({0}))
    query = TokenBatch.pack([np.eye(3, dtype=np.float32)], [[0, 1, 2]])
    explained = explain_tokens(query, query, vocabulary, Scale(np.ones(3)))
    assert [word.text for word in explained.words] == ["<s>", "bü"]


@both_forms
def test_shares_are_shares_in_both_forms(encoder: Encoder, form: Form) -> None:
    explained = an_explanation(encoder, form=form)
    assert all(0 <= word.share <= 1 for word in explained.words)
    assert sum(word.share for word in explained.words) == pytest.approx(1)
    assert 0 <= explained.special_share <= 1


def test_why_one_document_is_above_another_adds_up_to_the_difference(encoder: Encoder) -> None:
    one, other = an_explanation(encoder, DOCUMENTS["d4"]), an_explanation(encoder, DOCUMENTS["d1"])
    differences = one.against(other)
    assert math.fsum(difference.gain for difference in differences) == pytest.approx(one.score - other.score, abs=1e-12)
    sizes = [abs(difference.gain) for difference in differences]
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(InputError, match="the same query"):
        one.against(explain("blue sky", "a dog", encoder=encoder))


def test_what_changed_against_uniform_weights(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder)
    weighted, uniform = searcher.explain(QUERY, "d4"), searcher.explain(QUERY, "d4", weights="uniform")
    assert searcher.explain(QUERY, ["d1", "d4"])[1] == weighted
    assert weighted.with_uniform_weights() == uniform, "to the last bit"
    assert {match.weight for match in uniform.matches} == {1.0}
    assert [match.distance for match in weighted.matches] == [match.distance for match in uniform.matches]
    assert math.fsum(one.gain for one in weighted.against(uniform)) == pytest.approx(weighted.score - uniform.score)


def test_what_cannot_be_explained_is_an_error(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", {**DOCUMENTS, "empty": ""}, encoder, allow_empty=True)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder)
    with pytest.raises(InputError, match="no document 'nothing'"):
        searcher.explain(QUERY, ["d1", "nothing"])
    with pytest.raises(InputError, match="'empty' has no tokens"):
        searcher.explain(QUERY, ["empty"])
    query = encoder.encode_queries([QUERY])
    with pytest.raises(InputError, match="one document with at least one token"):
        explain_tokens(query, encoder.encode_documents([""]), encoder.vocabulary, Scale(np.ones(6)))


def test_an_explanation_survives_json(encoder: Encoder) -> None:
    explained = an_explanation(encoder)
    read = json.loads(json.dumps(explained.as_json()))
    assert read["score"] == explained.score
    assert len(read["matches"]) == len(explained.matches)


def test_html_escapes_texts_and_names_the_words(encoder: Encoder) -> None:
    shown = an_explanation(encoder, "cats <script>alert(1)</script> sleep")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;" in shown
    assert "<mark" in shown
    assert "special tokens" in shown
    assert "<b>" not in table(["<b>", "n"], [["<b>", 1.0]], caption="<b>")
    assert marked("<a", []) == "&lt;a"


def test_rankings_and_hits_are_tables_in_a_notebook(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    hits = Searcher.open(tmp_path / "index", encoder=encoder).search(QUERY, k=2)
    assert hits._repr_html_().count("<tr>") == 3
    assert Ranking.of("q", ["<a>"], [0.5])._repr_html_().count("&lt;a&gt;") == 1
