"""Changing the documents of the index that is served: each request is one commit, or none."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.errors import DamagedError, InputError
from chamfer.index.adding import add_documents
from chamfer.index.building import CHUNK_TOKENS
from chamfer.index.commits import USUAL, Commits
from chamfer.index.manifest import needed_manifest
from chamfer.index.merging import failure_logged, segments_to_merge
from chamfer.index.passages import Splitter
from chamfer.index.settings import Settings
from chamfer.index.texts import check_storable
from chamfer.index.writing import Writer, writing
from chamfer.search.searcher import Searcher
from chamfer.serve.backend import UnwritableError
from chamfer.serve.batches import AbandonedError
from chamfer.serve.schemas.documents import DeleteResponse, NewDocument, PutResponse
from chamfer.support.files import InUseError


class LargeBatchError(InputError):
    """The documents have more tokens than are encoded at once."""


class TwiceError(InputError):
    """Two documents of a request have the same id."""


def put_documents(searcher: Searcher, sent: Sequence[NewDocument], is_abandoned: Callable[[], bool]) -> PutResponse:
    """Add documents, and replace those that have the same ids, in one commit.

    Args:
        searcher: searcher of the index, for its encoder.
        sent: the documents.
        is_abandoned: whether the client has stopped waiting; asked until the commit.
    """
    documents = [Document(one.id, one.text.strip(), one.title.strip(), one.metadata) for one in sent]
    for document in documents:
        check_storable(document)
    [(name, times)] = Counter(document.id for document in documents).most_common(1)
    if times > 1:
        raise TwiceError(f"document {name!r} is sent twice; send each id once")
    rows = _rows(documents, searcher.encoder, searcher.index.settings)
    _check_size(rows, searcher.encoder)

    def check(_encoded: int = 0) -> None:
        if is_abandoned():
            raise AbandonedError

    with _changing(searcher.index.folder, Commits(check, merges=False)) as writer:
        check()
        size = searcher.index.settings.passages
        are_passages = size is not None and size == writer.manifest.settings.passages
        report = add_documents(
            writer,
            documents,
            searcher.encoder,
            replacing=True,
            chunk=sum(map(len, rows.values())),
            advance=check,
            split=(lambda document: rows[document.id]) if are_passages else None,
        )
        return PutResponse(
            added=report.documents - report.replaced,
            replaced=report.replaced,
            unchanged=report.skipped,
            truncated=report.truncated,
            unread=report.unread,
            documents=writer.manifest.documents,
        )


def delete_documents(folder: Path, ids: Sequence[str]) -> DeleteResponse:
    """Delete documents in one commit.

    Args:
        folder: folder of the index.
        ids: their ids; unknown ones are returned.
    """
    wanted = list(dict.fromkeys(ids))
    with _changing(folder) as writer:
        known = writer.held.known(wanted)
        deleted = writer.delete(wanted)
        unknown = [identifier for identifier in wanted if identifier not in known]
        return DeleteResponse(deleted=deleted, unknown=unknown, documents=writer.manifest.documents)


def merge_segments(folder: Path) -> None:
    """Merge the small segments that additions left; if there are few, the index is not even locked.

    Args:
        folder: folder of the index.
    """
    with failure_logged(folder):
        if segments_to_merge(needed_manifest(folder).segments):
            with writing(folder) as writer:
                writer.merge_small()


def _rows(documents: Sequence[Document], encoder: Encoder, settings: Settings) -> dict[str, list[Document]]:
    """Each document as rows of the index, by id."""
    if settings.passages is None:
        return {document.id: [document] for document in documents}
    splitter = Splitter(encoder, settings.passages)
    return {document.id: splitter.rows(document) for document in documents}


def _check_size(rows: Mapping[str, Sequence[Document]], encoder: Encoder) -> None:
    """Refuse documents whose vectors would take too much memory."""
    texts = [row.content for own in rows.values() for row in own]
    if len(texts) * encoder.document_length > CHUNK_TOKENS:
        tokens = sum(map(len, encoder.tokenize(texts, "document").token_ids))
        if tokens > CHUNK_TOKENS:
            raise LargeBatchError(f"the documents have {tokens:,} tokens; send at most {CHUNK_TOKENS:,} at a time")


@contextmanager
def _changing(folder: Path, commits: Commits = USUAL) -> Iterator[Writer]:
    """Hold the writer lock. What keeps the index from being changed is logged, because it may name paths."""
    try:
        with writing(folder, commits=commits) as writer:
            yield writer
    except InUseError as error:
        raise UnwritableError("another process is changing the index; try again later") from error
    except DamagedError as error:
        logging.getLogger("chamfer").error("documents cannot be changed: %s", error)
        raise
    except InputError as error:
        logging.getLogger("chamfer").error("documents cannot be changed: %s", error)
        raise UnwritableError("the index cannot be changed; the log of the server has the reason") from error
