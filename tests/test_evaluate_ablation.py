"""Evaluating weights that have a mix or an adapter, piece by piece."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chamfer import Encoder, InputError, Ranking, Searcher, TokenWeights, build_index, count_frequencies, evaluate
from chamfer.data.collection import load_collection
from chamfer.evaluate.ablation import with_ablations
from chamfer.evaluate.rankings import find_candidates
from chamfer.evaluate.setup import Setup
from chamfer.retrieve.bm25 import BM25
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.adapter import Adapter
from chamfer.weights.idf import POWER_BESIDE_EVIDENCE
from chamfer.weights.mix import NOTHING, Mix
from tests.conftest import DOCUMENTS, QUERIES

PLAIN = TokenWeights.uniform(Vocabulary(("the", "cat"), frozenset()))
ADAPTER = Adapter(np.ones((2, 1), np.float32), np.ones((1, 2), np.float32))
ABLATED = ["mix", "mix without lexical", "mix without pooled", "mix, tokens only"]


def test_every_piece_is_switched_off_alone() -> None:
    everything = replace(PLAIN, adapter=ADAPTER, mix=Mix(lexical=0.1, pooled=0.2))
    found = with_ablations({"all": everything})
    assert {name: (one.adapter is None, one.mix) for name, one in found.items()} == {
        "all": (False, Mix(lexical=0.1, pooled=0.2)),
        "all without lexical": (False, Mix(pooled=0.2)),
        "all without pooled": (False, Mix(lexical=0.1)),
        "all without adapter": (True, Mix(lexical=0.1, pooled=0.2)),
        "all, tokens only": (False, NOTHING),
    }
    assert all(one.table is PLAIN.table for one in found.values())


def test_a_mix_of_one_piece_is_ablated_once_and_plain_weights_not_at_all() -> None:
    lexical = PLAIN.with_mix(Mix(lexical=0.1))
    adapted = replace(PLAIN, adapter=ADAPTER)
    assert list(with_ablations({"plain": PLAIN, "lexical": lexical, "adapted": adapted})) == [
        "plain",
        "lexical",
        "lexical without lexical",
        "adapted",
        "adapted without adapter",
    ]


def test_ablations_of_a_file_are_named_without_its_folder_and_suffix() -> None:
    found = with_ablations({"runs/mine-1.2.safetensors": PLAIN.with_mix(Mix(lexical=0.1))})
    assert list(found) == ["runs/mine-1.2.safetensors", "mine-1.2 without lexical"]


def test_a_system_that_has_the_name_of_an_ablation_is_refused() -> None:
    with pytest.raises(InputError, match="two systems would be called 'mine without lexical'"):
        with_ablations({"mine": PLAIN.with_mix(Mix(lexical=0.1))}, ["bm25", "mine without lexical"])


def test_an_ablation_stands_beside_the_weights_with_its_own_rankings(
    collection_folder: Path, encoder: Encoder, tmp_path: Path
) -> None:
    collection = load_collection(collection_folder)
    counted = count_frequencies(encoder, list(collection.documents.values()))
    softer = TokenWeights.soft_idf(counted, encoder.vocabulary, power=POWER_BESIDE_EVIDENCE)
    found = evaluate(collection, {"mix": "mix", "softer": softer}, encoder=encoder, cache=tmp_path, ablation=True)
    assert [system.name for system in found.systems] == ["bm25", *ABLATED, "softer"]
    assert [row["system"] for row in found.table()] == ["bm25", *ABLATED, "softer"]
    assert found["mix, tokens only"].rankings == found["softer"].rankings
    assert found["mix without lexical"].rankings != found["mix"].rankings != found["mix without pooled"].rankings
    assert [system.name for system in evaluate(collection, "mix", encoder=encoder, cache=tmp_path).systems] == [
        "bm25",
        "mix",
    ]


def test_an_index_is_ablated_like_a_collection(collection_folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    collection = load_collection(collection_folder)
    build_index(tmp_path / "index", collection.documents, encoder)
    searcher = Searcher.open(tmp_path / "index", encoder=encoder, first_stage="exhaustive")
    by_index = evaluate(
        searcher, ["mix"], queries=collection.queries, judgements=collection.judgements["test"], ablation=True
    )
    by_collection = evaluate(
        collection, ["mix"], encoder=encoder, cache=tmp_path / "cache", first_stage="exhaustive", ablation=True
    )
    assert [system.name for system in by_index.systems] == ABLATED
    for name in ABLATED:
        for here, there in zip(by_index[name].rankings, by_collection[name].rankings, strict=True):
            assert here.document_ids == there.document_ids
            np.testing.assert_allclose(here.scores, there.scores, atol=2e-3)  # cached queries are in 16 bits


@pytest.mark.parametrize("first_stage", ["bm25", "dense", "exhaustive", "bm25+dense"])
def test_a_pair_has_one_score_whichever_first_stage_found_it(
    collection_folder: Path, encoder: Encoder, tmp_path: Path, first_stage: str
) -> None:
    collection = load_collection(collection_folder)
    everything = [Ranking(name, tuple(DOCUMENTS), (0.0,) * len(DOCUMENTS)) for name in QUERIES]
    given = evaluate(collection, ["mix"], encoder=encoder, cache=tmp_path, candidates=everything)
    expected = {
        (ranking.query_id, document): score
        for ranking in given["mix"].rankings
        for document, score in zip(ranking.document_ids, ranking.scores, strict=True)
    }
    found = evaluate(collection, ["mix"], encoder=encoder, cache=tmp_path, first_stage=first_stage)
    for ranking in found["mix"].rankings:
        for document, score in zip(ranking.document_ids, ranking.scores, strict=True):
            assert score == pytest.approx(expected[ranking.query_id, document], rel=1e-6)


def test_a_setup_builds_bm25_once(
    collection_folder: Path, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    make = BM25.__init__

    def counting(self: BM25, *arguments: object, **named: object) -> None:
        built.append(self)
        make(self, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(BM25, "__init__", counting)
    collection = load_collection(collection_folder)
    evaluate(
        collection, ["idf", "mix"], encoder=encoder, cache=tmp_path, special="auto", validation="dev", ablation=True
    )
    assert len(built) == 1


def test_given_candidates_without_a_lexical_mix_need_no_bm25(
    collection_folder: Path, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = load_collection(collection_folder)
    given = find_candidates(collection, collection.queries, bm25=Setup(collection, encoder, tmp_path).bm25)
    monkeypatch.setattr(BM25, "__init__", None)
    found = evaluate(collection, ["uniform"], encoder=encoder, cache=tmp_path, candidates=given)
    assert [system.name for system in found.systems] == ["candidates", "uniform"]
