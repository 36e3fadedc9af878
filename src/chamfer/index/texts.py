"""Ids, texts and metadata of a segment, in SQLite, so that filters are SQL."""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from weakref import WeakSet, finalize

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document, Passage, metadata_json
from chamfer.data.passages import put_together
from chamfer.errors import InputError
from chamfer.index.damage import damaged
from chamfer.index.fields import UNSTORABLE, Value, fields_of, short
from chamfer.index.filters import Filter, SlowFilterError
from chamfer.index.matching import Mask, passing

TEXTS = "documents.sqlite"

# Steps of SQLite's virtual machine between two looks at the clock: about 10 values. A pattern takes one step, but may
# take 10 ms for a long value; looking more often would be measurably slower.
STEPS = 100

# In an index of passages, a row is a passage: its number, the number of passages of its document, and its first
# character.
COLUMNS = ("number", "passages", "start")
# Jumps from name to name in the index; SELECT DISTINCT would read all of it, 27 ms for 400,000 values.
NAMES = """
    WITH RECURSIVE names (name) AS (
        SELECT min(name) FROM fields
        UNION ALL SELECT (SELECT min(name) FROM fields WHERE name > names.name) FROM names WHERE name IS NOT NULL
    ) SELECT name FROM names WHERE name IS NOT NULL
"""
# Grouped by the index, which is in this order, so that nothing is sorted. One string of places, because fetching rows
# takes longer.
VALUES = """
    SELECT kind, value, count(*), group_concat(place, ' ') FROM fields WHERE name = ? AND (kind, value) > (?, ?)
    GROUP BY kind, value ORDER BY kind, value LIMIT ?
"""
VALUES_AT_A_TIME = 5000
# Bytes of a text and of metadata; newer versions of SQLite know them without reading the value.
BYTES = "octet_length({})" if sqlite3.sqlite_version_info >= (3, 43) else "length(CAST({} AS BLOB))"
SIZE = " + ".join(f"ifnull({BYTES.format(column)}, 0)" for column in ("text", "metadata"))


class ValueRow(NamedTuple):
    """A value of a metadata field, and the places of the documents that have it."""

    kind: str
    value: Value
    rows: int
    """The number of places."""
    places: str
    """The places, separated by spaces."""


def check_storable(document: Document) -> None:
    """Refuse a document that would not come back from the index as it was given."""
    checked_fields(document)
    for part, value in zip(("id", "text", "metadata"), stored(document), strict=True):
        if UNSTORABLE.search(value):
            raise InputError(
                f"the {part} of document {short(document.id)} holds a NUL or a lone surrogate, which cannot be "
                "stored; remove it"
            )


def stored(document: Document) -> tuple[str, str, str]:
    """A document as a row: its id, its title and text, and its metadata as JSON."""
    return document.id, document.content, metadata_json(document)


def checked_fields(document: Document) -> list[tuple[str, str, Value]]:
    """The metadata fields of a document, or an error that names it."""
    try:
        return list(fields_of(document.metadata))
    except InputError as error:
        raise InputError(f"document {short(document.id)}: {error}") from error


