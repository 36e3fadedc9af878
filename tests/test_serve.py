"""The server: what it answers, what it refuses, and what it does with many requests at once."""

import asyncio
import errno
import json
import math
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, InputError, Searcher, TokenWeights, build_index, rerank
from chamfer.data.documents import Document
from chamfer.index.adding import add_documents
from chamfer.index.filters import Filter, SlowFilterError
from chamfer.index.texts import Texts
from chamfer.index.writing import writing
from chamfer.kernels.limits import LARGEST
from chamfer.serve.app import REFRESH_SECONDS, create_app
from chamfer.serve.batches import Batches, BusyError
from chamfer.serve.hosts import hosts_of
from chamfer.serve.limits import Limits
from chamfer.serve.schemas.fields import MOST_QUERY_CHARACTERS
from chamfer.serve.schemas.search import SearchRequest
from chamfer.serve.service import Service
from chamfer.serve.single import IndexBackend, service_of
from chamfer.serve.state import DAMAGED
from chamfer.serve.versions import MOST, Versions
from chamfer.support.threads import free_cores
from chamfer.weights.files import Content, write_weights
from tests.conftest import DOCUMENTS

QUERY = "why do cats sleep"
LOCAL = "http://localhost"


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    documents = [Document(name, text, metadata={"length": len(text)}) for name, text in DOCUMENTS.items()]
    script = Document("script", "<script>alert(1)</script> cat")
    build_index(tmp_path / "index", [*documents, script, Document("empty", "")], encoder, allow_empty=True)
    return tmp_path / "index"


@pytest.fixture
def served_with() -> dict[str, Any]:
    return {"hosts": ()}


@pytest.fixture
def service(searcher: Searcher) -> Service:
    return Service(IndexBackend(searcher), Versions("idf-soft", "idf-soft"))


def test_a_searcher_is_served_with_its_own_weights(folder: Path, encoder: Encoder, tmp_path: Path) -> None:
    uniform = TokenWeights.uniform(encoder.vocabulary)
    uniform.save(tmp_path / "mine.safetensors")
    weightings: dict[str, str | TokenWeights] = {
        "idf": "idf",
        "mine": str(tmp_path / "mine.safetensors"),
        "given": uniform,
    }
    for name, weights in weightings.items():
        searcher = Searcher.open(folder, encoder=encoder, weights=weights)
        with TestClient(create_app(searcher), LOCAL) as client:
            assert [one["name"] for one in client.get("/weights").json()["versions"]] == [name]
            found = client.post("/search", json={"query": QUERY, "k": 3}).json()["hits"]
            assert [one["score"] for one in found] == [hit.score for hit in searcher.search(QUERY, k=3)]


