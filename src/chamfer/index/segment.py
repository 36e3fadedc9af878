"""Segments: parts of an index that are written once and never change."""

import hashlib
import mmap
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from chamfer.index.columns import (
    BOUNDS_FILE,
    CENTROIDS_FILE,
    CODES_FILE,
    DISTINCT_LENGTHS_FILE,
    KINDS,
    LENGTHS_FILE,
    RESIDUALS_FILE,
    SCALES_FILE,
    TOKEN_IDS_FILE,
    VECTORS_FILE,
)
from chamfer.index.damage import truncated
from chamfer.index.derived import Content, Derived, key_of
from chamfer.index.manifest import SEGMENTS, Entry, File, Manifest, Whole
from chamfer.index.measured import MEASURED, make_measured, read_measured
from chamfer.index.rows import Columns, Rows, Source, decoded, levels_of
from chamfer.index.settings import Settings
from chamfer.index.text_writer import TextWriter
from chamfer.index.texts import TEXTS, Texts
from chamfer.index.trained import Trained
from chamfer.kernels import native
from chamfer.kernels.codes import Codes
from chamfer.kernels.documents import CodedDocuments, QuantizedDocuments, ResidualDocuments
from chamfer.support.devices import CPU
from chamfer.support.files import make_folder, sync_file, sync_folder
from chamfer.tokens.batch import Offsets, TokenBatch, offsets_of, parts, rows_at

if TYPE_CHECKING:
    from chamfer.kernels.cuda.documents import DeviceDocuments

# Read in full when a segment is opened, so that checking their checksums costs nothing.
SMALL = (LENGTHS_FILE, DISTINCT_LENGTHS_FILE, BOUNDS_FILE)


