"""From texts to document frequencies, without encoding anything."""

from collections.abc import Sequence
from typing import NamedTuple

from chamfer.encode import Encoder
from chamfer.frequencies import DocumentFrequencies
from chamfer.progress import Progress, quiet

CHUNK = 1024


class Counted(NamedTuple):
    """In how many documents each token appears, and how many documents were cut to the encoder's length."""

    frequencies: DocumentFrequencies
    truncated: int


def count_tokens(
    encoder: Encoder, texts: Sequence[str], *, sample: float = 1.0, seed: int = 0, progress: Progress = quiet
) -> Counted:
    """Count the tokens that the encoder sees of each document, and the documents that it does not see all of."""
    size, truncated = len(encoder.vocabulary), 0
    frequencies = DocumentFrequencies.count([], vocabulary_size=size)
    with progress("counting tokens", len(texts)) as advance:
        for start in range(0, len(texts), CHUNK):
            part = texts[start : start + CHUNK]
            tokenized = encoder.tokenize(part, "document")
            frequencies += DocumentFrequencies.count(
                tokenized.token_ids, vocabulary_size=size, sample=sample, seed=seed
            )
            truncated += tokenized.truncated
            advance(len(part))
    return Counted(frequencies, truncated)


def count_frequencies(
    encoder: Encoder, texts: Sequence[str], *, sample: float = 1.0, seed: int = 0, progress: Progress = quiet
) -> DocumentFrequencies:
    """Count in how many of the texts each token appears.

    Args:
        encoder: whose tokens are counted; documents are cut to its length first.
        texts: the documents.
        sample: count only about this share of them, see :meth:`DocumentFrequencies.count`.
        seed: another seed takes other documents.
        progress: shows long work.
    """
    return count_tokens(encoder, texts, sample=sample, seed=seed, progress=progress).frequencies
