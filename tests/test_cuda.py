"""The GPU kernels, run by Triton's interpreter where there is no GPU: small shapes, the same code."""

import gc
import os
import pickle
import shutil
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from chamfer.cache.encoded import encode_cached
from chamfer.data.documents import Document
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.index.adding import add_documents
from chamfer.index.building import build_index
from chamfer.index.settings import Precision as IndexPrecision
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.kernels import dispatch, reference
from chamfer.kernels.cuda import launch
from chamfer.kernels.cuda.arrays import DeviceQueries, Packed, Precision
from chamfer.kernels.cuda.documents import DeviceDocuments, fitting
from chamfer.kernels.cuda.launch import Plan
from chamfer.kernels.cuda.search import _Kept
from chamfer.kernels.documents import CodedDocuments
from chamfer.kernels.form import Form
from chamfer.search.rerank_encoded import rerank_encoded
from chamfer.search.searcher import Searcher
from chamfer.tokens.batch import TokenBatch, offsets_of
from chamfer.weights.token_weights import TokenWeights
from tests import conftest

DOCUMENT_TEXTS = list(conftest.DOCUMENTS.values())
DEVICE = "cuda" if torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1" else "cpu"

FORMS: tuple[Form, ...] = ("l2", "cosine")
# Largest error of a score before it is refined, for vectors and weights of about 1.
LOST: dict[Precision, float] = {"float16": 2e-3, "bfloat16": 1e-2, "int8": 1e-2, "fp8": 4e-2}


def needs(precision: Precision) -> None:
    if precision == "bfloat16" and DEVICE == "cpu":
        pytest.skip("Triton's interpreter cannot multiply bfloat16")


def units(generator: np.random.Generator, tokens: int, dimensions: int) -> npt.NDArray[np.float32]:
    vectors = generator.standard_normal((tokens, dimensions)).astype(np.float32)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)


def batch(lengths: list[int], dimensions: int, seed: int, kind: type[np.floating] = np.float16) -> TokenBatch:
    generator = np.random.default_rng(seed)
    return TokenBatch.pack(
        [units(generator, length, dimensions).astype(kind) for length in lengths],
        [[1] * length for length in lengths],
    )


def weights_for(queries: TokenBatch, seed: int = 5) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).random(len(queries.vectors)).astype(np.float32)


def wanted(
    queries: TokenBatch, weights: npt.NDArray[np.float32], documents: TokenBatch, form: Form
) -> list[npt.NDArray[np.float64]]:
    return [
        reference.score(queries[n].vectors, weights[queries.offsets[n] : queries.offsets[n + 1]], documents, form)
        for n in range(len(queries))
    ]


DOCUMENTS = [3, 0, 17, 40, 1, 33, 0, 16, 5, 64, 2, 9]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dimensions", [20, 128])
@pytest.mark.parametrize("precision", LOST)
def test_scores_are_those_of_the_reference(precision: Precision, dimensions: int, form: Form) -> None:
    needs(precision)
    documents, queries = batch(DOCUMENTS, dimensions, 1), batch([5, 17, 1], dimensions, 2, np.float32)
    weights = weights_for(queries)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=[precision])
    asked = DeviceQueries(queries, weights, held.device, form)
    scores = torch.full((3, len(documents)), torch.nan, device=DEVICE)  # what is not written stays NaN
    assert held.screen is not None
    launch.score_all(asked, held.screen, held.device_offsets, scores)
    for found, right in zip(scores.cpu().numpy(), wanted(queries, weights, documents, form), strict=True):
        np.testing.assert_allclose(found, right, atol=LOST[precision])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("together", [1, 2, 4])
def test_queries_scored_together_score_as_alone(together: int, form: Form) -> None:
    documents, queries = batch(DOCUMENTS, 32, 1), batch([5, 17, 1, 9, 2], 32, 2, np.float32)
    weights = weights_for(queries)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=["float16"])
    scores = torch.full((5, len(documents)), torch.nan, device=DEVICE)
    launch.score_all(
        DeviceQueries(queries, weights, held.device, form),
        held.copies["float16"],
        held.device_offsets,
        scores,
        how=Plan(together, 16, 4, 2, 3),
    )
    for found, right in zip(scores.cpu().numpy(), wanted(queries, weights, documents, form), strict=True):
        np.testing.assert_allclose(found, right, atol=2e-3)


