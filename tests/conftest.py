"""What many tests share: no network, tiny models, a tiny judged collection."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

# Before anything imports the hub client: a test that reaches for the network fails at once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Compiled models and encoded corpora of tests stay out of the user's cache.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / "build" / "test-cache")

import torch

if not torch.cuda.is_available():  # before Triton is imported: its interpreter runs the GPU's programs
    os.environ["TRITON_INTERPRET"] = "1"

from chamfer import Encoder, Searcher, build_index
from chamfer.learn import adapter
from tests import checkpoints

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from chamfer.serve.service import Service

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"

DOCUMENTS = {
    "d1": "the cat sat on a mat",
    "d2": "a dog barks at night",
    "d3": "why is the sky blue",
    "d4": "cats sleep all day and all night",
    "d5": "it is a dog",
}
QUERIES = {"q1": "why do cats sleep", "q2": "blue sky", "q3": "the dog", "d2": "a dog barks at night"}
JUDGEMENTS = [("q1", "d4", 2), ("q1", "d1", 1), ("q2", "d3", 1), ("q3", "d2", 1), ("q3", "d5", 1), ("d2", "d5", 1)]


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_collection(folder: Path) -> Path:
    write_lines(folder / "corpus.jsonl", [{"_id": key, "title": "", "text": text} for key, text in DOCUMENTS.items()])
    write_lines(folder / "queries.jsonl", [{"_id": key, "text": text} for key, text in QUERIES.items()])
    (folder / "qrels").mkdir()
    for split, chosen in (("test", JUDGEMENTS), ("dev", JUDGEMENTS[:3])):
        lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in chosen)]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def collection_folder(tmp_path: Path) -> Path:
    """A BEIR folder with five documents and four queries, one of which is also a document."""
    return write_collection(tmp_path / "pets")


@pytest.fixture(scope="session")
def plain_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    checkpoints.make_plain(folder)
    return folder


@pytest.fixture(scope="session")
def encoder(plain_checkpoint: Path) -> Encoder:
    """A tiny plain encoder: its vectors are random but well defined."""
    return Encoder.load(str(plain_checkpoint))


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    """An index of the documents."""
    build_index(tmp_path / "served", DOCUMENTS, encoder)
    return tmp_path / "served"


@pytest.fixture
def searcher(folder: Path, encoder: Encoder) -> Searcher:
    return Searcher.open(folder, encoder=encoder)


@pytest.fixture
def service(searcher: Searcher) -> "Service":
    """The index, served with the weights of its searcher; needs the extra ``serve``."""
    from chamfer.serve.single import service_of

    return service_of(searcher)


@pytest.fixture
def served_with() -> dict[str, Any]:
    """Arguments of the application; a test module may choose others."""
    return {}


@pytest.fixture
def client(service: "Service", served_with: dict[str, Any]) -> "Iterator[TestClient]":
    """A client of the service, with its API key if it has one."""
    from starlette.testclient import TestClient

    from chamfer.serve.app import create_app

    key = served_with.get("key")
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    with TestClient(create_app(service, **served_with), "http://localhost", headers=headers) as client:
        yield client


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether a campaign runs at full length, as in ``make test-long``; a test that asks is a campaign."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def estimated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that wait until they know what unrelated texts score, so that their answers can be compared."""
    monkeypatch.setattr(
        "chamfer.serve.estimates.Estimates.level", lambda _, reader, weights: reader.unrelated_score(weights)
    )


@pytest.fixture(scope="module")
def few_steps() -> Iterator[None]:
    """Adapters learn for a few steps, for tests of what happens around learning: otherwise it takes most of their time.

    How well adapters learn is tested in ``test_learn_adapter.py``.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "STEPS", 10)
        yield


@pytest.fixture
def shared_data() -> Path:
    if not SHARED_DATA.is_dir():
        pytest.skip("the judged collections are not beside this checkout")
    return SHARED_DATA
