"""From texts to an index: encoded in chunks, each one a commit, so that an interrupted build can continue."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoding import encode_corpus
from chamfer.cache.text_encoder import TRUNCATED, TextEncoder
from chamfer.data.corpus import Corpus, Source, documents_from
from chamfer.data.passages import PassageSize
from chamfer.data.reading import Reading
from chamfer.encode.encoder import Encoder
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.index.drawn import Drawn
from chamfer.index.encoder import described, load_for_building
from chamfer.index.encoding import UNREAD, MakeRows, columns_of_rows, texts_and_known
from chamfer.index.manifest import SAMPLE, begun_build, check_unfinished, read_manifest
from chamfer.index.passages import Chunk, Passages, Splitter, Units, WholeDocuments, chunks_of
from chamfer.index.report import BuildReport
from chamfer.index.rows import Rows
from chamfer.index.settings import Precision, Settings
from chamfer.index.texts import check_storable
from chamfer.index.trained import Trained, check_projection, sample_size
from chamfer.index.writing import Writer, writing
from chamfer.support.progress import Before, Progress, quiet, shown
from chamfer.support.sampling import draw
from chamfer.tokens.unread import warn_of_unread
from chamfer.workers.connect import workers_at
from chamfer.workers.jobs import IN_PROCESS, Table, Workers

# Documents per commit, and an upper bound on their tokens. An interruption loses at most this much, some twenty seconds
# of work on two cores, and no more than this is in memory.
CHUNK, CHUNK_TOKENS = 1024, 2**18
# Documents from which the mean length is estimated.
GLANCE = 256


def build_index(
    folder: str | Path,
    documents: Source,
    encoder: Encoder | str = MINILM,
    *,
    precision: Precision = "float16",
    pool: int = 1,
    dimensions: int | None = None,
    passages: bool | int = False,
    overlap: int | None = None,
    id_field: str | None = None,
    text_field: str | Sequence[str] | None = None,
    title_field: str | None = None,
    format: str | None = None,  # noqa: A002 -- what every library calls it
    delimiter: str | None = None,
    allow_empty: bool = False,
    progress: bool | None = None,
    ray: str | None = None,
) -> BuildReport:
    """Build an index, or continue a build that was interrupted.

    All documents are checked before the first one is encoded. A file is read, encoded and merged in parts: memory grows
    by the ids and about 50 bytes for each document or passage, not by the texts. Only a file of JSON is read as a
    whole.

    Args:
        folder: folder of the index.
        documents: a mapping from ids to texts; a list of dicts (``id`` or ``_id``, ``text``, ``title``, anything else
            is metadata); a list of :class:`chamfer.Document`; a DataFrame or a dataset of ``datasets`` with such
            columns; or a path to a file, to a BEIR folder, or to a folder of text, Markdown, HTML or PDF files.
        encoder: the encoder, or the name of one to load. Searching needs the same model.
        precision: ``float16`` stores vectors exactly enough for exact scores; ``int8``, ``4bit`` and ``2bit`` are
            smaller.
        pool: tokens of a document per stored vector.
        dimensions: dimensions to project vectors to; all by default.
        passages: split long documents into passages, so that all of a document is searched; a number is the maximum
            length of a passage in tokens, by default what the encoder reads. Otherwise only the beginning of a long
            document is encoded, and ``truncated`` counts such documents.
        overlap: tokens that a passage repeats of the one before it, about; 32 by default, or a quarter of a passage.
        id_field: column of ids; ``row`` numbers the rows. Columns are recognised if they have usual names.
        text_field: column of texts, or several, which are joined by blank lines.
        title_field: column of titles. Every other column is metadata.
        format: format of a file: ``jsonl``, ``json``, ``csv``, ``tsv``, ``parquet``, ``markdown``, ``html``, ``text``
            or ``pdf``; recognised by default.
        delimiter: character between the fields of CSV or TSV; recognised by default.
        allow_empty: accept documents without text, which rank last.
        progress: show a progress bar; by default, if stderr is a terminal.
        ray: address of a Ray cluster that encodes, or ``local``; this process by default.

    >>> texts = {"a": "Paris is the capital of France.", "b": "Bread is baked from flour."}
    >>> report = build_index(getfixture("tmp_path"), texts)
    >>> report.documents, report.truncated
    (2, 0)
    """
    folder = Path(folder)
    check_unfinished(read_manifest(folder), folder)
    reading = Reading(id_field, text_field, title_field, format, delimiter)
    corpus = documents_from(documents, reading=reading, allow_empty=allow_empty, check=check_storable)
    if isinstance(encoder, str):
        encoder = load_for_building(folder, encoder)
    settings = settings_for(
        encoder,
        precision=precision,
        pool=pool,
        dimensions=dimensions,
        passages=passage_size(encoder, passages, overlap),
    )
    with workers_at(ray) as workers:
        return build(folder, corpus, encoder, settings, progress=shown(progress), workers=workers)


def passage_size(encoder: Encoder, passages: bool | int, overlap: int | None = None) -> PassageSize | None:
    """The size of passages, from the arguments of :func:`build_index`; None without passages."""
    if passages is False:
        if overlap is not None:
            raise InputError("overlap needs passages; give passages=True (--passages) too, or leave overlap out")
        return None
    length = encoder.document_length if passages is True else passages
    if length > encoder.document_length:
        raise InputError(
            f"passages can have at most the {encoder.document_length} tokens that the encoder reads, not {length}"
        )
    return PassageSize.of(length, overlap)


def settings_for(
    encoder: Encoder,
    *,
    precision: Precision = "float16",
    pool: int = 1,
    dimensions: int | None = None,
    passages: PassageSize | None = None,
) -> Settings:
    """Settings of a new index; see :func:`build_index`."""
    return Settings(
        dimensions=encoder.dimensions,
        vocabulary_size=len(encoder.vocabulary),
        precision=precision,
        pool=pool,
        projected=dimensions,
        encoder=described(encoder),
        passages=passages,
    )


def build(
    folder: Path,
    corpus: Corpus,
    encoder: Encoder,
    settings: Settings,
    *,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> BuildReport:
    """Build an index from a validated corpus, or continue a build that was interrupted.

    Args:
        folder: folder of the index.
        corpus: see :func:`chamfer.data.corpus.documents_from`.
        encoder: the encoder.
        settings: see :func:`settings_for`.
        progress: progress reporting.
        workers: workers that encode and compute rows; this process alone writes.
    """
    started = monotonic()
    if not len(corpus):
        raise InputError("an index needs at least one document")
    made_from = {"documents": len(corpus), "corpus": corpus.digest}
    begun = read_manifest(folder)
    if begun is not None:  # before all documents are split
        begun_build(begun, made_from, folder)
    units = units_of(corpus, encoder, settings, progress)
    _check_projection(units, encoder, settings)
    with writing(folder, settings) as writer:
        check_unfinished(writer.manifest, folder)
        building = begun_build(writer.manifest, made_from, folder)
        if writer.manifest.building is None:
            writer.set_building(building)
        sample = None
        if not writer.manifest.segments or (folder / SAMPLE).is_dir():
            sample = _encoded_sample(folder / SAMPLE, units, encoder, made_from, progress, workers)
            if writer.trained is None:
                mean = len(sample.tokens.vectors) / max(1, len(sample))
                writer.train(sample.tokens, tokens=max(1, round(mean * len(units))))
        resumed, truncated = building["done"], 0
        not_read: set[str] = set()
        with progress(f"encoding {units.what}", len(units)) as advance:
            advance(Before(units.before(resumed)))
            sent: deque[Chunk] = deque()  # each chunk is read once, and kept here until it is written

            def tables() -> Iterator[Table]:
                for chunk in chunks_of(units.groups(resumed), chunk_for(encoder)):
                    sent.append(chunk)
                    yield texts_and_known(chunk.rows, sample)

            def made() -> Iterator[tuple[Chunk, Rows]]:
                nonlocal truncated
                job = MakeRows(encoder, settings, _learnt(writer))
                for table in workers.map(job, tables(), advance=advance, gpu=encoder.may_use_gpu):
                    chunk = sent.popleft()
                    truncated += table[TRUNCATED][0]
                    not_read.update(chunk.rows[place].id for place in table[UNREAD][0])
                    yield chunk, Rows(chunk.rows, columns_of_rows(table, settings))

            for documents, first, more in commits_of(made()):
                building = {**building, "done": building["done"] + documents}
                writer.add_rows(first, more, building=building)
        writer.set_building(None)  # which also removes the sample
        tokens = sum(entry.tokens for entry in writer.manifest.segments)
    warn_of_unread(sorted(not_read), len(corpus) - resumed, encoder.name)
    return BuildReport(
        len(corpus),
        tokens,
        truncated,
        resumed=resumed,
        seconds=monotonic() - started,
        unread=len(not_read),
        passages=0 if settings.passages is None else len(units),
    )


def units_of(corpus: Corpus, encoder: Encoder, settings: Settings, progress: Progress) -> Units:
    """The rows that a corpus has in an index."""
    if settings.passages is None:
        return WholeDocuments(corpus)
    return Passages(corpus, Splitter(encoder, settings.passages), progress)


def commits_of(made: Iterator[tuple[Chunk, Rows]]) -> Iterator[tuple[int, Rows, Iterator[Rows]]]:
    """The number of documents of each commit, its first rows, and further ones, which are made when they are read."""
    for chunk, rows in made:

        def more(ends: bool = chunk.ends) -> Iterator[Rows]:
            while not ends:
                following, rows = next(made)
                ends = following.ends
                yield rows

        yield chunk.documents, rows, more()


def chunk_for(encoder: Encoder) -> int:
    """Number of documents per commit."""
    return min(CHUNK, max(1, CHUNK_TOKENS // encoder.document_length))


def _learnt(writer: Writer) -> Trained:
    if writer.trained is None:
        raise InputError("the index has no centroids yet; build it from the beginning")
    return writer.trained


def _check_projection(units: Units, encoder: Encoder, settings: Settings) -> None:
    """Refuse a small corpus that has too few tokens for a projection, before anything is written or encoded."""
    if settings.projected is None or len(units) >= settings.dimensions:
        return
    texts = ([row.content for row in chunk.rows] for chunk in chunks_of(units.groups(0), CHUNK))
    token_ids = (ids for some in texts for ids in encoder.tokenize(some, "document").token_ids)
    check_projection(sum(-(-len(ids) // settings.pool) for ids in token_ids), settings)


def _encoded_sample(
    folder: Path,
    units: Units,
    encoder: Encoder,
    made_from: Mapping[str, Any],
    progress: Progress,
    workers: Workers,
) -> EncodedCorpus:
    """Encode a random sample of the corpus to train on; it stays on disk until the build is finished."""
    generator = np.random.default_rng(0)

    def drawn(count: int) -> Drawn:
        return Drawn(units, draw(len(units), count, generator).tolist())

    glance = (encoder.tokenize([row.content for row in part], "document") for part in drawn(GLANCE).parts())
    mean = max(1.0, float(np.mean([len(ids) for tokenized in glance for ids in tokenized.token_ids])))
    rows = drawn(int(sample_size(round(mean * len(units))) / mean) + 1)
    with progress(f"encoding a sample of {units.what}", len(rows)) as advance:
        return encode_corpus(
            folder,
            rows.keys(),
            rows,
            encode=TextEncoder(encoder, "document"),
            made_from={**made_from, "encoder": encoder.fingerprint("document")},
            advance=advance,
            workers=workers,
            gpu=encoder.may_use_gpu,
        )
