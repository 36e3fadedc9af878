"""Encoding texts for the disk: their vectors, and what the tokenizer read, so that no text is tokenised twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chamfer.encode.settings import Role
from chamfer.support.progress import Advance, ignore
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.workers.jobs import Table
from chamfer.workers.token_columns import as_bytes, from_bytes, from_columns, to_columns

if TYPE_CHECKING:  # the encoder imports torch, which takes seconds
    from chamfer.encode.encoder import Encoder

# Columns of encoded texts, beside those of token_columns.py.
DISTINCT, DISTINCT_LENGTHS, TRUNCATED = "distinct", "distinct_lengths", "truncated"


class EncodedTexts(NamedTuple):
    """Texts after encoding."""

    tokens: TokenBatch
    """Their token vectors."""
    distinct: Sequence[TokenIds]
    """Distinct token ids of each text as the model reads it, those without a vector included."""
    was_truncated: Sequence[bool]
    """For each text, whether it was longer than the model reads."""


@dataclass(frozen=True)
class TextEncoder:
    """Encodes texts, each of which is tokenised once.

    Args:
        encoder: the encoder.
        role: whether the texts are queries or documents.
    """

    encoder: "Encoder"
    role: Role

    def __call__(self, texts: Sequence[str], advance: Advance = ignore) -> EncodedTexts:
        """Encode some texts."""
        tokenized = self.encoder.tokenize(texts, self.role)
        return EncodedTexts(self.encoder.encode(tokenized, advance), tokenized.distinct, tokenized.was_truncated)


def to_table(encoded: EncodedTexts) -> Table:
    """Encoded texts as a table of one row."""
    return {
        **to_columns(encoded.tokens),
        DISTINCT: [as_bytes(np.concatenate([*encoded.distinct, np.empty(0, np.int32)]).astype(np.int32))],
        DISTINCT_LENGTHS: [as_bytes(np.array([len(ids) for ids in encoded.distinct], np.int32))],
        TRUNCATED: [as_bytes(np.array(encoded.was_truncated, np.bool_))],
    }


def from_table(table: Table) -> EncodedTexts:
    """The encoded texts that :func:`to_table` was given."""
    ids, lengths = (from_bytes(table[name][0], np.int32) for name in (DISTINCT, DISTINCT_LENGTHS))
    return EncodedTexts(from_columns(table), split(ids, lengths), from_bytes(table[TRUNCATED][0], np.bool_).tolist())


def split(ids: TokenIds, lengths: TokenIds) -> list[TokenIds]:
    """Cut an array into parts of some lengths."""
    return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []
