"""Jobs that turn texts into token vectors, or into finished rows of a segment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.index.columns import KINDS
from chamfer.index.pooling import pool
from chamfer.index.rows import Columns, check_unit, columns_in_parts
from chamfer.index.settings import Settings
from chamfer.index.trained import Trained
from chamfer.support.progress import Advance
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.workers.jobs import Table
from chamfer.workers.token_columns import as_bytes, from_bytes, from_columns, to_columns

# Columns of the tables of these jobs, in addition to those of token_columns.py and of a segment.
TEXT, KNOWN_VECTORS, KNOWN_TOKEN_IDS = "text", "known_vectors", "known_token_ids"
TRUNCATED, UNIQUE_IDS, UNIQUE_COUNTS = "truncated", "unique_ids", "unique_counts"


@dataclass(frozen=True)
class EncodeDocuments:
    """A job from texts to one row: token vectors, distinct token ids, and the number of truncated texts."""

    encoder: Encoder

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        tokenized = self.encoder.tokenize(table[TEXT], "document")
        distinct = [np.unique(ids) for ids in tokenized.token_ids]
        return {
            **to_columns(self.encoder.encode(tokenized, advance)),
            UNIQUE_IDS: [as_bytes(np.concatenate(distinct).astype(np.int32))],
            UNIQUE_COUNTS: [[len(ids) for ids in distinct]],
            TRUNCATED: [tokenized.truncated],
        }


def texts_of(documents: Sequence[Document]) -> Table:
    """The input of :class:`EncodeDocuments`."""
    return {TEXT: [document.content for document in documents]}


def tokens_of(encoded: Table) -> tuple[TokenBatch, list[TokenIds]]:
    """Token vectors, and the distinct token ids of each document, from the output of :class:`EncodeDocuments`."""
    ends = np.cumsum(encoded[UNIQUE_COUNTS][0])
    return from_columns(encoded), np.split(from_bytes(encoded[UNIQUE_IDS][0], np.int32), ends[:-1])


@dataclass(frozen=True)
class MakeRows:
    """A job from texts, some of them with vectors, to the columns of a segment, in one row.

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
        tokenized = self.encoder.tokenize(table[TEXT], "document")
        new = [place for place, vectors in enumerate(table[KNOWN_VECTORS]) if vectors is None]
        tokens = self.encoder.encode(tokenized.take(new), advance)
        advance(len(tokenized) - len(new))
        if len(new) < len(tokenized):
            tokens = self._with_known(tokens, table)
        check_unit(tokens)
        distinct = [np.unique(ids) for ids in tokenized.token_ids]
        parts = [
            columns
            for _, columns in columns_in_parts(pool(tokens, self.settings.pool), distinct, self.settings, self.trained)
        ]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in self.settings.columns}
        return {**{name: [as_bytes(values)] for name, values in joined.items()}, TRUNCATED: [tokenized.truncated]}

    def _with_known(self, encoded: TokenBatch, table: Table) -> TokenBatch:
        """All documents in order: those that were just encoded, and those whose vectors came with the table."""
        places = iter(range(len(encoded)))
        shape = (-1, self.encoder.dimensions)
        each = [
            encoded[next(places)]
            if vectors is None
            else TokenBatch.pack([from_bytes(vectors, np.float16).reshape(shape)], [from_bytes(ids, np.int32)])
            for vectors, ids in zip(table[KNOWN_VECTORS], table[KNOWN_TOKEN_IDS], strict=True)
        ]
        return TokenBatch.pack([one.vectors for one in each], [one.token_ids for one in each])


def texts_and_known(documents: Sequence[Document], known: EncodedCorpus | None) -> Table:
    """The input of :class:`MakeRows`: texts, and vectors where they are known."""
    place = {} if known is None else known.place
    each = [
        known.tokens[place[document.id]] if known is not None and document.id in place else None
        for document in documents
    ]
    return {
        **texts_of(documents),
        KNOWN_VECTORS: [None if one is None else as_bytes(one.vectors) for one in each],
        KNOWN_TOKEN_IDS: [None if one is None else as_bytes(one.token_ids) for one in each],
    }


def columns_of_rows(made: Table, settings: Settings) -> Columns:
    """The arrays in the output of :class:`MakeRows`."""
    columns = {}
    for name, column in settings.columns.items():
        values = from_bytes(made[name][0], KINDS[name.rpartition(".")[2]])
        columns[name] = values if column.width == 1 else values.reshape(-1, column.width)
    return columns
