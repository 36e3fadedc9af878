"""An index in Qdrant: the same rankings, in memory, on the engine in this process, and on a server if there is one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip("qdrant_client", reason="the extra chamfer[qdrant] is not installed")

from qdrant_client import QdrantClient, models

from chamfer import Encoder, InputError, Searcher, TokenBatch, TokenWeights, build_index
from chamfer.data.documents import Document
from chamfer.errors import InputWarning
from chamfer.index.adding import add_documents
from chamfer.index.encoded import build_encoded
from chamfer.index.filters import as_filter
from chamfer.index.settings import Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.integrations.qdrant import Pushed, QdrantSearcher, collection_settings, delete, push
from chamfer.integrations.qdrant.points import Client, point_id
from chamfer.kernels.form import Form
from chamfer.retrieve.bm25 import BM25Stage
from chamfer.retrieve.exhaustive import best
from chamfer.retrieve.sparse import sparse_query
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.search.hits import Hits
from chamfer.weights.mix import NOTHING
from chamfer.weights.scale import Scale
from tests.conftest import DOCUMENTS, QUERIES
from tests.test_mixed_scores import mixed
from tests.vectors import unit

WORDS = ["cat", "dog", "sky", "night", "sleep", "mat", "bark", "blue"]
METADATA: list[dict[str, object]] = [
    {"year": 2019, "lang": "en", "tags": ["a", 3, True], "author": {"name": "Ada"}},
    {"year": 2020.5, "lang": "de", "flag": False, "odd name": "x"},
    {"year": 2021, "lang": None, "tags": [], "flag": True},
    {"year": [2019, 2023], "lang": "it's", "author": {"name": ["Bob", "Ada"]}},
    {},
]
FORMS: tuple[Form, ...] = ("l2", "cosine")


# A server that may be tested with is named by QDRANT_URL.
TARGETS = ["memory", "edge", *(["server"] if "QDRANT_URL" in os.environ else [])]


@pytest.fixture(params=TARGETS)
def client(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> Iterator[Client]:
    """The three targets of one adapter."""
    if request.param == "memory":
        yield QdrantClient(":memory:")
    elif request.param == "edge":
        pytest.importorskip("qdrant_edge", reason="the extra chamfer[qdrant-edge] is not installed")
        from chamfer.integrations.qdrant.edge import EdgeClient

        engine = EdgeClient(tmp_path / "edge")
        yield engine
        engine.close()
    else:
        server = QdrantClient(url=os.environ["QDRANT_URL"], api_key=os.environ.get("QDRANT_API_KEY"))
        server.create_collection(name, **collection_settings(16), shard_number=2)
        yield server
        server.delete_collection(name)


@pytest.fixture
def name() -> str:
    return f"chamfer-test-{uuid4().hex[:12]}"


@pytest.fixture
def index(tmp_path: Path, encoder: Encoder) -> Snapshot:
    """Random documents in the dimensions of the tiny encoder: some without tokens, some equal."""
    return random_index(tmp_path / "index", encoder.dimensions)


def random_index(folder: Path, dimensions: int, precision: Precision = "float16", documents: int = 60) -> Snapshot:
    generator = np.random.default_rng(documents)
    vectors = [unit(generator, int(count), dimensions) for count in generator.integers(0, 8, documents)]
    vectors[3] = vectors[7] = unit(generator, 4, dimensions)
    tokens = TokenBatch.pack([v.astype(np.float16) for v in vectors], [np.zeros(len(v), np.int32) for v in vectors])
    texts = [" ".join(generator.choice(WORDS, generator.integers(0, 9))) for _ in vectors]
    given = [Document(f"d{n}", text, metadata=METADATA[n % len(METADATA)]) for n, text in enumerate(texts)]
    order = sorted(range(documents), key=lambda n: given[n].id)
    settings = Settings(dimensions, 40, precision)
    build_encoded(folder, [given[n] for n in order], tokens.take(order), settings)
    return Snapshot.open(folder)


def random_queries(dimensions: int, weights: list[float]) -> Queries:
    """Two queries of 16-bit numbers, as the engine rounds them."""
    generator = np.random.default_rng(9)
    vectors = unit(generator, len(weights), dimensions).astype(np.float16).astype(np.float32)
    some = [vectors[:3], vectors[3:]]
    tokens = TokenBatch.pack(some, [np.zeros(len(v), np.int32) for v in some])
    return Queries(["cat and dog at night", "blue sky"], tokens, np.array(weights, np.float32))


def check(found: Hits, expected: Candidates, index: Snapshot, scale: Scale, *, apart: float) -> None:
    """The documents of a ranking, in its order but for scores that are equal up to what rounding leaves ``apart``."""
    real = np.isfinite(expected.scores)  # documents without tokens are in no ranking of the engine
    scores = scale.scores(expected.scores)
    score_of = dict(zip(index.ids(expected.places), scores.tolist(), strict=True))
    assert len(found) == np.count_nonzero(real)
    for hit, score in zip(found, scores[real].tolist(), strict=True):
        assert hit.score == pytest.approx(score, abs=apart)
        assert score_of.get(hit.id, score) == pytest.approx(score, abs=2 * apart)


# Folded weights are rounded to 16 bits with the query; the l2 form sends the query as it is.
APART = {"l2": 1e-6, "cosine": 1e-3}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weights", [[1] * 5, [0.3, 2.5, 0, 0, 0.01], [1000, 1e-3, 7, 1e6, 1e9]], ids=str)
def test_every_document_is_ranked_as_by_the_kernel(
    client: Client, name: str, index: Snapshot, encoder: Encoder, form: Form, weights: list[float]
) -> None:
    queries = random_queries(index.dimensions, weights)
    push(client, name, index)
    found = QdrantSearcher(client, name, encoder, form=form).rank(queries, 60, first_stage="exhaustive")
    for place, expected in enumerate(best(index, queries._replace(form=form), 60)):
        weights_of = queries.weights_of(place)
        scale = Scale(weights_of, form=form)
        check(found[place], expected, index, scale, apart=APART[form] * float(weights_of.max() / weights_of.mean()))


@pytest.mark.parametrize("form", FORMS)
def test_candidates_of_bm25_are_scored_alone(
    client: Client, name: str, index: Snapshot, encoder: Encoder, form: Form
) -> None:
    queries = random_queries(index.dimensions, [1, 2, 3, 4, 5])
    push(client, name, index)
    found = QdrantSearcher(client, name, encoder, form=form).rank(queries, 10, depth=12)
    candidates = [one.places for one in BM25Stage(index).find(queries, 12)]
    for place, expected in enumerate(best(index, queries._replace(form=form), 10, candidates)):
        check(found[place], expected, index, Scale(queries.weights_of(place), form=form), apart=5 * APART[form])


@pytest.mark.parametrize("precision", ["int8", "2bit"])
@pytest.mark.parametrize("form", FORMS)
def test_coded_vectors_are_pushed_as_what_they_stand_for(
    client: Client, name: str, tmp_path: Path, encoder: Encoder, precision: Precision, form: Form
) -> None:
    index = random_index(tmp_path / precision, encoder.dimensions, precision)
    queries = random_queries(index.dimensions, [1, 2, 3, 4, 5])
    push(client, name, index)
    found = QdrantSearcher(client, name, encoder, form=form).rank(queries, 60, first_stage="exhaustive")
    for place, expected in enumerate(best(index, queries._replace(form=form), 60)):
        # Codes may change the length of a vector much, and 16 bits keep only three digits of by how much.
        check(found[place], expected, index, Scale(queries.weights_of(place), form=form), apart=2e-3)


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_searched_as_in_the_index(
    client: Client, name: str, tmp_path: Path, encoder: Encoder, form: Form
) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    own = Searcher.open(tmp_path / "index", encoder=encoder, weights="idf", form=form)
    push(client, name, own.index)
    theirs = QdrantSearcher(client, name, encoder, own.queries.resolve("idf"), form=form)
    texts = list(QUERIES.values())
    for stage in ("exhaustive", "bm25"):
        for hits, expected in zip(
            theirs.search(texts, 4, first_stage=stage), own.search(texts, 4, first_stage=stage), strict=True
        ):
            # Queries of 32 bits are rounded to 16 by the engine.
            assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=5e-3)
            assert [(hit.id, hit.text, hit.metadata) for hit in hits] == [
                (hit.id, hit.text, hit.metadata) for hit in expected
            ]
    assert theirs.search("why do cats sleep", 1) == theirs.search(["why do cats sleep"], 1)[0]


def test_a_projected_index_is_searched_with_what_it_was_projected_with(
    client: Client, name: str, tmp_path: Path, encoder: Encoder
) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder, dimensions=8)
    own = Searcher.open(tmp_path / "index", encoder=encoder, weights="uniform")
    if client.collection_exists(name):  # made for all dimensions
        client.delete_collection(name)  # type: ignore[union-attr]
    push(client, name, own.index)
    found = QdrantSearcher(client, name, encoder, index=own.index).search("the dog", 5)
    assert [hit.id for hit in found] == [hit.id for hit in own.search("the dog", 5, first_stage="bm25")]
    with pytest.raises(InputError, match=r"8 dimensions, but queries have 16; give the index that was pushed"):
        QdrantSearcher(client, name, encoder)


def test_equal_scores_are_ordered_by_id(client: Client, name: str, index: Snapshot, encoder: Encoder) -> None:
    push(client, name, index)
    found = QdrantSearcher(client, name, encoder).rank(
        random_queries(index.dimensions, [1] * 5), 60, first_stage="exhaustive"
    )
    ids = [hit.id for hit in found[0]]
    assert ids.index("d7") == ids.index("d3") + 1


def test_a_query_without_weight_or_words_finds_nothing(
    client: Client, name: str, index: Snapshot, encoder: Encoder
) -> None:
    push(client, name, index)
    searcher = QdrantSearcher(client, name, encoder)
    weightless = random_queries(index.dimensions, [0, 0, 0, 1, 1])
    assert [len(hits) for hits in searcher.rank(weightless, 3, first_stage="exhaustive")] == [0, 3]
    wordless = weightless._replace(texts=["the of", "zebra"])
    assert searcher.rank(wordless, 3) == [Hits(), Hits()]


def test_a_second_push_sends_nothing(client: Client, name: str, index: Snapshot) -> None:
    assert push(client, name, index) == Pushed(sent=60, reweighted=0, removed=0, kept=0)
    assert push(client, name, index) == Pushed(sent=0, reweighted=0, removed=0, kept=60)
    assert client.count(name, exact=True).count == 60


def built_and_pushed(client: Client, name: str, folder: Path, encoder: Encoder) -> Path:
    build_index(folder, DOCUMENTS, encoder)
    push(client, name, Snapshot.open(folder))
    return folder


def test_a_push_of_a_changed_index_sends_the_changes(
    client: Client, name: str, tmp_path: Path, encoder: Encoder
) -> None:
    folder = built_and_pushed(client, name, tmp_path / "index", encoder)
    with writing(folder) as writer:
        changed = [Document("d1", "the dog sat on a mat"), Document("d6", "the sky at night", metadata={"year": 2020})]
        add_documents(writer, changed, encoder, replacing=True)
        writer.delete(["d2"])
    searcher = Searcher.open(folder, encoder=encoder, weights="uniform")
    assert push(client, name, searcher.index) == Pushed(sent=2, reweighted=3, removed=1, kept=0)
    assert push(client, name, searcher.index) == Pushed(sent=0, reweighted=0, removed=0, kept=5)
    theirs = QdrantSearcher(client, name, encoder)
    for text in ("the dog", "night sky", "cats sleep all day"):
        for stage in ("exhaustive", "bm25"):
            found, expected = theirs.search(text, 9, first_stage=stage), searcher.search(text, 9, first_stage=stage)
            assert [(hit.id, hit.text) for hit in found] == [(hit.id, hit.text) for hit in expected]


def test_bm25_weights_are_those_of_the_whole_corpus_after_a_change(
    client: Client, name: str, tmp_path: Path, encoder: Encoder
) -> None:
    folder = built_and_pushed(client, name, tmp_path / "index", encoder)
    with writing(folder) as writer:
        add_documents(writer, [Document(f"n{n}", "a cat and a cat") for n in range(9)], encoder)
    index = Snapshot.open(folder)
    push(client, name, index)
    text = "why do cats sleep at night"
    query = models.SparseVector(**sparse_query(text)._asdict())
    found = client.query_points(name, query, using="words", limit=20).points
    [expected] = BM25Stage(index).find(Queries([text], TokenBatch.empty(1), np.ones(0, np.float32)), 20)
    ids = index.ids(expected.places)
    scores = dict(zip(ids, expected.scores.tolist(), strict=True))
    assert {(point.payload or {})["id"]: point.score for point in found} == pytest.approx(scores, abs=1e-5)


def test_deleted_documents_are_gone_until_an_index_brings_them_back(
    client: Client, name: str, index: Snapshot, encoder: Encoder
) -> None:
    push(client, name, index)
    queries = random_queries(index.dimensions, [1] * 5)
    searcher = QdrantSearcher(client, name, encoder)
    first = searcher.rank(queries, 2, first_stage="exhaustive")[0]
    delete(client, name, [first[0].id, "unknown"])
    assert searcher.rank(queries, 1, first_stage="exhaustive")[0] == first[1:]
    assert push(client, name, index) == Pushed(sent=1, reweighted=0, removed=0, kept=59)
    assert searcher.rank(queries, 2, first_stage="exhaustive")[0] == first
    with pytest.raises(InputError, match="ids must be a list of strings"):
        delete(client, name, "d1")


def test_points_of_others_stay(client: Client, name: str, index: Snapshot) -> None:
    push(client, name, index)
    other = models.PointStruct(id=str(uuid4()), vector={}, payload={"mine": True})
    client.upsert(name, [other])
    assert push(client, name, index).removed == 0
    assert client.count(name, exact=True).count == 61


@pytest.mark.parametrize(
    "where",
    [
        "year = 2019",
        "year != 2019",
        "year >= 2020.5 and year < 2022",
        "not (year > 2020 or lang = 'en')",
        "year in (2021, 2020.5, 'text')",
        "year not in (2021, 1999)",
        "lang in ('en', 'it''s') or flag = false",
        "lang is null",
        "lang is not null and tags is null",
        "tags = 'a'",
        "tags = 3",
        "tags = true",
        "not tags = true",
        "author.name = 'Bob' and not author.name = 'Eve'",
        "author is null",
        "\"odd name\" = 'x'",
        "nothing = 1",
        'lang IN ["en", "it\'s"] AND NOT year == 2019',
    ],
)
def test_filters_hold_for_the_same_documents(
    client: Client, name: str, index: Snapshot, encoder: Encoder, where: str
) -> None:
    push(client, name, index)
    queries = random_queries(index.dimensions, [1] * 5)
    allowed = index.allowed(as_filter(where))
    assert allowed is not None
    for form in FORMS:
        searcher = QdrantSearcher(client, name, encoder, form=form)
        found = searcher.rank(queries, 60, first_stage="exhaustive", where=where)
        expected = best(index, queries._replace(form=form), 60, [np.flatnonzero(allowed)] * 2)
        for place, (hits, ranked) in enumerate(zip(found, expected, strict=True)):
            check(hits, ranked, index, Scale(queries.weights_of(place), form=form), apart=APART[form])
    through_words = searcher.rank(queries, 60, depth=60, where=where)[1]
    candidates = BM25Stage(index).find(queries, 60, allowed)[1].places
    assert {hit.id for hit in through_words} == set(index.ids(candidates[index_lengths(index)[candidates] > 0]))


def index_lengths(index: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate([np.diff(segment.offsets) for segment in index.segments])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("lang like 'e%'", "cannot evaluate lang LIKE 'e%'"),
        ("lang > 'de'", "strings and booleans for equality only"),
        ("flag < true", "strings and booleans for equality only"),
        ("year = 9007199254740993", "up to 2\\^53"),
        ('"a ""quote""" = 1', "a quote in its name"),
        ("year =", "a filter needs a value"),
    ],
)
def test_filters_that_qdrant_has_no_words_for_are_refused(
    name: str, index: Snapshot, encoder: Encoder, where: str, message: str
) -> None:
    client = QdrantClient(":memory:")
    push(client, name, index)
    with pytest.raises(InputError, match=message):
        QdrantSearcher(client, name, encoder).search("cat", where=where)


