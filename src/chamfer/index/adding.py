"""Adding documents to a finished index."""

from collections import deque
from collections.abc import Iterable, Iterator
from time import monotonic

from chamfer.cache.text_encoder import from_table
from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.index.building import chunk_for, chunks_of
from chamfer.index.encoder import check_encoder
from chamfer.index.encoding import EncodeDocuments, texts_of
from chamfer.index.manifest import check_finished
from chamfer.index.report import BuildReport
from chamfer.index.writing import Writer
from chamfer.support.progress import Advance, Before, ignore
from chamfer.tokens.unread import unread, warn_of_unread
from chamfer.workers.jobs import IN_PROCESS, Table, Workers


def add_documents(
    writer: Writer,
    documents: Iterable[Document],
    encoder: Encoder,
    *,
    replacing: bool = False,
    chunk: int | None = None,
    advance: Advance = ignore,
    workers: Workers = IN_PROCESS,
) -> BuildReport:
    """Encode documents and add them in chunks, one commit per chunk.

    Documents that the index already holds unchanged are skipped.

    Args:
        writer: writer of an index that was built with the same model.
        documents: documents to add, which :func:`chamfer.index.texts.check_storable` accepts.
        encoder: the encoder.
        replacing: replace documents that have the same ids; otherwise such an id is an error.
        chunk: number of documents in a chunk; all their vectors are in memory at once.
        advance: progress callback.
        workers: workers that encode.
    """
    started = monotonic()
    check_finished(writer.manifest)
    check_encoder(writer.manifest.settings, encoder)  # before an hour of encoding
    added = tokens = truncated = skipped = replaced = 0
    not_read: list[str] = []
    sent: deque[list[Document]] = deque()

    def tables() -> Iterator[Table]:
        nonlocal skipped
        for some in chunks_of(documents, chunk or chunk_for(encoder)):
            unchanged = writer.present(some)
            advance(Before(len(unchanged)))
            skipped += len(unchanged)
            new = [document for document in some if document.id not in unchanged]
            if new:
                sent.append(new)
                yield texts_of(new)

    for table in workers.map(EncodeDocuments(encoder), tables(), advance=advance, gpu=encoder.may_use_gpu):
        some = sent.popleft()
        encoded = from_table(table)
        replaced += writer.add(some, encoded.tokens, encoded.distinct, replacing=replacing)
        added += len(some)
        tokens += len(encoded.tokens.vectors)
        truncated += sum(encoded.was_truncated)
        texts = [document.content for document in some]
        not_read += [some[place].id for place in unread(texts, encoded.tokens, encoder.vocabulary)]
    warn_of_unread(not_read, added, encoder.name)
    seconds = monotonic() - started
    return BuildReport(added, tokens, truncated, skipped, replaced=replaced, seconds=seconds, unread=len(not_read))
