"""Token vectors of a corpus on disk: appended in commits, then memory-mapped."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from chamfer.cache.codes import open_codes
from chamfer.errors import InputError
from chamfer.kernels.documents import CodedDocuments
from chamfer.support.devices import CPU, chosen_device, scoring_device
from chamfer.support.files import write_json, writer_lock
from chamfer.support.progress import Advance, ignore
from chamfer.tokens.batch import TokenBatch, Vectors, offsets_of
from chamfer.workers.jobs import IN_PROCESS, Table, Workers
from chamfer.workers.token_columns import from_columns, to_columns

if TYPE_CHECKING:
    from chamfer.kernels.cuda.documents import DeviceDocuments

FORMAT = 1
MANIFEST = "manifest.json"
VECTORS_FILE, TOKEN_IDS_FILE, LENGTHS_FILE, IDS_FILE = "vectors.f16", "token_ids.i32", "lengths.i32", "ids.jsonl"

EMPTY_MANIFEST: dict[str, Any] = {
    "format": FORMAT,
    "made_from": {},
    "documents": 0,
    "tokens": 0,
    "dimensions": 0,
    "id_bytes": 0,
    "complete": False,
}

# Documents per commit. An interruption loses at most this much, some ten seconds of work on two cores.
COMMIT_EVERY = 256


@dataclass(frozen=True)
class EncodedCorpus:
    """An encoded corpus: document ids, and token vectors that are read from disk when needed.

    Args:
        folder: folder of the corpus.
        ids: document ids, in corpus order.
        tokens: float16 vectors, memory-mapped, one text per document.
        made_from: what determines the vectors, as given to :func:`encode_corpus`.
        device: device that documents are scored on.
    """

    folder: Path
    ids: tuple[str, ...]
    tokens: TokenBatch
    made_from: Mapping[str, Any]
    device: str = CPU

    @classmethod
    def open(cls, folder: Path, device: str = CPU) -> Self:
        """Open a finished corpus."""
        manifest = _read_manifest(folder)
        if manifest is None:
            raise InputError(f"{folder} holds no encoded corpus; create one with: chamfer encode")
        if not manifest["complete"]:
            raise InputError(
                f"the corpus in {folder} is encoded up to document {manifest['documents']} only; "
                "run the same chamfer encode again to finish it"
            )
        documents, tokens, dimensions = (manifest[key] for key in ("documents", "tokens", "dimensions"))
        for name, size in _sizes(manifest).items():
            found = (folder / name).stat().st_size if (folder / name).exists() else -1
            if found != size:
                raise InputError(f"{folder / name} should hold {size} bytes; delete {folder} and encode again")
        try:
            ids = tuple(json.loads(line) for line in (folder / IDS_FILE).read_bytes().splitlines())
        except ValueError:
            ids = ()
        vectors: Vectors
        if tokens:
            vectors = np.memmap(folder / VECTORS_FILE, np.float16, "r", shape=(tokens, dimensions))
        else:  # an empty file cannot be mapped
            vectors = np.empty((0, dimensions), np.float16)
        token_ids = np.fromfile(folder / TOKEN_IDS_FILE, np.int32)
        lengths = np.fromfile(folder / LENGTHS_FILE, np.int32)
        if len(ids) != documents:
            raise InputError(f"{folder / IDS_FILE} should hold {documents} ids; delete {folder} and encode again")
        return cls(folder, ids, TokenBatch(vectors, token_ids, offsets_of(lengths)), manifest["made_from"], device)

    def __reduce__(self) -> "tuple[Callable[..., EncodedCorpus], tuple[Any, ...]]":
        """Pickle the folder, not the vectors; another process opens it again."""
        return _open_again, (str(self.folder.absolute()), dict(self.made_from), self.device != CPU)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each document id in :attr:`tokens`."""
        return {identifier: place for place, identifier in enumerate(self.ids)}

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """``(documents,)`` the rank of each id among all ids, sorted; it breaks ties between equal scores."""
        return np.argsort(np.argsort(np.array(self.ids, dtype=object), kind="stable"))

    @cached_property
    def on_device(self) -> "DeviceDocuments | None":
        """The documents on the GPU, copied there on first use; None if they are scored on the CPU."""
        if self.device == CPU:
            return None
        from chamfer.kernels.cuda.documents import (  # imported here, because it needs Triton
            shared_documents,
            take_from,
        )

        key = str(self.folder.resolve()), json.dumps(self.made_from, sort_keys=True)
        take = take_from(self.tokens)
        return shared_documents(key, self.tokens.offsets, self.tokens.dimensions, take, self.device)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        return self.tokens.dimensions

    @property
    def coded(self) -> CodedDocuments | None:
        """The documents with their 8-bit codes, computed on first use; None if they cannot be computed right now."""
        made: CodedDocuments | None = self.__dict__.get("_coded")
        if made is None:
            codes = open_codes(self.folder, self.tokens, self.made_from)
            if codes is not None:  # otherwise the next call tries again
                made = self.__dict__["_coded"] = CodedDocuments(self.tokens, codes)
        return made

    def take(self, places: npt.NDArray[np.integer]) -> TokenBatch:
        """The vectors of some documents."""
        return self.tokens.take(places)


