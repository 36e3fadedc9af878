"""From texts to an index: encoded in chunks, each of them a commit, so that interrupted work can go on."""

import hashlib
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.cache.corpus import EncodedCorpus, encode_corpus
from chamfer.cache.encoded import fingerprint
from chamfer.data.documents import Document, corpus_file, read_documents
from chamfer.encode.checkpoint import lasting_name
from chamfer.encode.encoder import Encoder, Role
from chamfer.errors import InputError
from chamfer.index.encoding import (
    TRUNCATED,
    EncodeDocuments,
    MakeRows,
    columns_of_rows,
    texts_and_known,
    texts_of,
    tokens_of,
)
from chamfer.index.manifest import SAMPLE, Manifest, read_manifest
from chamfer.index.rows import Rows
from chamfer.index.settings import Precision, Settings
from chamfer.index.texts import check_documents
from chamfer.index.trained import Trained, sample_size
from chamfer.index.writing import Writer, writing
from chamfer.support.devices import AUTO
from chamfer.support.progress import Advance, Progress, ignore, quiet
from chamfer.workers.jobs import HERE, Table, Workers

Corpus = Path | Mapping[str, str] | Sequence[Document]

# Documents between two commits, and tokens at the most: what an interruption can lose, some twenty seconds of work on
# two cores, and what is in memory.
CHUNK, CHUNK_TOKENS = 1024, 2**18
# Documents by which the length of all is guessed.
GLANCE = 256


