"""Vector indexes: one vector per document, searched by inner product."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import faiss
import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError, first_line
from chamfer.index.clusters import one_faiss_thread
from chamfer.index.damage import damaged
from chamfer.index.derived import remedy_for
from chamfer.retrieve.stage import Candidates
from chamfer.support.sampling import draw
from chamfer.tokens.batch import TokenBatch, offsets_of, parts

Content = TypeVar("Content")
Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Up to this many numbers, every vector is compared: 87,000 vectors of 384 numbers, or 13,000 of 2,560. One thread takes
# 0.7 ms for 10 million numbers in 16 bits, so about 3 ms for this many.
FLAT = 1 << 25

# A file is built in memory, at 8 bits per number; a larger segment has several files.
FILE_BYTES = 1 << 30

# Documents encoded at a time: 20 MB of the longest vectors.
AT_A_TIME = 2_048

# Memory for the sample of k-means: 50,000 vectors of 2,560 numbers. faiss warns below 39 vectors per list; with 64 per
# list and ten rounds recall changes by less than 0.01, in up to twice the time.
SAMPLE_BYTES = 1 << 29
PER_LIST = 40
ROUNDS = 6
SEED = 0

# Of n vectors in lists, a search compares about 64 * sqrt(n), and at least 16 per document to find. That gives a recall
# of 0.944 at 100 for 65,000 mean vectors (with queries of other collections), and of 0.988 for 27,000 encodings.
BREADTH = 64
PER_ASKED = 16


class VectorSegment(Protocol):
    """What a vector index needs from a segment: its token vectors, and files derived from them."""

    @property
    def offsets(self) -> Places:
        """``(documents + 1,)`` where the tokens of each document start."""

    def __len__(self) -> int: ...

    def take(self, places: Places) -> TokenBatch:
        """The token vectors of some documents."""

    def parts(self) -> Iterator[TokenBatch]:
        """All documents in order, in parts."""

    def derived(self, name: str, make: Callable[[Path], None], read: Callable[[Path], Content]) -> Content:
        """See :meth:`chamfer.index.derived.Derived.open`."""


class VectorIndex(Protocol):
    """What dense stages need from an index."""

    @property
    def segments(self) -> Sequence[VectorSegment]:
        """The segments, in the order of places."""

    @property
    def starts(self) -> Places:
        """``(segments + 1,)`` the first place of each segment."""

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""


Encode = Callable[[TokenBatch], Floats]


class Nearest:
    """A memory-mapped vector index for every segment, built if it does not exist yet.

    The vectors of a small segment are stored in 16 bits, and a search compares all of them. Those of a large one are
    stored in 8 bits, in clusters (seeded k-means), and a search compares those of the nearest clusters.

    Args:
        index: the documents.
        name: name of the files; change it whenever the vectors or :data:`FILE_BYTES` change.
        encode: returns ``(documents, size)``, one vector per document of a batch.
        size: length of these vectors.
    """

    def __init__(self, index: VectorIndex, name: str, encode: Encode, *, size: int) -> None:
        self._parts: list[_Part] = []
        for segment, start in zip(index.segments, index.starts[:-1], strict=True):
            make = partial(_make, segment, encode, size)
            self._parts += segment.derived(name, make, partial(_read, segment, int(start), size))

    def find(self, queries: Floats, depth: int, allowed: Mask | None = None) -> list[Candidates]:
        """Find the ``depth`` documents with the largest inner products for each query; fewer only if fewer are allowed.

        Args:
            queries: ``(queries, size)`` vectors.
            depth: number of documents to find.
            allowed: ``(documents,)`` mask of the documents that may be found; by default all that have tokens.
        """
        if depth < 1:
            raise InputError(f"depth must be at least 1, not {depth}")
        scores, places = [np.empty((len(queries), 0), np.float32)], [np.empty((len(queries), 0), np.int64)]
        for part in self._parts:
            own, local = part.find(queries, depth, allowed)
            scores.append(own)
            places.append(local)
        return [_best(*both, depth) for both in zip(np.hstack(scores), np.hstack(places), strict=True)]


def _best(scores: Floats, places: Places, depth: int) -> Candidates:
    found = np.flatnonzero(places >= 0)
    order = found[np.lexsort((places[found], -scores[found]))][:depth]
    return Candidates(places[order], scores[order])


class _Part:
    """The vectors of one file.

    Args:
        path: the file.
        start: place of its first document in the index.
        with_tokens: ``(documents,)`` mask of the documents that have tokens.
        size: length of the vectors.
    """

    def __init__(self, path: Path, start: int, with_tokens: Mask, size: int) -> None:
        self._places, self._with_tokens = slice(start, start + len(with_tokens)), with_tokens
        self._path = path
        try:
            # IO_FLAG_MMAP would read a flat index into memory; this flag maps both kinds.
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except (RuntimeError, MemoryError) as error:
            path.open("rb").close()  # raises if this user may not read it
            raise damaged(path, first_line(error), remedy_for(path.parent)) from error
        if (self._index.ntotal, self._index.d) != (len(with_tokens), size):
            what = f"it should hold {len(with_tokens)} vectors of {size} numbers"
            raise damaged(path, what, remedy_for(path.parent))

    def find(self, queries: Floats, depth: int, allowed: Mask | None) -> tuple[Floats, Places]:
        """``(queries, at most depth)`` scores, and places in the index; every row is full."""
        mask = self._with_tokens if allowed is None else self._with_tokens & allowed[self._places]
        possible = int(mask.sum())
        depth = min(depth, possible)
        if depth == 0 or len(queries) == 0:
            return np.empty((len(queries), depth), np.float32), np.empty((len(queries), depth), np.int64)
        selector = None if possible == len(mask) else _selector(mask)
        if not isinstance(self._index, faiss.IndexIVF):
            scores, places = self._search(queries, depth, selector)
            return scores, places + self._places.start
        lists = self._index.nlist
        # The narrower the filter, the more lists: as many vectors are compared as without it, at most all allowed ones.
        wanted = max(BREADTH * np.sqrt(len(mask)), PER_ASKED * depth)
        probes = min(lists, int(np.ceil(lists * wanted / possible)))
        scores, places = self._search(queries, depth, selector, probes)
        starved = np.flatnonzero(places[:, -1] < 0)
        if len(starved):  # the nearest lists hold too few of the allowed documents
            scores[starved], places[starved] = self._search(queries[starved], depth, selector, lists)
        return scores, places + self._places.start

    def _search(
        self, queries: Floats, depth: int, selector: faiss.IDSelector | None, probes: int | None = None
    ) -> tuple[Floats, Places]:
        parameters = faiss.SearchParameters() if probes is None else faiss.SearchParametersIVF()
        parameters.sel = selector
        if isinstance(parameters, faiss.SearchParametersIVF) and probes is not None:
            parameters.nprobe = probes
        with one_faiss_thread() if len(queries) == 1 else nullcontext():
            scores, places = self._index.search(np.ascontiguousarray(queries, np.float32), depth, params=parameters)
        if places.max(initial=-1) >= len(self._with_tokens) or not np.isfinite(scores[places >= 0]).all():
            # The checksum of a large file is not compared when it is opened.
            raise damaged(self._path, "it holds impossible vectors", remedy_for(self._path.parent))
        return scores, places


def _selector(mask: Mask) -> faiss.IDSelector:
    # The stubs declare the C++ arguments; in Python it takes the bits alone, and keeps a reference to them.
    return faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))  # type: ignore[arg-type, call-arg]


def _portions(documents: int, size: int) -> list[range]:
    """The documents of each file."""
    most = max(1, FILE_BYTES // size)
    return [range(start, min(start + most, documents)) for start in range(0, documents, most)]


def _read(segment: VectorSegment, start: int, size: int, folder: Path) -> list[_Part]:
    """Open the files of a segment that starts at a place of the index."""
    with_tokens = np.diff(segment.offsets) > 0
    return [
        _Part(_file(folder, number), start + places.start, with_tokens[places.start : places.stop], size)
        for number, places in enumerate(_portions(len(segment), size))
    ]


def _file(folder: Path, number: int) -> Path:
    return folder / f"vectors-{number}.faiss"


def _make(segment: VectorSegment, encode: Encode, size: int, folder: Path) -> None:
    """Write the files of a segment one by one, in a single pass over its documents and one over samples."""
    batches = _encoded(segment, encode)
    left = np.empty((0, size), np.float32)
    for number, places in enumerate(_portions(len(segment), size)):
        index = _empty(segment, places, encode, size)
        while index.ntotal < len(places):
            if not len(left):
                left = next(batches)
            room = len(places) - index.ntotal
            index.add(left[:room])
            left = left[room:]
        with _file(folder, number).open("wb") as file:  # by itself, faiss prints errors of a full disk and goes on
            faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))  # type: ignore[attr-defined]


def _encoded(segment: VectorSegment, encode: Encode) -> Iterator[Floats]:
    for part in segment.parts():
        for start in range(0, len(part), AT_A_TIME):
            yield encode(part[start : start + AT_A_TIME])


def _empty(segment: VectorSegment, places: range, encode: Encode, size: int) -> faiss.Index:
    """An empty vector index, trained for the documents at some places."""
    product = faiss.METRIC_INNER_PRODUCT
    some = places.start + np.flatnonzero(np.diff(segment.offsets[places.start : places.stop + 1]))
    if len(some) * size <= FLAT:
        return faiss.IndexScalarQuantizer(size, faiss.ScalarQuantizer.QT_fp16, product)
    most = min(len(some), SAMPLE_BYTES // (4 * size))
    lists = max(1, min(int(4 * np.sqrt(len(some))), most // PER_LIST))
    chosen = some[draw(len(some), min(most, lists * PER_LIST), np.random.default_rng(SEED))]
    cuts = parts(offsets_of(np.diff(segment.offsets)[chosen]))
    portions = [chosen[cut][n : n + AT_A_TIME] for cut in cuts for n in range(0, len(chosen[cut]), AT_A_TIME)]
    sample = np.concatenate([encode(segment.take(one)) for one in portions])
    index = faiss.IndexIVFScalarQuantizer(faiss.IndexFlatIP(size), size, lists, faiss.ScalarQuantizer.QT_8bit, product)
    index.cp.seed, index.cp.niter = SEED, ROUNDS
    index.train(sample)
    return index
