"""Adding documents to a finished index."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from chamfer.cache.text_encoder import EncodedTexts, from_table
from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.index.building import chunk_for
from chamfer.index.encoder import check_encoder
from chamfer.index.encoding import EncodeDocuments, texts_of
from chamfer.index.manifest import check_finished
from chamfer.index.passages import Chunk, Splitter, chunks_of
from chamfer.index.report import BuildReport
from chamfer.index.writing import Writer
from chamfer.support.progress import Advance, Before, ignore
from chamfer.tokens.unread import unread, warn_of_unread
from chamfer.workers.jobs import IN_PROCESS, Table, Workers

Split = Callable[[Document], list[Document]]

# Characters of the texts that are compared with those of the index at once.
CHARACTERS = 2**24


def add_documents(
    writer: Writer,
    documents: Iterable[Document],
    encoder: Encoder,
    *,
    replacing: bool = False,
    chunk: int | None = None,
    advance: Advance = ignore,
    workers: Workers = IN_PROCESS,
    split: Split | None = None,
) -> BuildReport:
    """Encode documents and add them in chunks, one commit per chunk.

    Documents that the index already holds unchanged are skipped.

    Args:
        writer: writer of an index that was built with the same model.
        documents: documents to add, which :func:`chamfer.index.texts.check_storable` accepts.
        encoder: the encoder.
        replacing: replace documents that have the same ids; otherwise such an id is an error.
        chunk: number of documents, or of passages, in a chunk; all their vectors are in memory at once. A document is
            in one commit whole, however many passages it has.
        advance: progress callback.
        workers: workers that encode.
        split: splits a document into passages, if the index holds passages; by default, as the settings say.
    """
    started = monotonic()
    settings = writer.manifest.settings
    check_finished(writer.manifest)
    check_encoder(settings, encoder)  # before an hour of encoding
    size = chunk or chunk_for(encoder)
    if settings.passages is not None and split is None:
        split = Splitter(encoder, settings.passages).rows
    counts = Counter[str]()
    not_read: set[str] = set()
    sent: deque[Chunk] = deque()

    def groups() -> Iterator[list[Document]]:
        for some in _portions(documents, size):
            unchanged = writer.held.present(some)
            advance(Before(len(unchanged)))
            counts["skipped"] += len(unchanged)
            for document in some:
                if document.id not in unchanged:
                    yield [document] if split is None else split(document)

    def tables() -> Iterator[Table]:
        for chunk in chunks_of(groups(), size):
            sent.append(chunk)
            yield texts_of(chunk.rows)

    def made() -> Iterator[tuple[Chunk, EncodedTexts]]:
        for table in workers.map(EncodeDocuments(encoder), tables(), advance=encoded_rows, gpu=encoder.may_use_gpu):
            chunk, encoded = sent.popleft(), from_table(table)
            counts["tokens"] += len(encoded.tokens.vectors)
            counts["truncated"] += sum(encoded.was_truncated)
            counts["passages"] += len(chunk.rows)
            texts = [row.content for row in chunk.rows]
            not_read.update(chunk.rows[n].id for n in unread(texts, encoded.tokens, encoder.vocabulary))
            yield chunk, encoded

    def encoded_rows(count: int) -> None:
        advance(count if split is None else 0)  # a caller may stop the work, though no document is finished

    finished = made()
    for part, encoded in finished:
        if part.ends:
            counts["replaced"] += writer.add(part.rows, encoded.tokens, encoded.distinct, replacing=replacing)
        else:
            counts["replaced"] += writer.add_long(_long(part, encoded, finished), replacing=replacing)
        counts["added"] += part.documents
        if split is not None:
            advance(part.documents)
    warn_of_unread(sorted(not_read), counts["added"], encoder.name)
    return BuildReport(
        counts["added"],
        counts["tokens"],
        counts["truncated"],
        counts["skipped"],
        replaced=counts["replaced"],
        seconds=monotonic() - started,
        unread=len(not_read),
        passages=0 if split is None else counts["passages"],
    )


def _long(
    chunk: Chunk, encoded: EncodedTexts, following: Iterator[tuple[Chunk, EncodedTexts]]
) -> Iterator[tuple[list[Document], EncodedTexts]]:
    """The parts of a document that has more than one chunk, each encoded when it is read."""
    yield chunk.rows, encoded
    while not chunk.ends:
        chunk, encoded = next(following)
        yield chunk.rows, encoded


def _portions(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """Documents in lists that are looked up at once; long ones in shorter lists."""
    waiting: list[Document] = []
    characters = 0
    for document in documents:
        waiting.append(document)
        characters += len(document.text)
        if len(waiting) == size or characters >= CHARACTERS:
            yield waiting
            waiting, characters = [], 0
    if waiting:
        yield waiting