def encode_corpus(
    folder: Path,
    ids: Sequence[str],
    texts: Sequence[str],
    *,
    encode: Callable[[Sequence[str], Advance], TokenBatch],
    made_from: Mapping[str, Any],
    advance: Advance = ignore,
    device: str = CPU,
    workers: Workers = IN_PROCESS,
    gpu: bool = False,
) -> EncodedCorpus:
    """Encode a corpus into a folder, or continue where an earlier call stopped.

    Rows are appended to binary files, then committed by an atomic swap of the manifest. A crash therefore loses
    at most :data:`COMMIT_EVERY` documents and never leaves a half-written one. A finished corpus is only opened.

    Args:
        folder: folder of the corpus.
        ids: unique document ids.
        texts: the document texts.
        encode: encodes texts, and calls a progress callback.
        made_from: what determines the vectors (model, texts, lengths), as JSON; a folder made from
            anything else is refused.
        advance: progress callback; documents of an earlier call count too.
        device: device that documents will be scored on.
        workers: who encodes; ``encode`` must be something that can be sent to them.
        gpu: whether a worker should have a GPU.
    """
    if len(set(ids)) != len(ids) or len(ids) != len(texts):
        raise InputError(f"{len(texts)} documents need as many different ids, not {len(set(ids))}")
    manifest = _read_manifest(folder)
    if manifest is not None and manifest["complete"] and manifest["made_from"] == dict(made_from):
        advance(len(ids))
        return EncodedCorpus.open(folder, device)  # reading needs no lock
    with writer_lock(folder):
        manifest = _read_manifest(folder)
        if manifest is None:
            manifest = {**EMPTY_MANIFEST, "made_from": dict(made_from)}
        elif manifest["made_from"] != dict(made_from):
            raise InputError(
                f"{folder} holds vectors of a different model, corpus or length; choose another folder or delete it"
            )
        if not manifest["complete"]:
            _drop_uncommitted(folder, manifest)
            advance(manifest["documents"])
            chunks = [slice(at, at + COMMIT_EVERY) for at in range(manifest["documents"], len(ids), COMMIT_EVERY)]
            tables: Iterator[Table] = ({"text": list(texts[chunk])} for chunk in chunks)
            encoded = workers.map(EncodeTexts(encode), tables, advance=advance, gpu=gpu)
            for chunk, table in zip(chunks, encoded, strict=True):
                manifest = _append(folder, manifest, ids[chunk], from_columns(table))
            write_json(folder / MANIFEST, {**manifest, "complete": True})
    return EncodedCorpus.open(folder, device)


@dataclass(frozen=True)
class EncodeTexts:
    """A job from texts to token vectors in 16 bits."""

    encode: Callable[[Sequence[str], Advance], TokenBatch]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        batch = self.encode(table["text"], advance)
        with np.errstate(over="ignore"):  # a value beyond float16 becomes infinite, and is refused below
            vectors = batch.vectors.astype(np.float16)
        if not np.isfinite(vectors).all():
            raise InputError("token vectors are too large for 16-bit floats; normalise them first")
        return to_columns(TokenBatch(vectors, batch.token_ids, batch.offsets))


def _open_again(folder: str, made_from: Mapping[str, Any], on_gpu: bool) -> EncodedCorpus:
    if not Path(folder).is_dir():
        raise InputError(f"a worker cannot read {folder}; put the cache where all nodes of the cluster can read it")
    corpus = EncodedCorpus.open(Path(folder), scoring_device(chosen_device()) if on_gpu else CPU)
    if corpus.made_from != made_from:
        raise InputError(
            f"{folder} on a worker holds different vectors; put the cache where all nodes of the cluster can read it"
        )
    return corpus


def _append(folder: Path, manifest: dict[str, Any], ids: Sequence[str], batch: TokenBatch) -> dict[str, Any]:
    dimensions = manifest["dimensions"] or batch.dimensions
    if batch.dimensions != dimensions:
        raise InputError(
            f"{folder} holds vectors with {dimensions} dimensions, but the new ones have {batch.dimensions}; "
            "encode all documents with one model"
        )
    id_lines = "".join(json.dumps(identifier) + "\n" for identifier in ids).encode()
    for name, content in (
        (VECTORS_FILE, batch.vectors.tobytes()),
        (TOKEN_IDS_FILE, batch.token_ids.astype(np.int32).tobytes()),
        (LENGTHS_FILE, batch.lengths.astype(np.int32).tobytes()),
        (IDS_FILE, id_lines),
    ):
        try:
            with (folder / name).open("ab") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            error.filename = error.filename or str(folder / name)
            raise
    committed = {
        **manifest,
        "documents": manifest["documents"] + len(ids),
        "tokens": manifest["tokens"] + len(batch.vectors),
        "dimensions": dimensions,
        "id_bytes": manifest["id_bytes"] + len(id_lines),
    }
    write_json(folder / MANIFEST, committed)
    return committed


def _drop_uncommitted(folder: Path, manifest: Mapping[str, Any]) -> None:
    for name, size in _sizes(manifest).items():
        path = folder / name
        if not path.exists():
            path.touch()
        if path.stat().st_size < size:
            raise InputError(f"{path} is shorter than what was committed; delete {folder} and encode again")
        os.truncate(path, size)


def _sizes(manifest: Mapping[str, Any]) -> dict[str, int]:
    return {
        VECTORS_FILE: manifest["tokens"] * manifest["dimensions"] * 2,
        TOKEN_IDS_FILE: manifest["tokens"] * 4,
        LENGTHS_FILE: manifest["documents"] * 4,
        IDS_FILE: manifest["id_bytes"],
    }


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["format"] != FORMAT:
            raise InputError(f"{path} has format {manifest['format']}, this version reads {FORMAT}; encode again")
        return {key: manifest[key] for key in EMPTY_MANIFEST}
    except InputError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a chamfer manifest; delete {folder} and encode again") from error
