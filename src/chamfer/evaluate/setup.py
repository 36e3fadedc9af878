"""What every step of an experiment on one collection needs: the data, the encoder and how to compute."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoded import encode_cached
from chamfer.data.collection import Collection
from chamfer.data.fingerprint import fingerprint
from chamfer.encode.encoder import Encoder
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.bm25 import BM25
from chamfer.retrieve.stage import DEFAULT_DEPTH
from chamfer.support.cache_folder import default_cache
from chamfer.support.progress import Progress, quiet, shown
from chamfer.weights.counting import count_tokens
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.origin import origin
from chamfer.workers.connect import workers_at
from chamfer.workers.jobs import IN_PROCESS, Workers


@dataclass(frozen=True, eq=False)
class Setup:
    """The settings that the steps of an experiment share.

    The corpus is fingerprinted, tokenised, encoded and indexed for BM25 at most once, when a step first needs it.

    Args:
        collection: documents, queries and judgements.
        encoder: encoder of the token vectors, with the lengths to use.
        cache: folder for vectors, minima and indexes, so that nothing is computed twice.
        form: form of the score, ``l2`` or ``cosine``.
        depth: number of candidates per query.
        progress: shows the progress of long steps.
        workers: processes that encode, count, re-rank, compute minima and fit weights.
    """

    collection: Collection
    encoder: Encoder
    cache: Path
    form: Form = DEFAULT_FORM
    depth: int = DEFAULT_DEPTH
    progress: Progress = quiet
    workers: Workers = IN_PROCESS
    _was_truncated: dict[str, bool] = field(default_factory=dict, init=False)
    """For each query that was encoded, by text, whether it was longer than the encoder reads."""

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise InputError(f"the depth must be at least 1 candidate, not {self.depth}")

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the documents and their ids."""
        documents = self.collection.documents
        return fingerprint(list(documents), list(documents.values()))

    @cached_property
    def corpus(self) -> EncodedCorpus:
        """The encoded documents, from the cache if they are there."""
        documents = self.collection.documents
        with self.progress("encoding documents", len(documents)) as advance:
            return encode_cached(
                self.cache,
                self.encoder,
                list(documents),
                list(documents.values()),
                digest=self.digest,
                advance=advance,
                workers=self.workers,
            )

    @cached_property
    def bm25(self) -> BM25:
        """BM25 over the documents: the first stage, and the lexical evidence of a mix."""
        return BM25(self.collection.documents)

    @cached_property
    def frequencies(self) -> DocumentFrequencies:
        """Document frequencies of the corpus, from what the tokenizer read when it was encoded."""
        if self.corpus.distinct is None:  # an earlier version encoded it
            texts = list(self.collection.documents.values())
            return count_tokens(self.encoder, texts, progress=self.progress, workers=self.workers)
        counted = DocumentFrequencies.count(self.corpus.distinct, vocabulary_size=len(self.encoder.vocabulary))
        return replace(counted, truncated=self.corpus.truncated)

    @property
    def origin(self) -> dict[str, Any]:
        """Provenance to record in weights that are made from the corpus."""
        return origin(self.collection.name, self.encoder, texts=self.digest)

    def encode_queries(self, queries: Mapping[str, str]) -> EncodedCorpus:
        """Encode queries, or read them from the cache."""
        with self.progress("encoding queries", len(queries)) as advance:
            encoded = encode_cached(
                self.cache,
                self.encoder,
                list(queries),
                list(queries.values()),
                role="query",
                advance=advance,
                workers=self.workers,
            )
        if encoded.was_truncated is not None:
            self._was_truncated.update(zip(queries.values(), encoded.was_truncated.tolist(), strict=True))
        return encoded

    def truncated(self, queries: Mapping[str, str]) -> dict[str, int]:
        """Count the queries and documents that exceed the encoder's lengths."""
        new = [text for text in queries.values() if text not in self._was_truncated]
        self._was_truncated.update(zip(new, self.encoder.tokenize(new, "query").was_truncated, strict=True))
        return {
            "queries": sum(self._was_truncated[text] for text in queries.values()),
            "documents": self.frequencies.truncated or 0,
        }


@contextmanager
def open_setup(
    collection: Collection,
    *,
    encoder: Encoder | str | None = None,
    cache: str | Path | None = None,
    form: Form = DEFAULT_FORM,
    depth: int | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> Iterator[Setup]:
    """Load the encoder and connect to workers; see :func:`chamfer.evaluate.experiment.evaluate`."""
    with workers_at(ray) as workers:
        yield Setup(
            collection,
            encoder if isinstance(encoder, Encoder) else Encoder.load(encoder or MINILM),
            default_cache() if cache is None else Path(cache),
            form,
            DEFAULT_DEPTH if depth is None else depth,
            shown(progress),
            workers,
        )
