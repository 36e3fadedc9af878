"""Re-ranking candidates of a collection by tokens, an adapter and evidence beside the tokens."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest

from chamfer import Encoder, InputError, Ranking, Searcher, TokenBatch, TokenWeights, build_index
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import load_collection
from chamfer.evaluate.first_stage import find_first
from chamfer.evaluate.rankings import rerank_candidates
from chamfer.evaluate.setup import Setup
from chamfer.kernels import dispatch, reference
from chamfer.kernels.form import Form
from chamfer.retrieve.bm25 import BM25
from chamfer.search import rerank_all as reranked_in
from chamfer.search.rerank_all import Lexical, rerank_all
from chamfer.search.rerank_encoded import CANDIDATES, OWN, RerankEncoded, rerank_encoded
from chamfer.tokens.means import mean_vectors
from chamfer.weights.adapter import Adapter
from chamfer.weights.mix import LEXICAL, NOTHING, Mix
from chamfer.weights.scale import Scale
from chamfer.workers.jobs import Table
from tests.conftest import DOCUMENTS, QUERIES

MIX = Mix(lexical=0.3, pooled=0.7)
EVERYTHING = {name: Ranking(name, tuple(DOCUMENTS), (0.0,) * len(DOCUMENTS)) for name in QUERIES}

Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def folder(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def corpus(encoder: Encoder, folder: Path) -> EncodedCorpus:
    return encode_cached(folder, encoder, list(DOCUMENTS), list(DOCUMENTS.values()))


@pytest.fixture(scope="module")
def queries(encoder: Encoder, folder: Path) -> EncodedCorpus:
    return encode_cached(folder, encoder, list(QUERIES), list(QUERIES.values()), role="query")


@pytest.fixture(scope="module")
def mixed(encoder: Encoder) -> TokenWeights:
    """Weights with everything that weights can have."""
    generator = np.random.default_rng(0)
    down, up = (generator.normal(size=shape).astype(np.float32) for shape in ((encoder.dimensions, 2),) * 2)
    table = generator.uniform(0, 3, len(encoder.vocabulary)).astype(np.float32)
    context = (0.1 * generator.normal(size=encoder.dimensions)).astype(np.float32)
    return TokenWeights(table, encoder.vocabulary, {}, context, Adapter(down, up.T.copy()), MIX)


def bm25_scores(query: str, documents: Sequence[str]) -> Floats:
    return BM25(DOCUMENTS).scores(QUERIES[query], documents)


def own_score(query: str) -> float:
    return BM25(DOCUMENTS).own(QUERIES[query])


LEXICAL_SCORES = Lexical(bm25_scores, own_score)


class Given(TypedDict):
    """What BM25 knows of a query."""

    lexical: Floats
    own_lexical: float


def of_query(queries: EncodedCorpus, name: str) -> tuple[TokenBatch, Given]:
    """A query, and BM25's scores of all documents and of its own text."""
    given = Given(lexical=bm25_scores(name, tuple(DOCUMENTS)), own_lexical=own_score(name))
    return queries.tokens[queries.place[name]], given


@pytest.mark.parametrize("form", ["l2", "cosine"])
@pytest.mark.parametrize("k", [None, 5])
def test_the_score_is_tokens_plus_evidence_as_defined(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights, form: Form, k: int | None
) -> None:
    query, given = of_query(queries, "q1")
    found = rerank_encoded(query, EVERYTHING["q1"], corpus, {"all": mixed}, form=form, k=k, **given)["all"]
    weights, adapted = mixed.of(query), mixed.adapt(query)
    tokens = reference.score(adapted.vectors, weights, corpus.tokens, form)
    pooled = mean_vectors(corpus.tokens) @ mean_vectors(adapted)[0]
    scores = tokens + weights.mean() * (0.3 * given["lexical"] + 0.7 * pooled)
    scale = Scale(weights, MIX, form, given["own_lexical"])
    expected = Ranking.of("q1", list(DOCUMENTS), scores).rescored(scale.scores)
    assert found.document_ids == expected.document_ids
    np.testing.assert_allclose(found.scores, expected.scores, atol=2e-3)  # means are in 16 bits


