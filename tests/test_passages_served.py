"""Passages over HTTP, on shards, in the terminal, and in other libraries."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from starlette.testclient import TestClient

from chamfer import Document, Encoder, Index, InputError, Searcher, TokenWeights, build_index
from chamfer.client import answers
from chamfer.index.passages import Splitter
from chamfer.index.shards import current_version, owner_of, read_set
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.learn.in_use import against_use
from chamfer.learn.on_index import learn_index
from chamfer.serve.app import create_app
from chamfer.serve.service import Service
from chamfer.serve.single import service_of
from chamfer.serve.versions import Versions
from tests.test_cli import Run
from tests.test_cli_index import loaded, run  # noqa: F401 -- fixtures
from tests.test_mixed_scores import mixed
from tests.test_passages import LENGTH, OVERLAP, corpus, long_text
from tests.test_serve_sharded import SHARDS, backend_of, shards_of

QUERY = "why do cats sleep"
LOCAL = "http://localhost"
KEY = {"authorization": "Bearer secret"}


@pytest.fixture
def folder(tmp_path: Path, encoder: Encoder) -> Path:
    build_index(tmp_path / "index", corpus(), encoder, passages=LENGTH, overlap=OVERLAP)
    return tmp_path / "index"


@pytest.fixture
def served_with() -> dict[str, Any]:
    return {"key": "secret", "writable": True}


@pytest.fixture
def sharded(folder: Path, tmp_path: Path, encoder: Encoder) -> Iterator[TestClient]:
    split_index(folder, tmp_path / "shards", shards=SHARDS)
    backend = backend_of(tmp_path / "shards", shards_of(tmp_path / "shards"), encoder)
    with TestClient(create_app(Service(backend, Versions("mix", "mix"))), LOCAL) as client:
        yield client


def ask(client: TestClient, path: str, **asked: Any) -> dict[str, Any]:
    answer = client.post(path, json={"query": QUERY, **asked})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_server_shows_the_passage_that_won(client: TestClient, searcher: Searcher) -> None:
    assert client.get("/health").json()["documents"] == 12
    found = ask(client, "/search", k=12)
    assert answers.hits(found) == searcher.search(QUERY, 12)
    assert found["hits"][0]["passage"].keys() == {"number", "of", "start", "stop"}
    page = ask(client, "/search", k=4, offset=4)
    assert [hit["id"] for hit in page["hits"]] == [hit["id"] for hit in found["hits"][4:8]]
    ids = [hit["id"] for hit in found["hits"]][:5]
    explained = ask(client, "/explain", ids=ids)
    by_id = {one["id"]: one for one in explained["documents"]}
    for hit in found["hits"][:5]:
        assert by_id[hit["id"]]["passage"] == hit["passage"]
        assert by_id[hit["id"]]["score"] == pytest.approx(hit["score"], abs=1e-5)
    [why] = answers.explanations_of(ids[:1], explained)
    assert why.passage == searcher.explain(QUERY, ids[0]).passage
    batch = client.post("/search/batch", json={"queries": [QUERY, "a dog"], "k": 3}).json()
    assert batch["results"][0]["hits"] == found["hits"][:3]
    assert len(ask(client, "/rerank", documents=["the cat", "a dog"])["results"]) == 2


def test_an_answer_of_an_earlier_server_whose_scores_mean_something_else_is_refused() -> None:
    hit = {"id": "a", "score": -1.0, "title": "", "text": "cats", "metadata": {}, "passage": None}
    answer = {"hits": [hit], "query_read": None}
    with pytest.raises(KeyError, match="probably_nothing"):  # which the client calls another version
        answers.hits(answer)
    assert answers.hits(answer | {"probably_nothing": None})[0].passage is None


def test_documents_are_put_and_deleted_whole(client: TestClient, folder: Path) -> None:
    new = {"id": "new", "text": long_text(50, 30), "title": "the dog"}
    put = client.put("/documents", json={"documents": [new, {"id": "d04", "text": "the cat"}]}).json()
    assert put == {"added": 1, "replaced": 1, "unchanged": 0, "truncated": 0, "unread": 0, "documents": 13}
    assert client.put("/documents", json={"documents": [new]}).json()["unchanged"] == 1
    assert Index.open(folder)["new"].text == new["text"]
    hits = ask(client, "/search", k=100)["hits"]
    assert len({hit["id"] for hit in hits}) == len(hits) == 13
    gone = client.request("DELETE", "/documents", json={"ids": ["new", "nobody"]}).json()
    assert gone == {"deleted": 1, "unknown": ["nobody"], "documents": 12}
    assert Index.open(folder).verify() == []


def test_weights_are_compared_by_the_passages_that_they_find(searcher: Searcher, encoder: Encoder) -> None:
    """Ranks before and after learning are those of searches, each of which finds passages of its own."""
    in_use = mixed(encoder)
    judgements = {
        query: {f"d{n:02}": 1 for n in range(first, 12, 2)}
        for first, query in enumerate((QUERY, "the dog", "blue sky", "a mat at night"))
    }
    texts = {query: query for query in judgements}
    learnt = learn_index(searcher, texts, judgements, weights=in_use)
    without = {query: weights for weights, held_out in learnt.report.folds for query in held_out}
    assert len(without) == 4

    def ranks(query: str, weights: TokenWeights) -> dict[str, int]:
        return {hit.id: rank for rank, hit in enumerate(searcher.search(query, 12, weights=weights), start=1)}

    compared = against_use(searcher, learnt, texts, judgements, in_use).queries
    assert sum(len(one.moved) for one in compared) == 22
    for one in compared:
        before, after = ranks(one.query_id, in_use), ranks(one.query_id, without[one.query_id])
        assert [(moved.before, moved.after) for moved in one.moved] == [
            (before[moved.id], after[moved.id]) for moved in one.moved
        ]


def test_documents_that_are_put_are_split_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[str] = []
    spans = Splitter.spans

    def counted(splitter: Splitter, document: Document) -> list[tuple[int, int]]:
        split.append(document.id)
        return spans(splitter, document)

    monkeypatch.setattr(Splitter, "spans", counted)
    client.put("/documents", json={"documents": [{"id": name, "text": long_text(50, 30)} for name in ("n1", "n2")]})
    assert split == ["n1", "n2"]


def test_all_passages_of_a_document_are_in_one_shard(folder: Path, tmp_path: Path) -> None:
    made = Index.open(folder).split(tmp_path / "shards", shards=3)
    assert made["documents"] == sum(made["shards"].values()) == 12
    whole = read_set(tmp_path / "shards", current_version(tmp_path / "shards"))
    assert (whole.documents, whole.passages) == (12, len(Snapshot.open(folder)))
    for number in range(3):
        shard = Index.open(tmp_path / "shards" / "00000001" / f"shard-{number:02d}")
        assert shard.verify() == []
        for name in shard:
            assert owner_of(name, 3) == number
            assert shard[name] == Index.open(folder)[name]


@pytest.mark.parametrize("mix", [None, {"lexical": 0.2}])
def test_shards_answer_as_the_index_does(sharded: TestClient, client: TestClient, mix: dict[str, float] | None) -> None:
    assert sharded.get("/health").json()["documents"] == 12
    for k, offset in ((12, 0), (3, 3)):
        one, other = (ask(each, "/search", k=k, offset=offset, mix=mix)["hits"] for each in (sharded, client))
        assert one == other
    ids = [f"d{place:02d}" for place in range(12)]
    one, other = (ask(each, "/explain", ids=ids, mix=mix)["documents"] for each in (sharded, client))
    assert [(each["id"], each["passage"]) for each in one] == [(each["id"], each["passage"]) for each in other]
    assert [each["score"] for each in one] == pytest.approx([each["score"] for each in other], abs=1e-5)


@pytest.fixture(params=["whole", "sharded"])
def learnt(request: pytest.FixtureRequest, folder: Path, tmp_path: Path, encoder: Encoder) -> Iterator[TestClient]:
    """Weights with an adapter, and a first stage that finds only passages with a word of the query."""
    weights = mixed(encoder)
    if request.param == "whole":
        service = service_of(Searcher.open(folder, encoder=encoder, weights=weights, first_stage="bm25"))
    else:
        split_index(folder, tmp_path / "shards", shards=SHARDS)
        shards = shards_of(tmp_path / "shards", first_stage="bm25")
        service = Service(backend_of(tmp_path / "shards", shards, encoder), Versions(weights, "given"))
    with TestClient(create_app(service), LOCAL) as client:
        yield client


def test_what_a_search_shows_is_what_is_explained(learnt: TestClient) -> None:
    hits = ask(learnt, "/search", query="the dog", k=12)["hits"]
    explained = {one["id"]: one for one in ask(learnt, "/explain", query="the dog", k=12)["documents"]}
    assert [explained[hit["id"]]["passage"] for hit in hits] == [hit["passage"] for hit in hits]
    assert [explained[hit["id"]]["score"] for hit in hits] == pytest.approx([hit["score"] for hit in hits], abs=1e-5)
    best = ask(learnt, "/explain", query="the dog", ids=[hit["id"] for hit in hits])["documents"]
    assert all(one["score"] >= explained[one["id"]]["score"] - 1e-5 for one in best)
    assert any(one["passage"] != explained[one["id"]]["passage"] for one in best)
    [top] = ask(learnt, "/search", query="the dog", k=1)["hits"]
    wanted = {one["id"]: one["passage"] for one in best} | {top["id"]: top["passage"]}
    few = ask(learnt, "/explain", query="the dog", k=1)["documents"]
    assert [one["passage"] for one in few] == [wanted[one["id"]] for one in few]


def test_uniform_weights_explain_the_same_passage(learnt: TestClient) -> None:
    ids = [f"d{place:02d}" for place in range(12)]
    for asked in ({"k": 12}, {"ids": ids}):
        documents = ask(learnt, "/explain", query="blue sky", **asked)["documents"]
        texts = [one["text"] for one in documents]
        results = ask(learnt, "/rerank", query="blue sky", documents=texts, weights="uniform")["results"]
        scores = {one["index"]: one["relevance_score"] for one in results}
        for place, one in enumerate(documents):
            assert one["uniform_matches"] is not None
            alone = sum(match["contribution"] for match in one["uniform_matches"])
            assert alone == pytest.approx(scores[place], abs=1e-3)
    plain = ask(learnt, "/explain", query="blue sky", ids=ids, weights="idf")["documents"]
    assert {one["uniform_matches"] is None for one in plain} == {True}


def test_the_terminal_compares_one_passage_under_two_weightings(
    run: Run,  # noqa: F811
    folder: Path,
    searcher: Searcher,
    encoder: Encoder,
    tmp_path: Path,
) -> None:
    weights = mixed(encoder)
    weights.save(tmp_path / "learnt.safetensors")
    for name in ("d02", "d04", "d09"):
        done = run("explain", str(folder), "blue sky", name, "--weights", "learnt.safetensors", "--json")
        [one] = json.loads(done.stdout)["documents"]
        text = searcher.explain("blue sky", name, weights=weights).document
        assert text is not None
        [score] = searcher.rerank("blue sky", [text], weights="uniform").scores
        assert one["uniform_score"] == pytest.approx(score, abs=1e-3)


def test_weights_of_passages_say_what_was_counted(run: Run, folder: Path, encoder: Encoder) -> None:  # noqa: F811
    build_index(folder.parent / "plain", corpus(), encoder)
    passages = len(Snapshot.open(folder))
    for kind in ((), ("--soft",), ("--mix",)):
        told = run("weights", "idf", str(folder), *kind, "--out", "w.safetensors").stderr
        assert f"appear in {passages} passages; wrote" in told
        made = TokenWeights.load(folder.parent / "w.safetensors").metadata
        assert (made["documents"], made["passages"]) == (12, passages)
    told = run("weights", "idf", str(folder.parent / "plain"), "--out", "w.safetensors").stderr
    assert "appear in 12 documents; wrote" in told
    made = TokenWeights.load(folder.parent / "w.safetensors").metadata
    assert made["documents"] == 12
    assert "passages" not in made


def test_the_terminal_says_which_passage(run: Run, tmp_path: Path) -> None:  # noqa: F811
    lines = [json.dumps({"_id": one.id, "text": one.text, "title": one.title}) for one in corpus()]
    (tmp_path / "long.jsonl").write_text("\n".join(lines))
    build = ["index", "build", "long.jsonl"]
    cut = run(*build, "--out", "cut", "--document-length", "20")
    assert "were truncated to 20 tokens" in cut.stderr
    assert "to search their whole text, build the index with --passages" in cut.stderr
    done = run(*build, "--out", "split", "--passage-length", "16", "--overlap", "4")
    assert done.returncode == 0, done.stderr
    assert "truncated" not in done.stderr
    passages = Index.open(tmp_path / "split").info()["passages"]
    assert f"indexed 12 documents in {passages} passages" in done.stderr
    found = run("search", "split", QUERY, "--json")
    hits = json.loads(found.stdout)["hits"]
    assert all(hit["passage"]["number"] >= 1 for hit in hits)
    best = next(hit for hit in hits if hit["passage"]["of"] > 1)
    shown = f"passage {best['passage']['number']} of {best['passage']['of']}"
    assert shown in run("search", "split", QUERY).stdout
    assert shown in run("explain", "split", QUERY, best["id"]).stdout
    assert (
        json.loads(run("explain", "split", QUERY, best["id"], "--json").stdout)["documents"][0]["passage"]
        == (best["passage"])
    )
    assert re_numbers(run("index", "info", "split").stdout)["passages"] == passages
    refused = run(*build, "--out", "other", "--passage-length", "100")
    assert refused.returncode == 2
    assert "at most the 64 tokens" in refused.stderr


def re_numbers(text: str) -> dict[str, int]:
    """The numbers of ``chamfer index info``."""
    pairs = (line.rsplit(maxsplit=1) for line in text.splitlines() if line)
    return {name.strip(): int(value) for name, value in pairs if value.isdecimal()}


def test_langchain_gets_the_passage(searcher: Searcher) -> None:
    pytest.importorskip("langchain_core", reason="the extra chamfer[langchain] is not installed")
    from chamfer.integrations.langchain import IndexRetriever

    [hit] = searcher.search(QUERY, 1)
    [document] = IndexRetriever(searcher=searcher, k=1).invoke(QUERY)
    assert hit.passage is not None
    assert document.page_content == hit.headed
    assert document.metadata["passage"] == hit.passage._asdict()


def test_llamaindex_gets_the_passage(searcher: Searcher) -> None:
    pytest.importorskip("llama_index.core", reason="the extra chamfer[llamaindex] is not installed")
    from chamfer.integrations.llamaindex import IndexRetriever

    [hit] = searcher.search(QUERY, 1)
    [node] = IndexRetriever(searcher, k=1).retrieve(QUERY)
    assert hit.passage is not None
    assert node.node.metadata["passage"] == hit.passage._asdict()
    assert "stop" not in node.node.get_content(metadata_mode="llm")  # type: ignore[arg-type]


@pytest.fixture
def with_own(tmp_path: Path, encoder: Encoder) -> Searcher:
    """An index of passages with a document that has metadata called ``passage``."""
    documents = [Document("a", long_text(1), metadata={"passage": "Genesis 1"})]
    build_index(tmp_path / "own", documents, encoder, passages=LENGTH, overlap=OVERLAP)
    return Searcher.open(tmp_path / "own", encoder=encoder)


def test_langchain_keeps_metadata_called_passage(with_own: Searcher) -> None:
    pytest.importorskip("langchain_core", reason="the extra chamfer[langchain] is not installed")
    from chamfer.integrations.langchain import IndexRetriever

    [document] = IndexRetriever(searcher=with_own).invoke(QUERY)
    assert document.metadata["passage"] == "Genesis 1"


def test_llamaindex_keeps_metadata_called_passage(with_own: Searcher) -> None:
    pytest.importorskip("llama_index.core", reason="the extra chamfer[llamaindex] is not installed")
    from chamfer.integrations.llamaindex import IndexRetriever

    [found] = IndexRetriever(with_own).retrieve(QUERY)
    assert found.node.metadata == {"passage": "Genesis 1"}
    assert "Genesis 1" in found.node.get_content(metadata_mode="llm")  # type: ignore[arg-type]


def test_an_agent_reads_on_where_the_passage_begins(folder: Path) -> None:
    pytest.importorskip("mcp", reason="the extra chamfer[mcp] is not installed")
    from tests.test_integrations_mcp import answer

    for hit in answer(folder, "search", query=QUERY, k=12)["hits"]:
        start = hit["start"]
        part = answer(folder, "read", id=hit["id"], start=start)
        assert part["text"].startswith(hit["text"])
        if hit["is_whole"]:
            assert len(part["text"]) == len(hit["text"])


def test_passages_are_not_pushed_to_qdrant(folder: Path) -> None:
    pytest.importorskip("qdrant_client", reason="the extra chamfer[qdrant] is not installed")
    from chamfer.integrations.qdrant.pushing import push_snapshot

    with pytest.raises(InputError, match="index of passages cannot be pushed"):
        push_snapshot(None, "name", Snapshot.open(folder))  # type: ignore[arg-type]


def test_documents_of_one_passage_look_like_documents(tmp_path: Path, encoder: Encoder) -> None:
    build_index(tmp_path, [Document("a", "the cat", "a dog")], encoder, passages=True)
    [hit] = Searcher.open(tmp_path, encoder=encoder).search("cats")
    assert hit.passage is not None
    assert (hit.passage.of, hit.text, hit.title) == (1, "the cat", "a dog")