def lists_of(kind: str, queries: int, documents: int) -> list[npt.NDArray[np.int64]] | None:
    generator = np.random.default_rng(3)
    if kind == "all":
        return None
    if kind == "shared":
        return [generator.permutation(documents)[: documents // 2]] * queries
    lengths = generator.integers(0, documents, queries)
    return [generator.permutation(documents)[:length] for length in lengths]


HOLDING: dict[str, list[Precision]] = {
    "8 and 16 bits": ["int8", "float16"],
    "16 bits": ["float16"],
    "8 bits": ["int8"],
    "fp8": ["fp8"],
    "bfloat16": ["bfloat16", "float16"],
    "nothing": [],
}


@pytest.mark.parametrize(("lists", "form"), [("all", "l2"), ("shared", "cosine"), ("own", "l2"), ("own", "cosine")])
@pytest.mark.parametrize("holding", HOLDING)
def test_the_best_are_those_of_the_cpu(holding: str, lists: str, form: Form) -> None:
    for precision in HOLDING[holding]:
        needs(precision)
    documents = batch(np.random.default_rng(4).integers(0, 7, 40).tolist(), 24, 1)
    queries = batch([5, 17, 1], 24, 2, np.float32)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=HOLDING[holding])
    same_as_on_the_cpu(queries, documents, held, 8, form, candidates=lists_of(lists, 3, 40))


# Another name for the CPU, which chamfer takes for a GPU: Triton's interpreter runs there.
PLACE = "cuda" if DEVICE == "cuda" else "cpu:0"


def same_as_on_the_cpu(
    queries: TokenBatch,
    documents: TokenBatch,
    held: DeviceDocuments,
    k: int,
    form: Form = "l2",
    *,
    candidates: list[npt.NDArray[np.int64]] | None = None,
    offsets: list[npt.NDArray[np.float32]] | None = None,
) -> None:
    weights = weights_for(queries)
    found = dispatch.best(queries, weights, held, k=k, candidates=candidates, form=form, offsets=offsets)
    coded = CodedDocuments.of(documents)
    right = dispatch.best(queries, weights, coded, k=k, candidates=candidates, form=form, offsets=offsets)
    for one, other in zip(found, right, strict=True):
        np.testing.assert_array_equal(one.places, other.places)
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6, atol=1e-7)


# Every pair of what is held, sizes and lists; the other triples with --long.
ADDED = [
    pytest.param(
        holding, size, lists, form, id=f"{holding}-{named}-{lists}-{form}", marks=[pytest.mark.long] * ((a + b + c) % 3)
    )
    for a, holding in enumerate(["8 and 16 bits", "8 bits", "nothing"])
    for b, (named, size) in enumerate([("none", 0.0), ("as the scores", 0.1), ("far above them", 1e8)])
    for c, (lists, form) in enumerate([("all", "l2"), ("shared", "cosine"), ("own", "l2")])
]


@pytest.mark.parametrize(("holding", "size", "lists", "form"), ADDED)
def test_offsets_are_added_as_on_the_cpu(holding: str, size: float, lists: str, form: Form) -> None:
    documents = batch(np.random.default_rng(4).integers(0, 7, 60).tolist(), 24, 1)
    queries = batch([5, 17, 1], 24, 2, np.float32)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=HOLDING[holding])
    candidates, generator = lists_of(lists, 3, 60), np.random.default_rng(5)
    counts = [60] * 3 if candidates is None else [len(own) for own in candidates]
    offsets = [(size * generator.standard_normal(count).round(1)).astype(np.float32) for count in counts]
    for k in (1, 8, 100):
        same_as_on_the_cpu(queries, documents, held, k, form, candidates=candidates, offsets=offsets)


def test_errors_that_happen_to_be_0_make_nothing_certain_within_the_rounding_of_32_bits() -> None:
    scores = np.array([[3e8 + 64, 3e8 + 32, 3e8]], np.float32)  # adjacent numbers
    kept = _Kept(np.array([[0, 1, 2]]), scores, scores.astype(np.float64))
    assert not kept.is_certain(1).any()
    scores[0, 0] = 3e8 + 256
    assert _Kept(kept.order, scores, scores.astype(np.float64)).is_certain(1).all()


@pytest.mark.parametrize("k", [0, 3, 12, 50])
def test_fewer_or_more_than_there_are(k: int) -> None:
    documents = batch(DOCUMENTS, 16, 1)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE)
    assert list(held.copies) == ["int8", "float16"]
    same_as_on_the_cpu(batch([3], 16, 2, np.float32), documents, held, k)


def test_equal_documents_come_in_their_order_however_many() -> None:
    one = batch([4], 16, 1)
    documents = TokenBatch.pack([one.vectors] * 90, [one.token_ids] * 90)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE)
    [found] = dispatch.best(one, np.ones(4, np.float32), held, k=3)
    assert found.places.tolist() == [0, 1, 2]
    assert found.read == 90  # screening could not tell them apart, so that all were scored


