"""The judged collections used by the benchmarks, and the encoder settings for each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from chamfer import Encoder

QUERY_LENGTH, DOCUMENT_LENGTH = 64, 256
LONG_QUERIES = {"arguana": 512}  # its queries are whole arguments


def collections(data: Path, names: Sequence[str] = ()) -> Iterator[Path]:
    """The folders of the named collections (default: all), smallest first."""
    folders = [path.parent for path in data.glob("*/corpus.jsonl") if not names or path.parent.name in names]
    if not folders:
        raise SystemExit(f"there is no such collection in {data}")
    yield from sorted(folders, key=lambda folder: (folder / "corpus.jsonl").stat().st_size)


def encoder_for(folder: Path) -> Encoder:
    """all-MiniLM-L6-v2 with the lengths suited to the collection."""
    query_length = LONG_QUERIES.get(folder.name, QUERY_LENGTH)
    return Encoder.load("minilm", query_length=query_length, document_length=DOCUMENT_LENGTH)
