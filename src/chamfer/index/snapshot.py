"""One commit of an index, opened for reading; later writes do not affect it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError, UnknownNameError
from chamfer.index.damage import ABSENT, forbidden, missing
from chamfer.index.field_places import SegmentFields
from chamfer.index.filters import Filter
from chamfer.index.manifest import Manifest, check_finished, needed_manifest, read_manifest
from chamfer.index.memory import Growth
from chamfer.index.segment import Segment
from chamfer.index.settings import Settings
from chamfer.index.soundness import Soundness, discard_damaged, is_small
from chamfer.index.tallies import Tally
from chamfer.index.trained import Trained
from chamfer.support.devices import CPU
from chamfer.support.progress import Progress, quiet
from chamfer.support.strings import list_of_strings
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.frequencies import DocumentFrequencies

# A writer may remove files after we read the manifest and before we open them; the next manifest names new ones.
TRIES = 20

# Pages are released when they exceed this share of the mapped files, and this many bytes.
RESIDENT, LITTLE = 0.25, 1 << 28


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One commit of an index.

    Documents are numbered by *place*, segment after segment. A deleted document keeps its place. In an index of
    passages every passage has a place, and those of a document are next to each other.

    Args:
        folder: folder of the index.
        manifest: the commit.
        trained: projection, centroids, residual levels.
        segments: opened segments.
        frequencies: number of live documents that contain each token.
        growth: resident memory for mapped files, since pages were last released.
        soundness: what is known about damage to its files.
        device: device that documents are scored on.
    """

    folder: Path
    manifest: Manifest
    trained: Trained
    segments: tuple[Segment, ...]
    frequencies: DocumentFrequencies
    growth: Growth
    soundness: Soundness
    device: str = CPU

    @classmethod
    def open(cls, folder: str | Path, *, device: str = CPU, verify: bool = False) -> Self:
        """Open the newest commit. The manifest is read once, and every file is checked once.

        Args:
            folder: folder of the index.
            device: device that documents are scored on; see :meth:`on`.
            verify: read every file, and refuse a damaged one. A small index is always verified; of a larger one, only
                sizes and the files that are needed whole are checked otherwise.
        """
        folder = Path(folder)
        for attempt in range(TRIES):
            manifest = needed_manifest(folder)
            check_finished(manifest, folder)
            if manifest.trained is None or manifest.frequencies is None:
                raise InputError(f"the index in {folder} has no documents yet; add some with: chamfer index add")
            try:
                opened = cls._open(folder, manifest, manifest.trained.name, manifest.frequencies.name, device)
                if verify or is_small(manifest):
                    opened.soundness.check_files()
                if verify:
                    discard_damaged(folder, manifest)
                return opened
            except PermissionError as error:
                raise forbidden(error.filename) from error
            except ABSENT as error:
                if read_manifest(folder) == manifest:
                    raise missing(error.filename or error) from error
                if attempt == TRIES - 1:
                    raise InputError(f"{folder} changes faster than it can be opened; try again") from error
        raise AssertionError("the last attempt returns or raises")

    @classmethod
    def _open(cls, folder: Path, manifest: Manifest, trained: str, frequencies: str, device: str) -> Self:
        growth = Growth()
        for file in (manifest.trained, manifest.frequencies):  # segments check their own files
            if file is not None:
                file.check(folder)
        learnt = Trained.load(folder / trained, manifest.settings)
        segments = tuple(Segment(folder, entry, manifest, learnt, device) for entry in manifest.segments)
        counts = np.fromfile(folder / frequencies, np.int64)
        frequent = DocumentFrequencies(counts, manifest.rows)
        return cls(folder, manifest, learnt, segments, frequent, growth, Soundness(folder, manifest), device)

    def on(self, device: str) -> Self:
        """The same commit, with documents scored on another device; nothing is read or checked again.

        Args:
            device: see :func:`chamfer.support.devices.scoring_device`.
        """
        if device == self.device:
            return self
        return replace(self, device=device, segments=tuple(segment.on(device) for segment in self.segments))

    def prepare(self) -> None:
        """Derive what scoring needs of the segments now, rather than in the first search."""
        for segment in self.segments:
            segment.prepare()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Refuse to search damaged files, see :meth:`check`; those that are not verified yet wait meanwhile."""
        self.check()
        with self.soundness.searching():
            yield

    def check(self) -> None:
        """Refuse to read on if files were found to be damaged, or have become shorter.

        Reading beyond the end of a mapped file would kill the process. Costs a few microseconds.
        """
        self.soundness.check()
        with self.soundness.noticing_damage():  # a truncated file that is then removed would look intact
            for segment in self.segments:
                segment.check_lengths()

    def __len__(self) -> int:
        """The number of places, those of deleted documents included."""
        return int(self.starts[-1])

    @property
    def settings(self) -> Settings:
        """How documents are stored."""
        return self.manifest.settings

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a stored vector."""
        return self.settings.kept

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """``(segments + 1,)`` the first place of each segment."""
        return np.concatenate([[0], np.cumsum([len(segment) for segment in self.segments])]).astype(np.int64)

    @cached_property
    def fits_device(self) -> bool:
        """Whether documents are scored on a GPU and all of them fit into its memory."""
        if self.device == CPU:
            return False
        from chamfer.kernels.cuda.documents import fits, is_shared  # imported here, because it needs Triton

        new = [segment for segment in self.segments if not is_shared(segment.content, self.device)]
        return fits(sum(len(segment.centroids) for segment in new), self.dimensions, self.device)

    @cached_property
    def live(self) -> npt.NDArray[np.bool_] | None:
        """``(places,)`` whether each document is live; None if none was deleted."""
        if all(segment.deleted is None for segment in self.segments):
            return None
        return np.concatenate(
            [np.ones(len(segment), bool) if segment.deleted is None else ~segment.deleted for segment in self.segments]
        )

    def allowed(self, where: Filter | None = None, among: Iterable[str] | None = None) -> npt.NDArray[np.bool_] | None:
        """``(places,)`` whether each document is live and passes; None if all do.

        Args:
            where: filter over metadata.
            among: ids to choose from.
        """
        allowed = self.live
        if where is not None:
            stop = None if where.seconds is None else time.monotonic() + where.seconds
            allowed = self._only(allowed, [segment.database.matching(where, stop=stop) for segment in self.segments])
        if among is not None:
            wanted = list_of_strings(among, "ids")
            found = [
                np.array([place for places in segment.database.places(wanted).values() for place in places], int)
                for segment in self.segments
            ]
            allowed = self._only(allowed, found)
        return allowed

    @cached_property
    def fields(self) -> list[str]:
        """The names of all metadata fields, those of deleted documents included."""
        return sorted({name for segment in self.segments for name in segment.database.fields()})

    @cached_property
    def tally(self) -> Tally:
        """How many live documents have each metadata field, and each of its values."""
        return self.count_fields(quiet)

    def count_fields(self, progress: Progress) -> Tally:
        """The same, showing the progress: what is not kept yet of large segments may take minutes to count.

        Args:
            progress: shows the progress.
        """
        self.check()
        counted, tallies = [SegmentFields(segment) for segment in self.segments], list[Tally]()
        with progress("counting metadata fields of documents", len(self)) as advance:
            for segment, one in zip(self.segments, counted, strict=True):
                tallies.append(one.tally)
                advance(len(segment))
        return Tally.sum(tallies, counted)

    @property
    def name(self) -> str:
        """The name of the folder, also if it was opened as ``.``."""
        return self.folder.resolve().name

    def has_field(self, name: str, kind: str | None = None) -> bool:
        """Whether a document, deleted or not, has a metadata field, with a value of one kind if a kind is given."""
        return any(segment.database.has_field(name, kind) for segment in self.segments)

    def relieve(self) -> None:
        """Release pages of mapped files if they take more memory than :data:`RESIDENT` allows.

        They would count as memory of this process for as long as it runs, although the page cache of the system holds
        them anyway. Called between searches that read only some documents.
        """
        mapped = sum(segment.mapped_bytes for segment in self.segments)
        if self.growth.measure() > max(RESIDENT * mapped, LITTLE):
            for segment in self.segments:
                segment.forget()
            self.growth.start()

    def ids(self, places: npt.NDArray[np.integer]) -> list[str]:
        """The ids of documents, in the order of ``places``."""
        ids = np.empty(len(places), object)
        for segment, chosen, local in self.by_segment(places):
            ids[chosen] = segment.database.ids(local)
        return list(ids)

    def documents(self, places: npt.NDArray[np.integer]) -> list[Document]:
        """Documents, or passages of documents, in the order of ``places``."""
        documents: dict[int, Document] = {}
        for segment, chosen, local in self.by_segment(places):
            documents |= zip(chosen.tolist(), segment.database.documents(local), strict=True)
        return [documents[place] for place in range(len(places))]

    def find(self, ids: Iterable[str]) -> dict[str, list[int]]:
        """The places of those ids that live documents have: one, or one for each passage."""
        wanted = list(ids)
        found: dict[str, list[int]] = {}
        for start, segment in zip(self.starts.tolist(), self.segments, strict=False):
            for identifier, local in segment.database.places(wanted).items():
                if segment.deleted is None or not segment.deleted[local[0]]:
                    found[identifier] = [start + place for place in local]
        return found

    def all_places(self, ids: Sequence[str]) -> list[list[int]]:
        """The places of live documents, all their passages, in the order of ``ids``; an unknown id is an error."""
        found = self.find(ids)
        unknown = next((identifier for identifier in ids if identifier not in found), None)
        if unknown is not None:
            raise UnknownNameError(f"there is no document {unknown!r} in the index")
        return [found[identifier] for identifier in ids]

    def places(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """The places of live documents, or of their first passages; see :meth:`all_places`."""
        return np.array([places[0] for places in self.all_places(ids)], np.int64)

    def wholes(self, ids: Sequence[str]) -> list[Document]:
        """Whole documents, in the order of ``ids``; an unknown id is an error."""
        found: list[Document] = []
        for places in self.all_places(ids):
            [(segment, _, local)] = self.by_segment(np.array(places))
            found += segment.database.wholes(local)
        return found

    @cached_property
    def owners(self) -> npt.NDArray[np.int64]:
        """``(places,)`` the number of the document that each place belongs to, counted from 0 in order of place."""
        begins = np.zeros(len(self), np.int64)
        for start, segment in zip(self.starts.tolist(), self.segments, strict=False):
            begins[start + segment.database.firsts()] = 1
        return np.cumsum(begins) - 1

    def count(self, allowed: npt.NDArray[np.bool_] | None) -> int:
        """The number of documents of which a place is allowed."""
        if allowed is None:
            return self.manifest.documents
        if self.settings.passages is None:
            return int(allowed.sum())
        return len(np.unique(self.owners[allowed]))

    def tokens(self, place: int) -> TokenBatch:
        """The vectors of one document."""
        self.check()
        [(segment, _, local)] = self.by_segment(np.array([place]))
        return segment.take(local)

    def by_segment(
        self, places: npt.NDArray[np.integer]
    ) -> list[tuple[Segment, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Each segment that holds some of the places, with their positions in ``places`` and in the segment."""
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
