"""Evidence beside the tokens behind HTTP: from an index and from shards, in searches, explanations and versions."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, Searcher, TokenWeights, build_index
from chamfer.index.example_queries import examples_of
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from chamfer.serve.sharded import scatter as scattering
from chamfer.serve.sharded.reader import ShardReader
from chamfer.serve.sharded.shard import ANY
from chamfer.serve.single import service_of
from chamfer.serve.versions import Versions
from chamfer.weights.mix import NOTHING, Mix
from tests.test_mixed_scores import MIX, mixed
from tests.test_serve_sharded import Threads, backend_of, fail, shards_of
from tests.test_shards import build_changed

QUERY = "why do cats sleep at night"
LOCAL = "http://localhost"
SENT = {"lexical": MIX.lexical, "pooled": MIX.pooled}

pytestmark = pytest.mark.usefixtures("estimated_at_once")


@pytest.fixture(scope="module")
def folder(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_changed(tmp_path_factory.mktemp("served") / "index", encoder)


@pytest.fixture(scope="module")
def searcher(folder: Path, encoder: Encoder) -> Searcher:
    return Searcher.open(folder, encoder=encoder, weights=mixed(encoder))


@pytest.fixture
def service(searcher: Searcher) -> Service:
    return service_of(searcher)


@pytest.fixture
def whole(service: Service) -> Iterator[TestClient]:
    """The index, served as it is."""
    with TestClient(create_app(service, hosts=()), LOCAL) as client:
        yield client


@pytest.fixture
def shards(folder: Path, tmp_path: Path) -> dict[str, Threads]:
    split_index(folder, tmp_path / "shards", shards=3)
    return shards_of(tmp_path / "shards")


@pytest.fixture
def sharded(shards: dict[str, Threads], tmp_path: Path, encoder: Encoder) -> Iterator[TestClient]:
    """The same documents in shards."""
    service = Service(backend_of(tmp_path / "shards", shards, encoder, seconds=5), Versions(mixed(encoder), "given"))
    with TestClient(create_app(service, hosts=()), LOCAL) as client:
        yield client


def hits(client: TestClient, **asked: Any) -> list[tuple[str, float]]:
    answer = client.post("/search", json={"query": QUERY, "k": 30, **asked})
    assert answer.status_code == 200, answer.text
    return [(one["id"], one["score"]) for one in answer.json()["hits"]]


def test_a_search_counts_the_evidence(whole: TestClient, searcher: Searcher) -> None:
    assert hits(whole) == [hit[:2] for hit in searcher.search(QUERY, 30)]
    least = hits(whole)[4][1]
    assert hits(whole, min_score=least) == hits(whole)[:5]
    assert hits(whole, weights="mix") == [hit[:2] for hit in searcher.search(QUERY, 30, weights="mix")]


def test_a_request_may_choose_its_own_mix(whole: TestClient, searcher: Searcher, encoder: Encoder) -> None:
    weights = mixed(encoder)
    for sent, mix in (
        ({"lexical": 0.0, "pooled": 0.0}, NOTHING),
        ({"lexical": 0, "pooled": 2}, Mix(pooled=2)),
        ({"lexical": 1.5}, Mix(lexical=1.5)),
        (None, MIX),
    ):
        expected = [hit[:2] for hit in searcher.search(QUERY, 30, weights=weights.with_mix(mix))]
        assert hits(whole, mix=sent) == expected
        explained = whole.post("/explain", json={"query": QUERY, "mix": sent, "k": 3}).json()
        assert explained["mix"] == {"lexical": mix.lexical, "pooled": mix.pooled}
        assert explained["documents"][0]["id"] == expected[0][0]
    soft = [hit[:2] for hit in searcher.search(QUERY, 30, weights="idf-soft")]
    assert hits(whole, weights="idf-soft") == soft != hits(whole, weights="idf-soft", mix=SENT)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"lexical": -1}, "at least 0"),
        ({"pooled": 101}, "at most 100"),
        ({"pooled": "much"}, "must be a number"),
        ({"words": 1}, "words"),
        (0.5, "mix"),
    ],
)
@pytest.mark.parametrize("path", ["/search", "/explain"])
def test_an_impossible_mix_is_refused_in_one_sentence(whole: TestClient, path: str, sent: Any, told: str) -> None:
    answer = whole.post(path, json={"query": QUERY, "mix": sent})
    assert answer.status_code == 422
    assert told in answer.json()["message"]


def test_an_explanation_shows_what_the_evidence_brought(whole: TestClient) -> None:
    found = whole.post("/explain", json={"query": QUERY, "k": 5}).json()
    assert found["mix"] == SENT
    scores = dict(hits(whole))
    for document in found["documents"]:
        assert [part["name"] for part in document["evidence"]] == ["lexical", "pooled"]
        contributions = [part["contribution"] for part in (*document["matches"], *document["evidence"])]
        assert sum(contributions) == pytest.approx(document["score"], abs=1e-9)
        assert document["score"] == pytest.approx(scores[document["id"]], abs=1e-5)


def test_the_documents_explained_are_the_best_with_evidence_and_the_best_of_uniform_weights(
    whole: TestClient, searcher: Searcher
) -> None:
    found = whole.post("/explain", json={"query": QUERY, "k": 3}).json()
    both = [*searcher.search(QUERY, 3), *searcher.search(QUERY, 3, weights="uniform")]
    assert {one["id"] for one in found["documents"]} == {hit.id for hit in both}


@pytest.mark.parametrize("served", ["whole", "sharded"])
def test_uniform_matches_are_those_of_a_query_that_no_adapter_moved(
    served: str, searcher: Searcher, request: pytest.FixtureRequest
) -> None:
    client = request.getfixturevalue(served)
    uniform = dict(hits(client, weights="uniform", k=60))
    for document in client.post("/explain", json={"query": QUERY, "k": 5}).json()["documents"]:
        alone = sum(match["contribution"] for match in document["uniform_matches"])
        assert alone == pytest.approx(uniform[document["id"]], abs=1e-5)
    unmoved = client.post("/explain", json={"query": QUERY, "weights": "idf-soft"}).json()["documents"]
    assert {one["uniform_matches"] is None for one in unmoved} == {True}, "matches are the same then"


def test_texts_are_re_ranked_with_the_mix_of_the_request(whole: TestClient, searcher: Searcher) -> None:
    texts = ["a dog barks", "cats sleep at night", "why do cats sleep at night"]
    asked = {"query": QUERY, "documents": texts, "mix": {"lexical": 0.5, "pooled": 0}}
    results = whole.post("/rerank", json=asked).json()["results"]
    weights = searcher.queries.resolve(searcher.queries.weights).with_mix(Mix(lexical=0.5))
    expected = searcher.rerank(QUERY, texts, weights=weights)
    assert [(str(one["index"]), one["relevance_score"]) for one in results] == [
        (name, pytest.approx(score, abs=1e-6))
        for name, score in zip(expected.document_ids, expected.scores, strict=True)
    ]


def test_texts_are_re_ranked_with_the_counts_of_the_index(whole: TestClient, searcher: Searcher) -> None:
    texts = ["a dog barks", "cats sleep at night", "why do cats sleep at night", ""]
    results = whole.post("/rerank", json={"query": QUERY, "documents": texts}).json()["results"]
    ranking = searcher.rerank(QUERY, texts)
    assert [str(one["index"]) for one in results] == list(ranking.document_ids)
    assert [one["relevance_score"] for one in results] == list(ranking.scores)


def test_texts_are_ranked_by_what_the_end_of_the_scale_cuts_off(folder: Path, encoder: Encoder) -> None:
    heavy = mixed(encoder, Mix(lexical=5))
    with TestClient(create_app(Searcher.open(folder, encoder=encoder, weights=heavy)), LOCAL) as client:
        repeated = " ".join([QUERY] * 8)
        asked = {"query": QUERY, "documents": [f"{QUERY} {QUERY}", repeated]}
        results = client.post("/rerank", json=asked).json()["results"]
    assert [(one["index"], one["relevance_score"]) for one in results] == [(1, 1.0), (0, 1.0)]


class TestVersions:
    def test_editing_a_weight_keeps_the_mix_and_the_adapter(
        self, whole: TestClient, service: Service, encoder: Encoder
    ) -> None:
        assert whole.put("/weights", json={"tokens": {"cats": 7.0}}).status_code == 200
        edited, before = service.versions.current.weights, mixed(encoder)
        assert isinstance(edited, TokenWeights)
        assert edited.table[edited.vocabulary.ids["cats"]] == 7
        assert edited.mix == before.mix
        assert edited.adapter is not None
        assert edited.context is not None
        assert (edited.adapter.down == before.adapter.down).all()  # type: ignore[union-attr]

    def test_an_edit_may_change_the_mix_alone(self, whole: TestClient, searcher: Searcher, encoder: Encoder) -> None:
        answer = whole.put("/weights", json={"tokens": {}, "mix": {"pooled": 3.0}}).json()
        assert answer["versions"][0]["mix"] == {"lexical": 0.0, "pooled": 3.0}
        weights = mixed(encoder, Mix(pooled=3))
        assert hits(whole) == [hit[:2] for hit in searcher.search(QUERY, 30, weights=weights)]

    def test_an_edit_that_changes_nothing_is_refused(self, whole: TestClient) -> None:
        answer = whole.put("/weights", json={"tokens": {}})
        assert answer.status_code == 422
        assert "give at least one token, or a mix" in answer.json()["message"]

    def test_an_explanation_keeps_the_order_of_the_search_where_scores_are_cut_off(
        self, encoder: Encoder, tmp_path: Path
    ) -> None:
        texts = {f"d{n}": "cat " * (9 - n) + "dog" for n in range(8, 0, -1)} | {f"e{n}": "the sky" for n in range(9)}
        build_index(tmp_path / "repeated", texts, encoder)
        asked = {"query": "cat", "k": 5, "mix": {"lexical": 50.0}}
        with TestClient(create_app(Searcher.open(tmp_path / "repeated", encoder=encoder)), LOCAL) as client:
            hits = client.post("/search", json=asked).json()["hits"]
            documents = client.post("/explain", json=asked).json()["documents"]
        assert [one["score"] for one in hits].count(1.0) > 1, "some are cut off"
        found = [one["id"] for one in hits]
        assert [one["id"] for one in documents if one["id"] in found] == found
        assert [one["score"] for one in documents] == sorted((one["score"] for one in documents), reverse=True)

    def test_every_version_shows_its_mix(self, whole: TestClient) -> None:
        whole.put("/weights", json={"weights": "idf-soft"})
        listed = whole.put("/weights", json={"weights": "mix"}).json()["versions"]
        nothing = {"lexical": 0.0, "pooled": 0.0}
        assert [one["mix"] for one in listed] == [{"lexical": 0.012, "pooled": 0.4}, nothing, SENT]

    def test_an_uploaded_file_brings_its_adapter_and_its_mix(
        self, whole: TestClient, encoder: Encoder, tmp_path: Path
    ) -> None:
        before = hits(whole)
        whole.put("/weights", json={"weights": "uniform"})
        assert hits(whole) != before
        mixed(encoder).save(tmp_path / "w.safetensors")
        headers = {"content-type": "application/octet-stream"}
        answer = whole.put("/weights/file", content=(tmp_path / "w.safetensors").read_bytes(), headers=headers)
        assert answer.json()["versions"][0]["mix"] == SENT
        assert hits(whole) == before

    def test_a_version_in_a_folder_keeps_its_mix(self, encoder: Encoder, tmp_path: Path) -> None:
        first = Versions(mixed(encoder), "given", tmp_path / "versions")
        first.close()
        again = Versions("uniform", "uniform", tmp_path / "versions")
        assert isinstance(again.current.weights, TokenWeights)
        assert again.current.weights.mix == MIX
        assert again.current.weights.adapter is not None
        again.close()


class TestUnrelatedTexts:
    def test_a_search_says_whether_there_is_probably_nothing(self, whole: TestClient, searcher: Searcher) -> None:
        hits = searcher.search(QUERY)
        assert hits.probably_nothing is not None
        for level, expected in ((hits[0].score, False), (1.0, True)):
            with patch.object(Searcher, "unrelated_score", return_value=level):
                assert whole.post("/search", json={"query": QUERY}).json()["probably_nothing"] is expected
        for asked in ({"offset": 3}, {"mix": SENT}):
            answer = whole.post("/search", json={"query": QUERY, **asked}).json()
            assert answer["probably_nothing"] is None, "later pages and other mixes"
        batch = whole.post("/search/batch", json={"queries": [QUERY, "zebra"]}).json()["results"]
        assert [type(one["probably_nothing"]) for one in batch] == [bool, bool]

    @pytest.mark.parametrize("least", [-0.1, 1.5, "high"])
    def test_an_impossible_lowest_score_is_refused(self, whole: TestClient, least: Any) -> None:
        for path, asked in (("/search", {}), ("/rerank", {"documents": ["a dog"]})):
            answer = whole.post(path, json={"query": QUERY, "min_score": least, **asked})
            assert answer.status_code == 422
            assert "min_score must be" in answer.json()["message"]

    def test_texts_below_the_lowest_score_are_left_out(self, whole: TestClient) -> None:
        asked = {"query": QUERY, "documents": ["a dog barks", "cats sleep at night", ""]}
        every = whole.post("/rerank", json=asked).json()["results"]
        least = every[0]["relevance_score"]
        assert every[-1]["relevance_score"] == 0
        assert whole.post("/rerank", json={**asked, "min_score": least}).json()["results"] == every[:1]


class TestShards:
    def test_shards_estimate_together_what_unrelated_texts_score(
        self, sharded: TestClient, searcher: Searcher, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder
    ) -> None:
        reader = backend_of(tmp_path / "shards", shards, encoder, seconds=5).reader
        for weights in ("mix", "uniform", mixed(encoder)):
            level = reader.unrelated_score(weights)
            assert level == pytest.approx(searcher.unrelated_score(weights), abs=0.15), "from other samples"
        with patch.object(ShardReader, "_ask", side_effect=AssertionError):
            assert reader.unrelated_score(weights) == level, "estimated once"

    def test_an_estimate_without_a_shard_holds_until_the_shard_is_back(
        self, shards: dict[str, Threads], tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scattering, "LOOK", 0.05)
        backend = backend_of(tmp_path / "shards", shards, encoder, seconds=5)
        reader = backend.reader
        whole = reader.unrelated_score("mix")
        shards["shard-01"].fault = fail
        partial = reader.unrelated_score("idf")
        assert partial is not None
        with patch.object(ShardReader, "_ask", side_effect=AssertionError):
            assert reader.knows_unrelated_score("idf")
            assert [reader.unrelated_score("idf") for _ in range(3)] == [partial] * 3
            assert reader.unrelated_score("mix") == whole, "known of all shards"
        shards["shard-01"].fault = lambda replica: None
        stop = time.monotonic() + 10
        while backend.missing_shards() and time.monotonic() < stop:
            time.sleep(0.02)
        assert not reader.knows_unrelated_score("idf")
        assert reader.unrelated_score("idf") != partial
        assert reader.knows_unrelated_score("idf")
        backend.close()

    def test_filtered_searches_without_a_shard_do_not_describe_the_others_again(
        self, sharded: TestClient, shards: dict[str, Threads], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shards["shard-01"].fault = fail
        asked = {"query": QUERY, "where": "number < 12"}
        described, looked, real = list[str](), list[object](), Threads.ask

        def ask(self: Threads, method: str, *arguments: Any) -> Any:
            described.extend([method] * (method == "describe"))
            return real(self, method, *arguments)

        def look(index: Snapshot) -> list[str]:
            looked.append(index)
            return examples_of(index)

        monkeypatch.setattr(Threads, "ask", ask)
        monkeypatch.setattr("chamfer.serve.sharded.shard.examples_of", look)
        assert all(sharded.post("/search", json=asked).json()["partial"] for _ in range(4))
        assert sharded.get("/index").json()["missing_shards"] == ["shard-01"]
        assert len(described) == 2, "once each"
        shards["shard-00"].shards[0].describe(shards["shard-00"].shards[0].versions[0])
        assert len(looked) <= 3, "once by each replica"

    def test_lexical_evidence_is_that_of_the_whole_corpus(self, sharded: TestClient, whole: TestClient) -> None:
        for query in (QUERY, "blue sky", "the dog barks at night", "zebra"):
            for more in (
                {},
                {"weights": "mix"},
                {"min_score": 0.4},
                {"mix": {"lexical": 2.0}},
                {"where": "number < 12"},
            ):
                asked = {"query": query, "k": 100, **more}
                assert sharded.post("/search", json=asked).content == whole.post("/search", json=asked).content

    def test_so_are_explanations_and_re_ranked_texts(self, sharded: TestClient, whole: TestClient) -> None:
        for asked in ({"query": QUERY, "k": 5}, {"query": QUERY, "ids": ["d001", "d022", "empty"], "weights": "mix"}):
            assert sharded.post("/explain", json=asked).content == whole.post("/explain", json=asked).content
        asked = {"query": QUERY, "documents": ["a dog", "cats sleep", "night"]}
        one, other = (client.post("/rerank", json=asked).json() for client in (sharded, whole))
        assert one["results"] == other["results"]
        assert one["meta"] == other["meta"]

    def test_evidence_is_opened_with_each_version_and_not_during_a_question(
        self, shards: dict[str, Threads], folder: Path, tmp_path: Path
    ) -> None:
        split_index(folder, tmp_path / "shards", shards=3)
        for one in shards.values():
            for shard in one.shards:
                shard.follow()
                assert len(shard._opened) == 2
                assert all(ranker.evidence.opened == ANY for ranker in shard._opened.values())

    def test_all_texts_of_a_request_are_scored_with_one_query(
        self, sharded: TestClient, shards: dict[str, Threads], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A shard that is lost between two slices of the texts does not change the word counts in between."""
        monkeypatch.setattr("chamfer.serve.routes.rerank.SLICE", 1)
        asked = {"query": QUERY, "documents": ["a dog", "cats sleep", "night"]}
        with patch.object(ShardReader, "count_words", autospec=True, side_effect=ShardReader.count_words) as counted:
            sharded.post("/rerank", json=asked)
        assert counted.call_count == 1

    def test_words_counted_without_a_lost_shard_are_never_silent(
        self, sharded: TestClient, shards: dict[str, Threads]
    ) -> None:
        shards["shard-01"].fault = fail
        for path in ("/search", "/explain"):
            found = sharded.post(path, json={"query": QUERY}).json()
            assert (found["partial"], found["missing_shards"]) == (True, ["shard-01"])
        answer = sharded.post("/rerank", json={"query": QUERY, "documents": ["a dog", "cats sleep"]}).json()
        assert answer["meta"]["warnings"] == ["words were counted without the documents of shard-01"]
        assert len(answer["results"]) == 2
