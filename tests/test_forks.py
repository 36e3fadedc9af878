"""A forked child, which has none of its parent's threads, works or refuses: it never hangs."""

import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import faiss
import numpy as np
import pytest
import torch

from chamfer.encode.encoder import Encoder
from chamfer.index.building import build_index
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Queries
from chamfer.search.searcher import Searcher
from tests.conftest import DOCUMENTS
from tests.forks import in_child

pytestmark = pytest.mark.filterwarnings("ignore:This process")  # Python warns of a fork while threads run


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    return tmp_path / "index"


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads(), faiss.omp_get_max_threads()
    torch.set_num_threads(2)
    faiss.omp_set_num_threads(2)
    yield
    torch.set_num_threads(before[0])
    faiss.omp_set_num_threads(before[1])


@pytest.mark.usefixtures("two_threads")
def test_torch_works_in_a_child() -> None:
    def multiply() -> list[int]:
        return list((torch.ones(600, 600) @ torch.ones(600, 600)).exp().shape)

    before = multiply()
    assert in_child(multiply) == before


@pytest.mark.usefixtures("two_threads")
def test_openmp_works_in_a_child() -> None:
    vectors = np.random.default_rng(0).random((4000, 32), np.float32)

    def search() -> int:
        index = faiss.IndexFlatIP(32)
        index.add(vectors)
        return len(index.search(vectors[:100], 5)[1])

    before = search()
    assert in_child(search) == before


def test_a_child_searches_with_its_parents_searcher(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)

    def search() -> list[str]:
        return [hit.id for hit in searcher.search("why do cats sleep")]

    before = search()
    assert in_child(search) == before


def test_a_child_ranks_encoded_queries(folder: Path, encoder: Encoder) -> None:
    ranker = Ranker(Snapshot.open(folder))
    tokens = encoder.encode_queries(["why do cats sleep", "blue sky", "the dog"])
    queries = Queries(["", "", ""], tokens, np.ones(len(tokens.vectors), np.float32))

    def rank() -> list[list[int]]:
        return [one.places.tolist() for one in ranker.rank(queries, 3)]

    before = rank()
    assert in_child(rank) == before


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")
def test_openvino_is_refused_in_a_child(plain_checkpoint: Path) -> None:
    encoder = Encoder.load(str(plain_checkpoint), engine="openvino")
    encoder.encode_queries(["the dog"])
    assert "threads do not survive" in in_child(lambda: encoder.encode_queries(["the dog"]))
    # A choice that is left to us is torch there.
    assert in_child(lambda: Encoder.load(str(plain_checkpoint), engine="auto").engine) == "torch"


def test_a_query_that_runs_during_a_fork_does_not_lock_the_child(folder: Path) -> None:
    database = Snapshot.open(folder).segments[0].database
    is_done = threading.Event()

    def ask() -> None:
        while not is_done.is_set():
            database.all_ids()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for _ in range(3):
            assert in_child(database.all_ids) == sorted(DOCUMENTS)
    finally:
        is_done.set()
        asking.join()


def test_a_child_cannot_write_with_its_parents_writer(folder: Path) -> None:
    with writing(folder) as writer:
        assert "forked" in in_child(lambda: writer.delete(["d1"]))
        assert writer.delete(["d1"]) == 1
    assert Snapshot.open(folder).manifest.documents == len(DOCUMENTS) - 1
