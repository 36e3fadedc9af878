"""What many tests share: no network, tiny models, a tiny judged collection."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

# Before anything imports the hub client: a test that reaches for the network fails at once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Compiled models and encoded corpora of tests stay out of the user's cache.
os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[1] / "build" / "test-cache")

import torch

if not torch.cuda.is_available():  # before Triton is imported: its interpreter runs the GPU's programs
    os.environ["TRITON_INTERPRET"] = "1"

from chamfer.encode.encoder import Encoder
from tests import checkpoints

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


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    """Whether a campaign runs at full length, as in ``make test-long``; a test that asks is a campaign."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def shared_data() -> Path:
    if not SHARED_DATA.is_dir():
        pytest.skip("the judged collections are not beside this checkout")
    return SHARED_DATA
