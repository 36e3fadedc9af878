"""Texts to what an index takes: token vectors to be added, or rows that are ready to be written."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.index.pooling import pool
from chamfer.index.rows import Columns, check_unit, columns_in_parts
from chamfer.index.settings import KINDS, Settings
from chamfer.index.trained import Trained
from chamfer.support.progress import Advance
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.workers.jobs import Table
from chamfer.workers.token_columns import as_bytes, from_bytes, from_columns, to_columns

TEXT, TRUNCATED, VECTORS, TOKEN_IDS = "text", "truncated", "vectors", "token_ids"
DISTINCT, DISTINCT_LENGTHS = "distinct", "distinct_lengths"


@dataclass(frozen=True)
class EncodeDocuments:
    """A job: texts in; token vectors, distinct tokens and the number of texts that were cut out, in one row."""

    encoder: Encoder

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        tokenized = self.encoder.tokenize(table[TEXT], "document")
        distinct = [np.unique(ids) for ids in tokenized.token_ids]
        return {
            **to_columns(self.encoder.encode(tokenized, advance)),
            DISTINCT: [as_bytes(np.concatenate(distinct).astype(np.int32))],
            DISTINCT_LENGTHS: [[len(ids) for ids in distinct]],
            TRUNCATED: [tokenized.truncated],
        }


def texts_of(documents: Sequence[Document]) -> Table:
    """What :class:`EncodeDocuments` takes."""
    return {TEXT: [document.content for document in documents]}


def tokens_of(encoded: Table) -> tuple[TokenBatch, list[TokenIds]]:
    """Token vectors and the distinct tokens of each document, of what :class:`EncodeDocuments` gave."""
    ends = np.cumsum(encoded[DISTINCT_LENGTHS][0])
    return from_columns(encoded), np.split(from_bytes(encoded[DISTINCT][0], np.int32), ends[:-1])


@dataclass(frozen=True)
class MakeRows:
    """A job: texts in, and the vectors of those that were encoded before; the rows of a segment out, in one row.

    Args:
        encoder: gives the vectors.
        settings: of the index.
        trained: what the index has learnt.
    """

    encoder: Encoder
    settings: Settings
    trained: Trained

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        tokenized = self.encoder.tokenize(table[TEXT], "document")
        new = [place for place, vectors in enumerate(table[VECTORS]) if vectors is None]
        encoded = self.encoder.encode(tokenized.take(new), advance)
        advance(len(tokenized) - len(new))
        tokens = encoded
        if len(new) < len(tokenized):
            rows = iter(range(len(encoded)))
            shape = (-1, self.encoder.dimensions)
            each = [
                encoded[next(rows)]
                if vectors is None
                else TokenBatch.pack([from_bytes(vectors, np.float16).reshape(shape)], [from_bytes(ids, np.int32)])
                for vectors, ids in zip(table[VECTORS], table[TOKEN_IDS], strict=True)
            ]
            tokens = TokenBatch.pack([one.vectors for one in each], [one.token_ids for one in each])
        check_unit(tokens)
        distinct = [np.unique(ids) for ids in tokenized.token_ids]
        parts = [
            columns
            for _, columns in columns_in_parts(pool(tokens, self.settings.pool), distinct, self.settings, self.trained)
        ]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in self.settings.columns}
        return {**{name: [as_bytes(values)] for name, values in joined.items()}, TRUNCATED: [tokenized.truncated]}


def texts_and_known(documents: Sequence[Document], known: EncodedCorpus | None) -> Table:
    """What :class:`MakeRows` takes: nothing stands for the vectors of a text that is not known."""
    place = {} if known is None else known.place
    each = [
        known.tokens[place[document.id]] if known is not None and document.id in place else None
        for document in documents
    ]
    return {
        **texts_of(documents),
        VECTORS: [None if one is None else as_bytes(one.vectors) for one in each],
        TOKEN_IDS: [None if one is None else as_bytes(one.token_ids) for one in each],
    }


def columns_of_rows(made: Table, settings: Settings) -> Columns:
    """The arrays that :class:`MakeRows` gave."""
    columns = {}
    for name, column in settings.columns.items():
        values = from_bytes(made[name][0], KINDS[name.rpartition(".")[2]])
        columns[name] = values if column.width == 1 else values.reshape(-1, column.width)
    return columns
