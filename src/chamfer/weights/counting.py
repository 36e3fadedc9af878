"""From texts to document frequencies, without encoding anything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chamfer.encode.encoder import Encoder
from chamfer.support.progress import Advance, Progress, quiet
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.workers.jobs import HERE, Table, Workers

CHUNK = 1024


class Counted(NamedTuple):
    """In how many documents each token appears, and how many documents were cut to the encoder's length."""

    frequencies: DocumentFrequencies
    truncated: int


def count_tokens(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    sample: float = 1.0,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> Counted:
    """Count the tokens that the encoder sees of each document, and the documents that it does not see all of."""
    frequencies, truncated = DocumentFrequencies.count([], vocabulary_size=len(encoder.vocabulary)), 0
    tables: Iterator[Table] = ({"text": list(texts[at : at + CHUNK])} for at in range(0, len(texts), CHUNK))
    with progress("counting tokens", len(texts)) as advance:
        for counted in workers.map(CountTokens(encoder, sample, seed), tables, advance=advance):
            counts = np.frombuffer(counted["counts"][0], np.int64)
            frequencies += DocumentFrequencies(counts, counted["documents"][0])
            truncated += counted["truncated"][0]
    return Counted(frequencies, truncated)


@dataclass(frozen=True)
class CountTokens:
    """A job: texts in, one row with their document frequencies out."""

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


def count_frequencies(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    sample: float = 1.0,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = HERE,
) -> DocumentFrequencies:
    """Count in how many of the texts each token appears.

    Args:
        encoder: whose tokens are counted; documents are cut to its length first.
        texts: the documents.
        sample: count only about this share of them, see :meth:`DocumentFrequencies.count`.
        seed: another seed takes other documents.
        progress: shows long work.
        workers: who counts.
    """
    return count_tokens(encoder, texts, sample=sample, seed=seed, progress=progress, workers=workers).frequencies
