"""LangChain's own classes around our scores: the same order, the same numbers, nothing changed in place."""

import asyncio
import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain_core", reason="the extra chamfer[langchain] is not installed")

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from chamfer import Encoder, InputError, Searcher, TokenWeights, build_index, count_frequencies, rerank
from chamfer.errors import InputWarning
from chamfer.integrations.langchain import IndexRetriever, WeightedReranker
from chamfer.kernels.form import Form
from chamfer.weights.mix import Mix
from tests.conftest import DOCUMENTS, QUERIES
from tests.test_mixed_scores import mixed

QUERY = "why do cats sleep"


@pytest.fixture
def weights(encoder: Encoder) -> TokenWeights:
    return TokenWeights.idf(count_frequencies(encoder, list(DOCUMENTS.values())), encoder.vocabulary)


def documents() -> list[Document]:
    return [Document(id=key, page_content=text, metadata={"from": key}) for key, text in DOCUMENTS.items()]


def scores(found: list[Document]) -> list[float]:
    return [document.metadata["relevance_score"] for document in found]


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_documents_are_ranked_and_scored_as_by_rerank(encoder: Encoder, weights: TokenWeights, form: Form) -> None:
    found = WeightedReranker(encoder=encoder, weights=weights, form=form).compress_documents(documents(), QUERY)
    expected = rerank(QUERY, DOCUMENTS, encoder=encoder, weights=weights, form=form)
    assert [document.id for document in found] == list(expected.document_ids)
    assert scores(found) == list(expected.scores)
    assert all(document.metadata["from"] == document.id for document in found)
    assert all(document.page_content == DOCUMENTS[document.id or ""] for document in found)


def test_without_weights_all_tokens_count_the_same(encoder: Encoder) -> None:
    found = WeightedReranker(encoder=encoder).compress_documents(documents(), QUERY)
    expected = rerank(QUERY, DOCUMENTS, encoder=encoder)
    assert scores(found) == list(expected.scores)


def test_the_given_documents_stay_as_they_are(encoder: Encoder) -> None:
    given = documents()
    found = WeightedReranker(encoder=encoder).compress_documents(given, QUERY)
    assert given == documents()
    found[0].metadata["from"] = "elsewhere"
    assert given == documents()


def test_equal_scores_keep_the_order(encoder: Encoder) -> None:
    given = [Document(id=str(place), page_content="blue sky") for place in range(12)]
    found = WeightedReranker(encoder=encoder).compress_documents(given, QUERY)
    assert [document.id for document in found] == [str(place) for place in range(12)]


def test_only_the_best_are_kept(encoder: Encoder) -> None:
    every = WeightedReranker(encoder=encoder).compress_documents(documents(), QUERY)
    assert WeightedReranker(encoder=encoder, top_n=2).compress_documents(documents(), QUERY) == every[:2]
    assert WeightedReranker(encoder=encoder, top_n=99).compress_documents(documents(), QUERY) == every
    with pytest.raises(ValidationError, match="greater than 0"):
        WeightedReranker(encoder=encoder, top_n=0)


def test_nothing_retrieved_is_nothing_ranked(encoder: Encoder) -> None:
    assert WeightedReranker(encoder=encoder).compress_documents([], QUERY) == []


def test_a_document_without_text_comes_last(encoder: Encoder) -> None:
    given = [Document(page_content=""), Document(page_content="sky"), Document(page_content=" \n")]
    found = WeightedReranker(encoder=encoder).compress_documents(given, QUERY)
    assert [document.page_content for document in found] == ["sky", "", " \n"]
    assert scores(found)[1:] == [0.0, 0.0]


def test_a_query_without_text_is_an_error(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="give some text to search for"):
        WeightedReranker(encoder=encoder).compress_documents(documents(), " ")


def test_asynchronous_calls_get_the_answers_of_single_ones(encoder: Encoder, weights: TokenWeights) -> None:
    reranker = WeightedReranker(encoder=encoder, weights=weights)
    queries = list(QUERIES.values())
    expected = [list(reranker.compress_documents(documents(), query)) for query in queries]

    async def ask() -> list[list[Document]]:
        return [
            list(found)
            for found in await asyncio.gather(*(reranker.acompress_documents(documents(), query) for query in queries))
        ]

    assert asyncio.run(ask()) == expected


def test_it_is_a_step_of_a_chain(encoder: Encoder) -> None:
    reranker = WeightedReranker(encoder=encoder, top_n=1)

    def best(query: str) -> str | None:
        return reranker.compress_documents(documents(), query)[0].id

    chain = RunnableLambda(str.lower) | best
    assert chain.invoke("Blue Sky") == rerank(QUERIES["q2"], DOCUMENTS, encoder=encoder).document_ids[0]


def test_what_is_no_encoder_is_refused() -> None:
    with pytest.raises(ValidationError, match="instance of Encoder"):
        WeightedReranker(encoder="minilm")  # type: ignore[arg-type]


def test_a_retriever_finds_what_the_searcher_finds(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path, DOCUMENTS, encoder)
    searcher = Searcher.open(tmp_path, encoder=encoder)
    retriever = IndexRetriever(searcher=searcher, k=3)
    hits = searcher.search(QUERY, 3)
    found = retriever.invoke(QUERY)
    assert [(document.id, document.page_content) for document in found] == [(hit.id, hit.text) for hit in hits]
    assert scores(found) == [hit.score for hit in hits]
    assert asyncio.run(retriever.ainvoke(QUERY)) == found
    assert retriever.batch([QUERY] * 8) == [found] * 8


def test_a_retriever_filters_by_metadata(encoder: Encoder, tmp_path: Path) -> None:
    texts = [
        {"id": "a", "text": "the cat sat", "year": 2019},
        {"id": "b", "text": "the cats sleep", "year": 2023},
    ]
    build_index(tmp_path, texts, encoder)
    retriever = IndexRetriever(searcher=Searcher.open(tmp_path, encoder=encoder), where="year < 2020")
    [found] = retriever.invoke(QUERY)
    assert (found.id, found.metadata["year"]) == ("a", 2019)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "chamfer.integrations.langchain")
    monkeypatch.setitem(sys.modules, "langchain_core.documents", None)
    with pytest.raises(InputError, match=r"needs langchain-core; run: pip install 'chamfer\[langchain\]'$"):
        importlib.import_module("chamfer.integrations.langchain")


def test_an_index_retriever_counts_a_mix_and_a_compressor_warns_of_its_lexical_part(
    encoder: Encoder, tmp_path: Path
) -> None:
    weights = mixed(encoder)
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder, weights=weights)
    found = IndexRetriever(searcher=searcher, k=3).invoke(QUERY)
    assert [document.id for document in found] == [hit.id for hit in searcher.search(QUERY, 3)]
    with pytest.warns(InputWarning, match="lexical evidence"):
        found = WeightedReranker(encoder=encoder, weights=weights).compress_documents(documents(), QUERY)
    pooled = weights.with_mix(Mix(pooled=weights.mix.pooled))
    assert [document.id for document in found] == list(
        rerank(QUERY, DOCUMENTS, encoder=encoder, weights=pooled).document_ids
    )
