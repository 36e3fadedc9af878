"""PyTerrier's own operators and experiments around our scores, without Java."""

import importlib
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("pyterrier", reason="the extra chamfer[pyterrier] is not installed")

import pandas as pd
import pyterrier as pt

from chamfer import Encoder, InputError, TokenBatch, TokenWeights, count_frequencies, rerank
from chamfer.errors import InputWarning
from chamfer.integrations.pyterrier import QueryEncoder, Reranker
from chamfer.kernels.form import Form
from chamfer.weights.mix import Mix
from tests.conftest import DOCUMENTS, JUDGEMENTS, QUERIES
from tests.test_mixed_scores import mixed


@pytest.fixture
def weights(encoder: Encoder) -> TokenWeights:
    return TokenWeights.idf(count_frequencies(encoder, list(DOCUMENTS.values())), encoder.vocabulary)


@pytest.fixture
def unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No query may be encoded from now on."""

    def refuse(self: Encoder, texts: Sequence[str]) -> TokenBatch:
        raise AssertionError(texts)

    monkeypatch.setattr(Encoder, "encode_queries", refuse)


def queries() -> pd.DataFrame:
    return pd.DataFrame({"qid": list(QUERIES), "query": list(QUERIES.values())})


def documents() -> pd.DataFrame:
    return pd.DataFrame({"docno": list(DOCUMENTS), "text": list(DOCUMENTS.values())})


def candidates() -> pd.DataFrame:
    """Every document for every query, those of different queries among each other."""
    return documents().merge(queries(), how="cross").assign(score=1.0, rank=0)


def answers(encoder: Encoder, weights: TokenWeights | None = None, form: Form = "l2") -> pd.DataFrame:
    """What our own function says, as a frame."""
    rankings = [
        rerank(text, DOCUMENTS, encoder=encoder, weights=weights, form=form, query_id=key)
        for key, text in QUERIES.items()
    ]
    return pd.DataFrame(
        [
            (ranking.query_id, docno, score, rank)
            for ranking in rankings
            for rank, (docno, score) in enumerate(zip(ranking.document_ids, ranking.scores, strict=True))
        ],
        columns=["qid", "docno", "score", "rank"],
    )


def check(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found[["qid", "docno", "score", "rank"]], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_rows_are_ranked_and_scored_as_by_rerank(encoder: Encoder, weights: TokenWeights, form: Form) -> None:
    found = Reranker(encoder, weights, form=form).transform(candidates())
    check(found, answers(encoder, weights, form))
    assert list(found.columns) == ["docno", "text", "qid", "query", "score", "rank"]
    assert found["text"].tolist() == [DOCUMENTS[docno] for docno in found["docno"]]


def test_the_given_frame_stays_as_it_is(encoder: Encoder) -> None:
    frame, topics = candidates(), queries()
    Reranker(encoder).transform(frame)
    QueryEncoder(encoder).transform(topics)
    pd.testing.assert_frame_equal(frame, candidates())
    pd.testing.assert_frame_equal(topics, queries())


def test_queries_get_their_vectors_tokens_and_weights(encoder: Encoder, weights: TokenWeights) -> None:
    found = QueryEncoder(encoder, weights).transform(queries())
    assert list(found.columns) == ["qid", "query", "query_embs", "query_toks", "query_weights"]
    for row in found.to_dict("records"):
        query = encoder.encode_queries([row["query"]])
        np.testing.assert_allclose(row["query_embs"], query.vectors, atol=1e-5)
        np.testing.assert_array_equal(row["query_toks"], query.token_ids)
        np.testing.assert_array_equal(row["query_weights"], weights.of(query))


def test_a_query_in_many_rows_is_encoded_once(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, asked = encoder.encode_queries, []

    def count(texts: Sequence[str]) -> TokenBatch:
        asked.append(list(texts))
        return encode(texts)

    monkeypatch.setattr(encoder, "encode_queries", count)
    QueryEncoder(encoder).transform(candidates())
    assert asked == [list(QUERIES.values())]


def test_encoded_queries_are_not_encoded_again(
    encoder: Encoder, weights: TokenWeights, request: pytest.FixtureRequest
) -> None:
    encoded, expected = QueryEncoder(encoder, weights).transform(candidates()), answers(encoder, weights)
    request.getfixturevalue("unasked")
    check(Reranker(encoder).transform(encoded), expected)  # with the weights of the frame, not the re-ranker's own
    check(Reranker(encoder, weights).transform(encoded.drop(columns="query_weights")), expected)
    check(Reranker(encoder).transform(encoded.drop(columns=["query", "query_toks"])), expected)


def test_weights_can_be_changed_between_encoding_and_ranking(encoder: Encoder) -> None:
    encoded = QueryEncoder(encoder).transform(candidates())
    scaled = encoded.assign(query_weights=[2 * weights for weights in encoded["query_weights"]])
    check(Reranker(encoder).transform(scaled), answers(encoder))
    first = encoded.assign(
        query_weights=[weights * [1, *[0] * (len(weights) - 1)] for weights in scaled["query_weights"]]
    )
    assert (Reranker(encoder).transform(first)["score"] != answers(encoder)["score"]).any()


def test_vectors_alone_do_not_tell_their_weights(encoder: Encoder) -> None:
    encoded = QueryEncoder(encoder).transform(candidates()).drop(columns=["query_toks", "query_weights"])
    with pytest.raises(InputError, match="needs query_weights or query_toks"):
        Reranker(encoder).transform(encoded)


def test_equal_scores_keep_the_order(encoder: Encoder) -> None:
    docnos = [str(place) for place in reversed(range(12))]
    found = Reranker(encoder).transform(pd.DataFrame({"qid": "q", "query": "dog", "docno": docnos, "text": "blue sky"}))
    assert found["docno"].tolist() == docnos
    assert found["rank"].tolist() == list(range(12))


def test_a_document_without_text_comes_last(encoder: Encoder) -> None:
    texts = ["", None, "sky", float("nan")]
    found = Reranker(encoder).transform(
        pd.DataFrame({"qid": "q", "query": "dog", "docno": list("abcd"), "text": texts})
    )
    assert found["docno"].tolist() == ["c", "a", "b", "d"]
    assert (found["score"][1:] == 0).all()


def test_nothing_retrieved_is_nothing_ranked(encoder: Encoder) -> None:
    found = Reranker(encoder).transform(candidates()[:0])
    assert len(found) == 0
    assert {"score", "rank"} < set(found.columns)
    encoded = QueryEncoder(encoder).transform(queries()[:0])
    assert len(encoded) == 0
    assert "query_weights" in encoded


def test_missing_columns_are_named(encoder: Encoder) -> None:
    with pytest.raises(pt.validate.InputValidationError, match="text"):
        Reranker(encoder).transform(candidates().drop(columns="text"))
    with pytest.raises(pt.validate.InputValidationError, match="query"):
        QueryEncoder(encoder).transform(queries()[["qid"]])


def test_a_pipeline_knows_its_columns(encoder: Encoder) -> None:
    reranker, query_encoder = Reranker(encoder), QueryEncoder(encoder)
    assert pt.inspect.transformer_inputs(query_encoder) == [["qid", "query"]]
    assert pt.inspect.transformer_inputs(reranker) == [
        ["qid", "docno", "query", "text"],
        ["qid", "docno", "query_embs", "text"],
    ]
    columns = ["qid", "query", "docno", "text"]
    assert pt.inspect.transformer_outputs(reranker, columns) == [*columns, "score", "rank"]
    added = ["query_embs", "query_toks", "query_weights"]
    assert pt.inspect.transformer_outputs(query_encoder, ["qid", "query"]) == ["qid", "query", *added]


def test_it_is_a_step_of_a_pipeline(encoder: Encoder, weights: TokenWeights) -> None:
    first = pt.Transformer.from_df(candidates())
    best = first >> QueryEncoder(encoder, weights) >> Reranker(encoder) % 2
    expected = answers(encoder, weights)
    check(best.transform(queries()).reset_index(drop=True), expected[expected["rank"] < 2].reset_index(drop=True))


def test_an_experiment_measures_it(encoder: Encoder, weights: TokenWeights) -> None:
    judged = pd.DataFrame(JUDGEMENTS, columns=["qid", "docno", "label"])
    pipeline = pt.Transformer.from_df(candidates()) >> Reranker(encoder, weights)
    measured = pt.Experiment([pipeline, pt.Transformer.from_df(answers(encoder, weights))], queries(), judged, ["ndcg"])
    assert measured["ndcg"][0] == pytest.approx(measured["ndcg"][1])


@pytest.mark.long
def test_no_java_is_started() -> None:
    code = (
        "import sys; sys.modules['jnius'] = None\n"
        "import chamfer.integrations.pyterrier, pyterrier as pt; assert not pt.java.started()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
    assert not pt.java.started()


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "chamfer.integrations.pyterrier")
    monkeypatch.setitem(sys.modules, "pyterrier", None)
    with pytest.raises(InputError, match=r"needs pyterrier; run: pip install 'chamfer\[pyterrier\]'$"):
        importlib.import_module("chamfer.integrations.pyterrier")


def test_queries_are_adapted_and_pooled_evidence_counts(encoder: Encoder) -> None:
    with pytest.warns(InputWarning, match="combine the scores with those of a BM25 transformer") as caught:
        reranker = Reranker(encoder, mixed(encoder))
    assert len(caught) == 1
    unwarned = mixed(encoder, Mix(pooled=0.4))
    expected = answers(encoder, unwarned)
    check(reranker.transform(candidates()), expected)
    with_vectors = QueryEncoder(encoder, unwarned).transform(candidates())
    check(reranker.transform(with_vectors), expected)
    plain = encoder.encode_queries(list(QUERIES.values()))
    each = dict(zip(QUERIES, (plain[n] for n in range(len(QUERIES))), strict=True))
    frame = candidates()
    vectors = pd.Series([each[key].vectors for key in frame["qid"]], dtype=object)
    tokens = pd.Series([each[key].token_ids for key in frame["qid"]], dtype=object)
    check(reranker.transform(frame.assign(query_embs=vectors, query_toks=tokens)), expected)
