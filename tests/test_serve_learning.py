"""Learning behind HTTP: what is compared, what is claimed of it, what can be learnt from, and what is going on."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Encoder, Searcher, TokenWeights, build_index
from chamfer.evaluate.significance import Comparison
from chamfer.index.splitting import split_index
from chamfer.learn import in_use
from chamfer.learn.in_use import against_use
from chamfer.learn.on_index import LEAST, learn_index
from chamfer.learn.quality import quality
from chamfer.learn.verdict import USUALLY_NEEDED, verdict_on_use
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from chamfer.serve.single import IndexBackend
from chamfer.serve.versions import Versions
from tests.test_learn_index import THINGS, all_things
from tests.test_serve_sharded import backend_of, shards_of

LOCAL = "http://localhost"
# Each asks for documents about one thing that no other asks for.
JUDGED = {f"why {one} {other}": {f"{one}-{other}": 1} for one in THINGS[:3] for other in THINGS[3:]}
TEXTS = {query: query for query in JUDGED}
SENT = [{"query": query, "relevant": [*grades]} for query, grades in JUDGED.items()]


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    build_index(tmp_path / "things", all_things(), encoder)
    return tmp_path / "things"


def client_of(searcher: Searcher, weights: str | TokenWeights) -> TestClient:
    return TestClient(create_app(Service(IndexBackend(searcher), Versions(weights, "first")), hosts=()), LOCAL)


@pytest.fixture
def client(searcher: Searcher) -> Iterator[TestClient]:
    with client_of(searcher, "mix") as client:
        yield client


def deaf(encoder: Encoder) -> TokenWeights:
    """Weights that hear nothing but "why", which every query has and no document."""
    table = np.array([one == "why" for one in encoder.vocabulary.tokens], np.float32)
    return TokenWeights(table, encoder.vocabulary)


def learn(client: TestClient, judgements: list[dict[str, Any]] = SENT) -> dict[str, Any]:
    answer = client.post("/learn", json={"judgements": judgements})
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


class TestVerdict:
    def test_every_query_is_compared_with_weights_that_were_learnt_without_it(self, searcher: Searcher) -> None:
        mix = searcher.queries.resolve("mix")
        learnt = learn_index(searcher, TEXTS, JUDGED, weights=mix)
        held_out = [query for one in learnt.report.folds for query in one.held_out]
        assert sorted(held_out) == sorted(JUDGED)
        against = against_use(searcher, learnt, TEXTS, JUDGED, mix)
        assert (against.held_out, against.known) == (True, 0)
        without = {query: one.weights for one in learnt.report.folds for query in one.held_out}
        for one in against.queries:
            ranks = {hit.id: rank for rank, hit in enumerate(searcher.search(one.query_id, 36, weights="mix"), 1)}
            later = searcher.search(one.query_id, 36, weights=without[one.query_id])
            [moved] = one.moved
            assert moved.before == ranks[moved.id]
            assert moved.after == [hit.id for hit in later].index(moved.id) + 1
        candidates = {query.query_id: query for query in learnt.queries}
        before = quality([candidates[one.query_id] for one in against.queries], mix)[:, 0]
        assert [one.before for one in against.queries] == pytest.approx(before.tolist())

    def test_weights_that_are_better_are_said_to_be(self, searcher: Searcher, encoder: Encoder) -> None:
        many = [{"query": text, "relevant": [name]} for name, text in all_things().items()][::2]
        with client_of(searcher, deaf(encoder)) as client:
            found = learn(client, many)
            assert (found["verdict"], found["held_out"], found["known"]) == ("better", True, 0)
            assert found["better"] > found["worse"]
            assert found["ndcg_after"] > found["ndcg_before"]
            assert found["p_value"] < 0.05
            assert found["sentence"].startswith(
                f"Better than the weights in use: relevant documents rank higher on {found['better']} of"
            )
            listed = client.get("/weights").json()["versions"][0]
            assert (listed["origin"], listed["learnt_from"], listed["verdict"]) == ("learnt", len(many), "better")

    def test_weights_that_are_no_better_are_not_said_to_be(self, client: TestClient) -> None:
        found = learn(client, SENT[:4])
        assert found["verdict"] == "not better"
        assert "keep marking. About 100 more judged queries are usually needed." in found["sentence"]
        assert found["better"] + found["unchanged"] + found["worse"] == len(found["compared"]) == 4
        means = [np.mean([one[name] for one in found["compared"]]) for name in ("ndcg_before", "ndcg_after")]
        assert [found["ndcg_before"], found["ndcg_after"]] == pytest.approx(means)

    def test_weights_in_use_are_not_compared_on_what_they_were_learnt_from(self, client: TestClient) -> None:
        first = learn(client, SENT[:4])
        client.post("/weights/use", json={"version": first["version"]})
        again = learn(client, SENT[:4])
        assert (again["verdict"], again["held_out"], again["known"], again["p_value"]) == (
            "not compared",
            False,
            4,
            None,
        )
        assert "learnt from the same queries" in again["sentence"]
        more = learn(client, SENT)
        assert (more["held_out"], more["known"]) == (True, 4)
        assert {one["query"] for one in more["compared"]} == {one["query"] for one in SENT[4:]}

    def test_queries_that_are_all_the_same_cannot_be_held_out(self, client: TestClient) -> None:
        same = [{"query": text, "relevant": ["cat-dog"]} for text in ("why cat", "Why cat?")]
        found = learn(client, same)
        assert (found["verdict"], found["held_out"], found["known"]) == ("not compared", False, 0)
        assert "no judged query could be held out" in found["sentence"]
        assert len(found["compared"]) == 2

    def test_what_is_not_learnt_from_is_named(self, folder: Path, encoder: Encoder) -> None:
        with client_of(Searcher.open(folder, encoder=encoder), "mix") as client:
            every = [{"query": f"the {one}", "relevant": [*all_things()]} for one in THINGS[:5]]
            found = learn(client, [*SENT[:3], *every])
        assert found["queries"] == 3
        assert found["left_out"] == [
            "Not learnt from, because every document that a search finds is marked relevant: "
            "“the cat”, “the dog”, “the sky” and 2 more."
        ]

    def test_an_edited_version_does_not_keep_the_verdict(self, client: TestClient) -> None:
        found = learn(client, SENT[:4])
        client.post("/weights/use", json={"version": found["version"]})
        edited = client.put("/weights", json={"tokens": {"cat": 3.0}}).json()["versions"][0]
        assert (edited["origin"], edited["verdict"], edited["learnt_from"]) == ("edited", None, 4)

    @pytest.mark.parametrize(
        ("difference", "p_value", "queries", "found", "told"),
        [
            (
                0.2,
                0.01,
                20,
                "better",
                "Better than the weights in use: relevant documents rank higher on 7 of 12 queries, and lower on 2.",
            ),
            (
                0.2,
                0.3,
                7,
                "not better",
                "Not clearly better than the weights in use: keep marking. About 90 more judged queries",
            ),
            (
                0.0,
                1.0,
                60,
                "not better",
                "No better than the weights in use: keep marking. About 40 more judged queries",
            ),
            (
                -0.1,
                0.3,
                99,
                "not better",
                "No better than the weights in use: keep marking. About 10 more judged queries",
            ),
            (
                0.0,
                1.0,
                120,
                "not better",
                "No better than the weights in use, as far as 120 queries can tell: keep those.",
            ),
            (-0.2, 0.01, 60, "worse", "Worse than the weights in use: keep those. About 40 more judged queries"),
            (-0.2, 0.01, 160, "worse", "Worse than the weights in use: keep those."),
        ],
    )
    def test_the_sentence_claims_no_more_than_was_measured(
        self, difference: float, p_value: float, queries: int, found: str, told: str
    ) -> None:
        verdict = verdict_on_use(Comparison(difference, p_value, wins=7, ties=3, losses=2), queries)
        assert (verdict.found, verdict.sentence[: len(told)]) == (found, told)


class TestCheck:
    def check(self, client: TestClient, judgements: list[dict[str, Any]]) -> list[dict[str, Any]]:
        answer = client.post("/learn/check", json={"judgements": judgements})
        assert answer.status_code == 200, answer.text
        return answer.json()["queries"]  # type: ignore[no-any-return]

    def test_what_cannot_be_learnt_from_says_why(self, client: TestClient) -> None:
        judged = [
            {"query": "why cat", "relevant": ["cat-cat"], "not_relevant": ["gone"]},
            {"query": "why dog", "relevant": ["gone", "cat-cat"]},
            {"query": "why sky", "relevant": ["gone"]},
            {"query": "why mat", "not_relevant": ["cat-cat"]},
            {"query": "что такое кот", "relevant": ["cat-cat"]},
            {"query": "   ", "relevant": ["cat-cat"]},
        ]
        found = self.check(client, judged)
        assert [one["query"] for one in found] == [one["query"] for one in judged]
        assert [one["unknown"] for one in found] == [["gone"], ["gone"], ["gone"], [], [], []]
        assert [one["problem"] for one in found] == [
            None,
            None,
            "its relevant documents are no longer in the index",
            "no document is marked relevant",
            "the model of this index cannot read this query",
            "the model of this index cannot read this query",
        ]
        assert self.check(client, []) == []

    def test_it_follows_the_index(self, client: TestClient, folder: Path) -> None:
        from chamfer.index.writing import writing

        [before] = self.check(client, SENT[:1])
        with writing(folder) as writer:
            writer.delete([SENT[0]["relevant"][0]])
        for _ in range(100):
            [after] = self.check(client, SENT[:1])
            if after["problem"]:
                break
            threading.Event().wait(0.1)
        assert (before["problem"], after["problem"]) == (None, "its relevant documents are no longer in the index")

    @pytest.mark.parametrize(
        ("sent", "told"),
        [
            ({}, "judgements is missing"),
            ({"judgements": [{"query": "a", "relevent": []}]}, "relevent is not a known field"),
            ({"judgements": [{"relevant": []}]}, "judgements.0.query is missing"),
            ({"judgements": [{"query": "a"}] * 1001}, "at most 1000"),
        ],
    )
    def test_a_mistake_is_located(self, client: TestClient, sent: dict[str, Any], told: str) -> None:
        answer = client.post("/learn/check", json=sent)
        assert (answer.status_code, told in answer.json()["message"]) == (422, True), answer.text


class TestState:
    def test_it_says_what_learning_needs(self, client: TestClient) -> None:
        assert client.get("/learn").json() == {
            "refusal": None,
            "least": LEAST,
            "usually_needed": USUALLY_NEEDED,
            "most": 1000,
            "running": None,
        }

    def test_it_says_what_is_being_done(self, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[dict[str, Any]] = []

        def looking(*given: Any, **settings: Any) -> Any:
            seen.append(client.get("/learn").json()["running"])
            return quality(*given, **settings)

        monkeypatch.setattr(in_use, "quality", looking)
        learn(client, SENT[:4])
        assert {one["doing"] for one in seen} == {"comparing with the weights in use"}
        assert {one["of"] for one in seen} == {4}
        assert max(one["done"] for one in seen) == 4
        assert all(one["seconds"] >= 0 for one in seen)
        assert client.get("/learn").json()["running"] is None

    def test_what_failed_is_not_going_on(self, client: TestClient) -> None:
        assert client.post("/learn", json={"judgements": SENT[:1]}).status_code == 409
        assert client.get("/learn").json()["running"] is None

    def test_shards_refuse_and_say_so_beforehand(self, folder: Path, encoder: Encoder, tmp_path: Path) -> None:
        split_index(folder, tmp_path / "shards", shards=3)
        backend = backend_of(tmp_path / "shards", shards_of(tmp_path / "shards"), encoder)
        with TestClient(create_app(Service(backend, Versions("mix", "mix")), hosts=()), LOCAL) as client:
            refusal = client.get("/learn").json()["refusal"]
            assert refusal.startswith("weights cannot be learnt from shards; learn them with chamfer learn")
            answer = client.post("/learn/check", json={"judgements": SENT})
            assert (answer.status_code, answer.json()["message"]) == (409, refusal)
