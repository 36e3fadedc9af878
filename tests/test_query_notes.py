"""What a search, an explanation and a re-ranking say of an odd query, in the library, over HTTP and through clients."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Client, Encoder, Searcher, explain
from chamfer.encode.settings import Role
from chamfer.errors import InputWarning
from chamfer.index.splitting import split_index
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from tests import checkpoints
from tests.test_serve_sharded import SHARDS, served, shards_of
from tests.threaded_server import serving

LOCAL = "http://localhost"
QUERY = "why do cats sleep"
LONG = "why do cats sleep all day, and  why do dogs bark at night? " * 9
FOREIGN = "почему кошки спят весь день"
WHERE = "size > 20"
TEXTS = ["a dog barks", "cats sleep"]


def post(client: TestClient, path: str, **asked: Any) -> dict[str, Any]:
    answer = client.post(path, json=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def warned(call: Callable[[], object]) -> list[str]:
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    assert all(one.category is InputWarning for one in told)
    assert {Path(one.filename).name for one in told} <= {Path(__file__).name}, "a warning points at the caller"
    return [str(one.message) for one in told]


def said(asked: Searcher | Client, query: str) -> list[list[str]]:
    """What each method warns of."""
    return [
        warned(lambda: asked.search(query)),
        warned(lambda: asked.explain(query)),
        warned(lambda: asked.explain(query, "d1")),
        warned(lambda: asked.rerank(query, TEXTS)),
    ]


class TestWhichPartOfALongQueryIsRead:
    @pytest.mark.parametrize("make", [checkpoints.make_stanford, checkpoints.make_pylate, checkpoints.make_plain])
    @pytest.mark.parametrize("role", ["query", "document"])
    def test_the_part_that_was_read_has_the_same_tokens_alone(
        self, tmp_path: Path, make: Callable[[Path], object], role: Role
    ) -> None:
        make(tmp_path)
        encoder = Encoder.load(str(tmp_path), query_length=12, document_length=12)
        tokenized = encoder.tokenize([LONG, "cats", f"ünï {LONG}"], role)
        assert tokenized.was_truncated == [True, False, True]
        for text, read, ids in zip(tokenized.texts, tokenized.read, tokenized.token_ids, strict=True):
            if read is not None:
                assert 0 < read < len(text)
                assert text[read - 1].strip()
                assert not text[read].isalnum()
                [alone] = encoder.tokenize([text[:read]], role).token_ids
                assert alone.tolist() == ids.tolist()
        assert tokenized.take([1, 0]).read == [None, tokenized.read[0]]

    def test_an_endless_query_is_read_up_to_where_it_was_cut(self, encoder: Encoder) -> None:
        tokenized = encoder.tokenize(["cat " * 50_000, " " * 300_000 + "cat"], "query")
        assert tokenized.read[0] == 4 * (encoder.query_length - 2) - 1
        assert tokenized.read[1] == 0

    def test_hits_and_explanations_say_so(self, searcher: Searcher, encoder: Encoder) -> None:
        hits, [why, _] = searcher.search(LONG), searcher.explain(LONG)
        assert hits.query_was_truncated
        assert hits.query_read == why.query_read == explain(LONG, "a cat", encoder=encoder).query_read
        beginning = LONG[: hits.query_read]
        assert searcher.search(beginning, weights="uniform") == searcher.search(LONG, weights="uniform")
        assert (searcher.search(QUERY).query_read, searcher.explain(QUERY, "d1").query_read) == (None, None)

    def test_the_server_says_the_same(self, client: TestClient, searcher: Searcher) -> None:
        read = searcher.search(LONG).query_read
        for path in ("/search", "/explain"):
            found = post(client, path, query=LONG)
            assert (found["query_was_truncated"], found["query_read"]) == (True, read)
            found = post(client, path, query=QUERY)
            assert (found["query_was_truncated"], found["query_read"]) == (False, None)
        batch = post(client, "/search/batch", queries=[QUERY, LONG])["results"]
        assert [one["query_read"] for one in batch] == [None, read]
        meta = post(client, "/rerank", query=LONG, documents=TEXTS)["meta"]
        cut = f"the query is longer than the model reads, which is its first {read} characters"
        assert meta["warnings"] == [cut]
        assert "warnings" not in post(client, "/rerank", query=QUERY, documents=TEXTS)["meta"]


class TestNotes:
    def test_a_search_and_an_explanation_have_the_same(self, client: TestClient) -> None:
        for asked in ({"query": QUERY}, {"query": FOREIGN}, {"query": FOREIGN, "where": WHERE}):
            found, explained = post(client, "/search", **asked), post(client, "/explain", **asked)
            assert found["notes"] == explained["notes"]
            assert len(found["notes"]) == len(asked) - (asked["query"] == QUERY)
        named = post(client, "/explain", query=QUERY, where=WHERE, ids=["d1"])
        assert named["notes"] == ["no document has the field 'size'; documents in this index have no metadata"]
        assert named["documents"] == []

    def test_texts_are_ranked_with_those_of_the_query(self, client: TestClient) -> None:
        notes = post(client, "/search", query=FOREIGN)["notes"]
        assert "does not know the script of the query" in notes[0]
        assert post(client, "/rerank", query=FOREIGN, documents=TEXTS)["meta"]["warnings"] == notes
        assert post(client, "/v2/rerank", query=FOREIGN, documents=TEXTS * 40)["meta"]["warnings"] == notes

    def test_shards_have_those_of_one_index(
        self, client: TestClient, folder: Path, tmp_path: Path, encoder: Encoder
    ) -> None:
        split_index(folder, tmp_path / "shards", shards=SHARDS)
        with served(tmp_path / "shards", shards_of(tmp_path / "shards"), encoder) as sharded:
            for path in ("/search", "/explain"):
                asked = {"query": FOREIGN + LONG, "where": WHERE}
                one, other = post(client, path, **asked), post(sharded, path, **asked)
                assert (one["notes"], one["query_read"]) == (other["notes"], other["query_read"])
                assert one["query_read"]

    def test_the_library_and_the_clients_warn_of_the_same(self, searcher: Searcher) -> None:
        with serving(create_app(searcher), Limits()) as server, Client(server.url) as client:
            for query, notes in ((QUERY, [0, 0, 0, 0]), (FOREIGN, [1, 1, 1, 1]), (LONG, [0, 0, 0, 1])):
                library, over_http = said(searcher, query), said(client, query)
                assert library == over_http
                assert [len(each) for each in library] == notes
            assert client.search(LONG).query_read == searcher.search(LONG).query_read
            assert client.explain(LONG, "d1") == searcher.explain(LONG, "d1")
            assert client.explain(LONG, "d1").query_read