def test_misuse_is_one_sentence(name: str, tmp_path: Path, index: Snapshot, encoder: Encoder) -> None:
    client = QdrantClient(":memory:")
    with pytest.raises(InputError, match=f"no collection '{name}'; push an index into it first"):
        QdrantSearcher(client, name, encoder)
    push(client, name, index)
    with pytest.raises(InputError, match="16 dimensions, but the index has 8; push it into another"):
        push(client, name, random_index(tmp_path / "other", 8))
    searcher = QdrantSearcher(client, name, encoder)
    with pytest.raises(InputError, match="first stages in Qdrant are bm25 and exhaustive, not 'dense'"):
        searcher.search("cat", first_stage="dense")
    with pytest.raises(InputError, match="k and depth must be at least 1, not 0 and 1000"):
        searcher.search("cat", 0)
    learnt = TokenWeights(TokenWeights.uniform(encoder.vocabulary).table, encoder.vocabulary, {"form": "cosine"})
    with pytest.raises(InputError, match="learnt for the form 'cosine', not 'l2'"):
        QdrantSearcher(client, name, encoder, learnt)


def test_another_model_is_refused(name: str, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    client = QdrantClient(":memory:")
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    push(client, name, Snapshot.open(tmp_path / "index"))
    monkeypatch.setattr(Encoder, "model_fingerprint", "another")
    with pytest.raises(InputError, match="was encoded with another model"):
        QdrantSearcher(client, name, encoder)


def test_a_push_that_is_killed_again_and_again_is_completed_without_duplicates(
    tmp_path: Path, index: Snapshot, encoder: Encoder
) -> None:
    pytest.importorskip("qdrant_edge", reason="the extra chamfer[qdrant-edge] is not installed")
    from chamfer.integrations.qdrant.edge import EdgeClient

    command = [sys.executable, "-m", "tests.qdrant_kills", str(index.folder), str(tmp_path / "edge"), "1", "8"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    kills, sent, kept = [int(word) for word in done.stdout.split() if word.isdigit()]
    assert (kills, sent + kept) == (8, 60)
    assert min(sent, kept) > 0, done.stdout  # what a killed push had sent was not sent again
    client = EdgeClient(tmp_path / "edge")
    assert client.count("killed", exact=True).count == 60
    found, _ = client.scroll("killed", limit=100, with_payload=["id"])
    assert sorted(str(point.id) for point in found) == sorted(point_id(f"d{n}") for n in range(60))
    queries = random_queries(index.dimensions, [1, 2, 3, 4, 5])
    hits = QdrantSearcher(client, "killed", encoder).rank(queries, 60, first_stage="exhaustive")
    for place, expected in enumerate(best(index, queries, 60)):
        check(hits[place], expected, index, queries.scale_of(place), apart=1e-5)
    with pytest.raises(InputError, match="another process may have it open"):
        EdgeClient(tmp_path / "edge").count("killed")
    client.close()


def test_without_the_library_the_extra_is_named() -> None:
    code = "import sys; sys.modules['qdrant_client'] = None; import chamfer.integrations.qdrant"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'chamfer[qdrant]'" in failed.stderr


@pytest.mark.parametrize("form", FORMS)
def test_queries_are_adapted_and_a_mix_is_left_out_with_a_warning(
    client: Client, name: str, encoder: Encoder, tmp_path: Path, form: Form
) -> None:
    folder = built_and_pushed(client, name, tmp_path / "index", encoder)
    weights = mixed(encoder)
    with pytest.warns(InputWarning, match="Qdrant scores by tokens alone") as caught:
        searcher = QdrantSearcher(client, name, encoder, weights, form=form)
    assert len(caught) == 1
    own = Searcher.open(folder, encoder=encoder, weights=weights, form=form)
    expected = own.search("why do cats sleep", 5, weights=weights.with_mix(NOTHING))
    found = searcher.search("why do cats sleep", 5, first_stage="exhaustive")
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=3e-3)
    with pytest.raises(InputError, match="without a mix"):
        searcher.rank(own.queries.encode(["cats"]), 5)
