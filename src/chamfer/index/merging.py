"""Merging segments, without deleted documents."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.columns import LENGTHS_FILE
from chamfer.index.manifest import Entry
from chamfer.index.rows import Rows, gather, recoded
from chamfer.index.segment import Segment
from chamfer.index.settings import Settings
from chamfer.index.trained import Trained, sample_size, train_kept
from chamfer.support.sampling import draw
from chamfer.tokens.batch import offsets_of, parts

# This many segments of similar size are merged into one, so that a document is copied at most once per power of eight.
# Large segments are not merged, so that the time to add a document does not grow with the index.
FAN, LARGE = 8, 2**17
# Bytes of texts and metadata, about, that are in memory during a merge, or one document if it is longer.
TEXT_BYTES = 2**22


def segments_to_merge(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the newest segments if many of them have a similar size, so that their number grows logarithmically."""
    sizes = [int(np.log(max(entry.documents, 1)) / np.log(FAN) + 1e-9) for entry in entries]  # in powers of FAN
    run = next((n for n, size in enumerate(reversed(sizes)) if size > sizes[-1]), len(sizes))
    newest = entries[len(entries) - run :]
    return newest if run >= FAN and sum(entry.documents for entry in newest) <= LARGE else ()


def live_tokens(segments: Sequence[Segment]) -> int:
    """Number of tokens of all live documents."""
    return sum(int(segment.columns[LENGTHS_FILE][segment.alive].sum()) for segment in segments)


def train_again(
    segments: Sequence[Segment], settings: Settings, before: Trained, coming: npt.NDArray[np.float32] | None = None
) -> Trained:
    """Train again on documents of the index and on vectors that will be added; the projection stays."""
    coming = np.empty((0, settings.kept), np.float32) if coming is None else coming
    there = live_tokens(segments)
    wanted = sample_size(there + len(coming))
    generator = np.random.default_rng(0)
    sample = [coming]
    for segment in segments:
        places = segment.alive
        some = draw(len(places), int(wanted / max(there, 1) * len(places)) + 1, generator)
        sample.append(segment.take(places[some]).vectors)
    kept = np.concatenate(sample).astype(np.float32, copy=False)
    return train_kept(kept, settings, before.projection, tokens=there + len(coming))


def merged_rows(
    segments: Sequence[Segment],
    settings: Settings,
    before: Trained | None,
    learnt: Trained | None,
    chosen: Sequence[npt.NDArray[np.int64]] | None = None,
) -> Iterator[Rows]:
    """The rows of live documents of several segments, sorted by id.

    Args:
        segments: segments to merge.
        settings: settings of the index.
        before: what the rows were encoded with.
        learnt: what to encode them with again, if it changed.
        chosen: places in each segment; all live documents by default.
    """
    alive = [segment.alive for segment in segments] if chosen is None else chosen
    ids = np.concatenate(
        [np.array(one.database.all_ids(), object)[places] for one, places in zip(segments, alive, strict=True)]
    )
    order = np.argsort(ids, kind="stable")  # cheap, because each segment is sorted already
    owner = np.repeat(np.arange(len(segments)), [len(places) for places in alive])[order]
    places = np.concatenate(alive)[order]
    lengths = np.concatenate([segment.columns[LENGTHS_FILE] for segment in segments])
    starts = np.concatenate([[0], np.cumsum([len(segment) for segment in segments])])
    for part in _of_few_texts(parts(offsets_of(lengths[starts[owner] + places])), segments, owner, places):
        columns = gather([segment.source for segment in segments], owner[part], places[part], settings)
        if before is not None and learnt is not None:
            columns = recoded(columns, settings, before, learnt)
        rows = Rows(_documents(segments, owner[part], places[part]), columns)
        for segment in segments:
            segment.forget()
        yield rows
        del rows, columns  # before the next part is read


def _of_few_texts(
    whole: Iterable[slice],
    segments: Sequence[Segment],
    owner: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
) -> Iterator[slice]:
    """Parts of a merge, divided further where texts are so long that those of a part would fill memory.

    Every text counts with its own size: long ones often follow each other, because their ids are alike.
    """
    for part in whole:
        sizes = np.empty(part.stop - part.start, np.int64)
        for number, segment in enumerate(segments):
            chosen = np.flatnonzero(owner[part] == number)
            sizes[chosen] = segment.database.sizes(places[part][chosen])
            segment.database.forget()  # SQLite kept the last two megabytes
        for few in parts(offsets_of(sizes), TEXT_BYTES):
            yield slice(part.start + few.start, part.start + few.stop)


def _documents(
    segments: Sequence[Segment], owner: npt.NDArray[np.int64], places: npt.NDArray[np.int64]
) -> list[Document]:
    documents: dict[int, Document] = {}
    for number, segment in enumerate(segments):
        chosen = np.flatnonzero(owner == number)
        documents |= zip(chosen.tolist(), segment.database.documents(places[chosen]), strict=True)
    return [documents[place] for place in range(len(places))]


@contextmanager
def failure_logged(folder: Path) -> Iterator[None]:
    """Log a failure to merge: the documents are committed, and the next addition tries again.

    Args:
        folder: folder of the index.
    """
    try:
        yield
    except (OSError, InputError) as error:
        logging.getLogger("chamfer").warning("segments of %s were not merged: %s", folder, error)
