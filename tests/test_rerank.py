from pathlib import Path

import numpy as np
import pytest

from chamfer import Encoder, InputError, Ranking, TokenWeights, rerank
from chamfer.cache.encoded import encode_cached
from chamfer.kernels import reference
from chamfer.kernels.form import Form
from chamfer.search.rerank_encoded import rerank_encoded
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.scale import Scale
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"


def some_weights(encoder: Encoder) -> TokenWeights:
    table = np.random.default_rng(0).uniform(0, 3, len(encoder.vocabulary)).astype(np.float32)
    return TokenWeights(table, encoder.vocabulary)


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_texts_are_ranked_as_the_definition_says(encoder: Encoder, form: Form) -> None:
    weights = some_weights(encoder)
    query = encoder.encode_queries([QUERY])
    expected = reference.score(
        query.vectors, weights.of(query), encoder.encode_documents(list(DOCUMENTS.values())), form
    )
    ranking = rerank(QUERY, DOCUMENTS, encoder=encoder, weights=weights, form=form)
    assert ranking.document_ids == Ranking.of("", list(DOCUMENTS), expected).document_ids
    scores = Scale(weights.of(query), form=form).scores(np.sort(expected)[::-1])
    np.testing.assert_allclose(ranking.scores, scores, atol=1e-4)


def test_texts_below_the_lowest_score_are_left_out(encoder: Encoder) -> None:
    every = rerank(QUERY, DOCUMENTS, encoder=encoder)
    for least in (0.0, every.scores[2], 1.0):
        kept = rerank(QUERY, DOCUMENTS, encoder=encoder, min_score=least)
        assert kept == every.at_least(least)
        assert len(kept) == sum(score >= least for score in every.scores)
    for wrong in (-0.1, 1.1, float("nan"), "high", True):
        with pytest.raises(InputError, match="min_score must be from 0 to 1, not"):
            rerank(QUERY, DOCUMENTS, encoder=encoder, min_score=wrong)  # type: ignore[arg-type]


def test_a_list_is_ranked_by_place_and_ties_keep_its_order(encoder: Encoder) -> None:
    texts = ["blue sky"] * 12
    assert rerank("dog", texts, encoder=encoder).document_ids == tuple(str(place) for place in range(12))
    assert rerank("dog", texts, encoder=encoder, k=3).document_ids == ("0", "1", "2")
    assert rerank("dog", [], encoder=encoder).document_ids == ()


def test_a_document_without_text_comes_last(encoder: Encoder) -> None:
    ranking = rerank("dog", {"empty": "", "full": "sky"}, encoder=encoder)
    assert ranking.document_ids == ("full", "empty")
    assert ranking.scores[1] == 0


def test_vectors_from_disk_rank_like_texts(encoder: Encoder, tmp_path: Path) -> None:
    weightings = {"uniform": TokenWeights.uniform(encoder.vocabulary), "some": some_weights(encoder)}
    corpus = encode_cached(tmp_path, encoder, list(DOCUMENTS), list(DOCUMENTS.values()))
    candidates = Ranking("q", ("d5", "d1", "d4"), (3, 2, 1))
    found = rerank_encoded(encoder.encode_queries([QUERY]), candidates, corpus, weightings)
    for name, weights in weightings.items():
        texts = {identifier: DOCUMENTS[identifier] for identifier in candidates.document_ids}
        direct = rerank(QUERY, texts, encoder=encoder, weights=weights)
        assert found[name].document_ids == direct.document_ids
        np.testing.assert_allclose(found[name].scores, direct.scores, atol=2e-3)


def test_a_candidate_that_is_not_in_the_corpus_is_named(encoder: Encoder, tmp_path: Path) -> None:
    corpus = encode_cached(tmp_path, encoder, ["d1"], ["cat"])
    with pytest.raises(InputError, match="candidate 'd9' of query 'q'"):
        rerank_encoded(encoder.encode_queries(["dog"]), Ranking("q", ("d9",), (1.0,)), corpus, {})


def test_one_text_is_not_a_list_of_letters(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="documents must be a list of strings"):
        rerank("dog", "cat", encoder=encoder)
    with pytest.raises(InputError, match="texts must be a list of strings"):
        encoder.encode_queries("dog")


def test_weights_of_another_tokenizer_are_refused(encoder: Encoder) -> None:
    foreign = TokenWeights.uniform(Vocabulary(("a", "b"), frozenset()))
    with pytest.raises(InputError, match="another tokenizer"):
        rerank("dog", ["cat"], encoder=encoder, weights=foreign)


def test_a_query_without_any_weight_matches_nothing(encoder: Encoder) -> None:
    nothing = TokenWeights(np.zeros(len(encoder.vocabulary), np.float32), encoder.vocabulary)
    ranking = rerank(QUERY, ["cats sleep", ""], encoder=encoder, weights=nothing)
    assert ranking.scores == (0.0, 0.0)
