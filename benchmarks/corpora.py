"""The judged collections used by the benchmarks, and the encoder settings for each."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chamfer import Encoder
from chamfer.encode.settings import MINILM

QUERY_LENGTH, DOCUMENT_LENGTH = 64, 256
LONG_QUERIES = {"arguana": 512}  # its queries are whole arguments

# Late-interaction models fill every query with [MASK] to this length, which is the one they were trained with.
FILLED_QUERY_LENGTH, LONG_FILLED_QUERIES = 32, {"arguana": 300}


def collections(data: Path, names: Sequence[str] = ()) -> Iterator[Path]:
    """The folders of the named collections (default: all), smallest first."""
    folders = [path.parent for path in data.glob("*/corpus.jsonl") if not names or path.parent.name in names]
    if not folders:
        raise SystemExit(f"there is no such collection in {data}")
    yield from sorted(folders, key=lambda folder: (folder / "corpus.jsonl").stat().st_size)


def encoder_for(folder: Path, encoder: str = MINILM) -> Encoder:
    """all-MiniLM-L6-v2 or a late-interaction checkpoint, with the lengths suited to it and to the collection.

    It encodes in 16 bits where the CPU supports that, as an index does; ``results/encoding.json`` has the effect.
    """
    plain = encoder == MINILM
    lengths, usual = (LONG_QUERIES, QUERY_LENGTH) if plain else (LONG_FILLED_QUERIES, FILLED_QUERY_LENGTH)
    return Encoder.load(
        encoder,
        query_length=lengths.get(folder.name, usual),
        document_length=DOCUMENT_LENGTH,
        arithmetic="auto",
        engine="auto",
    )


def described(encoder: Encoder, name: str) -> dict[str, Any]:
    """What results record of an encoder that was loaded by its name or path."""
    return {
        "name": Path(name).name,
        "model": encoder.model_fingerprint,
        "arithmetic": encoder.arithmetic,
        "device": encoder.device,
    }


def model_of(encoder: str) -> str:
    """The fingerprint of an encoder's parameters, as :func:`described` records it."""
    return Encoder.load(encoder).model_fingerprint
