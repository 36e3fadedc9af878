"""Writing the documents of a new segment into SQLite; see :mod:`chamfer.index.texts`."""

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chamfer.data.documents import Document, Passage
from chamfer.index.texts import COLUMNS, checked_fields, stored

# The text begins with the title, and `title` is the number of its characters. Older indexes lack that column,
# and their documents have no titles; what reads only the text reads both alike.
SCHEMA = """
    CREATE TABLE documents (
        place INTEGER PRIMARY KEY, id TEXT NOT NULL, text TEXT NOT NULL, metadata TEXT NOT NULL, title INTEGER NOT NULL
    );
    CREATE TABLE fields (name TEXT NOT NULL, kind TEXT NOT NULL, value NOT NULL, place INTEGER NOT NULL);
"""
MORE_COLUMNS = "".join(f"ALTER TABLE documents ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0;" for name in COLUMNS)
INDEXES = """
    CREATE UNIQUE INDEX ids ON documents ({unique});
    CREATE INDEX values_of_fields ON fields (name, kind, value, place);
"""


class TextWriter:
    """Writes the documents of a new segment, in order.

    Args:
        path: the database.
        passages: whether they are passages of documents.
    """

    def __init__(self, path: Path, *, passages: bool = False) -> None:
        self._next = 0
        self._path, self._passages = path, passages
        with self._errors():
            self._connection = sqlite3.connect(path)
            # Nobody reads the file before it is finished and synced, so it needs no journal.
            self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA}")
            if passages:
                self._connection.executescript(MORE_COLUMNS)

    def append(self, documents: Sequence[Document]) -> None:
        """Write more documents."""
        places = range(self._next, self._next + len(documents))
        self._next += len(documents)
        with self._errors():
            self._connection.executemany(
                f"INSERT INTO documents VALUES ({', '.join('?' * (8 if self._passages else 5))})",
                (
                    (place, *stored(document), len(document.title), *(self._part(document)))
                    for place, document in zip(places, documents, strict=True)
                ),
            )
            self._connection.executemany(
                "INSERT INTO fields VALUES (?, ?, ?, ?)",
                (
                    (*field, place)
                    for place, document in zip(places, documents, strict=True)
                    for field in checked_fields(document)
                ),
            )

    def _part(self, document: Document) -> tuple[int, ...]:
        if not self._passages:
            return ()
        number, of, start, _ = document.passage or Passage(1, 1, 0, len(document.text))
        return number, of, start

    def finish(self) -> None:
        """Create the indexes, and close the file."""
        with self._errors():
            self._connection.executescript(INDEXES.format(unique="id, number" if self._passages else "id"))
            self._connection.commit()
            self.close()

    def close(self) -> None:
        """Close the file, finished or not; may be called twice."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise an ``OSError``, such as a full disk, as other files do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            full = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL
            raise OSError(errno.ENOSPC if full else errno.EIO, str(error), str(self._path)) from error
