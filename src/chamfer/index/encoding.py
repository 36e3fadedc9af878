"""Jobs that turn texts into token vectors, or into finished rows of a segment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.text_encoder import TRUNCATED, TextEncoder, to_table
from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.index.columns import KINDS
from chamfer.index.passages import key_of
from chamfer.index.pooling import pool
from chamfer.index.rows import Columns, check_unit, columns_in_parts
from chamfer.index.settings import Settings
from chamfer.index.trained import Trained
from chamfer.support.progress import Advance, alongside
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.tokens.unread import unread
from chamfer.workers.jobs import Table
from chamfer.workers.token_columns import as_bytes, from_bytes

# Columns of the tables of these jobs, beside those of a segment.
TEXT = "text"
KNOWN_VECTORS, KNOWN_TOKEN_IDS = "known_vectors", "known_token_ids"
KNOWN_DISTINCT, KNOWN_TRUNCATED = "known_distinct", "known_truncated"
UNREAD = "unread"


@dataclass(frozen=True)
class EncodeDocuments:
    """A job from texts to :class:`chamfer.cache.text_encoder.EncodedTexts`, as a table of one row."""

    encoder: Encoder

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        return to_table(TextEncoder(self.encoder, "document")(table[TEXT], advance))


def texts_of(documents: Sequence[Document]) -> Table:
    """The input of :class:`EncodeDocuments`."""
    return {TEXT: [document.content for document in documents]}


@dataclass(frozen=True)
class MakeRows:
    """A job from texts to the columns of a segment, in one row. Texts that come with vectors are not even tokenised.

    Args:
        encoder: the encoder.
        settings: settings of the index.
        trained: centroids, projection and residual levels of the index.
    """

    encoder: Encoder
    settings: Settings
    trained: Trained

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        pairs = zip(table[TEXT], table[KNOWN_VECTORS], strict=True)
        tokenized = self.encoder.tokenize([text for text, vectors in pairs if vectors is None], "document")
        known = len(table[TEXT]) - len(tokenized)
        tokens = self.encoder.encode(tokenized, alongside(advance, known, of=len(tokenized)))
        distinct = tokenized.distinct
        if known:
            tokens, distinct = self._with_known(tokens, distinct, table)
        check_unit(tokens)
        parts = [
            columns
            for _, columns in columns_in_parts(pool(tokens, self.settings.pool), distinct, self.settings, self.trained)
        ]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in self.settings.columns}
        truncated = tokenized.truncated + sum(table[KNOWN_TRUNCATED])
        not_read = unread(table[TEXT], tokens, self.encoder.vocabulary)
        columns = {name: [as_bytes(values)] for name, values in joined.items()}
        return {**columns, TRUNCATED: [truncated], UNREAD: [not_read]}

    def _with_known(
        self, encoded: TokenBatch, distinct: Sequence[TokenIds], table: Table
    ) -> tuple[TokenBatch, list[TokenIds]]:
        """All documents in order: those that were just encoded, and those whose vectors came with the table."""
        places = iter(range(len(encoded)))
        shape = (-1, self.encoder.dimensions)
        vectors, token_ids, all_distinct = [], [], []
        columns = (table[name] for name in (KNOWN_VECTORS, KNOWN_TOKEN_IDS, KNOWN_DISTINCT))
        for known, ids, unique in zip(*columns, strict=True):
            if known is None:
                place = next(places)
                vectors.append(encoded[place].vectors)
                token_ids.append(encoded[place].token_ids)
                all_distinct.append(distinct[place])
            else:
                vectors.append(from_bytes(known, np.float16).reshape(shape))
                token_ids.append(from_bytes(ids, np.int32))
                all_distinct.append(from_bytes(unique, np.int32))
        return TokenBatch.pack(vectors, token_ids), all_distinct


def texts_and_known(documents: Sequence[Document], known: EncodedCorpus | None) -> Table:
    """The input of :class:`MakeRows`: texts, with vectors and what the tokenizer read where these are known."""
    table: Table = {
        TEXT: [document.content for document in documents],
        KNOWN_VECTORS: [None] * len(documents),
        KNOWN_TOKEN_IDS: [None] * len(documents),
        KNOWN_DISTINCT: [None] * len(documents),
        KNOWN_TRUNCATED: [False] * len(documents),
    }
    if known is None or known.distinct is None or known.was_truncated is None:
        return table
    for row, document in enumerate(documents):
        place = known.place.get(key_of(document))
        if place is not None:
            table[KNOWN_VECTORS][row] = as_bytes(known.tokens[place].vectors)
            table[KNOWN_TOKEN_IDS][row] = as_bytes(known.tokens[place].token_ids)
            table[KNOWN_DISTINCT][row] = as_bytes(known.distinct[place])
            table[KNOWN_TRUNCATED][row] = bool(known.was_truncated[place])
    return table


def columns_of_rows(made: Table, settings: Settings) -> Columns:
    """The arrays in the output of :class:`MakeRows`."""
    columns = {}
    for name, column in settings.columns.items():
        values = from_bytes(made[name][0], KINDS[name.rpartition(".")[2]])
        columns[name] = values if column.width == 1 else values.reshape(-1, column.width)
    return columns
