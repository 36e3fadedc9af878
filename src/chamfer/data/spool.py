"""Documents on disk: what can be read only once, or only slowly, is written down once and read from there."""

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from chamfer.data.cell_types import CellTypes
from chamfer.data.documents import Document, metadata_json
from chamfer.support.files import errors_name


@dataclass(frozen=True)
class OnDisk:
    """A corpus in a temporary file, which disappears with it; see :class:`chamfer.data.corpus.Corpus`.

    Args:
        handle: descriptor of the file, which holds a line of JSON for each document.
        digest: digest of the documents.
        ends: byte offset of the end of each line, after a zero.
        types: types of metadata, if the source has none.
    """

    handle: int
    digest: str
    ends: "array[int]"
    types: CellTypes | None

    def __len__(self) -> int:
        return len(self.ends) - 1

    def read(self, start: int = 0) -> Iterator[Document]:
        """See :class:`chamfer.data.corpus.Corpus`."""
        return (self._document(place) for place in range(start, len(self)))

    def take(self, places: Sequence[int]) -> list[Document]:
        """See :class:`chamfer.data.corpus.Corpus`."""
        return [self._document(place) for place in places]

    def _document(self, place: int) -> Document:
        start, end = self.ends[place], self.ends[place + 1]
        line = b""
        while more := os.pread(self.handle, end - start - len(line), start + len(line)):
            line += more
        identifier, text, title, metadata = json.loads(line)
        return Document(identifier, text, title, metadata if self.types is None else self.types.typed(metadata))


def spooled(documents: Iterable[Document], *, typed: bool, grouped: bool = False) -> OnDisk:
    """Write documents to a temporary file.

    Args:
        documents: the documents.
        typed: whether their metadata has types; otherwise all of it is text, and each column gets the type that fits.
        grouped: whether a point in their numbers may separate thousands.
    """
    types = None if typed else CellTypes(grouped=grouped)
    digest = hashlib.sha256()
    ends = array("q", [0])
    end = 0
    folder = temporary_folder()
    with errors_name(Path(folder)), tempfile.TemporaryFile(dir=folder, prefix="chamfer-") as file:
        for document in documents:
            if types is not None:
                types.look(document.metadata)
            texts = json.dumps([document.id, document.text, document.title], ensure_ascii=False)[:-1]
            line = f"{texts}, {metadata_json(document)}]\n".encode("utf-8", "surrogatepass")
            digest.update(line)
            file.write(line)
            end += len(line)
            ends.append(end)
        file.flush()
        handle = os.dup(file.fileno())
    if types is not None:
        digest.update(json.dumps(types.kinds).encode())
    corpus = OnDisk(handle, digest.hexdigest()[:16], ends, types)
    weakref.finalize(corpus, os.close, handle)
    return corpus


@contextmanager
def copied(stream: IO[bytes]) -> Iterator[Path]:
    """Copy standard input or a pipe to a temporary file, whose format can be looked at before it is read."""
    with tempfile.NamedTemporaryFile(dir=temporary_folder(), prefix="chamfer-") as file:
        with errors_name(Path(file.name)):
            shutil.copyfileobj(stream, file)
            file.flush()
        yield Path(file.name)


def temporary_folder() -> str:
    """Where large temporary files belong: unlike /tmp, /var/tmp is on a disk and not in memory. TMPDIR wins."""
    large = Path("/var/tmp")
    chosen = os.environ.get("TMPDIR") is None and os.access(large, os.W_OK | os.X_OK)
    return str(large) if chosen else tempfile.gettempdir()