def test_without_a_mix_and_an_adapter_nothing_changes_to_the_last_bit(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    query, given = of_query(queries, "q1")
    plain = replace(mixed, adapter=None, mix=NOTHING)
    alone = rerank_encoded(query, EVERYTHING["q1"], corpus, {"plain": plain})["plain"]
    places = np.arange(len(DOCUMENTS))
    scores = dispatch.score(dispatch.minima(query, corpus, candidates=places), plain.of(query))
    assert alone == Ranking.of("q1", list(DOCUMENTS), scores).rescored(Scale(plain.of(query)).scores)
    both = rerank_encoded(query, EVERYTHING["q1"], corpus, {"mixed": mixed, "plain": plain}, **given)
    assert both["plain"] == alone


def test_distances_are_computed_once_for_each_adapter(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    query, given = of_query(queries, "q1")
    weightings = {
        "mixed": mixed,
        "tokens": mixed.with_mix(NOTHING),
        "unmoved": replace(mixed, adapter=None),
        "plain": replace(mixed, adapter=None, mix=NOTHING),
    }
    with patch.object(dispatch, "minima", side_effect=dispatch.minima) as computed:
        together = rerank_encoded(query, EVERYTHING["q1"], corpus, weightings, **given)
    assert computed.call_count == 2
    for name, weights in weightings.items():
        assert together[name] == rerank_encoded(query, EVERYTHING["q1"], corpus, {name: weights}, **given)[name]


def test_lexical_evidence_that_is_not_given_is_an_error(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    query, _ = of_query(queries, "q1")
    with pytest.raises(InputError, match="needs BM25's scores of the candidates"):
        rerank_encoded(query, EVERYTHING["q1"], corpus, {"mixed": mixed})


def test_a_document_that_bm25_did_not_find_has_no_lexical_evidence(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    [found] = BM25(DOCUMENTS).search({"q2": QUERIES["q2"]})
    others = [name for name in DOCUMENTS if name not in found.document_ids]
    assert others
    assert bm25_scores("q2", others).tolist() == [0.0] * len(others)
    query, given = of_query(queries, "q2")
    weightings = {"lexical": mixed.with_mix(Mix(lexical=5.0)), "tokens": mixed.with_mix(NOTHING)}
    ranked = rerank_encoded(query, EVERYTHING["q2"], corpus, weightings, **given)
    by_name = {name: dict(zip(one.document_ids, one.scores, strict=True)) for name, one in ranked.items()}
    for name in DOCUMENTS:
        evidence = 5 * (0 if name in others else float(given["lexical"][list(DOCUMENTS).index(name)]))
        tokens = 2**0.5 * by_name["tokens"][name]
        score = (tokens + evidence) / (2**0.5 + 5 * given["own_lexical"])
        assert by_name["lexical"][name] == pytest.approx(min(score, 1), abs=1e-5)


def test_a_document_without_tokens_stays_last_whatever_its_evidence(encoder: Encoder, tmp_path: Path) -> None:
    texts = {"a": "", "b": "the cat"}
    corpus = encode_cached(tmp_path, encoder, list(texts), list(texts.values()))
    weights = TokenWeights.uniform(encoder.vocabulary).with_mix(Mix(lexical=100.0))
    query, lexical = encoder.encode_queries(["dog"]), np.array([30, 0], np.float32)
    for k in (None, 2):
        ranking = rerank_encoded(
            query, Ranking("q", ("a", "b"), (0, 0)), corpus, {"w": weights}, k=k, lexical=lexical, own_lexical=9
        )
        assert ranking["w"].document_ids == ("b", "a")
        assert ranking["w"].scores[1] == 0


@pytest.mark.parametrize("first_stage", ["exhaustive", "dense", "bm25"])
def test_the_same_pair_has_the_same_score_in_a_collection_and_in_an_index(
    collection_folder: Path, encoder: Encoder, mixed: TokenWeights, tmp_path: Path, first_stage: str
) -> None:
    collection = load_collection(collection_folder)
    build_index(tmp_path / "index", collection.documents, encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder, weights=mixed, first_stage=first_stage)
    setup = Setup(collection, encoder, tmp_path / "cache")
    encoded = setup.encode_queries(QUERIES).tokens  # in 16 bits, which a search does not round to
    weighted = searcher.queries.weigh(encoded, list(QUERIES.values()))
    found = searcher.rank(weighted, len(DOCUMENTS))
    in_index = [
        Ranking(name, tuple(searcher.index.ids(one.places)), tuple(scale.scores(one.scores).tolist()))
        for name, one, scale in zip(QUERIES, found, searcher.ranker.scales(weighted), strict=True)
    ]
    in_collection = rerank_candidates(setup, {"mixed": mixed}, in_index)["mixed"]
    for here, there in zip(in_collection, in_index, strict=True):
        assert here.document_ids == there.document_ids
        np.testing.assert_allclose(here.scores, there.scores, rtol=1e-6)


def test_a_first_stage_that_scores_all_documents_adds_evidence(
    collection_folder: Path, encoder: Encoder, mixed: TokenWeights, tmp_path: Path
) -> None:
    setup = Setup(load_collection(collection_folder), encoder, tmp_path)
    chosen = {name: text for name, text in QUERIES.items() if name != "d2"}  # it leaves out its own document
    found = find_first(setup, chosen, {"mixed": mixed}, "exhaustive")["mixed"]
    ranked = rerank_candidates(setup, {"mixed": mixed}, [EVERYTHING[name] for name in chosen])["mixed"]
    for first, again in zip(found, ranked, strict=True):
        assert first.document_ids == again.document_ids
        np.testing.assert_allclose(first.scores, again.scores, atol=1e-5)


def test_first_stages_search_with_adapted_queries(
    collection_folder: Path, encoder: Encoder, mixed: TokenWeights, tmp_path: Path
) -> None:
    setup = Setup(load_collection(collection_folder), encoder, tmp_path)
    weightings = {"moved": mixed, "unmoved": replace(mixed, adapter=None)}
    found = find_first(setup, QUERIES, weightings, "dense")
    tokens = setup.encode_queries(QUERIES).tokens
    for name, weights in weightings.items():
        expected = mean_vectors(weights.adapt(tokens), weights.of(tokens)) @ mean_vectors(setup.corpus.tokens).T
        for ranking, scores in zip(found[name], expected, strict=True):
            best = [setup.corpus.ids[place] for place in np.argsort(-scores)]
            assert ranking.document_ids[0] == next(one for one in best if one != ranking.query_id)
    assert found["moved"] != found["unmoved"]


def changed_weights(mixed: TokenWeights) -> list[TokenWeights]:
    adapter = mixed.adapter
    assert adapter is not None
    return [
        mixed,
        mixed.with_mix(Mix(lexical=0.3, pooled=0.6)),
        mixed.with_mix(Mix(lexical=0.7, pooled=0.3)),
        mixed.with_mix(NOTHING),
        replace(mixed, adapter=None),
        replace(mixed, adapter=Adapter(2 * adapter.down, adapter.up)),
        replace(mixed, adapter=Adapter(adapter.down, 2 * adapter.up)),
    ]


def test_the_key_of_the_job_covers_the_adapter_and_the_mix(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    jobs = [RerankEncoded(queries, corpus, {"mixed": weights}) for weights in changed_weights(mixed)]
    assert len({job.key([]) for job in jobs}) == len(jobs)
    assert pickle.loads(pickle.dumps(jobs[0])).key([]) == jobs[0].key([])


def test_resuming_with_another_mix_does_not_reuse_rankings(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranked_in, "QUERIES_PER_TABLE", 1)
    candidates = list(EVERYTHING.values())
    done: list[int] = []

    def stop(count: int) -> None:
        done.append(count)
        if sum(done) == 3:
            raise KeyboardInterrupt

    first = RerankEncoded(queries, corpus, {"mixed": mixed})
    with pytest.raises(KeyboardInterrupt):
        rerank_all(first, candidates, lexical=LEXICAL_SCORES, keep=tmp_path, advance=stop)
    other = RerankEncoded(queries, corpus, {"mixed": mixed.with_mix(Mix(pooled=9.0))})
    assert rerank_all(other, candidates, keep=tmp_path) == rerank_all(other, candidates)
    done = [-1000]
    asked: list[str] = []

    def lexical(query: str, documents: Sequence[str]) -> Floats:
        asked.append(query)
        return bm25_scores(query, documents)

    resumed = rerank_all(first, candidates, lexical=Lexical(lexical, own_score), keep=tmp_path, advance=done.append)
    assert resumed == rerank_all(first, candidates, lexical=LEXICAL_SCORES)
    assert done[1:] == [2, 1, 1]
    assert asked == ["q3", "d2"], "BM25 scores only what is left to rank"


def test_the_job_is_pickled_with_its_adapter_and_mix_and_reads_no_texts(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    job = RerankEncoded(queries, corpus, {"mixed": mixed, "tokens": mixed.with_mix(NOTHING)}, k=3)
    query, documents = CANDIDATES
    table: Table = {
        query: ["q1"],
        documents: [list(DOCUMENTS)],
        LEXICAL: [bm25_scores("q1", [*DOCUMENTS]).tolist()],
        OWN: [own_score("q1")],
    }
    sent = json.loads(json.dumps(table))
    again: RerankEncoded = pickle.loads(pickle.dumps(job))
    assert again(sent, lambda _: None) == job(table, lambda _: None)


def test_bm25_is_not_asked_unless_a_mix_needs_it(
    corpus: EncodedCorpus, queries: EncodedCorpus, mixed: TokenWeights
) -> None:
    def lexical(query: str, documents: Sequence[str]) -> Floats:
        raise AssertionError

    job = RerankEncoded(queries, corpus, {"pooled": mixed.with_mix(Mix(pooled=0.4))})
    assert len(rerank_all(job, list(EVERYTHING.values()), lexical=Lexical(lexical, own_score))["pooled"]) == len(
        QUERIES
    )
