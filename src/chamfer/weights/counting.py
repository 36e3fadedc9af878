"""Counting document frequencies of texts, without encoding them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from chamfer.encode.encoder import Encoder
from chamfer.support.progress import Advance, Progress, quiet, shown
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.workers.connect import workers_at
from chamfer.workers.jobs import IN_PROCESS, Table, Workers

# Documents per table of the job.
CHUNK = 1024


def count_frequencies(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    sample: float = 1.0,
    seed: int = 0,
    progress: bool | None = None,
    ray: str | None = None,
) -> DocumentFrequencies:
    """Count in how many documents each token occurs.

    Args:
        encoder: encoder whose tokens are counted; documents are truncated to its length first.
        texts: documents of the corpus.
        sample: approximate fraction of the documents to count, see :meth:`chamfer.DocumentFrequencies.count`.
        seed: random seed of the sample.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default this process counts.

    >>> from chamfer import Encoder, TokenWeights
    >>> encoder = Encoder.load("minilm")
    >>> counted = count_frequencies(encoder, ["Cats sleep.", "Dogs sleep.", "Birds sing."])
    >>> counted.documents, counted.truncated, int(counted.counts[encoder.vocabulary.ids["sleep"]])
    (3, 0, 2)
    >>> weights = TokenWeights.soft_idf(counted, encoder.vocabulary)
    """
    with workers_at(ray) as workers:
        return count_tokens(encoder, texts, sample=sample, seed=seed, progress=shown(progress), workers=workers)


def count_tokens(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    sample: float = 1.0,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> DocumentFrequencies:
    """Count document frequencies with given workers; see :func:`count_frequencies`."""
    frequencies = DocumentFrequencies(np.zeros(len(encoder.vocabulary), np.int64), 0, truncated=0)
    tables: Iterator[Table] = ({"text": list(texts[at : at + CHUNK])} for at in range(0, len(texts), CHUNK))
    with progress("counting tokens", len(texts)) as advance:
        for counted in workers.map(CountTokens(encoder, sample, seed), tables, advance=advance):
            counts = np.frombuffer(counted["counts"][0], np.int64)
            frequencies += DocumentFrequencies(counts, counted["documents"][0], counted["truncated"][0])
    return frequencies


@dataclass(frozen=True)
class CountTokens:
    """A job from texts to one row with their document frequencies."""

    encoder: Encoder
    sample: float = 1.0
    seed: int = 0

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        tokenized = self.encoder.tokenize(table["text"], "document")
        counted = DocumentFrequencies.count(
            tokenized.token_ids, vocabulary_size=len(self.encoder.vocabulary), sample=self.sample, seed=self.seed
        )
        advance(len(table["text"]))
        return {
            "counts": [counted.counts.tobytes()],
            "documents": [counted.documents],
            "truncated": [tokenized.truncated],
        }
