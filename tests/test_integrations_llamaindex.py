"""LlamaIndex's own classes around our scores: the same order, the same numbers, nothing changed in place."""

import asyncio
import importlib
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="the extra chamfer[llamaindex] is not installed")

from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from pydantic import ValidationError

from chamfer import Document, Encoder, InputError, Searcher, TokenWeights, build_index, count_frequencies, rerank
from chamfer.integrations.llamaindex import IndexRetriever, WeightedRerank
from chamfer.kernels.form import Form
from tests.conftest import DOCUMENTS, QUERIES

QUERY = "why do cats sleep"


@pytest.fixture
def weights(encoder: Encoder) -> TokenWeights:
    return TokenWeights.idf(count_frequencies(encoder, list(DOCUMENTS.values())), encoder.vocabulary)


def nodes() -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(id_=key, text=text), score=0.5) for key, text in DOCUMENTS.items()]


def scores(found: list[NodeWithScore]) -> list[float | None]:
    return [node.score for node in found]


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_nodes_are_ranked_and_scored_as_by_rerank(encoder: Encoder, weights: TokenWeights, form: Form) -> None:
    step = WeightedRerank(encoder=encoder, weights=weights, form=form)
    found = step.postprocess_nodes(nodes(), query_str=QUERY)
    expected = rerank(QUERY, DOCUMENTS, encoder=encoder, weights=weights, form=form)
    assert [node.node_id for node in found] == list(expected.document_ids)
    assert scores(found) == list(expected.scores)
    assert step.postprocess_nodes(nodes(), QueryBundle(QUERY)) == found


def test_the_given_nodes_stay_as_they_are(encoder: Encoder) -> None:
    given = nodes()
    found = WeightedRerank(encoder=encoder).postprocess_nodes(given, query_str=QUERY)
    assert given == nodes()
    assert not {id(node) for node in found} & {id(node) for node in given}


def test_equal_scores_keep_the_order(encoder: Encoder) -> None:
    given = [NodeWithScore(node=TextNode(id_=str(place), text="blue sky")) for place in range(12)]
    found = WeightedRerank(encoder=encoder).postprocess_nodes(given, query_str=QUERY)
    assert [node.node_id for node in found] == [str(place) for place in range(12)]


def test_only_the_best_are_kept(encoder: Encoder) -> None:
    every = WeightedRerank(encoder=encoder).postprocess_nodes(nodes(), query_str=QUERY)
    assert WeightedRerank(encoder=encoder, top_n=2).postprocess_nodes(nodes(), query_str=QUERY) == every[:2]
    assert WeightedRerank(encoder=encoder, top_n=99).postprocess_nodes(nodes(), query_str=QUERY) == every
    with pytest.raises(ValidationError, match="greater than 0"):
        WeightedRerank(encoder=encoder, top_n=0)


def test_nothing_retrieved_is_nothing_ranked(encoder: Encoder) -> None:
    assert WeightedRerank(encoder=encoder).postprocess_nodes([], query_str=QUERY) == []


def test_a_node_without_text_comes_last(encoder: Encoder) -> None:
    given = [NodeWithScore(node=ImageNode(id_="image")), NodeWithScore(node=TextNode(id_="text", text="sky"))]
    found = WeightedRerank(encoder=encoder).postprocess_nodes(given, query_str=QUERY)
    assert [node.node_id for node in found] == ["text", "image"]
    assert found[1].score == 0


def test_without_a_query_there_is_no_ranking(encoder: Encoder) -> None:
    with pytest.raises(InputError, match="re-ranking needs a query; give query_str"):
        WeightedRerank(encoder=encoder).postprocess_nodes(nodes())


def test_metadata_are_read_as_the_mode_says(encoder: Encoder) -> None:
    node = TextNode(text="the dog", metadata={"the": "cat", "a": "mat"}, excluded_embed_metadata_keys=["a"])
    given = [NodeWithScore(node=node)]
    for mode, text in ((MetadataMode.EMBED, "the: cat\n\nthe dog"), (MetadataMode.NONE, "the dog")):
        step = WeightedRerank(encoder=encoder, metadata_mode=mode)
        expected = rerank(QUERY, [text], encoder=encoder)
        assert scores(step.postprocess_nodes(given, query_str=QUERY)) == list(expected.scores)
    assert WeightedRerank(encoder=encoder).metadata_mode == MetadataMode.EMBED


def test_asynchronous_calls_get_the_answers_of_single_ones(encoder: Encoder, weights: TokenWeights) -> None:
    step = WeightedRerank(encoder=encoder, weights=weights)
    queries = list(QUERIES.values())
    expected = [step.postprocess_nodes(nodes(), query_str=query) for query in queries]

    async def ask() -> list[list[NodeWithScore]]:
        return await asyncio.gather(*(step.apostprocess_nodes(nodes(), query_str=query) for query in queries))

    assert asyncio.run(ask()) == expected


def test_its_description_holds_no_model(encoder: Encoder) -> None:
    described = json.loads(WeightedRerank(encoder=encoder, top_n=3).to_json())
    assert described == {
        "form": "l2",
        "top_n": 3,
        "metadata_mode": "embed",
        "class_name": "ChamferWeightedRerank",
    }


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "chamfer.integrations.llamaindex")
    monkeypatch.setitem(sys.modules, "llama_index.core.postprocessor.types", None)
    with pytest.raises(InputError, match=r"needs llama-index-core; run: pip install 'chamfer\[llamaindex\]'$"):
        importlib.import_module("chamfer.integrations.llamaindex")


def test_a_retriever_finds_what_a_search_finds(encoder: Encoder, tmp_path: Path) -> None:
    documents = [
        Document(name, text, title=name.upper(), metadata={"length": len(text)}) for name, text in DOCUMENTS.items()
    ]
    build_index(tmp_path / "index", documents, encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder)
    found = IndexRetriever(searcher, k=2, where="length > 15").retrieve(QUERY)
    hits = searcher.search(QUERY, 2, where="length > 15")
    expected = [(hit.id, f"{hit.title}\n\n{hit.text}", hit.metadata) for hit in hits]
    assert [(node.node_id, node.text, node.metadata) for node in found] == expected
    assert scores(found) == [hit.score for hit in hits]
    assert asyncio.run(IndexRetriever(searcher, k=1).aretrieve(QUERY))[0].node_id == searcher.search(QUERY, 1)[0].id
