"""`EncodedCorpus`: the token vectors of a corpus on disk, memory-mapped."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from chamfer.cache.codes import open_codes
from chamfer.cache.manifest import (
    DISTINCT_FILE,
    DISTINCT_LENGTHS_FILE,
    IDS_FILE,
    LENGTHS_FILE,
    TOKEN_IDS_FILE,
    TRUNCATED_FILE,
    VECTORS_FILE,
    file_sizes,
    read_manifest,
)
from chamfer.cache.means import open_means
from chamfer.cache.text_encoder import split
from chamfer.errors import InputError
from chamfer.kernels.documents import CodedDocuments
from chamfer.support.devices import CPU, chosen_device, scoring_device
from chamfer.tokens.batch import TokenBatch, TokenIds, Vectors, offsets_of

if TYPE_CHECKING:
    from chamfer.kernels.cuda.documents import DeviceDocuments


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
        manifest = read_manifest(folder)
        if manifest is None:
            raise InputError(f"{folder} holds no encoded corpus; create one with: chamfer encode")
        if not manifest["complete"]:
            raise InputError(
                f"the corpus in {folder} is encoded only up to document {manifest['documents']}; "
                "run the same chamfer encode again to resume"
            )
        documents, tokens, dimensions = (manifest[key] for key in ("documents", "tokens", "dimensions"))
        for name, size in file_sizes(manifest).items():
            found = (folder / name).stat().st_size if (folder / name).exists() else -1
            if found != size:
                raise InputError(f"{folder / name} should hold {size} bytes; delete {folder} and encode again")
        try:
            ids = tuple(json.loads(line) for line in (folder / IDS_FILE).read_bytes().splitlines())
        except (ValueError, RecursionError):
            ids = ()
        vectors: Vectors
        if tokens * dimensions:
            vectors = np.memmap(folder / VECTORS_FILE, np.float16, "r", shape=(tokens, dimensions))
        else:  # an empty file cannot be mapped
            vectors = np.empty((tokens, dimensions), np.float16)
        token_ids = np.fromfile(folder / TOKEN_IDS_FILE, np.int32)
        lengths = np.fromfile(folder / LENGTHS_FILE, np.int32)
        if len(ids) != documents or not all(isinstance(identifier, str) for identifier in ids):
            raise InputError(f"{folder / IDS_FILE} should hold {documents} ids; delete {folder} and encode again")
        _check_lengths(folder / LENGTHS_FILE, lengths, tokens)
        return cls(folder, ids, TokenBatch(vectors, token_ids, offsets_of(lengths)), manifest["made_from"], device)

    def __reduce__(self) -> "tuple[Callable[..., EncodedCorpus], tuple[Any, ...]]":
        """Pickle the folder, not the vectors; another process opens it again."""
        return _open_again, (str(self.folder.absolute()), dict(self.made_from), self.device != CPU)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def place(self) -> dict[str, int]:
        """Place of each document id in :attr:`tokens`."""
        return {identifier: place for place, identifier in enumerate(self.ids)}

    @cached_property
    def order(self) -> npt.NDArray[np.int64]:
        """``(documents,)`` rank of each id in sorted order, which breaks ties between scores."""
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

    @cached_property
    def distinct(self) -> Sequence[TokenIds] | None:
        """Distinct token ids of each text as the model reads it; None if an earlier version encoded the corpus."""
        if not (self.folder / DISTINCT_FILE).exists():
            return None
        ids, lengths = (np.fromfile(self.folder / name, np.int32) for name in (DISTINCT_FILE, DISTINCT_LENGTHS_FILE))
        _check_lengths(self.folder / DISTINCT_LENGTHS_FILE, lengths, len(ids))
        return split(ids, lengths)

    @cached_property
    def was_truncated(self) -> npt.NDArray[np.bool_] | None:
        """``(documents,)`` whether a text was longer than the model reads; None if an earlier version encoded it."""
        path = self.folder / TRUNCATED_FILE
        return np.fromfile(path, np.bool_) if path.exists() else None

    @property
    def truncated(self) -> int | None:
        """Number of texts that were longer than the model reads; None if an earlier version encoded the corpus."""
        return None if self.was_truncated is None else int(self.was_truncated.sum())

    @property
    def coded(self) -> CodedDocuments | None:
        """The documents with their 8-bit codes, computed on first use; None if that is not possible now."""
        made: CodedDocuments | None = self.__dict__.get("_coded")
        if made is None:
            codes = open_codes(self.folder, self.tokens, self.made_from)
            if codes is not None:  # otherwise the next call tries again
                made = self.__dict__["_coded"] = CodedDocuments(self.tokens, codes)
        return made

    @cached_property
    def means(self) -> npt.NDArray[np.float16]:
        """``(documents, dimensions)`` mean token vectors of unit length, computed on first use."""
        return open_means(self.folder, self.tokens, self.made_from)

    def take(self, places: npt.NDArray[np.integer]) -> TokenBatch:
        """The vectors of some documents."""
        return self.tokens.take(places)


def _check_lengths(path: Path, lengths: npt.NDArray[np.int32], total: int) -> None:
    if lengths.min(initial=0) < 0 or lengths.sum(dtype=np.int64) != total:
        raise InputError(f"{path} should add up to {total} tokens; delete {path.parent} and encode again")


def _open_again(folder: str, made_from: Mapping[str, Any], on_gpu: bool) -> EncodedCorpus:
    if not Path(folder).is_dir():
        raise InputError(f"a worker cannot read {folder}; put the cache where all nodes of the cluster can read it")
    corpus = EncodedCorpus.open(Path(folder), scoring_device(chosen_device()) if on_gpu else CPU)
    if corpus.made_from != made_from:
        raise InputError(
            f"{folder} on a worker holds different vectors; put the cache where all nodes of the cluster can read it"
        )
    return corpus