def test_sorting_takes_over_where_many_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "MOST", 4)
    documents = batch([3, 0, 2] * 7, 16, 1)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE)
    same_as_on_the_cpu(batch([3, 2], 16, 2, np.float32), documents, held, 5)


@pytest.mark.parametrize("precisions", [["int8", "float16"], []], ids=["held", "copied"])
def test_a_long_query_is_scored_in_pieces(precisions: list[Precision], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.kernels.cuda.arrays.QUERY_NUMBERS", 512)
    documents, queries = batch(DOCUMENTS, 16, 1), batch([70, 3], 16, 2, np.float32)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=precisions)
    assert DeviceQueries(queries, weights_for(queries), held.device).pieces > 1
    same_as_on_the_cpu(queries, documents, held, 4)
    same_as_on_the_cpu(queries, documents, held, 2, candidates=[np.array([3, 2, 9]), np.array([5])])


@pytest.mark.parametrize("precisions", [["float16"], []], ids=["held", "copied"])
def test_lists_may_be_empty_or_of_one(precisions: list[Precision]) -> None:
    documents, queries = batch(DOCUMENTS, 16, 1), batch([2, 3, 1], 16, 2, np.float32)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=precisions)
    none = np.empty(0, np.int64)
    for lists in ([np.array([2]), none, none], [none, none, np.array([2])], [none] * 3, [none, np.array([1]), none]):
        same_as_on_the_cpu(queries, documents, held, 4, candidates=lists)


def test_many_queries_are_scored_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.kernels.cuda.search.QUERIES", 2)
    documents, queries = batch([3, 0, 5], 16, 1), batch([2, 3, 1, 4, 2], 16, 2, np.float32)
    same_as_on_the_cpu(queries, documents, DeviceDocuments.of_tokens(documents, device=DEVICE), 2)


@pytest.mark.parametrize("longer", [0.5, 2.0])
def test_queries_need_not_be_units(longer: float) -> None:
    documents, queries = batch([2] * 60, 16, 1), batch([3], 16, 2, np.float32)
    queries = TokenBatch(queries.vectors * np.float32(longer), queries.token_ids, queries.offsets)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE)
    same_as_on_the_cpu(queries, documents, held, 3)
    [found] = dispatch.best(queries, weights_for(queries), held, k=3)
    assert found.read < 60


@pytest.mark.parametrize("form", FORMS)
def test_vectors_of_any_length(form: Form) -> None:
    generator = np.random.default_rng(0)
    documents = batch(DOCUMENTS, 16, 1)
    longer = documents.vectors * generator.uniform(0.2, 3, (len(documents.vectors), 1)).astype(np.float16)
    documents = TokenBatch(longer, documents.token_ids, documents.offsets)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE)
    assert list(held.copies) == ["float16"]  # 8 bits keep a scale in the place of a length
    same_as_on_the_cpu(batch([3], 16, 2, np.float32), documents, held, 6, form)


def test_a_query_beyond_16_bits_is_refused() -> None:
    documents = batch(DOCUMENTS, 16, 1)
    query = TokenBatch(np.full((1, 16), 1e5, np.float32), np.zeros(1, np.int32), np.array([0, 1]))
    held = DeviceDocuments.of_tokens(documents, device=DEVICE)
    for ask in (lambda: dispatch.best(query, np.ones(1, np.float32), held, k=1), lambda: dispatch.minima(query, held)):
        with pytest.raises(InputError, match="query vectors hold numbers above 60000; normalise them first"):
            ask()


def test_documents_beyond_16_bits_are_refused() -> None:
    documents = TokenBatch(np.full((1, 16), 1e5, np.float32), np.zeros(1, np.int32), np.array([0, 1]))
    with pytest.raises(InputError, match="token vectors are too large for 16-bit floats; normalise them first"):
        DeviceDocuments.of_tokens(documents, device=DEVICE)


def test_where_memory_ends_less_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Packed.empty.__func__  # type: ignore[attr-defined]

    def no_room(kind: type[Packed], tokens: int, dimensions: int, precision: Precision, device: torch.device) -> Packed:
        if precision == "float16":
            raise torch.OutOfMemoryError
        packed: Packed = made(kind, tokens, dimensions, precision, device)
        return packed

    monkeypatch.setattr(Packed, "empty", classmethod(no_room))
    documents = batch(DOCUMENTS, 16, 1)
    room = len(documents.vectors) * (20 + 36)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, room=room)
    assert list(held.copies) == ["int8"]
    with pytest.raises(InputError, match="the GPU is out of memory; stop other processes"):
        DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=["float16"])