def build_index(
    folder: str | Path,
    corpus: str | Corpus,
    encoder: Encoder,
    *,
    precision: Precision = "float16",
    pool: int = 1,
    projected: int | None = None,
    allow_empty: bool = False,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> int:
    """Build an index of a corpus, or go on with a build that was interrupted; say how many texts were cut.

    Memory does not grow with the corpus but for the ids: it is read in chunks, encoded, and written.

    Args:
        folder: where the index will lie.
        corpus: JSON lines or a folder with a corpus.jsonl; or texts by id; or documents.
        encoder: gives the token vectors. Searching needs the same model.
        precision: what is kept of a vector, see :class:`chamfer.index.settings.Settings`.
        pool: keep one vector for so many tokens of a document.
        projected: keep so many dimensions.
        allow_empty: keep documents without text, which rank last.
        progress: shows long work.
        workers: who encodes and makes rows of it; this process alone writes.
    """
    folder = Path(folder)
    corpus = Path(corpus) if isinstance(corpus, str) else corpus
    check_unfinished(folder)
    is_new = not folder.exists()
    read = _reader(corpus, allow_empty=allow_empty)
    total = check_documents(read())
    if total == 0:
        raise InputError("an index needs at least one document")
    made_from = {"documents": total, "corpus": _digest(corpus)}
    settings = Settings(
        dimensions=encoder.dimensions,
        vocabulary_size=len(encoder.vocabulary),
        precision=precision,
        pool=pool,
        projected=projected,
        encoder=described(encoder),
    )
    with _removed_if_empty(folder if is_new else None), writing(folder, settings) as writer:
        building = dict(writer.manifest.building or {**made_from, "done": 0})
        if {key: building[key] for key in made_from} != made_from:
            raise InputError(
                f"{folder} holds an unfinished index of another corpus; choose another folder or delete it"
            )
        if writer.manifest.building is None:
            writer.set_building(building)
        sample = None
        if not writer.manifest.segments or (folder / SAMPLE).is_dir():
            sample = _encoded_sample(folder / SAMPLE, read, total, encoder, made_from, progress, workers)
            if writer.trained is None:
                mean = len(sample.tokens.vectors) / max(1, len(sample))
                writer.train(sample.tokens, tokens=max(1, round(mean * total)))
        truncated = 0
        with progress("encoding documents", total) as advance:
            advance(building["done"])
            done = building["done"]
            # Read once to be sent and once to be written, so that no more than a chunk is here at a time.
            sent, written = (_sorted_chunks(islice(read(), done, None), chunk_for(encoder)) for _ in range(2))
            job = MakeRows(encoder, settings, _learnt(writer))
            tables = (texts_and_known(chunk, sample) for chunk in sent)
            for made in workers.map(job, tables, advance=advance, gpu=encoder.may_use_gpu):
                chunk = next(written)
                building = {**building, "done": building["done"] + len(chunk)}
                writer.add_rows(Rows(chunk, columns_of_rows(made, settings)), building=building)
                truncated += made[TRUNCATED][0]
        writer.set_building(None)  # which also removes the sample
    return truncated


def add_documents(
    writer: Writer,
    documents: Sequence[Document],
    encoder: Encoder,
    *,
    replacing: bool = False,
    advance: Advance = ignore,
    encoded: Table | None = None,
) -> int:
    """Encode documents and add them, in one commit; say how many texts were cut.

    Args:
        writer: of an index that was built with the same model.
        documents: what to add.
        encoder: gives their vectors.
        replacing: see :meth:`Writer.add`.
        advance: told of the documents that are done.
        encoded: what :class:`EncodeDocuments` made of them, if that is done already.
    """
    check_finished(writer.manifest)
    _check_encoder(writer, encoder)
    if not documents:
        return 0
    if encoded is None:
        encoded = EncodeDocuments(encoder)(texts_of(documents), advance)
    writer.add(documents, *tokens_of(encoded), replacing=replacing)
    return int(encoded[TRUNCATED][0])


def add_corpus(
    writer: Writer,
    documents: Iterable[Document],
    encoder: Encoder,
    *,
    replacing: bool = False,
    advance: Advance = ignore,
    workers: Workers = HERE,
) -> tuple[int, int]:
    """Add documents, some at a time, each time all of them or none, but for those that are there word for word.

    Returns:
        How many were added, and how many texts were cut.
    """
    check_finished(writer.manifest)
    _check_encoder(writer, encoder)  # before an hour of work is done in vain

    def new() -> Iterator[list[Document]]:
        for chunk in _chunks(documents, chunk_for(encoder)):
            there = writer.present(chunk)
            advance(len(there))
            yield [document for document in chunk if document.id not in there]

    added = truncated = 0
    sent: deque[list[Document]] = deque()

    def tables() -> Iterator[Table]:
        for chunk in new():
            if chunk:
                sent.append(chunk)
                yield texts_of(chunk)

    for encoded in workers.map(EncodeDocuments(encoder), tables(), advance=advance, gpu=encoder.may_use_gpu):
        added += len(sent[0])
        truncated += add_documents(writer, sent.popleft(), encoder, replacing=replacing, encoded=encoded)
    return added, truncated


def _chunks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    rest = iter(documents)
    while chunk := list(islice(rest, size)):
        yield chunk


def _sorted_chunks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    for chunk in _chunks(documents, size):
        yield sorted(chunk, key=lambda document: document.id)


def _learnt(writer: Writer) -> Trained:
    if writer.trained is None:
        raise InputError("the index has learnt nothing yet; build it from the beginning")
    return writer.trained


def _check_encoder(writer: Writer, encoder: Encoder) -> None:
    made_with = writer.manifest.settings.encoder
    if made_with and made_with["documents"] != encoder.fingerprint("document"):
        raise InputError(
            f"the index was built with {made_with['name']}, {made_with['document_length']} tokens, "
            f"{made_with['arithmetic']} by {made_with.get('engine', 'torch')}; encode with the same"
        )


def check_unfinished(folder: Path) -> None:
    """Refuse to build where an index is finished."""
    before = read_manifest(folder)
    if before is not None and before.building is None and before.version:
        raise InputError(
            f"{folder} holds a finished index; add to it with: chamfer index add, or choose another folder"
        )


@contextmanager
def _removed_if_empty(folder: Path | None) -> Iterator[None]:
    """A new folder does not stay if the input was refused before anything was in it: nobody could finish it."""
    try:
        yield
    except InputError:
        manifest = read_manifest(folder) if folder is not None else None
        if folder is not None and manifest is not None and not manifest.segments:
            shutil.rmtree(folder)
        raise


def check_finished(manifest: Manifest, folder: Path | None = None) -> None:
    """Refuse an index whose build was interrupted."""
    if manifest.building is not None:
        done, documents = manifest.building["done"], manifest.building["documents"]
        raise InputError(
            f"the index{f' in {folder}' if folder else ''} is built up to document {done} of {documents} only; "
            "run the same chamfer index build again to finish it"
        )


def chunk_for(encoder: Encoder) -> int:
    """How many documents are encoded and committed at a time."""
    return min(CHUNK, max(1, CHUNK_TOKENS // encoder.document_length))


def described(encoder: Encoder) -> dict[str, Any]:
    """What an index keeps of its encoder: enough to load it again, and to refuse another."""
    return {
        "name": lasting_name(encoder.name),
        "query_length": encoder.query_length,
        "document_length": encoder.document_length,
        "arithmetic": encoder.arithmetic,
        "engine": encoder.engine,
        "model": encoder.model_fingerprint,
        "documents": encoder.fingerprint("document"),
        "tokenizer": encoder.vocabulary.fingerprint,
    }


def load_encoder(settings: Settings, role: Role, device: str = AUTO) -> Encoder:
    """Load the encoder that an index was built with, for queries or for more documents.

    A query is one short batch, on which torch starts at once; documents need the engine that encoded the others, so
    that the same text has the same vectors.
    """
    made_with = settings.encoder
    if "name" not in made_with:
        raise InputError("the index does not say which model made its vectors; give the encoder")
    return Encoder.load(
        made_with["name"],
        query_length=made_with["query_length"],
        document_length=made_with["document_length"],
        arithmetic=made_with["arithmetic"],
        engine=made_with.get("engine", "torch") if role == "document" else "torch",
        device=device,
    )


def _encoded_sample(
    folder: Path,
    read: Callable[[], Iterator[Document]],
    total: int,
    encoder: Encoder,
    made_from: Mapping[str, Any],
    progress: Progress,
    workers: Workers,
) -> EncodedCorpus:
    """Encode some documents of the whole corpus to learn from, and keep them until the build is done."""
    generator = np.random.default_rng(0)

    def drawn(count: int) -> list[Document]:
        chosen = set(generator.choice(total, min(count, total), replace=False).tolist())
        return [document for place, document in enumerate(read()) if place in chosen]

    lengths = [len(ids) for ids in encoder.tokenize([one.text for one in drawn(GLANCE)], "document").token_ids]
    mean = max(1.0, float(np.mean(lengths)))
    documents = drawn(int(sample_size(round(mean * total)) / mean) + 1)
    with progress("encoding a sample", len(documents)) as advance:
        return encode_corpus(
            folder,
            [document.id for document in documents],
            [document.text for document in documents],
            encode=encoder.encode_documents,
            made_from={**made_from, "encoder": encoder.fingerprint("document")},
            advance=advance,
            workers=workers,
            gpu=encoder.may_use_gpu,
        )


def _reader(corpus: Corpus, *, allow_empty: bool) -> Callable[[], Iterator[Document]]:
    if isinstance(corpus, Path):
        return lambda: read_documents(corpus, allow_empty=allow_empty)
    if isinstance(corpus, Mapping):
        documents = [Document(identifier, text) for identifier, text in corpus.items()]
    else:
        documents = list(corpus)
        if not all(isinstance(document, Document) for document in documents):
            raise InputError("give texts by id, as in {'a': 'a text'}, or a list of chamfer.data.documents.Document")
    check_documents(documents)
    twice = next((name for name, times in Counter(document.id for document in documents).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"the id {twice!r} is that of several documents; ids must be unique")
    empty = next((document.id for document in documents if not document.text.strip()), None)
    if empty is not None and not allow_empty:
        raise InputError(f"document {empty!r} has no text; remove it, or keep such documents with allow_empty=True")
    return lambda: iter(documents)


def _digest(corpus: Corpus) -> str:
    if isinstance(corpus, Path):
        with corpus_file(corpus).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    documents = [Document(*pair) for pair in corpus.items()] if isinstance(corpus, Mapping) else corpus
    return fingerprint(
        [document.id for document in documents], [document.text + document.metadata for document in documents]
    )