class SegmentWriter:
    """Writes a new segment, some documents at a time, sorted by id.

    It is not part of the index before a manifest names it. After an error it is removed.
    """

    def __init__(self, index: Path, name: str, settings: Settings) -> None:
        self._name = name
        self._folder = index / SEGMENTS / name
        shutil.rmtree(self._folder, ignore_errors=True)  # left by a crash
        make_folder(self._folder.parent)
        self._folder.mkdir()
        self._digests = {column: hashlib.sha256() for column in settings.columns}
        self._documents = self._tokens = self._whole = 0
        self._passages = settings.passages is not None
        with ExitStack() as opened:
            opened.push(self._abandon)
            self._files = {
                column: opened.enter_context((self._folder / column).open("xb")) for column in settings.columns
            }
            self._texts = TextWriter(self._folder / TEXTS, passages=self._passages)
            opened.callback(self._texts.close)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def _abandon(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = error.filename or str(self._folder)  # the error of a full disk names no file

    def append(self, rows: Rows) -> None:
        """Write more documents."""
        for column, values in rows.columns.items():
            content = np.ascontiguousarray(values).data
            self._files[column].write(content)
            self._digests[column].update(content)
        self._texts.append(rows.documents)
        self._documents += len(rows.documents)
        self._whole += sum(one.passage is None or one.passage.number == 1 for one in rows.documents)
        self._tokens += len(rows.columns[TOKEN_IDS_FILE])

    def finish(self) -> Entry:
        """Flush all files to disk."""
        files = []
        for column, file in self._files.items():
            file.flush()
            os.fsync(file.fileno())
            files.append(File(column, file.tell(), self._digests[column].hexdigest()))
        self._texts.finish()
        sync_file(self._folder / TEXTS)
        files.append(File.of(self._folder / TEXTS))
        sync_folder(self._folder)
        sync_folder(self._folder.parent)
        whole = Whole(self._whole) if self._passages else None
        return Entry(self._name, self._documents, self._tokens, tuple(files), whole=whole)


class Segment:
    """A segment, opened for reading; large arrays are memory-mapped.

    Args:
        index: folder of the index.
        entry: entry of the segment in the manifest.
        manifest: the commit.
        trained: centroids and residual levels, to decode vectors with.
        device: device that documents are scored on.
    """

    def __init__(self, index: Path, entry: Entry, manifest: Manifest, trained: Trained, device: str = CPU) -> None:
        self.name, self._device = entry.name, device
        settings = manifest.settings
        self._derived = Derived(index, entry, key_of(manifest, entry))
        self.content = entry.files
        """Names and checksums of its files; equal only for segments with the same vectors."""
        self._settings, self._trained = settings, trained
        folder = index / SEGMENTS / entry.name
        for file in entry.files:
            (file.check if file.name in SMALL else file.check_size)(folder)
        self.columns = {
            name: _mapped(folder / name, column.width, whole=name in SMALL) for name, column in settings.columns.items()
        }
        self._folder = folder
        self._pages: dict[str, mmap.mmap] = {
            name: vars(column)["_mmap"] for name, column in self.columns.items() if isinstance(column, np.memmap)
        }
        self.database = Texts(folder / TEXTS, entry.documents)
        self.offsets = offsets_of(self.columns[LENGTHS_FILE])
        self.deleted: npt.NDArray[np.bool_] | None = None
        if entry.deleted is not None:
            entry.deleted.check(index)
            bits = np.fromfile(index / entry.deleted.name, np.uint8)
            self.deleted = np.unpackbits(bits, count=entry.documents).astype(bool)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def on(self, device: str) -> Self:
        """The same segment, scored on another device; nothing is read again."""
        other = copy(self)
        other._device = device
        other.__dict__.pop("on_device", None)
        return other

    @property
    def centroids(self) -> npt.NDArray[np.uint16]:
        """``(tokens,)`` the centroid of each token."""
        return self.columns[CENTROIDS_FILE]

    @cached_property
    def source(self) -> Source:
        """Columns and offsets, for merging."""
        return Source(
            self.columns, {"token": self.offsets, "distinct": offsets_of(self.columns[DISTINCT_LENGTHS_FILE])}
        )

    @property
    def alive(self) -> npt.NDArray[np.int64]:
        """Places of live documents."""
        return np.arange(len(self)) if self.deleted is None else np.flatnonzero(~self.deleted)

    @cached_property
    def on_device(self) -> "DeviceDocuments | None":
        """The documents on the GPU, copied there on first use; None if they are scored on the CPU."""
        if self._device == CPU:
            return None
        from chamfer.kernels.cuda.documents import shared_documents  # imported here, because it needs Triton

        # Not a bound method: the copy on the GPU would then keep this object alive, and this object the copy.
        take = partial(_taken, self.columns, self.offsets, self._settings, self._trained)
        documents = shared_documents(self.content, self.offsets, self._settings.kept, take, self._device)
        self.forget()
        return documents

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a stored vector."""
        return self._settings.kept

    @cached_property
    def tokens(self) -> TokenBatch | None:
        """All vectors, memory-mapped, if they are stored in 16 bits."""
        if VECTORS_FILE not in self.columns:
            return None
        return TokenBatch(self.columns[VECTORS_FILE], np.asarray(self.columns[TOKEN_IDS_FILE]), self.offsets)

    @cached_property
    def coded(self) -> CodedDocuments | QuantizedDocuments | ResidualDocuments:
        """The 8-bit codes, with the 16-bit vectors if both are stored; or the residuals.

        What is known of residuals is derived from them; this needs the native kernel.
        """
        if RESIDUALS_FILE in self.columns:
            return self._residuals()
        codes = Codes(
            self.columns[CODES_FILE], self.columns[SCALES_FILE], np.ascontiguousarray(self.columns[BOUNDS_FILE].T)
        )
        if self.tokens is not None:
            return CodedDocuments(self.tokens, codes)
        return QuantizedDocuments(codes, self.offsets, self.dimensions)

    def _residuals(self) -> ResidualDocuments:
        packed, centroids = self.columns[RESIDUALS_FILE], self._trained.clusters.centroids
        stored = levels_of(self._trained), packed, centroids, self.centroids, self.offsets
        read = partial(read_measured, tokens=len(packed), documents=len(self))
        measured = self.derived(
            MEASURED, partial(make_measured, stored), read, sources=(RESIDUALS_FILE, CENTROIDS_FILE)
        )
        return ResidualDocuments(*stored, measured)

    def prepare(self) -> None:
        """Derive what scoring needs now, rather than in the first search."""
        if self._settings.bits and self._device == CPU and native.path():
            self.coded.handle  # noqa: B018 -- made on first use

    def take(self, places: npt.NDArray[np.integer] | slice) -> TokenBatch:
        """The vectors of some documents in 16 bits, decoded if necessary."""
        return _taken(self.columns, self.offsets, self._settings, self._trained, places)

    def parts(self) -> Iterator[TokenBatch]:
        """All documents in order, some tens of thousands of tokens at a time."""
        for part in parts(self.offsets):
            yield self.take(part)

    @property
    def mapped_bytes(self) -> int:
        """Total size of the memory-mapped files."""
        return sum(map(len, self._pages.values()))

    def check_lengths(self) -> None:
        """Refuse a mapped file that was truncated after it was opened."""
        for name, pages in self._pages.items():
            if pages.size() < len(pages):  # the size of the file that is open, even if its name is gone
                raise truncated(self._folder / name)
        self._derived.check_lengths()

    def forget(self) -> None:
        """Release the pages of mapped files, which otherwise count as memory of this process, and those of texts."""
        for pages in self._pages.values():
            pages.madvise(mmap.MADV_DONTNEED)
        self.database.forget()

    def texts(self) -> Iterator[str]:
        """All texts in order."""
        return self.database.texts()

    def derived(
        self,
        name: str,
        make: Callable[[Path], None],
        read: Callable[[Path], Content],
        *,
        sources: Collection[str] | None = None,
    ) -> Content:
        """Files that are computed from the segment alone, made on first use; see :meth:`Derived.open`."""
        return self._derived.open(name, make, read, sources)


def _taken(
    columns: Columns,
    offsets: Offsets,
    settings: Settings,
    trained: Trained,
    places: npt.NDArray[np.integer] | slice,
) -> TokenBatch:
    if isinstance(places, slice):
        first, last, _ = places.indices(len(offsets) - 1)
        lengths = np.diff(offsets[first : max(first, last) + 1])
        rows: npt.NDArray[np.int64] | slice = slice(int(offsets[first]), int(offsets[max(first, last)]))
    else:
        lengths = columns[LENGTHS_FILE][places]
        rows = rows_at(offsets, places)
    vectors = decoded(columns, rows, settings, trained)
    return TokenBatch.trusted(vectors, np.asarray(columns[TOKEN_IDS_FILE][rows]), offsets_of(lengths))


def _mapped(path: Path, width: int, *, whole: bool) -> npt.NDArray[Any]:
    kind = KINDS[path.suffix[1:]]
    read = whole or path.stat().st_size == 0  # an empty file cannot be mapped
    values: npt.NDArray[Any] = np.fromfile(path, kind) if read else np.memmap(path, kind, "r")
    return values if width == 1 else values.reshape(-1, width)