def test_what_fits_decides_what_is_held() -> None:
    assert fitting(1000, 128, 1000 * (132 + 260)) == ("int8", "float16")
    assert fitting(1000, 128, 1000 * 260) == ("float16",)
    assert fitting(1000, 128, 1000 * 132) == ("int8",)
    assert fitting(1000, 128, 1000 * 131) == ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("holding", ["8 and 16 bits", "nothing"])
def test_minima_are_those_of_the_reference(holding: str, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.kernels.cuda.documents.SENT", 40)  # so that documents are copied in several parts
    documents, query = batch(DOCUMENTS, 20, 1), batch([19], 20, 2, np.float32)
    held = DeviceDocuments.of_tokens(documents, device=DEVICE, precisions=HOLDING[holding])
    right = reference.minima(query.vectors, documents, form)
    np.testing.assert_allclose(dispatch.minima(query, held, form=form), right, atol=1e-6)
    places = [9, 1, 1, 4]
    np.testing.assert_allclose(dispatch.minima(query, held, candidates=places, form=form), right[places], atol=1e-6)


def test_a_query_without_candidates_has_no_minima() -> None:
    held = DeviceDocuments.of_tokens(batch(DOCUMENTS, 20, 1), device=DEVICE)
    assert dispatch.minima(batch([4], 20, 2, np.float32), held, candidates=np.empty(0, np.int64)).shape == (0, 4)


def test_minima_of_32_bit_vectors_that_are_not_on_the_gpu() -> None:
    documents, query = batch(DOCUMENTS, 20, 1, np.float32), batch([5], 20, 2, np.float32)
    placed = dispatch.on_device(documents, PLACE)
    assert placed is not documents
    found = dispatch.minima(query, placed)
    np.testing.assert_allclose(found, reference.minima(query.vectors, documents), atol=1e-6)


def test_the_distance_of_equal_vectors_is_nothing() -> None:
    documents = batch([8], 24, 1)
    query = TokenBatch(documents.vectors[:3].astype(np.float32), documents.token_ids[:3], np.array([0, 3]))
    assert dispatch.minima(query, dispatch.on_device(documents, PLACE)).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("precision", ["float16", "int8", "4bit"])
def test_an_index_is_searched_as_on_the_cpu(precision: IndexPrecision, tmp_path: Path, encoder: Encoder) -> None:
    texts = {f"d{n}": text for n, text in enumerate(DOCUMENT_TEXTS)}
    build_index(tmp_path, texts, encoder, precision=precision)
    with writing(tmp_path) as writer:
        writer.delete(["d1"])
        add_documents(writer, [Document("e1", "a dog and a cat at night")], encoder)
    on_cpu = Searcher(Snapshot.open(tmp_path), encoder)
    on_device = Searcher(Snapshot.open(tmp_path, device=PLACE), encoder)
    for stage in ("auto", "centroids"):
        for query in ("why do cats sleep", "blue sky"):
            found, right = (one.search(query, k=4, first_stage=stage) for one in (on_device, on_cpu))
            assert [hit.id for hit in found] == [hit.id for hit in right]
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in right], abs=1e-6)


def test_a_newer_snapshot_finds_the_segments_that_are_there(tmp_path: Path, encoder: Encoder) -> None:
    build_index(tmp_path, {"a": "the cat sat", "b": "a dog barks"}, encoder)
    before = Snapshot.open(tmp_path, device=PLACE)
    held = before.segments[0].on_device
    with writing(tmp_path) as writer:
        add_documents(writer, [Document("c", "why is the sky blue")], encoder)
    after = Snapshot.open(tmp_path, device=PLACE)
    assert held is not None
    assert [segment.on_device is held for segment in after.segments] == [True, False]


def test_an_index_that_was_built_anew_is_copied_anew(tmp_path: Path, encoder: Encoder) -> None:
    kept = []
    for texts in ({"a": "the cat sat", "b": "a dog barks"}, {"a": "a dog barks", "b": "the cat sat"}):
        shutil.rmtree(tmp_path / "index", ignore_errors=True)
        build_index(tmp_path / "index", texts, encoder)
        kept.append(Searcher(Snapshot.open(tmp_path / "index", device=PLACE), encoder))
    assert [searcher.search("the cat sat", k=1)[0].id for searcher in kept] == ["a", "b"]


def test_memory_is_given_back_with_the_searcher(tmp_path: Path, encoder: Encoder) -> None:
    build_index(tmp_path, {"a": "the cat sat", "b": "a dog barks"}, encoder)
    searcher = Searcher(Snapshot.open(tmp_path, device=PLACE), encoder)
    searcher.search("a dog", k=1)
    held = weakref.ref(searcher.index.segments[0].on_device)
    gc.disable()  # which sees nothing of a GPU's memory, so that it must not be needed
    try:
        del searcher
        assert held() is None
    finally:
        gc.enable()


