"""What the server says of weights: each token with its documents and its origin, the distribution, and the versions."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, Searcher, TokenWeights, build_index
from chamfer.index.splitting import split_index
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from chamfer.serve.single import IndexBackend
from chamfer.serve.spellings import spelled
from chamfer.serve.token_table import TokenTables
from chamfer.serve.versions import Versions
from chamfer.tokens.vocabulary import Vocabulary
from tests.test_mixed_scores import mixed
from tests.test_serve_sharded import backend_of, shards_of

LOCAL = "http://localhost"
BINARY = {"content-type": "application/octet-stream"}
# "the" is in all, "dog" in half of them, "cat" in four, "sky" in one.
TEXTS = {
    f"d{n}": f"the {'dog' if n % 2 else 'night'} {'cat' if n < 4 else ''} {'sky' if n == 9 else ''}" for n in range(10)
}


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    build_index(tmp_path / "index", TEXTS, encoder)
    return tmp_path / "index"


@pytest.fixture
def client(folder: Path, encoder: Encoder) -> Iterator[TestClient]:
    searcher = Searcher.open(folder, encoder=encoder)
    service = Service(IndexBackend(searcher), Versions("idf-soft", "idf-soft"))
    with TestClient(create_app(service, hosts=()), LOCAL) as client:
        yield client


@pytest.fixture
def sharded(folder: Path, tmp_path: Path, encoder: Encoder) -> Iterator[TestClient]:
    split_index(folder, tmp_path / "shards", shards=3)
    backend = backend_of(tmp_path / "shards", shards_of(tmp_path / "shards"), encoder)
    with TestClient(create_app(Service(backend, Versions("idf-soft", "idf-soft")), hosts=()), LOCAL) as client:
        yield client


def tokens(client: TestClient, **asked: Any) -> dict[str, Any]:
    answer = client.get("/weights/tokens", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["token"] for one in found]


class TestTokens:
    def test_each_token_has_its_documents_and_its_origin(self, client: TestClient) -> None:
        found = {one["token"]: one for one in tokens(client, limit=1000)["tokens"]}
        assert [found[token]["documents"] for token in ("the", "dog", "cat", "sky", "mat")] == [10, 5, 4, 1, 0]
        assert [found[token]["origin"] for token in ("the", "mat")] == ["counted", "unseen"]
        assert found["the"]["before"] is None
        client.put("/weights", json={"tokens": {"dog": 3.0}})
        dog = tokens(client, contains="dog")["tokens"][0]
        assert (dog["origin"], dog["weight"]) == ("edited", 3.0)
        assert dog["before"] == found["dog"]["weight"]
        client.put("/weights", json={"weights": "uniform"})
        assert tokens(client, contains="dog")["tokens"][0]["origin"] == "uniform"

    def test_equal_weights_are_ordered_by_the_number_of_documents(self, client: TestClient) -> None:
        client.put("/weights", json={"weights": "uniform"})
        for order in ("heaviest", "lightest", "frequent"):
            assert names(tokens(client, order=order, limit=5)["tokens"]) == ["the", "dog", "night", "cat", "sky"]
        client.put("/weights", json={"tokens": {"sky": 0.5}})
        assert names(tokens(client, order="lightest", limit=2)["tokens"]) == ["sky", "the"]

    def test_a_word_is_found_with_all_its_pieces(self, client: TestClient) -> None:
        found = tokens(client, contains="cats sky")
        assert [[one["text"] for one in word] for word in found["read"]] == [["cats"], ["sky"]]
        assert found["tokens"] == []
        [word] = tokens(client, contains="nights")["read"]
        assert [(one["token"], one["text"], one["starts_word"]) for one in word] == [
            ("night", "night", True),
            ("##s", "s", False),
        ]
        assert tokens(client, contains=" ")["read"] == []

    def test_what_is_spelled_like_the_text_comes_first_however_light_it_is(self, client: TestClient) -> None:
        client.put("/weights", json={"tokens": {"a": 0.0}})
        assert names(tokens(client, contains="A", limit=1)["tokens"]) == ["a"]

    def test_special_tokens_are_found_only_by_their_name(self, client: TestClient) -> None:
        [special] = tokens(client, contains="[MASK]")["tokens"]
        assert special["origin"] == "special"
        assert "[MASK]" not in names(tokens(client, limit=1000)["tokens"])

    def test_tokens_that_occur_can_be_limited_to_a_range(self, client: TestClient) -> None:
        client.put("/weights", json={"weights": "uniform"})
        client.put("/weights", json={"tokens": {"dog": 0.7, "cat": 0.8}})
        assert names(tokens(client, least=0.7, below=0.8)["tokens"]) == ["dog"]
        assert names(tokens(client, least=0.75, below=1)["tokens"]) == ["cat"]

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            ({"least": "nan"}, "least"),
            ({"below": -1}, "below must be at least 0"),
            ({"order": "any"}, "order must be"),
            ({"contains": "x" * 101}, "at most 100 characters"),
        ],
    )
    def test_an_impossible_question_is_refused_in_one_sentence(
        self, client: TestClient, asked: dict[str, Any], told: str
    ) -> None:
        answer = client.get("/weights/tokens", params=asked)
        assert (answer.status_code, told in answer.json()["message"]) == (422, True), answer.text

    def test_what_was_prepared_is_used_until_the_version_or_the_index_changes(
        self, folder: Path, encoder: Encoder
    ) -> None:
        searcher = Searcher.open(folder, encoder=encoder)
        versions, tables = Versions("idf-soft", "first"), TokenTables()
        first = tables.of(searcher.queries, versions.current)
        assert tables.of(searcher.queries, versions.current) is first
        versions.put("idf-soft", "second")
        second = tables.of(searcher.queries, versions.current)
        assert (second is first, second.number) == (False, 2)
        again = Searcher.open(folder, encoder=encoder)
        assert tables.of(again.queries, versions.current) is not second

    def test_bytes_are_read_as_the_letters_that_they_spell(self) -> None:
        vocabulary = Vocabulary(("Ġcaf\u00c3\u00a9", "ing", "Ġ7", "Ġa"), frozenset())
        found = spelled(vocabulary)
        assert found.texts == ["café", "ing", "7", "a"]
        assert list(found.starts) == [True, False, True, True]
        assert found.is_word.tolist() == [True, False, False, False]
        assert "café" in found.searched[0]


class TestDistribution:
    def test_it_is_over_the_tokens_that_occur(self, client: TestClient) -> None:
        found = client.get("/weights/distribution").json()
        assert (found["version"], found["documents"], found["passages"]) == (1, 10, False)
        assert found["tokens"] == sum(one["tokens"] for one in found["bins"]) == 5
        low, high = found["middle"]
        assert low <= high
        assert found["frequent"] == 5
        assert names(found["lightest"]) == ["the", "dog", "night", "cat", "sky"]
        assert names(found["heaviest"]) == ["sky", "cat", "dog", "night", "the"]

    def test_the_words_at_both_ends_are_among_the_most_frequent(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("chamfer.serve.token_table.FREQUENT", 3)
        found = client.get("/weights/distribution").json()
        assert (found["frequent"], names(found["heaviest"])) == (3, ["dog", "night", "the"])

    def test_huge_weights_share_an_open_bin(self, client: TestClient) -> None:
        client.put("/weights", json={"tokens": {"sky": 1e9}})
        last = client.get("/weights/distribution").json()["bins"][-1]
        assert (last["below"], last["tokens"]) == (None, 1)

    def test_passages_are_said_to_be_counted(self, encoder: Encoder, tmp_path: Path) -> None:
        build_index(tmp_path / "long", {"a": "the cat sat on a mat. " * 20}, encoder, passages=16)
        with TestClient(create_app(Searcher.open(tmp_path / "long", encoder=encoder)), LOCAL) as client:
            found = client.get("/weights/distribution").json()
        assert found["passages"]
        assert found["documents"] > 1

    def test_an_index_without_a_token_has_none(self, encoder: Encoder, tmp_path: Path) -> None:
        build_index(tmp_path / "empty", {"a": ""}, encoder, allow_empty=True)
        with TestClient(create_app(Searcher.open(tmp_path / "empty", encoder=encoder)), LOCAL) as client:
            found = client.get("/weights/distribution").json()
        assert (found["tokens"], found["middle"], found["bins"], found["heaviest"]) == (0, None, [], [])


class TestVersions:
    def test_each_says_what_made_it_and_how_it_differs_from_the_one_before(self, client: TestClient) -> None:
        client.put("/weights", json={"weights": "uniform"})
        listed = client.put("/weights", json={"tokens": {"dog": 2.0}, "mix": {"pooled": 0.5}}).json()["versions"]
        edited, uniform, first = listed
        assert [one["origin"] for one in listed] == ["edited", "computed", "computed"]
        assert (edited["edited_from"], uniform["edited_from"]) == (2, None)
        assert first["difference"] is None
        difference = edited["difference"]
        assert (difference["base"], difference["heavier"], difference["lighter"]) == (2, 1, 0)
        assert [(one["text"], one["before"], one["after"]) for one in difference["largest"]] == [("dog", 1.0, 2.0)]
        assert uniform["difference"]["heavier"] + uniform["difference"]["lighter"] == 5
        assert len(uniform["difference"]["largest"]) == 3

    def test_a_version_is_compared_with_the_one_in_use_or_with_another(self, client: TestClient) -> None:
        client.put("/weights", json={"weights": "uniform"})
        client.put("/weights", json={"tokens": {"dog": 2.0, "cat": 0.5}, "mix": {"pooled": 0.5}})
        found = client.get("/weights/2/changes").json()
        assert (found["version"], found["base"], found["heavier"], found["lighter"]) == (2, 3, 1, 1)
        assert [(one["token"], one["documents"]) for one in found["largest"]] == [("dog", 5), ("cat", 4)]
        assert (found["mix"]["pooled"], found["base_mix"]["pooled"]) == (0.0, 0.5)
        same = client.get("/weights/2/changes", params={"base": 2}).json()
        assert (same["heavier"], same["lighter"], same["largest"]) == (0, 0, [])
        assert client.get("/weights/9/changes").status_code == 404
        assert client.get("/weights/1/changes", params={"base": 9}).status_code == 404

    def test_an_adapter_and_a_context_are_part_of_the_difference(
        self, client: TestClient, encoder: Encoder, tmp_path: Path
    ) -> None:
        weights = mixed(encoder)
        for each in (weights, replace(weights, adapter=None)):
            each.save(tmp_path / "w.safetensors")
            content = (tmp_path / "w.safetensors").read_bytes()
            assert client.put("/weights/file", content=content, headers=BINARY).status_code == 200
        without, both, _ = client.get("/weights").json()["versions"]
        assert (both["difference"]["adapter"], both["difference"]["context"]) == (True, True)
        assert (without["difference"]["adapter"], without["difference"]["context"]) == (True, False)

    def test_odd_metadata_of_an_uploaded_file_break_no_answer(
        self, client: TestClient, encoder: Encoder, tmp_path: Path
    ) -> None:
        odd = {"edited": 5, "edited_from": {"a": 1}, "verdict": ["better"], "learnt_from": "all", "recipe": "x"}
        for metadata in (odd, {**odd, "edited_from": True, "verdict": {}, "learnt_from": 1e300}, {"verdict": 5}):
            even = np.ones(len(encoder.vocabulary), np.float32)
            TokenWeights(even, encoder.vocabulary, metadata).save(tmp_path / "w.safetensors")
            answer = client.put("/weights/file", content=(tmp_path / "w.safetensors").read_bytes(), headers=BINARY)
            assert answer.status_code == 200, answer.text
            listed = client.get("/weights").json()["versions"][0]
            assert (listed["edited_from"], listed["verdict"], listed["learnt_from"]) == (None, None, None)
            assert tokens(client, limit=1)["tokens"][0]["origin"] == "given"

    def test_what_is_edited_outlives_the_server(self, folder: Path, encoder: Encoder, tmp_path: Path) -> None:
        searcher = Searcher.open(folder, encoder=encoder)
        kept = Versions("idf-soft", "first", tmp_path / "kept")
        with TestClient(create_app(Service(IndexBackend(searcher), kept)), LOCAL) as client:
            client.put("/weights", json={"tokens": {"dog": 3.0}})
            before = tokens(client, contains="dog")
        kept.close()
        again = Versions("idf-soft", "first", tmp_path / "kept")
        with TestClient(create_app(Service(IndexBackend(searcher), again)), LOCAL) as client:
            assert tokens(client, contains="dog") == before
        again.close()


def test_shards_answer_with_the_counts_of_the_whole_corpus(sharded: TestClient, client: TestClient) -> None:
    for each in (client, sharded):
        each.put("/weights", json={"tokens": {"dog": 3.0}})
    for path in ("/weights/tokens?contains=dogs", "/weights/tokens?limit=1000", "/weights/distribution"):
        assert sharded.get(path).content == client.get(path).content
    assert sharded.get("/weights/1/changes").content == client.get("/weights/1/changes").content
    listed, expected = (each.get("/weights").json()["versions"] for each in (sharded, client))
    assert [one["difference"] for one in listed] == [one["difference"] for one in expected]
