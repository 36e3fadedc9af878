"""Documents to vectors and distinct tokens: what one chunk of an index needs before it is written."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chamfer.batch.vectors import from_columns, to_columns
from chamfer.batch.workers import Table
from chamfer.documents import Document
from chamfer.encode import Encoder
from chamfer.progress import Advance
from chamfer.store.corpus import EncodedCorpus
from chamfer.tokens import TokenBatch, TokenIds, offsets_of

TEXT, IS_KNOWN, DISTINCT, TRUNCATED = "text", "is_known", "distinct", "truncated"


@dataclass(frozen=True)
class EncodeDocuments:
    """A job: texts in; token vectors, distinct tokens and the number of texts that were cut out.

    Args:
        encoder: gives the vectors.
        narrow: give them in 16 bits, where nothing is computed from them before they are kept in 16 bits.
    """

    encoder: Encoder
    narrow: bool = False

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.batch.workers.Job`."""
        tokenized = self.encoder.tokenize(table[TEXT], "document")
        is_new = ~np.array(table[IS_KNOWN], dtype=bool)
        batch = self.encoder.encode_documents([table[TEXT][place] for place in np.flatnonzero(is_new)], advance)
        advance(int((~is_new).sum()))
        if self.narrow:  # vectors of unit length, so that no number is too large
            batch = TokenBatch(batch.vectors.astype(np.float16), batch.token_ids, batch.offsets)
        # A document whose vectors are known comes back without any.
        lengths = np.zeros(len(is_new), np.int64)
        lengths[is_new] = batch.lengths
        all_of_them = TokenBatch(batch.vectors, batch.token_ids, offsets_of(lengths))
        return {
            **to_columns(all_of_them),
            DISTINCT: [np.unique(ids).astype(np.int32).tobytes() for ids in tokenized.token_ids],
            TRUNCATED: [tokenized.truncated, *[0] * (len(is_new) - 1)],  # a number of the table, not of a text
        }


def texts_of(documents: Sequence[Document], known: EncodedCorpus | None = None) -> Table:
    """The table of some documents, of which some have vectors already."""
    place = {} if known is None else known.place
    return {
        TEXT: [document.text for document in documents],
        IS_KNOWN: [document.id in place for document in documents],
    }


def tokens_of(
    encoded: Table, documents: Sequence[Document], known: EncodedCorpus | None = None
) -> tuple[TokenBatch, list[TokenIds]]:
    """Token vectors, those that are known among them, and the distinct tokens of each document."""
    tokens = from_columns(encoded)
    distinct = [np.frombuffer(ids, np.int32) for ids in encoded[DISTINCT]]
    place = {} if known is None else known.place
    if known is None or not any(document.id in place for document in documents):
        return tokens, distinct
    each = [
        known.tokens[place[document.id]] if document.id in place else tokens[row]
        for row, document in enumerate(documents)
    ]
    return TokenBatch.pack([one.vectors for one in each], [one.token_ids for one in each]), distinct
