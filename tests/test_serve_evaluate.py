"""Evaluations over HTTP: what they answer, what they refuse, and that searches stay fast meanwhile."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

import httpx
from starlette.testclient import TestClient

from chamfer import Encoder, Searcher, TokenWeights, evaluate
from chamfer.evaluate import on_index
from chamfer.serve import evaluating
from chamfer.serve.app import create_app
from chamfer.serve.limits import BODY_VALUES, Limits
from chamfer.serve.schemas.evaluation import MOST_COMPARED, MOST_EVALUATED
from chamfer.serve.service import Service
from tests.threaded_server import serving

LOCAL = "http://localhost"
WAITING = "chamfer_waiting "
RAW = {"content-type": "application/octet-stream"}
JUDGED = """query,document,relevance
why do cats sleep,d4,2
why do cats sleep,d1,1
blue sky,d3,1
the dog,d2,1
the dog,d5,1
the dog,gone,1
"""
JUDGEMENTS = [
    {"query": "why do cats sleep", "relevant": ["d4", "d1"], "not_relevant": ["d2"]},
    {"query": "blue sky", "relevant": ["d3"]},
]


UNREADABLE: list[tuple[str | bytes, str, int, str]] = [
    ("", "judged.csv", 400, "judged.csv holds no judgements"),
    ("query,document\nblue sky,nothing\n", "a.csv", 404, "none of the 1 judged documents is in served"),
    ("one,two\n1,2\n", "a.csv", 400, "the first row of a.csv does not name columns"),
    ("query,document,relevance\nblue sky,d3,much\n", "a.csv", 400, "a.csv, line 2: "),
    ("query,document,relevance\nblue sky,d3,1e999\n", "a.csv", 400, "a.csv, line 2: "),
    ("blue-sky 0 d3 " + "9" * 5000, "a.qrels", 400, "a.qrels, line 1"),
    ("blue-sky 0 d3 " + "9" * 30, "a.qrels", 400, "a.qrels, line 1: a grade must be at most 1,000,000"),
    ('{"blue sky": {"d3": 1e300}}', "a.json", 400, "a grade must be at most 1,000,000"),
    ("blue-sky 0 d3 -5", "a.qrels", 200, ""),
    ('query,document\n"blue sky,d3\n', "a.csv", 400, "a.csv"),
    ("query,document\n   ,d3\n", "a.csv", 400, "a.csv, line 2: "),
    ("query,document\n...,d3\n", "a.csv", 200, ""),
    ("{", "a.json", 400, "a.json"),
    ("[" * 100_000, "a.json", 400, "a.json"),
    ('{"blue sky": ["\\ud800"]}', "a.json", 400, "a.json"),
    ('{"blue \\ud800": ["d3"]}', "a.json", 400, "a.json"),
    ('{"blue sky": {"d3": NaN}}', "a.json", 400, "a.json"),
    (b"query,document\nblue \xff,d3\n", "a.csv", 400, "UTF-8"),
    (b"query,document\nblue \0,d3\n", "a.csv", 400, "a.csv"),
    (b"\x1f\x8b\x08", "a.csv.gz", 400, "compressed with gzip"),
    (b"PK\x03\x04", "a.xlsx", 400, "a ZIP archive or an Office document"),
    (b"%PDF-1.7", "a.pdf", 400, "PDF"),
    (b"PAR1" + b"\0" * 100, "a.csv", 400, "which a server does not read"),
    (b"PAR1", "a.parquet", 400, "which a server does not read"),
    ("anything", "a.pq", 400, "which a server does not read"),
    (f"query,document\n{'a ' * 5000},d3\n", "a.csv", 400, "but a query has at most 8,000"),
    ("query,document\n" + "\n" * (BODY_VALUES + 1), "a.csv", 413, "more than 250,000 values"),
    (
        "query,document\n" + "".join(f"cat {n},d3\n" for n in range(MOST_EVALUATED + 1)),
        "a.csv",
        413,
        "up to 1,000",
    ),
]


def send(client: TestClient, content: str | bytes, name: str = "judged.csv", **params: Any) -> Any:
    return client.post("/evaluate/file", content=content, params={"name": name, **params}, headers=RAW)


class TestAnswers:
    def test_a_file_is_evaluated_as_the_library_does(
        self, client: TestClient, searcher: Searcher, tmp_path: Path
    ) -> None:
        (tmp_path / "judged.csv").write_text(JUDGED)
        answer = send(client, JUDGED, weights=["uniform", "idf", "mix"])
        assert answer.status_code == 200, answer.text
        found = answer.json()
        with pytest.warns(UserWarning, match="1 of 6 judged documents are not in served"):
            expected = evaluate(searcher, ["uniform", "idf", "mix"], judgements=tmp_path / "judged.csv")
        held = json.loads(json.dumps(expected.as_json(explained=10)))
        for system in held["systems"]:
            del system["made"]
            system["version"] = None
        same = {name: value for name, value in held.items() if name not in ("seconds", "split", "settings")}
        assert {name: found[name] for name in same} == same
        assert (found["split"], found["queries"], found["unknown"]) == ("judged.csv", 3, 1)
        assert found["notes"] == [
            "1 of 6 judged documents are not in served, such as 'gone', so no search can find them"
        ]
        assert "/" not in found["settings"]["encoder"], "the server does not say where its files are"

    def test_any_format_of_the_library_is_read(self, client: TestClient) -> None:
        rows = [
            dict(zip(("query", "document", "relevance"), line.split(","), strict=True))
            for line in JUDGED.split("\n")[1:-1]
        ]
        by_query: dict[str, dict[str, int]] = {}
        for row in rows:
            row["relevance"] = int(row["relevance"])  # type: ignore[assignment]
            by_query.setdefault(row["query"], {})[row["document"]] = int(row["relevance"])
        files = {
            "judged.tsv": JUDGED.replace(",", "\t"),
            "judged.json": json.dumps(rows),
            "by-query.json": json.dumps(by_query),
            "judged.jsonl": "\n".join(map(json.dumps, rows)),
            "no suffix": JUDGED,
            "C:\\data\\judged.csv": JUDGED,
            "clicks.jsonl": json.dumps({"query": "blue sky", "shown": ["d1", "d3"], "clicked": ["d3"]}),
        }
        means = []
        for name, content in files.items():
            answer = send(client, content, name)
            assert answer.status_code == 200, answer.text
            assert answer.json()["split"] == name.rpartition("\\")[2]
            means.append(answer.json()["systems"][0]["measures"])
        assert all(mean == means[0] for mean in means[:-1])

    def test_judgements_are_sent_as_to_learn(self, client: TestClient) -> None:
        answer = client.post("/evaluate", json={"judgements": JUDGEMENTS})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert (found["split"], found["queries"], found["baseline"]) == ("judgements", 2, "uniform")
        assert [(one["name"], one["version"]) for one in found["systems"]] == [
            ("uniform", None),
            ("version 1 (mix)", 1),
        ]
        assert found["measures"][found["main"]] == "how high relevant documents are ranked in the top 10"

    def test_what_is_needed_is_said(self, client: TestClient) -> None:
        needs = {"refusal": None, "most_queries": MOST_EVALUATED, "most_weights": MOST_COMPARED}
        assert client.get("/evaluate").json() == needs

    def test_versions_are_named_by_number_and_counted_once(self, client: TestClient, encoder: Encoder) -> None:
        client.put("/weights", json={"weights": "idf", "name": "my idf"})
        asked = {"judgements": JUDGEMENTS, "weights": [1, "current", 2, "idf"], "baseline": 2}
        found = client.post("/evaluate", json=asked).json()
        assert [one["name"] for one in found["systems"]] == ["version 1 (mix)", "version 2 (my idf)", "idf"]
        assert found["baseline"] == "version 2 (my idf)"
        counted = found["systems"][2]["against_baseline"]["nDCG@10"]
        assert (counted["wins"], counted["losses"]) == (0, 0), "they are the same weights"
        found = client.post("/evaluate", json={"judgements": JUDGEMENTS, "weights": ["mix"], "baseline": "idf"}).json()
        assert [one["name"] for one in found["systems"]] == ["mix", "idf"], "the baseline is measured, too"
        in_url = send(client, JUDGED, weights=["1", "current"], baseline="current").json()
        assert (in_url["baseline"], len(in_url["systems"])) == ("version 2 (my idf)", 2)

    def test_what_the_reader_assumed_is_told(self, client: TestClient) -> None:
        answer = send(client, "question,answer\nblue sky,d3\nwhy do cats sleep,d4\n")
        assert any("queries from 'question', documents from 'answer'" in note for note in answer.json()["notes"])
        ids = send(client, "q1 0 d3 1\nq2 0 d4 1\n", "run.qrels")
        assert any("look like ids, but are searched as texts" in note for note in ids.json()["notes"])

    def test_queries_that_weights_were_learnt_from_are_left_out(self, client: TestClient) -> None:
        marks = [*JUDGEMENTS, {"query": "the dog", "relevant": ["d2", "d5"]}]
        learnt = client.post("/learn", json={"judgements": marks}).json()["version"]
        others = [*JUDGEMENTS, {"query": "all night", "relevant": ["d4"]}]
        found = client.post("/evaluate", json={"judgements": others, "weights": ["uniform", learnt]}).json()
        assert (found["queries"], found["left_out"]) == (1, 2)
        seen = client.post("/evaluate", json={"judgements": marks, "weights": ["uniform", learnt]}).json()
        assert (seen["queries"], seen["left_out"]) == (3, 0)
        assert any(
            "was learnt from 3 of these 3 queries, so its measures are too high" in note for note in seen["notes"]
        )


class TestRefusals:
    @pytest.mark.parametrize(("content", "name", "status", "told"), UNREADABLE, ids=range(len(UNREADABLE)))
    def test_what_cannot_be_read_gets_one_sentence(
        self, client: TestClient, content: str | bytes, name: str, status: int, told: str
    ) -> None:
        answer = send(client, content, name)
        assert (answer.status_code, told in answer.text) == (status, True), answer.text
        if status != 200:
            assert list(answer.json()) == ["message"]
            assert "/tmp" not in answer.text

    @pytest.mark.parametrize(
        ("asked", "status", "told"),
        [
            ({}, 422, "judgements is missing"),
            ({"judgements": []}, 422, "judgements must not be empty"),
            ({"judgements": JUDGEMENTS, "weights": []}, 422, "weights must not be empty"),
            ({"judgements": JUDGEMENTS, "weights": ["heavy"]}, 422, "weights.0 must be 'current', 'uniform'"),
            ({"judgements": JUDGEMENTS, "weights": ["/etc/passwd"]}, 422, "weights.0 must be 'current', 'uniform'"),
            ({"judgements": JUDGEMENTS, "weights": [0]}, 422, "weights.0 must be at least 1"),
            ({"judgements": JUDGEMENTS, "weights": [1.5]}, 422, "weights.0 must be a whole number"),
            ({"judgements": JUDGEMENTS, "weights": [True]}, 422, "weights.0 must be"),
            ({"judgements": JUDGEMENTS, "weights": ["idf"] * (MOST_COMPARED + 1)}, 422, "at most 6 entries"),
            ({"judgements": JUDGEMENTS, "weights": [7]}, 404, "there is no version 7 of the weights"),
            ({"judgements": JUDGEMENTS, "typo": 1}, 422, "typo is not a known field"),
            (
                {"judgements": [{"query": "a", "relevant": ["gone"]}]},
                404,
                "none of the 1 judged documents is in served",
            ),
            ({"judgements": [{"query": "   ", "relevant": ["d3"]}]}, 409, "has no text"),
            (
                {"judgements": [{"query": "a", "relevant": ["d3"], "not_relevant": ["d3"]}]},
                409,
                "judged both relevant and not relevant",
            ),
        ],
    )
    def test_what_cannot_be_evaluated_gets_one_sentence(
        self, client: TestClient, asked: dict[str, Any], status: int, told: str
    ) -> None:
        answer = client.post("/evaluate", json=asked)
        assert (answer.status_code, told in answer.text) == (status, True), answer.text
        assert list(answer.json()) == ["message"]

    def test_parameters_of_a_file_are_checked(self, client: TestClient) -> None:
        assert send(client, JUDGED, "x" * 201).status_code == 422
        assert "name" in send(client, JUDGED, "").json()["message"]
        answer = send(client, JUDGED, weights="none")
        assert (answer.status_code, "weights.0 must be" in answer.json()["message"]) == (422, True), answer.text
        assert send(client, JUDGED, weights="9" * 5000).status_code in (404, 422)
        for hostile in ("../../etc/passwd", "..", "/", "a\0b.csv", "\n.csv", "con.csv"):
            assert send(client, JUDGED, hostile).status_code == 200

    def test_a_file_is_read_whatever_json_may_do(self, client: TestClient) -> None:
        answer = client.post(
            "/evaluate/file?name=judged.csv", content=JUDGED, headers={"content-type": "application/json"}
        )
        assert answer.status_code == 200, answer.text
        assert client.post("/evaluate/file", content=JUDGED, headers={"content-type": "text/csv"}).status_code == 415
        assert send(client, b"x" * 5_000_000).status_code == 413

    def test_nothing_is_left_of_a_file(
        self, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        for content in (JUDGED, "one,two\n"):
            send(client, content)
        assert list((tmp_path / "temporary").iterdir()) == []


class TestMeanwhile:
    def test_searches_are_answered_while_an_evaluation_runs_and_a_third_one_is_refused(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, begun, go_on = on_index.evaluate_index, threading.Event(), threading.Event()

        def slow(*arguments: Any, **settings: Any) -> Any:
            begun.set()
            go_on.wait(20)
            return real(*arguments, **settings)

        monkeypatch.setattr(evaluating, "evaluate_index", slow)
        with TestClient(create_app(service), LOCAL) as client, ThreadPoolExecutor(3) as threads:

            def ask() -> Any:
                return client.post("/evaluate", json={"judgements": JUDGEMENTS})

            first = threads.submit(ask)
            assert begun.wait(10)
            second = threads.submit(ask)
            while "chamfer_waiting 1.0" not in client.get("/metrics").text:
                time.sleep(0.01)
            third = ask()
            assert (third.status_code, third.headers["retry-after"]) == (429, "1")
            assert client.post("/search", json={"query": "blue sky"}).status_code == 200
            go_on.set()
            assert [one.result().status_code for one in (first, second)] == [200, 200]

    def test_an_evaluation_that_nobody_waits_for_stops(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        ended: list[BaseException | None] = []
        real = service.evaluate

        def watched(asked: Any, is_abandoned: Any) -> Any:
            while not is_abandoned():
                time.sleep(0.01)
            try:
                return real(asked, is_abandoned)
            except BaseException as error:
                ended.append(error)
                raise

        monkeypatch.setattr(service, "evaluate", watched)
        with TestClient(create_app(service, limits=Limits(evaluating_seconds=0.2)), LOCAL) as client:
            answer = client.post("/evaluate", json={"judgements": JUDGEMENTS})
            assert answer.status_code == 503
            assert "timed out after 0.2 seconds" in answer.json()["message"]
            deadline = time.monotonic() + 10
            while not ended and time.monotonic() < deadline:
                time.sleep(0.01)
        assert [type(error).__name__ for error in ended] == ["AbandonedError"]

    def test_evaluations_whose_clients_have_gone_make_room_for_the_next_one(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, begun, stopped = service.evaluate, list[float](), list[float]()

        def watched(asked: Any, is_abandoned: Any) -> Any:
            begun.append(time.monotonic())
            while not stopped and time.monotonic() < begun[0] + 10:
                if is_abandoned():
                    stopped.append(time.monotonic())
                time.sleep(0.01)
            return real(asked, is_abandoned)

        monkeypatch.setattr(service, "evaluate", watched)
        body = json.dumps({"judgements": JUDGEMENTS}).encode()
        head = b"POST /evaluate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        sent = head + b"content-length: %d\r\n\r\n" % len(body) + body
        with serving(create_app(service, hosts=()), Limits()) as server:

            def waiting() -> str:
                [line] = [one for one in httpx.get(f"{server.url}/metrics").text.split("\n") if one.startswith(WAITING)]
                return line.removeprefix(WAITING)

            with server.connect() as first, server.connect() as second:
                first.sendall(sent)
                while not begun:
                    time.sleep(0.01)
                second.sendall(sent)
                while waiting() != "1.0":
                    time.sleep(0.01)
            answer = httpx.post(f"{server.url}/evaluate", json={"judgements": JUDGEMENTS}, timeout=20)
            assert (answer.status_code, len(stopped), len(begun)) == (200, 1, 2), "the second one never begins"
            counted = httpx.get(f"{server.url}/metrics").text
        assert 'chamfer_requests_total{path="/evaluate",status="499"} 2.0' in counted

    def test_notes_of_another_thread_are_not_taken_for_its_own(self, client: TestClient, encoder: Encoder) -> None:
        weights = TokenWeights.uniform(encoder.vocabulary)
        assert weights is not None
        with ThreadPoolExecutor(2) as threads:
            odd = "question,answer\nblue sky,d3\n"
            answers = list(threads.map(lambda content: send(client, content).json(), [odd, JUDGED]))
        assert ["'question'" in " ".join(one["notes"]) for one in answers] == [True, False]


def test_the_page_holds_what_saves_an_evaluation(client: TestClient) -> None:
    answer = client.get("/page/report.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.count("@@evaluation@@") == 1
