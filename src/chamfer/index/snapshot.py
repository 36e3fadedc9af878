"""An index opened for reading: one commit, whatever is written meanwhile."""

import mmap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError, UnknownNameError
from chamfer.index.filters import parse_filter
from chamfer.index.manifest import Manifest, needed_manifest, read_manifest
from chamfer.index.segment import Segment
from chamfer.index.settings import Settings
from chamfer.index.trained import Trained
from chamfer.support.devices import CPU
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.frequencies import DocumentFrequencies

# Between reading a manifest and opening what it names, a writer may have removed that; the next one names other files.
TRIES = 20

# The share of an index that a process holds in memory between searches, and what is not worth letting go of.
RESIDENT, LITTLE = 0.25, 1 << 28


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A snapshot of an index.

    Documents are named by their *places*, which run through the segments; a deleted document keeps its place.

    Args:
        folder: where it lies.
        manifest: the commit.
        trained: projection, centroids, levels of residuals.
        segments: opened.
        frequencies: in how many live documents each token appears.
        held: how much more of files counts as memory of this process since pages were last let go.
        device: where documents are scored.
    """

    folder: Path
    manifest: Manifest
    trained: Trained
    segments: tuple[Segment, ...]
    frequencies: DocumentFrequencies
    held: "Held"
    device: str = CPU

    @classmethod
    def open(cls, folder: str | Path, *, device: str = CPU) -> Self:
        """Open the last commit, or say in one sentence what is wrong with the folder.

        Args:
            folder: where it lies.
            device: where its documents are scored; see :func:`chamfer.support.devices.scoring_device`.
        """
        folder = Path(folder)
        for attempt in range(TRIES):
            manifest = needed_manifest(folder)
            if manifest.trained is None or manifest.frequencies is None:
                raise InputError(f"the index in {folder} has no documents yet; add some with: chamfer index add")
            try:
                return cls._open(folder, manifest, manifest.trained.name, manifest.frequencies.name, device)
            except FileNotFoundError as error:
                if read_manifest(folder) == manifest:
                    raise InputError(
                        f"{error.filename or error} is missing; delete the index and build it again"
                    ) from error
                if attempt == TRIES - 1:
                    raise InputError(f"{folder} changes faster than it can be opened; try again") from error
        raise AssertionError("the last try returns or raises")

    @classmethod
    def _open(cls, folder: Path, manifest: Manifest, trained: str, frequencies: str, device: str) -> Self:
        held = Held()
        for file in (manifest.trained, manifest.frequencies):  # segments check their own
            if file is not None:
                file.check(folder)
        learnt = Trained.load(folder / trained)
        segments = tuple(Segment(folder, entry, manifest.settings, learnt, device) for entry in manifest.segments)
        counts = np.fromfile(folder / frequencies, np.int64)
        return cls(folder, manifest, learnt, segments, DocumentFrequencies(counts, manifest.documents), held, device)

    def __len__(self) -> int:
        """Places, those of deleted documents included."""
        return int(self.starts[-1])

    @property
    def settings(self) -> Settings:
        """How documents became rows."""
        return self.manifest.settings

    @property
    def dimensions(self) -> int:
        """Of the vectors that are kept."""
        return self.settings.kept

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """``(segments + 1,)`` the first place of each segment."""
        return np.concatenate([[0], np.cumsum([len(segment) for segment in self.segments])]).astype(np.int64)

    @cached_property
    def fits_device(self) -> bool:
        """Whether documents are scored on a GPU, and all of them fit there."""
        if self.device == CPU:
            return False
        from chamfer.kernels.cuda.documents import fits, is_there  # here, so that nothing else needs Triton

        new = [segment for segment in self.segments if not is_there(segment.content, self.device)]
        return fits(sum(len(segment.centroids) for segment in new), self.dimensions, self.device)

    @cached_property
    def live(self) -> npt.NDArray[np.bool_] | None:
        """``(places,)`` which documents were not deleted; None if all are there."""
        if all(segment.deleted is None for segment in self.segments):
            return None
        return np.concatenate(
            [np.ones(len(segment), bool) if segment.deleted is None else ~segment.deleted for segment in self.segments]
        )

    def allowed(self, where: str | None = None, among: Iterable[str] | None = None) -> npt.NDArray[np.bool_] | None:
        """``(places,)`` the live documents that a filter holds for and that are among some ids; None for all places."""
        allowed = self.live
        if where is not None:
            condition = parse_filter(where)
            allowed = self._only(allowed, [segment.database.matching(condition) for segment in self.segments])
        if isinstance(among, str):
            raise InputError("give a list of ids to search among, not one text, whose letters would be the ids")
        if among is not None:
            wanted = list(among)
            found = [np.array(list(segment.database.places(wanted).values()), int) for segment in self.segments]
            allowed = self._only(allowed, found)
        return allowed

    def fields(self) -> list[str]:
        """The names of all fields that documents have, deleted ones too."""
        return sorted({name for segment in self.segments for name in segment.database.fields()})

    def unknown_fields(self, where: str) -> list[str]:
        """The fields that a filter names and no document has."""
        known = self.fields()
        return [name for name in parse_filter(where).names() if name not in known]

    def relieve(self) -> None:
        """Let go of pages of mapped files when more of them count as memory than :data:`RESIDENT` of all.

        They would count as memory of this process as long as it runs, although the system keeps them for the next
        time anyway. Called between searches that look at some documents only.
        """
        mapped = sum(segment.mapped_bytes for segment in self.segments)
        if self.held.grown() > max(RESIDENT * mapped, LITTLE):
            for segment in self.segments:
                segment.forget()
            self.held.start()

    def ids(self, places: npt.NDArray[np.integer]) -> list[str]:
        """The ids of documents, in the order of ``places``."""
        ids = np.empty(len(places), object)
        for segment, chosen, local in self.by_segment(places):
            ids[chosen] = segment.database.ids(local)
        return list(ids)

    def documents(self, places: npt.NDArray[np.integer]) -> list[Document]:
        """Ids, texts and metadata of documents, in the order of ``places``."""
        documents: dict[int, Document] = {}
        for segment, chosen, local in self.by_segment(places):
            documents |= zip(chosen.tolist(), segment.database.documents(local), strict=True)
        return [documents[place] for place in range(len(places))]

    def places(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """The places of live documents, in the order of their ids as given."""
        place_of: dict[str, int] = {}
        for start, segment in zip(self.starts.tolist(), self.segments, strict=False):
            for identifier, local in segment.database.places(ids).items():
                if segment.deleted is None or not segment.deleted[local]:
                    place_of[identifier] = start + local
        unknown = next((identifier for identifier in ids if identifier not in place_of), None)
        if unknown is not None:
            raise UnknownNameError(f"there is no document {unknown!r} in the index; name one that it holds")
        return np.array([place_of[identifier] for identifier in ids], np.int64)

    def tokens(self, place: int) -> TokenBatch:
        """The vectors of one document."""
        [(segment, _, local)] = self.by_segment(np.array([place]))
        return segment.take(local)

    def by_segment(
        self, places: npt.NDArray[np.integer]
    ) -> list[tuple[Segment, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """For each segment that owns some of the places: which of them, and where in the segment they are."""
        owner = np.searchsorted(self.starts, places, side="right") - 1
        chosen_of = [np.flatnonzero(owner == number) for number in range(len(self.segments))]
        return [
            (segment, chosen, np.asarray(places)[chosen] - self.starts[number])
            for number, (segment, chosen) in enumerate(zip(self.segments, chosen_of, strict=True))
            if len(chosen)
        ]

    def _only(self, allowed: npt.NDArray[np.bool_] | None, found: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(self), bool)
        for start, local in zip(self.starts, found, strict=False):
            mask[start + local] = True
        return mask if allowed is None else mask & allowed


class Held:
    """How much more of mapped files counts as memory of this process than at some time before."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """From now on."""
        self._before = resident_file_bytes()

    def grown(self) -> int:
        """Since the start, or since less was held: another index that was closed must not count for this one."""
        now = resident_file_bytes()
        self._before = min(self._before, now)
        return now - self._before


def resident_file_bytes() -> int:
    """How much of the files that this process has mapped, libraries too, counts as its memory now."""
    shared = int(Path("/proc/self/statm").read_text().split()[2])
    return shared * mmap.PAGESIZE