class TestSearch:
    def test_it_answers_as_the_library_does(self, client: TestClient, searcher: Searcher) -> None:
        found = client.post("/search", json={"query": QUERY, "k": 3}).json()
        hits = searcher.search(QUERY, k=3, weights="idf-soft")
        assert [(one["id"], one["score"], one["text"]) for one in found["hits"]] == [hit[:3] for hit in hits]
        assert found["hits"][0]["metadata"] == hits[0].metadata
        assert found["weights"] == 1

    def test_a_title_is_apart_from_the_text_of_a_hit(self, encoder: Encoder, tmp_path: Path) -> None:
        build_index(tmp_path / "titled", [Document("a", "sleep all day", "Cats")], encoder)
        with TestClient(create_app(Searcher.open(tmp_path / "titled", encoder=encoder)), LOCAL) as client:
            [hit] = client.post("/search", json={"query": QUERY}).json()["hits"]
            [explained] = client.post("/explain", json={"query": QUERY}).json()["documents"]
        assert (hit["title"], hit["text"]) == ("Cats", "sleep all day")
        assert (explained["title"], explained["text"]) == ("Cats", "Cats sleep all day"), "spans are ranges of the text"

    def test_weights_filters_and_normalised_scores(self, client: TestClient, searcher: Searcher) -> None:
        asked = {"query": QUERY, "weights": "uniform", "where": "length > 20", "min_score": 0.2}
        found = client.post("/search", json=asked).json()
        hits = searcher.search(QUERY, weights="uniform", where="length > 20", min_score=0.2)
        assert [(one["id"], one["score"]) for one in found["hits"]] == [hit[:2] for hit in hits]
        assert found["weights"] is None, "these are no version"

    def test_what_is_odd_about_a_request_is_noted(self, client: TestClient, encoder: Encoder, folder: Path) -> None:
        found = client.post("/search", json={"query": QUERY, "where": "size > 20 or length = '20'"}).json()
        assert found["hits"] == []
        assert [note.split(";")[0] for note in found["notes"]] == [
            "no document has the field 'size'",
            "the field 'length' holds numbers, never text",
        ]
        assert client.post("/search", json={"query": QUERY, "where": "length > 20"}).json()["notes"] == []
        nothing = TokenWeights(np.zeros(len(encoder.vocabulary), np.float32), encoder.vocabulary)
        with TestClient(create_app(Searcher.open(folder, encoder=encoder, weights=nothing)), LOCAL) as unweighted:
            [note] = unweighted.post("/search", json={"query": QUERY}).json()["notes"]
        assert note.startswith(f"no token of the query {QUERY!r} has a weight above 0")

    def test_a_document_without_tokens_scores_0(self, client: TestClient) -> None:
        found = client.post("/search", json={"query": QUERY, "k": 100}).json()["hits"]
        assert (found[-1]["id"], found[-1]["score"]) == ("empty", 0)

    def test_new_documents_are_found_after_at_most_two_refreshes_which_take_a_second(
        self, service: Service, folder: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert 2 * REFRESH_SECONDS <= 1
        refreshes, refresh = threading.Semaphore(0), service.backend.refresh

        def counted() -> None:
            refresh()
            refreshes.release()

        monkeypatch.setattr(service.backend, "refresh", counted)
        with TestClient(create_app(service), LOCAL) as client:
            with writing(folder) as writer:
                add_documents(writer, [Document("new", QUERY)], encoder)
            while refreshes.acquire(blocking=False):
                pass
            for _ in range(2):  # the first may have begun before the commit
                assert refreshes.acquire(timeout=30)
            assert client.post("/search", json={"query": QUERY, "k": 1}).json()["hits"][0]["id"] == "new"

    def test_an_index_that_cannot_be_reopened_is_served_as_it_was(
        self, service: Service, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with writing(folder) as writer:
            writer.delete(["d1"])
            newest = folder / writer.manifest.files[-1].name
        newest.rename(folder / "away")
        client = TestClient(create_app(service), LOCAL)  # not entered, so that nothing else refreshes
        for _ in range(2):
            service.backend.refresh()
        told = client.get("/health")
        assert (told.status_code, told.json()["status"]) == (200, "stale")
        assert str(folder) not in told.text
        assert caplog.text.count("the newest commit of the index cannot be opened") == 1
        assert newest.name in caplog.text
        assert client.post("/search", json={"query": QUERY}).json()["hits"]

    def test_a_folder_that_is_gone_is_reported_once_until_it_is_back(
        self, service: Service, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        away = folder.with_name("away")
        client = TestClient(create_app(service), LOCAL)  # not entered, so that nothing else refreshes
        folder.rename(away)
        for _ in range(2):
            service.backend.refresh()
        told = client.get("/health")
        assert (told.status_code, told.json()["status"]) == (503, "failing")
        assert told.json()["problem"] == "the index folder is gone"
        assert client.post("/search", json={"query": QUERY}).json()["hits"]
        away.rename(folder)
        for _ in range(2):
            service.backend.refresh()
        assert client.get("/health").json()["status"] == "ok"
        assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]

    def test_a_folder_that_may_not_be_read_any_more_is_reported_once(
        self, service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path) -> bool:
            raise PermissionError(13, "Permission denied", str(path))

        client = TestClient(create_app(service), LOCAL)  # not entered, so that nothing else refreshes
        with monkeypatch.context() as patched:
            patched.setattr(Path, "is_file", refuse)
            for _ in range(2):
                service.backend.refresh()
        told = client.get("/health")
        assert (told.status_code, told.json()["status"]) == (200, "stale")
        assert len(caplog.records) == 1

    def test_damage_that_is_found_in_the_background_is_reported_once(
        self,
        folder: Path,
        encoder: Encoder,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("chamfer.index.soundness.SMALL_INDEX", 0)
        [vectors] = folder.glob("segments/*/vectors.f16")
        service = service_of(Searcher.open(folder, encoder=encoder))
        backend = service.backend
        vectors.write_bytes(vectors.read_bytes()[:-1] + b"?")
        client = TestClient(create_app(service), LOCAL)  # not entered, so that nothing else refreshes
        assert client.get("/health").json()["status"] == "ok"
        backend.refresh()
        service.queries.index.soundness.wait()
        for _ in range(2):
            backend.refresh()
            told = client.get("/health")
            assert (told.status_code, told.json()["status"]) == (503, "failing")
            answer = client.post("/search", json={"query": QUERY})
            assert (answer.status_code, answer.json()["message"]) == (503, DAMAGED)
        assert caplog.text.count(str(vectors)) == 1
        assert len(caplog.records) == 1

    def test_damage_that_a_search_finds_is_reported_too(
        self, service: Service, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        [vectors] = folder.glob("segments/*/vectors.f16")
        os.truncate(vectors, 10)
        client = TestClient(create_app(service), LOCAL)
        assert client.post("/search", json={"query": QUERY}).status_code == 503
        assert client.post("/explain", json={"query": QUERY, "ids": ["d1"]}).status_code == 503
        service.backend.refresh()
        assert client.get("/health").status_code == 503
        assert caplog.text.count("was truncated while it was open") == 1

    def test_the_server_works_on_all_cores(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        cores: list[int] = []
        real = service.search

        def watched(asked: Sequence[SearchRequest]) -> Any:
            cores.append(free_cores())
            return real(asked)

        monkeypatch.setattr(service, "search", watched)
        with TestClient(create_app(service), LOCAL) as client:
            client.post("/search", json={"query": QUERY})
        assert cores == [free_cores()]

    def test_a_truncated_query_is_reported(self, client: TestClient) -> None:
        assert not client.post("/search", json={"query": QUERY}).json()["query_was_truncated"]
        for path in ("/search", "/explain"):
            assert client.post(path, json={"query": f"{QUERY} " * 100}).json()["query_was_truncated"]

    def test_pages_are_parts_of_one_list(self, client: TestClient, searcher: Searcher) -> None:
        asked = {"query": QUERY, "where": "length > 1", "mix": {"lexical": 0.0, "pooled": 0.0}}
        whole = client.post("/search", json={**asked, "k": 100}).json()["hits"]
        for size in (1, 2, 100):
            pages: list[Any] = []
            for offset in range(0, len(whole) + size, size):
                found = client.post("/search", json={**asked, "k": size, "offset": offset}).json()
                assert (len(found["hits"]) <= size, found["notes"]) == (True, [])
                pages += found["hits"]
            assert pages == whole
        assert client.post("/search", json={**asked, "offset": 9000.0}).json()["hits"] == []
        told = client.post("/search", json={**asked, "offset": 9001}).json()["message"]
        assert told == "offset must be at most 9000, not 9001"

    def test_a_batch_answers_as_its_searches_would(
        self, client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, sizes = service.search, []

        def counted(asked: Sequence[SearchRequest]) -> Any:
            sizes.append(len(asked))
            return real(asked)

        monkeypatch.setattr(service, "search", counted)
        chosen = {"where": "length > 20", "weights": "idf", "mix": {"lexical": 0.1}, "min_score": 0.1}
        settings = {"k": 2, "offset": 1, **chosen}
        queries = [QUERY, "blue sky", QUERY, f"{QUERY} " * 100, "the dog", "night"]
        found = client.post("/search/batch", json={"queries": queries, **settings}).json()["results"]
        assert sizes == [len(queries)]
        for query, one in zip(queries, found, strict=True):
            alone = client.post("/search", json={"query": query, **settings}).json()
            scores = [pytest.approx(hit.pop("score"), abs=1e-6) for hit in alone["hits"]]
            assert [hit.pop("score") for hit in one["hits"]] == scores
            assert one == alone

    @pytest.mark.parametrize(
        ("asked", "status", "told"),
        [
            ({"queries": []}, 422, "queries must not be empty"),
            ({"queries": ["cat"] * 33}, 422, "queries must have at most 32 entries"),
            ({"queries": ["cat"], "k": 101}, 422, "k must be at most 100, not 101"),
            ({"queries": ["cat", 5]}, 422, "queries.1 must be a string, not 5"),
            ({"queries": ["cat", " "]}, 400, "the query ' ' has no tokens"),
            ({"queries": ["cat"], "where": "length >"}, 400, "needs a value at position 9"),
            ({"queries": ["cat"], "offset": -1}, 422, "offset must be at least 0, not -1"),
        ],
    )
    def test_a_mistake_in_a_batch_is_located(
        self, client: TestClient, asked: dict[str, Any], status: int, told: str
    ) -> None:
        answer = client.post("/search/batch", json=asked)
        assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text

    def test_invalid_filters_are_refused(self, client: TestClient) -> None:
        for path in ("/search", "/explain"):
            answer = client.post(path, json={"query": QUERY, "where": "length >"})
            told = {"message": "a filter needs a value at position 9, but the filter ends there", "position": 9}
            assert (answer.status_code, answer.json()) == (400, told)

    def test_a_filter_over_http_has_at_most_50_comparisons(self, client: TestClient) -> None:
        for count, status in ((50, 200), (51, 400)):
            where = " and ".join(f"length > {place}" for place in range(count))
            answer = client.post("/search", json={"query": QUERY, "where": where})
            assert answer.status_code == status, answer.text
        assert "a filter may have at most 50 comparisons" in answer.json()["message"]

    def test_a_pattern_over_http_has_at_most_200_characters(self, client: TestClient) -> None:
        for count, status in ((200, 200), (201, 400)):
            answer = client.post("/search", json={"query": QUERY, "where": f"length like '{'_' * count}'"})
            assert answer.status_code == status, answer.text
        told = "a pattern may have at most 200 characters, but that at position 13 has 201; look for a shorter part"
        assert told in answer.json()["message"]

    @pytest.mark.parametrize(
        ("path", "asked"),
        [("/search", {"query": QUERY}), ("/explain", {"query": QUERY}), ("/search/batch", {"queries": [QUERY, "cat"]})],
    )
    def test_a_slow_filter_times_out(
        self, client: TestClient, path: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chamfer.index.texts.STEPS", 1)
        monkeypatch.setattr("chamfer.serve.service.FILTER_SECONDS", 0)
        answer = client.post(path, json={**asked, "where": "length > 1"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json() == {"message": "the filter timed out; use fewer comparisons or shorter patterns"}

    def test_a_slow_filter_is_tried_once_and_does_not_delay_the_others_of_its_batch(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chamfer.index.texts.STEPS", 1)
        monkeypatch.setattr("chamfer.serve.service.FILTER_SECONDS", 0)
        slow, fast = SearchRequest(query=QUERY, where="length > 1"), SearchRequest(query=QUERY)
        answers = service.search([slow, fast, slow])
        assert [isinstance(answer, SlowFilterError) for answer in answers] == [True, False, True]

    def test_one_bad_request_does_not_spoil_the_others_of_its_batch(self, client: TestClient) -> None:
        def ask(query: str) -> int:
            return client.post("/search", json={"query": query}).status_code

        with ThreadPoolExecutor(8) as threads:
            queries = [QUERY, " ", QUERY, "blue sky"] * 8
            assert list(threads.map(ask, queries)) == [200, 400, 200, 200] * 8


class TestRerank:
    def test_it_ranks_as_the_library_does(self, client: TestClient, searcher: Searcher, encoder: Encoder) -> None:
        texts = [*DOCUMENTS.values(), "", "a dog"] * 9  # several slices, equal texts, one without tokens
        found = client.post("/rerank", json={"query": QUERY, "documents": texts}).json()["results"]
        ranking = rerank(QUERY, texts, encoder=encoder, weights=searcher.queries.resolve("idf-soft"))
        assert [one["relevance_score"] for one in found] == pytest.approx(list(ranking.scores), abs=1e-5)
        assert [texts[one["index"]] for one in found] == [texts[int(place)] for place in ranking.document_ids]
        by_text: dict[str, set[float]] = {}
        for one in found:
            by_text.setdefault(texts[one["index"]], set()).add(one["relevance_score"])
        assert all(len(scores) == 1 for scores in by_text.values())
        assert all(0 <= one["relevance_score"] <= 1 for one in found)

    def test_texts_of_the_index_get_the_scores_of_a_search(self, plain_checkpoint: Path, tmp_path: Path) -> None:
        built_with = Encoder.load(str(plain_checkpoint), device="cpu", arithmetic="bfloat16", engine="openvino")
        build_index(tmp_path / "openvino", DOCUMENTS, built_with)
        searcher = Searcher.open(tmp_path / "openvino", device="cpu")
        with TestClient(create_app(searcher), LOCAL) as client:
            asked = {"query": QUERY, "k": len(DOCUMENTS)}
            hits = client.post("/search", json=asked).json()["hits"]
            texts = list(DOCUMENTS.values())
            ranked = client.post("/rerank", json={"query": QUERY, "documents": texts}).json()["results"]
        assert [texts[one["index"]] for one in ranked] == [hit["text"] for hit in hits]
        # The index rounds vectors to 16 bits, which changes these scores by 0.00002; another engine, by 0.0025.
        found = [one["relevance_score"] for one in ranked]
        assert found == pytest.approx([hit["score"] for hit in hits], abs=1e-4)

    @pytest.mark.parametrize(
        "document",
        [
            '{"text": "a", "more": ' + "[" * 300 + "]" * 300 + "}",
            '{"text": "a", "more": "\\ud800"}',
            '{"text": "a", "\\udc00": 1}',
            '{"text": "a", "more": -Infinity}',
            '{"text": "a", "more": 1e999}',
        ],
    )
    def test_a_document_that_could_not_be_returned_is_refused(self, client: TestClient, document: str) -> None:
        body = f'{{"query": "a", "documents": [{document}], "return_documents": true}}'
        answer = client.post("/rerank", content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, "is not valid JSON" in answer.json()["message"]) == (400, True), answer.text

    @pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
    def test_the_shapes_of_cohere_and_jina(self, client: TestClient, path: str) -> None:
        asked = {
            "model": "rerank-v3.5",
            "query": QUERY,
            "documents": ["a dog", {"text": "cats sleep", "url": "here"}],
            "top_n": 1,
            "return_documents": True,
            "max_tokens_per_doc": 4096,
        }
        found = client.post(path, json=asked).json()
        assert found["results"] == [
            {
                "index": 1,
                "relevance_score": found["results"][0]["relevance_score"],
                "document": {"text": "cats sleep", "url": "here"},
            }
        ]
        assert found["id"]
        assert found["meta"]["api_version"] == {"version": "2"}
        assert found["usage"]["total_tokens"] == 4 + 4
        bare = client.post(path, json={"query": QUERY, "documents": ["a dog"]}).json()
        assert bare["results"][0]["document"] is None

    @pytest.mark.parametrize(
        ("document", "told"),
        [
            (5, "documents.0 must be a string, not 5"),
            ({"url": "here"}, "documents.0.text is missing"),
            ({"text": 5}, "documents.0.text must be a string, not 5"),
        ],
    )
    def test_a_mistake_in_a_document_is_named_by_its_field(
        self, client: TestClient, document: object, told: str
    ) -> None:
        answer = client.post("/rerank", json={"query": QUERY, "documents": [document]})
        assert (answer.status_code, answer.json()["message"]) == (422, told)


class TestExplain:
    def test_contributions_add_up_to_the_scores_of_a_search(self, client: TestClient) -> None:
        found = client.post("/explain", json={"query": QUERY, "k": 3}).json()
        hits = {one["id"]: one["score"] for one in client.post("/search", json={"query": QUERY, "k": 9}).json()["hits"]}
        scores = [document["score"] for document in found["documents"]]
        assert scores == sorted(scores, reverse=True)
        total = sum(token["weight"] for token in found["tokens"])
        for document in found["documents"]:
            assert document["distances"] == {"unrelated": 2**0.5, "equal": 0}
            assert math.fsum(match["contribution"] for match in document["matches"]) == document["score"]
            assert document["score"] == pytest.approx(hits[document["id"]], abs=1e-6)
            assert len(document["matches"]) == len(found["tokens"])
            for token, match in zip(found["tokens"], document["matches"], strict=True):
                expected = token["weight"] * (1 - match["distance"] / 2**0.5) / total
                assert match["contribution"] == pytest.approx(expected, abs=1e-8)
                if match["span"]:
                    assert document["text"][slice(*match["span"])].lower() == match["word"]

    def test_documents_can_be_named(self, client: TestClient) -> None:
        found = client.post("/explain", json={"query": QUERY, "ids": ["d1", "script"], "weights": "uniform"}).json()
        assert {document["id"] for document in found["documents"]} == {"d1", "script"}
        assert {token["weight"] for token in found["tokens"]} == {1.0}
        both = client.post("/explain", json={"query": QUERY, "ids": ["d1", "d4"], "where": "length > 25"}).json()
        assert [document["id"] for document in both["documents"]] == ["d4"]
        twice = client.post("/explain", json={"query": QUERY, "ids": ["d1", "d1"]}).json()
        assert len(twice["documents"]) == 1
        answer = client.post("/explain", json={"query": QUERY, "ids": ["nothing"]})
        assert (answer.status_code, "no document 'nothing'" in answer.json()["message"]) == (404, True)

    def test_a_filter_is_evaluated_once(self, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
        evaluated, matching = [], Texts.matching

        def counted(texts: Texts, condition: Filter, *, stop: float | None = None) -> Any:
            evaluated.append(stop)
            return matching(texts, condition, stop=stop)

        monkeypatch.setattr(Texts, "matching", counted)
        found = client.post("/explain", json={"query": QUERY, "k": 9, "where": "length > 20"}).json()
        assert {document["id"] for document in found["documents"]} == {
            name for name, text in DOCUMENTS.items() if len(text) > 20
        }
        assert len(evaluated) == 1

    def test_a_document_without_tokens_is_left_out(self, client: TestClient) -> None:
        found = client.post("/explain", json={"query": QUERY, "k": 20}).json()
        assert "empty" not in {document["id"] for document in found["documents"]}


class TestWeights:
    def test_a_new_version_is_used_at_once_and_can_be_taken_back(self, client: TestClient) -> None:
        before = client.post("/search", json={"query": QUERY}).json()
        put = client.put("/weights", json={"tokens": {"cats": 50.0}, "name": "cats above all"}).json()
        assert put["version"] == 2
        assert [one["name"] for one in put["versions"]] == ["cats above all", "idf-soft"]
        after = client.post("/search", json={"query": QUERY}).json()
        assert after["weights"] == 2
        assert after["hits"] != before["hits"]
        heaviest = client.get("/weights/tokens", params={"limit": 1}).json()
        assert [(one["token"], one["weight"]) for one in heaviest["tokens"]] == [("cats", 50.0)]
        assert client.post("/weights/use", json={"version": 1}).json()["version"] == 1
        assert client.post("/search", json={"query": QUERY}).json() == before

    def test_tokens_can_be_looked_up(self, client: TestClient) -> None:
        found = client.get("/weights/tokens", params={"contains": "CAT", "order": "lightest"}).json()["tokens"]
        assert {one["token"] for one in found} == {"cat", "cats"}
        assert found[0]["weight"] <= found[1]["weight"]
        assert client.get("/weights/tokens", params={"contains": "zebra"}).json()["tokens"] == []

    def test_weights_by_name_and_by_file(self, client: TestClient, encoder: Encoder, tmp_path: Path) -> None:
        assert client.put("/weights", json={"weights": "uniform"}).json()["versions"][0]["recipe"] == "uniform"
        TokenWeights.uniform(encoder.vocabulary, made_from={"recipe": "mine"}).save(tmp_path / "mine.safetensors")
        content = (tmp_path / "mine.safetensors").read_bytes()
        headers = {"content-type": "application/octet-stream"}
        answer = client.put("/weights/file?name=mine", content=content, headers=headers).json()
        assert answer["version"] == 3
        assert (answer["versions"][0]["name"], answer["versions"][0]["recipe"]) == ("mine", "mine")

    def test_what_cannot_be_used_changes_nothing(self, client: TestClient, encoder: Encoder) -> None:
        binary = {"content-type": "application/octet-stream"}
        for answer, status, told in (
            (client.put("/weights", json={"tokens": {"zebra": 1.0}}), 404, "no token 'zebra': it reads"),
            (client.put("/weights", json={}), 422, "weights is missing"),
            (client.put("/weights", json={"tokens": {"cat": -1.0}}), 422, "tokens.cat must be at least 0, not -1.0"),
            (
                client.put("/weights", json={"tokens": {"cat": 1.0}, "nmae": "x"}),
                422,
                "known fields are tokens, mix, base, name",
            ),
            (client.put("/weights/file", content=b"nonsense", headers=binary), 400, "not a chamfer weights file"),
            (client.post("/weights/use", json={"version": 9}), 404, "no version 9"),
        ):
            assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text
        assert client.get("/weights").json()["version"] == 1

    def test_files_that_would_break_every_search_are_refused(
        self, client: TestClient, encoder: Encoder, tmp_path: Path
    ) -> None:
        vocabulary = encoder.vocabulary
        path = tmp_path / "sent.safetensors"
        even = np.ones(len(vocabulary), np.float32)
        write_weights(path, Content(even * 1e10, vocabulary, {}, None))
        heavy = path.read_bytes()
        write_weights(path, Content(even * 1e9, vocabulary, {}, np.ones(encoder.dimensions, np.float32)))
        heavy_in_context = path.read_bytes()
        TokenWeights(even, vocabulary, {}, np.ones(3, np.float32)).save(path)
        askew = path.read_bytes()
        told = {heavy: "must not be above 1e+09", heavy_in_context: "with a context must not be", askew: "dimensions"}
        for content, sentence in told.items():
            answer = client.put("/weights/file", content=content, headers={"content-type": "application/octet-stream"})
            assert (answer.status_code, sentence in answer.json()["message"]) == (400, True), answer.text
        assert client.get("/weights").json()["version"] == 1

    def test_changes_may_start_from_other_weights(self, client: TestClient) -> None:
        put = client.put("/weights", json={"tokens": {"cat": 7.0}, "base": "uniform"}).json()
        assert put["versions"][0]["name"] == "uniform, edited"
        found = client.get("/weights/tokens", params={"limit": 3}).json()["tokens"]
        assert [one["weight"] for one in found] == [7.0, 1.0, 1.0]

    def test_a_version_can_be_deleted_unless_it_is_in_use(self, client: TestClient) -> None:
        client.put("/weights", json={"weights": "uniform"})
        in_use = client.delete("/weights/2")
        assert (in_use.status_code, "is in use" in in_use.json()["message"]) == (409, True)
        assert [one["version"] for one in client.delete("/weights/1").json()["versions"]] == [2]
        assert client.delete("/weights/1").status_code == 404

    def test_versions_outlive_the_server(self, searcher: Searcher, tmp_path: Path) -> None:
        kept = Versions("idf", "first", tmp_path / "kept")
        (tmp_path / "kept" / "2024.safetensors").write_text("somebody else's")
        with TestClient(create_app(Service(IndexBackend(searcher), kept)), LOCAL) as client:
            client.put("/weights", json={"tokens": {"cat": 3.0}, "name": "cat"})
            client.put("/weights", json={"weights": "uniform"})
            client.post("/weights/use", json={"version": 2})
        with pytest.raises(InputError, match="another process"):
            Versions("idf", "first", tmp_path / "kept")
        kept.close()
        assert (tmp_path / "kept" / "2024.safetensors").exists()
        again = Versions("idf", "first", tmp_path / "kept")
        again.close()
        assert [version.name for version in again.all()] == ["uniform", "cat", "first"]
        assert again.current.name == "cat"
        assert isinstance(again.current.weights, TokenWeights)
        listed = (tmp_path / "kept" / "versions.json").read_text()
        for damaged in ("{", listed.replace('"cat"', "7"), listed.replace('"uniform"', '"passwords"')):
            (tmp_path / "kept" / "versions.json").write_text(damaged)
            with pytest.raises(InputError, match=r"versions\.json is damaged"):
                Versions("idf", "first", tmp_path / "kept")

    @pytest.mark.parametrize(
        ("number", "status", "told"),
        [(errno.ENOSPC, 507, "the disk of the server is full"), (errno.EIO, 503, "its log has the reason")],
    )
    def test_a_version_that_cannot_be_stored_is_no_mystery(
        self,
        searcher: Searcher,
        tmp_path: Path,
        number: int,
        status: int,
        told: str,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def fail(path: Path, value: object) -> None:
            raise OSError(number, os.strerror(number), str(path))

        versions = Versions("idf-soft", "idf-soft", tmp_path / "versions")
        monkeypatch.setattr("chamfer.serve.versions.write_json", fail)
        with TestClient(create_app(Service(IndexBackend(searcher), versions)), LOCAL) as client:
            answer = client.put("/weights", json={"weights": "uniform"})
            assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text
            assert str(tmp_path) not in answer.text
            assert str(tmp_path) in caplog.text
            assert client.get("/weights").json()["version"] == 1
            assert client.post("/search", json={"query": QUERY}).status_code == 200

    def test_a_version_that_cannot_be_read_is_skipped_with_one_line(
        self, searcher: Searcher, encoder: Encoder, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        vocabulary = encoder.vocabulary
        with closing(Versions("idf", "first", tmp_path)) as kept:
            for name in ("good", "poisoned", "not in use yet"):
                kept.put(TokenWeights.uniform(vocabulary), name, use=name != "not in use yet")
        content = (tmp_path / "3.safetensors").read_bytes()  # as an older server stored it
        (tmp_path / "3.safetensors").write_bytes(
            content.replace(rb"\"recipe\": \"uniform\"", rb"\"recipe\": \"\\ud800\"")
        )
        with closing(Versions("idf", "first", tmp_path)) as again:
            assert again.current.name == "good"
            with TestClient(create_app(Service(IndexBackend(searcher), again)), LOCAL) as client:
                listed = client.get("/weights").json()["versions"]
        assert [one["name"] for one in listed] == ["not in use yet", "good", "first"]
        assert [record.message.partition(": ")[0] for record in caplog.records] == [
            "version 3 of the weights is skipped"
        ]
        for number in (2, 3, 4):
            (tmp_path / f"{number}.safetensors").unlink()
        (tmp_path / "versions.json").write_text((tmp_path / "versions.json").read_text().replace('"idf"', "null"))
        with closing(Versions("idf-soft", "start", tmp_path)) as fresh:
            assert [(one.number, one.name) for one in fresh.all()] == [(5, "start")]

    def test_metadata_of_an_upload_must_fit_into_every_answer(
        self, client: TestClient, encoder: Encoder, tmp_path: Path
    ) -> None:
        TokenWeights.uniform(encoder.vocabulary, made_from={"recipe": "mine"}).save(tmp_path / "sent.safetensors")
        content = (tmp_path / "sent.safetensors").read_bytes()
        for recipe in (rb"\\ud800", b"a" * 300):
            length = int.from_bytes(content[:8], "little") + len(recipe) - 4
            forged = length.to_bytes(8, "little") + content[8:].replace(b"mine", recipe, 1)
            answer = client.put("/weights/file", content=forged, headers={"content-type": "application/octet-stream"})
            assert answer.status_code == 400, answer.text
        assert client.get("/weights").json()["version"] == 1

    def test_an_upload_is_never_parsed_as_json(self, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("chamfer.serve.json_bodies.parse_json", None)
        answer = client.put("/weights/file", content="[[], []]", headers={"content-type": "application/json"})
        assert (answer.status_code, "not a chamfer weights file" in answer.json()["message"]) == (400, True)

    def test_the_oldest_version_goes_when_there_are_too_many(self, encoder: Encoder, tmp_path: Path) -> None:
        weights = TokenWeights.uniform(encoder.vocabulary)
        versions = Versions(weights, "first", tmp_path)
        for number in range(MOST + 1):
            versions.put(weights, str(number), use=False)
        numbers = {version.number for version in versions.all()}
        assert len(numbers) == MOST
        assert {1, MOST + 2} <= numbers, "the one in use stays"
        assert {int(path.stem) for path in tmp_path.glob("*.safetensors")} == numbers


class TestLearning:
    JUDGEMENTS: Sequence[dict[str, Any]] = (
        {"query": QUERY, "relevant": ["d4"], "not_relevant": ["d2"]},
        {"query": "blue sky", "relevant": ["d3"]},
        {"query": "the dog", "relevant": ["d2", "d5"]},
    )

    def weights_in_use(self, client: TestClient) -> dict[str, float]:
        """The weights of all tokens of the judged queries, special ones included."""
        queries = [judgement["query"] for judgement in self.JUDGEMENTS]
        explained = [client.post("/explain", json={"query": query, "k": 1}).json() for query in queries]
        return {token["token"]: token["in_table"] for one in explained for token in one["tokens"]}

    def test_judgements_become_a_version_that_waits_to_be_used(self, client: TestClient) -> None:
        before = self.weights_in_use(client)
        found = client.post("/learn", json={"judgements": self.JUDGEMENTS, "name": "mine"}).json()
        assert found["queries"] == 3
        moved = [(one["query"], document) for one in found["compared"] for document in one["documents"]]
        assert {(query, document["id"]) for query, document in moved} == {
            (QUERY, "d4"),
            ("blue sky", "d3"),
            ("the dog", "d2"),
            ("the dog", "d5"),
        }
        assert all(1 <= document["after"] <= 7 for _, document in moved)
        assert 0 < found["ndcg_after"] <= 1
        weights = client.get("/weights").json()
        assert (weights["version"], weights["versions"][0]["name"]) == (1, "mine")
        assert self.weights_in_use(client) == before
        assert client.post("/weights/use", json={"version": found["version"]}).json()["version"] == found["version"]
        after = self.weights_in_use(client)
        assert found["changed"]
        for one in found["changed"]:
            assert (one["before"], one["after"]) == pytest.approx((before[one["token"]], after[one["token"]]))
            assert one["before"] != one["after"]

    @pytest.mark.parametrize(
        ("judgements", "status", "told"),
        [
            ([{"query": QUERY, "relevant": ["d4"]}], 409, "at least 2 queries"),
            ([{"query": QUERY, "relevant": ["d4"], "not_relevant": ["d4"]}], 409, "relevant and not relevant"),
            ([{"query": QUERY, "relevant": ["nothing"]}], 404, "no document 'nothing'"),
        ],
    )
    def test_judgements_that_teach_nothing_are_refused(
        self, client: TestClient, judgements: list[dict[str, Any]], status: int, told: str
    ) -> None:
        answer = client.post("/learn", json={"judgements": judgements})
        assert (answer.status_code, told in answer.json()["message"]) == (status, True), answer.text

    def test_a_damaged_index_is_reported_as_it_is_to_searches(
        self, service: Service, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        [vectors] = folder.glob("segments/*/vectors.f16")
        os.truncate(vectors, 10)
        client = TestClient(create_app(service), LOCAL)
        answer = client.post("/learn", json={"judgements": self.JUDGEMENTS})
        assert (answer.status_code, answer.json()["message"]) == (503, DAMAGED)
        service.backend.refresh()
        assert client.get("/health").status_code == 503
        assert caplog.text.count("was truncated while it was open") == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ("{", 400, "not valid JSON"),
            ("[]", 422, "the request must be an object, not []"),
            ('{"query": 5}', 422, "query must be a string, not 5"),
            ('{"query": "a", "k": "ten"}', 422, 'k must be a whole number, not "ten"'),
            ('{"query": "a", "k": 0}', 422, "k must be at least 1, not 0"),
            ('{"query": "a", "typo": 1}', 422, "typo is not a known field; the known fields are query, k, offset"),
            ('{"query": ""}', 400, "give some text to search for"),
            ('{"query": "   "}', 400, "has no tokens"),
            ('{"query": "\\ud800"}', 400, "not valid JSON (it contains a lone surrogate)"),
            ('{"query": "a", "\\ud800": 1}', 400, "not valid JSON (it contains a lone surrogate)"),
            (b'{"query": "\xed\xa0\x80"}', 400, "not valid JSON (it is not UTF-8)"),
            ('{"query": "a", "k": NaN}', 400, "not valid JSON (it contains NaN)"),
            ('{"query": "a", "k": 1e999}', 400, "not valid JSON (it contains a number beyond 1.8e308, 1e999)"),
            ('{"query": "a", "k": 1' + "0" * 5000 + "}", 400, "not valid JSON"),
            (
                '{"query": ' + "[" * 300 + "]" * 300 + "}",
                400,
                "not valid JSON (it is nested more than 100 levels deep)",
            ),
            ("[" * 100_000, 400, "not valid JSON (it is nested more than 100 levels deep)"),
            ("", 422, "no body"),
            (
                '{"query": "a", "weights": "/etc/passwd"}',
                422,
                "weights must be 'current', 'uniform', 'idf', 'idf-soft' or 'mix'",
            ),
            (json.dumps({"query": "a " * 10_000}), 422, "at most 8000 characters"),
        ],
    )
    def test_a_bad_request_gets_one_sentence(
        self, client: TestClient, body: str | bytes, status: int, told: str
    ) -> None:
        answer = client.post("/search", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert list(answer.json()) == ["message"]
        assert told in answer.json()["message"]

    @pytest.mark.parametrize(
        ("judgements", "told"),
        [
            ([], "judgements must not be empty"),
            ([{"query": "a", "relevant": []}], "judgements.0.relevant must not be empty"),
            ([{"query": "a", "relevent": ["1"]}], "judgements.0.relevent is not a known field; the known fields are"),
        ],
    )
    def test_a_mistake_inside_a_list_is_located(
        self, client: TestClient, judgements: list[dict[str, Any]], told: str
    ) -> None:
        answer = client.post("/learn", json={"judgements": judgements})
        assert (answer.status_code, told in answer.json()["message"]) == (422, True), answer.text

    def test_a_mistake_in_the_query_string_names_the_parameter(self, client: TestClient) -> None:
        answer = client.get("/weights/tokens", params={"limit": "ten"})
        assert (answer.status_code, answer.json()["message"]) == (422, 'limit must be a whole number, not "ten"')

    def test_a_large_body_is_refused(self, client: TestClient) -> None:
        headers = {"content-type": "application/json"}
        assert client.post("/search", content=b"x" * 10_000_000, headers=headers).status_code == 413

        def parts() -> Iterator[bytes]:  # without a content-length
            for _ in range(10):
                yield b"x" * 1_000_000

        assert client.post("/search", content=parts(), headers=headers).status_code == 413

    @pytest.mark.parametrize(
        ("path", "start", "end"),
        [
            ("/rerank", '{"query": "a", "documents": [', "]}"),
            ("/rerank", '{"query": "a", "documents": [{"text": "a", "more": [', "]}]}"),
            ("/learn", '{"judgements": [', "]}"),
        ],
    )
    def test_millions_of_values_are_refused_at_once(self, client: TestClient, path: str, start: str, end: str) -> None:
        body = f"{start}{'[],' * 1_390_000}[]{end}".encode()
        started = time.process_time()
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert time.process_time() - started < 0.5, "nobody else is answered meanwhile"
        assert answer.status_code == 413
        assert "more than 250,000 commas and opening brackets outside strings; send less" in answer.json()["message"]

    def test_large_honest_bodies_are_read(self, client: TestClient) -> None:
        documents = ['a "cat", a [dog], a \\, a {mat}, ' * 100] * 1000
        answer = client.post("/rerank", json={"query": QUERY, "documents": documents, "top_n": 1})
        assert (answer.status_code, len(answer.json()["results"])) == (200, 1)
        answer = client.put("/weights", json={"tokens": {f"token, {place}": 0.5 for place in range(100_000)}})
        assert (answer.status_code, "has no token 'token, 0'" in answer.json()["message"]) == (404, True)

    def test_only_known_kinds_of_content_are_read(self, client: TestClient) -> None:
        answer = client.post("/search", content='{"query": "a"}', headers={"content-type": "text/plain"})
        assert answer.status_code == 415

    def test_unknown_paths_and_files(self, client: TestClient) -> None:
        for path in ("/nothing", "/page/nothing.js", "/page/..%2fapp.py", "/page/%2e%2e/app.py"):
            assert client.get(path).status_code == 404
        answer = client.request("DELETE", "/weights")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, PUT")

    def test_names_that_anyone_could_own_are_refused(self, service: Service) -> None:
        app = create_app(service, hosts=("search.example", "::"))
        for host, status in (
            ("evil.example", 421),
            ("evil.example:8000", 421),
            ("search.example.evil", 421),
            ("127.0.0.1.evil", 421),
            ("[evil.example]", 421),
            ("::", 421),
            ("", 421),
            ("a" * 60_000, 421),
            ("search.example:8000", 200),
            ("Search.Example", 200),
            ("192.168.1.7:8000", 200),
            ("[fd00::7]:8000", 200),
            ("[::1x.evil]:8000", 421),
            ("localhost.evil", 421),
            ("127.0.0.1:8000", 200),
            ("[::1]", 200),
            ("[::1]:8000", 200),
            ("LOCALHOST", 200),
        ):
            with TestClient(app, LOCAL) as client:
                assert client.get("/health", headers={"host": host}).status_code == status, host
                assert client.get("/health", headers=[("host", "localhost"), ("host", host)]).status_code == 421
                assert client.head("/health").status_code == 200
        with pytest.raises(InputError, match="without scheme and port"):
            create_app(service, hosts=["http://search.example"])

    def test_without_a_key_only_given_names_are_answered(self) -> None:
        assert hosts_of("0.0.0.0", [], has_key=False) == frozenset({"0.0.0.0"})
        assert hosts_of("Search", ["a.example"], has_key=False) == frozenset({"search", "a.example"})
        assert hosts_of("0.0.0.0", [], has_key=True) is None, "a page whose name was rebound has no key"
        assert hosts_of("0.0.0.0", ["a.example"], has_key=True) == frozenset({"0.0.0.0", "a.example"})
        assert hosts_of("::1", [], has_key=True) == frozenset({"::1"})

    def test_the_key_is_required(self, service: Service) -> None:
        with TestClient(create_app(service, key="secret"), LOCAL) as client:
            assert client.get("/weights").status_code == 401
            wrong = client.get("/weights", headers={"authorization": "Bearer secre"})
            assert (wrong.status_code, "the API key is missing or wrong" in wrong.json()["message"]) == (401, True)
            assert client.get("/weights", headers={"authorization": "Bearer secret"}).status_code == 200
            assert client.get("/weights", headers={"authorization": "BEARER secret"}).status_code == 200
            assert client.get("/weights", headers={"authorization": "secret"}).status_code == 401
            with pytest.raises(InputError, match="printable ASCII"):
                create_app(service, key="pässword")
            assert client.get("/metrics").status_code == 401
            assert client.get("/health").status_code == 200
            assert client.get("/").status_code == 200, "the page asks for the key"

    def test_a_request_that_takes_too_long_is_given_up(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service, "search", lambda asked: time.sleep(0.5))
        with TestClient(create_app(service, limits=Limits(seconds=0.1)), LOCAL) as client:
            answer = client.post("/search", json={"query": QUERY})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")

    def test_an_internal_error_reveals_nothing(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: object) -> None:
            raise RuntimeError("secret path")

        monkeypatch.setattr(service, "search", fail)
        with TestClient(create_app(service), LOCAL, raise_server_exceptions=False) as client:
            answer = client.post("/search", json={"query": QUERY})
        assert answer.status_code == 500
        assert "secret" not in answer.text

    def test_too_many_requests_are_refused(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        real, go_on = service.search, threading.Event()

        def slow(asked: Any) -> Any:
            go_on.wait(10)
            return real(asked)

        monkeypatch.setattr(service, "search", slow)
        limits = Limits(waiting=3, batch=1)
        with TestClient(create_app(service, limits=limits), LOCAL) as client, ThreadPoolExecutor(10) as threads:
            answers = [threads.submit(client.post, "/search", json={"query": QUERY}) for _ in range(10)]
            while sum(answer.done() for answer in answers) < 6:
                time.sleep(0.01)
            go_on.set()
            statuses = [answer.result().status_code for answer in answers]
            refused = next(answer.result() for answer in answers if answer.result().status_code == 429)
        assert sorted(statuses) == [200] * 4 + [429] * 6
        assert refused.headers["retry-after"] == "1"


class TestAround:
    def test_texts_are_data_and_headers_tell_browsers_so(self, client: TestClient) -> None:
        answer = client.post("/search", json={"query": "<script>alert(2)</script> cat"})
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in client.get("/").headers["content-security-policy"]

    def test_the_page_and_its_files(self, client: TestClient) -> None:
        page = client.get("/")
        assert page.headers["content-type"].startswith("text/html")
        assert "http://" not in page.text.replace("http://www.w3.org", "")
        assert "https://" not in page.text
        assert client.get("/page/main.js").headers["content-type"].startswith("text/javascript")
        assert client.get("/page/style.css").headers["content-type"].startswith("text/css")

    def test_the_page_has_the_limits_of_the_api(self, client: TestClient) -> None:
        assert f'maxlength="{MOST_QUERY_CHARACTERS}"' in client.get("/").text
        weight = re.search(r"LARGEST = (\S+);", client.get("/page/weighing.js").text)
        assert weight is not None
        assert float(weight[1]) == LARGEST

    def test_health_and_metrics(self, client: TestClient) -> None:
        assert client.get("/health").json()["documents"] == len(DOCUMENTS) + 2
        client.post("/search", json={"query": QUERY})
        client.get("/nowhere")
        told = client.get("/metrics").text
        assert 'chamfer_requests_total{path="/search",status="200"} 1.0' in told
        assert 'chamfer_requests_total{path="other",status="404"} 1.0' in told
        assert "chamfer_weights_version 1.0" in told
        assert "chamfer_batch_size_count 1.0" in told
        assert "process_resident_memory_bytes" in told

    def test_every_path_is_described(self, client: TestClient) -> None:
        described = client.get("/openapi.json").json()
        for path, operations in described["paths"].items():
            for operation in operations.values():
                assert operation["summary"], path
                assert {"200", "401", "422", "429"} <= set(operation["responses"]), path
        assert set(described["paths"]) >= {"/search", "/rerank", "/explain", "/weights", "/health", "/metrics"}

    def test_every_schema_has_a_plain_name_of_its_own(self, client: TestClient) -> None:
        names = client.get("/openapi.json").json()["components"]["schemas"]
        assert [name for name in names if not name.isalnum()] == [], "two models with one name get longer ones"


class TestBatches:
    def test_what_arrives_meanwhile_is_worked_on_together(self) -> None:
        sizes: list[int] = []
        begun, go_on = threading.Event(), threading.Event()

        def work(items: Sequence[int]) -> list[int]:
            begun.set()
            go_on.wait(10)
            return [2 * item for item in items]

        async def ask() -> list[int]:
            with ThreadPoolExecutor(1) as thread:
                batches = Batches(work, thread, most=8, waiting=100, observe=sizes.append)
                first = asyncio.create_task(batches.ask(0))
                while not begun.is_set():
                    await asyncio.sleep(0.001)
                others = [asyncio.create_task(batches.ask(number)) for number in range(1, 11)]
                await asyncio.sleep(0)
                go_on.set()
                return [await first, *[await one for one in others]]

        assert asyncio.run(ask()) == [2 * number for number in range(11)]
        assert sizes == [1, 8, 2]

    def test_only_items_that_are_alike_are_worked_on_together(self) -> None:
        seen: list[list[int]] = []

        def work(items: Sequence[int]) -> Sequence[int]:
            seen.append(list(items))
            return items

        async def ask() -> list[int]:
            with ThreadPoolExecutor(1) as thread:
                batches = Batches(work, thread, most=2, waiting=100, alike=lambda number: number % 2)
                return await asyncio.gather(*(batches.ask(number) for number in range(6)))

        assert asyncio.run(ask()) == list(range(6))
        assert seen == [[0, 2], [1, 3], [4], [5]]

    def test_any_failure_reaches_the_waiting_client(self) -> None:
        class Panic(BaseException):
            """As compiled libraries raise it."""

        def work(items: Sequence[int]) -> Sequence[int]:
            if 3 in items:
                raise Panic("in the library")
            return items

        async def ask() -> list[int | BaseException]:
            with ThreadPoolExecutor(1) as thread:
                batches = Batches(work, thread, most=8, waiting=100)
                return await asyncio.gather(*(batches.ask(number) for number in range(5)), return_exceptions=True)

        answers = asyncio.run(ask())
        assert [answers[place] for place in (0, 1, 2, 4)] == [0, 1, 2, 4]
        assert isinstance(answers[3], RuntimeError)

    def test_a_client_that_has_left_takes_no_place_in_the_queue(self) -> None:
        go_on = threading.Event()

        def work(items: Sequence[int]) -> Sequence[int]:
            go_on.wait(10)
            return items

        async def ask() -> int:
            with ThreadPoolExecutor(1) as thread:
                batches = Batches(work, thread, most=1, waiting=2)
                first = asyncio.create_task(batches.ask(0))
                await asyncio.sleep(0.01)
                others = [asyncio.create_task(batches.ask(number)) for number in (1, 2)]
                await asyncio.sleep(0.01)
                for other in others:
                    other.cancel()
                await asyncio.sleep(0.01)
                last = asyncio.create_task(batches.ask(9))
                await asyncio.sleep(0.01)
                go_on.set()
                await first
                return await last

        assert asyncio.run(ask()) == 9

    def test_what_is_asked_at_the_same_moment_is_not_refused_before_anything_runs(self) -> None:
        async def ask() -> tuple[int, int]:
            with ThreadPoolExecutor(1) as thread:
                batches: Batches[int, int] = Batches(lambda items: items, thread, most=1, waiting=1)
                return await asyncio.gather(batches.ask(1), batches.ask(2))

        assert tuple(asyncio.run(ask())) == (1, 2)

    def test_nothing_is_done_for_a_client_that_has_left(self) -> None:
        done: list[int] = []
        go_on = threading.Event()

        def work(items: Sequence[int]) -> Sequence[int]:
            go_on.wait(10)
            done.extend(items)
            return items

        async def ask() -> None:
            with ThreadPoolExecutor(1) as thread:
                batches = Batches(work, thread, most=1, waiting=3)
                tasks = [asyncio.create_task(batches.ask(number)) for number in range(3)]
                await asyncio.sleep(0.01)
                tasks[1].cancel()
                with pytest.raises(BusyError):
                    await asyncio.gather(*(batches.ask(number) for number in range(9, 12)))
                go_on.set()
                await tasks[0]
                await tasks[2]

        asyncio.run(ask())
        assert done[:2] == [0, 2]