def test_a_refreshed_searcher_stays_on_its_device(tmp_path: Path, encoder: Encoder) -> None:
    build_index(tmp_path, {"a": "the cat sat", "b": "a dog barks"}, encoder)
    searcher = Searcher(Snapshot.open(tmp_path, device=PLACE), encoder)
    with writing(tmp_path) as writer:
        add_documents(writer, [Document("c", "why is the sky blue")], encoder)
    assert searcher.refreshed().index.device == PLACE


def test_a_corpus_is_ranked_and_its_minima_computed_as_on_the_cpu(tmp_path: Path, encoder: Encoder) -> None:
    ids = [f"d{n}" for n in range(len(DOCUMENT_TEXTS))]
    corpus = encode_cached(tmp_path, encoder, ids, DOCUMENT_TEXTS)
    elsewhere = replace(corpus, device=PLACE)
    query = encoder.encode_queries(["why do cats sleep"])
    candidates = Ranking.of("q", ids, [0.0] * len(ids))
    uniform = {"uniform": TokenWeights.uniform(encoder.vocabulary)}
    for k in (None, 3):
        right, found = (rerank_encoded(query, candidates, one, uniform, k=k)["uniform"] for one in (corpus, elsewhere))
        assert found.document_ids == right.document_ids
        assert found.scores == pytest.approx(right.scores, abs=1e-6)
    assert pickle.loads(pickle.dumps(elsewhere)).ids == corpus.ids


@pytest.mark.parametrize("capability", [pytest.param("80", marks=pytest.mark.long), "90"])
def test_the_kernels_compile_for_gpus_that_are_not_here(tmp_path: Path, capability: str) -> None:
    without = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, str(Path(__file__).parent / "cuda_compiles.py"), capability]
    done = subprocess.run(
        command, env=without | {"TRITON_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.gpu
class TestOnAGpu:
    """What the interpreter cannot show."""

    @pytest.fixture(autouse=True)
    def gpu(self) -> None:
        if DEVICE != "cuda":
            pytest.skip("there is no GPU here")

    def test_token_vectors_beyond_2_to_the_32_numbers(self) -> None:
        tokens, dimensions = 40_000_000, 128
        lengths = np.full(tokens // 160, 160)
        vectors = torch.empty((tokens, dimensions), dtype=torch.float16, device="cuda")
        for start in range(0, tokens, 4_000_000):
            some = torch.randn(4_000_000, dimensions, device="cuda")
            vectors[start : start + 4_000_000] = torch.nn.functional.normalize(some, dim=1)
        offsets = offsets_of(lengths)
        there = torch.from_numpy(offsets).cuda()
        query = batch([32], dimensions, 2, np.float32)
        weights = weights_for(query)
        asked = DeviceQueries(query, weights, torch.device("cuda"))
        scores = torch.full((1, len(lengths)), torch.nan, device="cuda")
        launch.score_all(asked, Packed.of(vectors, "float16", unit=True), there, scores)
        for place in (0, 1, 104_857, 104_858, 209_716, len(lengths) - 1):
            own = vectors[offsets[place] : offsets[place + 1]].cpu().numpy()
            document = TokenBatch(own, np.zeros(160, np.int32), np.array([0, 160]))
            right = reference.score(query.vectors, weights, document)[0]
            assert float(scores[0, place]) == pytest.approx(right, abs=2e-3)

    def test_a_corpus_larger_than_gpu_memory_streams_through_it(self) -> None:
        generator = np.random.default_rng(0)
        documents = batch(generator.integers(0, 200, 5000).tolist(), 64, 1)
        queries = batch([32, 9], 64, 2, np.float32)
        for room in (0, 40_000_000):  # nothing of it fits, or only its 8 bits
            same_as_on_the_cpu(queries, documents, DeviceDocuments.of_tokens(documents, room=room), 10)

    def test_an_encoder_gives_the_vectors_of_the_cpu(self, plain_checkpoint: Path) -> None:
        texts = DOCUMENT_TEXTS
        there = Encoder.load(str(plain_checkpoint))
        assert there.device.startswith("cuda")
        right = Encoder.load(str(plain_checkpoint), device="cpu").encode_documents(texts)
        found = there.encode_documents(texts)
        np.testing.assert_array_equal(found.token_ids, right.token_ids)
        np.testing.assert_allclose(found.vectors, right.vectors, atol=1e-4)
