"""Encoding a corpus into a folder, one commit after the other, so that an interrupted run can be resumed."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.manifest import (
    DISTINCT_FILE,
    DISTINCT_LENGTHS_FILE,
    EMPTY_MANIFEST,
    IDS_FILE,
    LENGTHS_FILE,
    MANIFEST,
    TOKEN_IDS_FILE,
    TRUNCATED_FILE,
    VECTORS_FILE,
    VECTORS_ONLY,
    file_sizes,
    read_manifest,
)
from chamfer.cache.text_encoder import EncodedTexts, from_table, to_table
from chamfer.errors import InputError
from chamfer.support.devices import CPU
from chamfer.support.files import append_bytes, write_json, writer_lock
from chamfer.support.progress import Advance, Before, ignore
from chamfer.tokens.batch import TokenBatch
from chamfer.workers.jobs import IN_PROCESS, Table, Workers

# Documents per commit. An interruption loses at most this many: about ten seconds of work on two cores.
COMMIT_EVERY = 256


def encode_corpus(
    folder: Path,
    ids: Sequence[str],
    texts: Sequence[str],
    *,
    encode: Callable[[Sequence[str], Advance], EncodedTexts],
    made_from: Mapping[str, Any],
    advance: Advance = ignore,
    device: str = CPU,
    workers: Workers = IN_PROCESS,
    gpu: bool = False,
) -> EncodedCorpus:
    """Encode a corpus into a folder, or resume where an earlier call stopped.

    Rows are appended to binary files, then committed by an atomic swap of the manifest. A crash therefore loses at
    most :data:`COMMIT_EVERY` documents and never leaves a half-written one. A finished corpus is only opened.

    Args:
        folder: folder of the corpus.
        ids: unique document ids.
        texts: the document texts.
        encode: function that encodes texts and reports progress; picklable, for Ray workers. See
            :class:`chamfer.cache.text_encoder.TextEncoder`.
        made_from: what determines the vectors (model, texts, lengths), as JSON; a folder made from anything else is
            refused.
        advance: progress callback; documents encoded by an earlier call count too.
        device: device that documents will be scored on.
        workers: workers that encode.
        gpu: whether each worker should get a GPU of its own, if there are any.
    """
    if len(ids) != len(texts):
        raise InputError(f"got {len(ids)} ids for {len(texts)} documents")
    if len(set(ids)) != len(ids):
        raise InputError(f"{len(texts)} documents have only {len(set(ids))} distinct ids; ids must be unique")
    manifest = read_manifest(folder)
    if manifest is not None and manifest["complete"] and manifest["made_from"] == dict(made_from):
        advance(Before(len(ids)))
        return EncodedCorpus.open(folder, device)  # reading needs no lock
    with writer_lock(folder):
        manifest = read_manifest(folder)
        if manifest is not None and manifest["made_from"] != dict(made_from):
            raise InputError(
                f"{folder} holds vectors of a different model, corpus or length; choose another folder or delete it"
            )
        if manifest is None or (manifest["format"] == VECTORS_ONLY and not manifest["complete"]):
            manifest = {**EMPTY_MANIFEST, "made_from": dict(made_from)}
        if not manifest["complete"]:
            _drop_uncommitted(folder, manifest)
            advance(Before(manifest["documents"]))
            chunks = [slice(at, at + COMMIT_EVERY) for at in range(manifest["documents"], len(ids), COMMIT_EVERY)]
            tables: Iterator[Table] = ({"text": list(texts[chunk])} for chunk in chunks)
            encoded = workers.map(EncodeTexts(encode), tables, advance=advance, gpu=gpu)
            for chunk, table in zip(chunks, encoded, strict=True):
                manifest = _append(folder, manifest, ids[chunk], from_table(table))
            write_json(folder / MANIFEST, {**manifest, "complete": True})
    return EncodedCorpus.open(folder, device)


@dataclass(frozen=True)
class EncodeTexts:
    """A job from texts to :class:`EncodedTexts` with vectors in float16, as a table of one row."""

    encode: Callable[[Sequence[str], Advance], EncodedTexts]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        encoded = self.encode(table["text"], advance)
        batch = encoded.tokens
        with np.errstate(over="ignore"):  # an overflow becomes infinity, which is refused below
            vectors = batch.vectors.astype(np.float16)
        if not np.isfinite(vectors).all():
            raise InputError("token vectors are too large for 16-bit floats; normalise them first")
        return to_table(encoded._replace(tokens=TokenBatch(vectors, batch.token_ids, batch.offsets)))


def _append(folder: Path, manifest: dict[str, Any], ids: Sequence[str], encoded: EncodedTexts) -> dict[str, Any]:
    batch = encoded.tokens
    dimensions = manifest["dimensions"] or batch.dimensions
    if batch.dimensions != dimensions:
        raise InputError(
            f"{folder} holds vectors with {dimensions} dimensions, but the new ones have {batch.dimensions}; "
            "encode all documents with one model"
        )
    id_lines = "".join(json.dumps(identifier) + "\n" for identifier in ids).encode()
    distinct = np.concatenate([*encoded.distinct, np.empty(0, np.int32)]).astype(np.int32)
    for name, content in (
        (VECTORS_FILE, batch.vectors.tobytes()),
        (TOKEN_IDS_FILE, batch.token_ids.astype(np.int32).tobytes()),
        (LENGTHS_FILE, batch.lengths.astype(np.int32).tobytes()),
        (IDS_FILE, id_lines),
        (DISTINCT_FILE, distinct.tobytes()),
        (DISTINCT_LENGTHS_FILE, np.array([len(one) for one in encoded.distinct], np.int32).tobytes()),
        (TRUNCATED_FILE, np.array(encoded.was_truncated, np.bool_).tobytes()),
    ):
        append_bytes(folder / name, content)
    committed = {
        **manifest,
        "documents": manifest["documents"] + len(ids),
        "tokens": manifest["tokens"] + len(batch.vectors),
        "distinct": manifest["distinct"] + len(distinct),
        "dimensions": dimensions,
        "id_bytes": manifest["id_bytes"] + len(id_lines),
    }
    write_json(folder / MANIFEST, committed)
    return committed


def _drop_uncommitted(folder: Path, manifest: Mapping[str, Any]) -> None:
    for name, size in file_sizes(manifest).items():
        path = folder / name
        if not path.exists():
            path.touch()
        if path.stat().st_size < size:
            raise InputError(f"{path} is shorter than its manifest says; delete {folder} and encode again")
        os.truncate(path, size)