class Texts:
    """The documents of a segment. Threads may share it.

    Args:
        path: the database.
        documents: number of its documents.
    """

    def __init__(self, path: Path, documents: int) -> None:
        self.path, self._documents = path, documents
        self.turns = threading.Lock()
        _opened.add(self)
        # The file never changes, so SQLite can skip locks and journals.
        with self._errors():
            self._connection = sqlite3.connect(
                f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
        # Otherwise the file stays open, with up to 2 MB of its pages in memory, until Python collects garbage: a
        # connection and its cache of statements refer to each other.
        finalize(self, self._connection.close).atexit = False
        # This opens the file now, so that a writer may unlink it later.
        names = [name for _, name, *_ in self._ask("PRAGMA table_info(documents)", ())]
        self.titled = "title" in names
        """Whether titles are known; they are not in indexes that an earlier version built."""
        self.split = set(COLUMNS) <= {*names}
        """Whether a row is a passage of a document."""

    def __len__(self) -> int:
        return self._documents

    def forget(self) -> None:
        """Release the pages that SQLite has read and keeps for later, unless a query is running."""
        if self.turns.acquire(blocking=False):
            try:
                self._connection.execute("PRAGMA shrink_memory")
            finally:
                self.turns.release()

    def documents(self, places: npt.NDArray[np.integer]) -> list[Document]:
        """The documents, or passages, at some places, in the given order."""
        columns = f"id, text, metadata, {'title' if self.titled else 0}"
        return [self._document(*row) for row in self._at(places, ", ".join((columns, *(COLUMNS * self.split))))]

    def wholes(self, places: npt.NDArray[np.integer]) -> list[Document]:
        """Whole documents, put together from all of their passages, which must be next to each other."""
        found = self.documents(places)
        if not self.split:
            return found
        try:
            return [put_together(list(passages)) for _, passages in groupby(found, key=lambda one: one.id)]
        except ValueError as error:
            raise damaged(self.path, error) from error

    def unchanged(self, places: npt.NDArray[np.integer], given: Mapping[str, Document]) -> list[str]:
        """The ids of those documents at some places that are stored as they are given."""
        return [
            one.id
            for one in self.wholes(places)
            if stored(one) == stored(given[one.id]) and (not self.titled or one.title == given[one.id].title)
        ]

    def ids(self, places: npt.NDArray[np.integer]) -> list[str]:
        """The ids at some places, in the given order."""
        return [identifier for (identifier,) in self._at(places, "id")]

    def sizes(self, places: npt.NDArray[np.integer]) -> list[int]:
        """Bytes of the text and metadata of each document at some places, in the given order."""
        return [size for (size,) in self._at(places, SIZE)]

    def places(self, ids: Iterable[str]) -> dict[str, list[int]]:
        """The places of those ids that are in the segment: one, or one for each passage in order."""
        # No stored id holds a NUL, but SQLite would cut a query at one and match the rest.
        wanted = json.dumps([identifier for identifier in ids if not UNSTORABLE.search(identifier)])
        found: dict[str, list[int]] = {}
        asked = "SELECT id, place FROM documents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY place"
        for identifier, place in self._ask(asked, (wanted,)):
            found.setdefault(identifier, []).append(place)
        return found

    def firsts(self) -> npt.NDArray[np.int64]:
        """The places at which documents begin: all of them, unless rows are passages."""
        if not self.split:
            return np.arange(self._documents)
        found = self._ask("SELECT place FROM documents INDEXED BY ids WHERE number = 1", ())
        places = np.sort(np.array([place for (place,) in found], np.int64))
        if (self._documents and not len(places)) or (len(places) and (places[0] != 0 or places[-1] >= self._documents)):
            raise damaged(self.path, "passages of a document are missing")
        return places

    def numbers(self) -> list[tuple[int, int]]:
        """The number of every passage, and of those of its document, in order of place."""
        return self._ask("SELECT number, passages FROM documents ORDER BY place", ())

    def all_ids(self) -> list[str]:
        """All ids, in order of place."""
        return [identifier for (identifier,) in self._ask("SELECT id FROM documents ORDER BY place", ())]

    def texts(self) -> Iterator[str]:
        """All texts, in order of place."""
        at_a_time, last = 64, -1  # a text may be long
        while rows := self._ask(
            "SELECT place, text FROM documents WHERE place > ? ORDER BY place LIMIT ?", (last, at_a_time)
        ):
            last = rows[-1][0]
            yield from (text for _, text in rows)

    def fields(self) -> list[str]:
        """Names of all metadata fields."""
        return [name for (name,) in self._ask(NAMES, ())]

    def field_rows(self, name: str) -> int:
        """Number of values of a metadata field, those of lists and of passages counted each."""
        [(count,)] = self._ask("SELECT count(*) FROM fields WHERE name = ?", (name,))
        return int(count)

    def field_values(self, name: str) -> Iterator[list[ValueRow]]:
        """The values of a metadata field, sorted by kind and value, some thousands at a time.

        Searches get their turn in between.
        """
        last: tuple[str, Value] = ("", "")
        while rows := self._ask(VALUES, (name, *last, VALUES_AT_A_TIME)):
            last = rows[-1][:2]
            yield [ValueRow(*row) for row in rows]

    def places_with(self, name: str, kind: str, value: Value) -> npt.NDArray[np.int64]:
        """The places of the documents that have a value, in order."""
        found = self._ask("SELECT place FROM fields WHERE name = ? AND kind = ? AND value = ?", (name, kind, value))
        return np.unique(np.array([place for (place,) in found], np.int64))

    def beginnings(self, places: npt.NDArray[np.integer], characters: int) -> list[Document]:
        """The documents at some places, without metadata, and with the first characters of their texts only."""
        title = "title" if self.titled else "0"
        columns = f"id, substr(text, 1, {title} + {characters}), '{{}}', {title}"
        return [self._document(*row) for row in self._at(places, columns)]

    def has_field(self, name: str, kind: str | None = None) -> bool:
        """Whether a document has a metadata field, with a value of one kind if a kind is given."""
        also, values = ("", (name,)) if kind is None else (" AND kind = ?", (name, kind))
        return bool(self._ask(f"SELECT 1 FROM fields WHERE name = ?{also} LIMIT 1", values))

    def matching(self, condition: Filter, *, stop: float | None = None) -> npt.NDArray[np.int64]:
        """Places of documents that pass a filter, in order.

        Args:
            condition: the filter.
            stop: time of the monotonic clock after which to give up; never if not given.
        """

        def holds(sql: str, values: Sequence[Value]) -> Mask:
            # One string, because fetching rows takes twice as long.
            query = f"SELECT count(*), group_concat(place, ' ') FROM fields WHERE {sql}"
            [(count, found)] = self._ask(query, values, stop)
            mask = np.zeros(self._documents, np.bool_)
            if count:
                with suppress(DeprecationWarning):  # for what is not a number, in a damaged file
                    places = np.fromstring(found, np.int64, sep=" ")
                    if len(places) == count and places.min() >= 0 and places.max() < len(mask):
                        mask[places] = True
                        return mask
                raise damaged(self.path, "a field belongs to no document")
            return mask

        return np.flatnonzero(passing(condition.root, holds))

    def check(self) -> None:
        """Refuse a file that fails SQLite's own check."""
        answer = self._ask("PRAGMA quick_check(1)", ())
        if answer != [("ok",)]:
            raise damaged(self.path, answer[0][0])

    def _document(self, identifier: str, text: str, metadata: str, title: int, *part: int) -> Document:
        try:
            if title and (title < 0 or text[title : title + 1] not in ("", " ")):
                raise ValueError("a title does not fit its text")
            own = text[title + bool(title) :]
            passage = Passage._make((*part, part[-1] + len(own))) if part else None
            return Document(identifier, own, text[:title], json.loads(metadata), passage)
        except (ValueError, TypeError) as error:
            raise damaged(self.path, error) from error

    def _at(self, places: npt.NDArray[np.integer], columns: str) -> list[tuple]:  # type: ignore[type-arg]
        rows = self._ask(
            f"SELECT place, {columns} FROM documents WHERE place IN (SELECT value FROM json_each(?))",
            (json.dumps(places.tolist()),),
        )
        found = {place: tuple(rest) for place, *rest in rows}
        try:
            return [found[place] for place in places.tolist()]
        except KeyError as error:
            raise damaged(self.path, f"document {error} is missing") from error

    def _ask(self, sql: str, values: Sequence[object], stop: float | None = None) -> list[tuple]:  # type: ignore[type-arg]
        with self._errors(), self.turns:
            if stop is not None:
                self._connection.set_progress_handler(lambda: time.monotonic() > stop, STEPS)
            try:
                return self._connection.execute(sql, values).fetchall()
            finally:
                if stop is not None:
                    self._connection.set_progress_handler(None, 0)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter if SQLite quotes damaged text
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise SlowFilterError("the filter timed out; use fewer comparisons or shorter patterns") from error
            self.path.open("rb").close()  # raises if a writer has removed the segment, or this user may not read it
            raise damaged(self.path, error) from error


_opened: WeakSet[Texts] = WeakSet()
_forking = threading.Lock()
_held: list[threading.Lock] = []


def _hold() -> None:
    """Wait for the running queries, and start no other."""
    _forking.acquire()
    _held[:] = [texts.turns for texts in _opened]
    for turns in _held:
        turns.acquire()


def _release() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


# A child that is forked during a query would find SQLite locked forever.
os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
