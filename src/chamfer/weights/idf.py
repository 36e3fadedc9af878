"""IDF and softened IDF: the weight of a token by the number of documents that contain it, and of unseen tokens."""

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.frequencies import DocumentFrequencies

POWER = 0.5
"""Default exponent of softened IDF."""

POWER_BESIDE_EVIDENCE = 0.25
"""Exponent in the zero-shot mix of encoders that were trained by pooling."""

UNSEEN_IDF = 0.0
"""Plain IDF of a token that occurs in no document: the paper's footnote."""

UNSEEN_SOFT_IDF = 1.0
"""Softened IDF of a token that occurs in no document: that of an average token."""


def idf_table(frequencies: DocumentFrequencies, vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    """``(vocabulary,)`` inverse document frequencies, as the paper defines them."""
    _check(frequencies, vocabulary)
    return np.where(frequencies.counts > 0, frequencies.idf(), UNSEEN_IDF)


def soft_idf_table(
    frequencies: DocumentFrequencies, vocabulary: Vocabulary, *, power: float = POWER, mean: float | None = None
) -> npt.NDArray[np.float64]:
    """``(vocabulary,)`` softened IDF, ``(idf / mean) ** power``; special tokens count as unseen.

    Args:
        frequencies: document frequencies of the corpus.
        vocabulary: vocabulary of the encoder that the corpus was counted with.
        power: exponent; 0 gives uniform weights, 1 the proportions of plain IDF.
        mean: IDF of an average token; by default the mean over the distinct tokens of every document.
    """
    if not 0 <= power <= 2:
        raise InputError(f"the power of softened IDF must be between 0 and 2, not {power}")
    _check(frequencies, vocabulary)
    idf = frequencies.idf()
    seen = (frequencies.counts > 0) & ~vocabulary.is_special
    if mean is None:
        mean = float((frequencies.counts * idf)[seen].sum()) / max(int(frequencies.counts[seen].sum()), 1)
    if not mean > 0:
        raise InputError("no document contains a token with text, so there is no average IDF to divide by")
    return np.where(seen, (idf / mean) ** power, UNSEEN_SOFT_IDF)


def _check(frequencies: DocumentFrequencies, vocabulary: Vocabulary) -> None:
    if len(frequencies.counts) != len(vocabulary):
        raise InputError(
            f"document frequencies of {len(frequencies.counts)} tokens do not match a vocabulary of {len(vocabulary)}; "
            "count them with this encoder"
        )
