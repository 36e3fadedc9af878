"""Checks of documents and vectors before they are added to an index."""

from collections import Counter
from collections.abc import Sequence

from chamfer.data.documents import Document
from chamfer.errors import InputError
from chamfer.index.passages import place_of
from chamfer.index.rows import check_unit
from chamfer.index.settings import Settings
from chamfer.tokens.batch import TokenBatch, TokenIds


def check_addition(
    documents: Sequence[Document], tokens: TokenBatch, distinct: Sequence[TokenIds] | None, settings: Settings
) -> None:
    """Refuse documents and vectors that do not match each other or the index.

    The documents themselves were checked before they were encoded, see :func:`chamfer.index.texts.check_storable`.
    """
    if len(documents) != len(tokens):
        raise InputError(f"got vectors for {len(tokens)} texts but {len(documents)} documents")
    if tokens.dimensions != settings.dimensions:
        raise InputError(
            f"the index takes vectors of {settings.dimensions} dimensions, not {tokens.dimensions}; "
            "encode with the model that it was built with"
        )
    if distinct is not None and len(distinct) != len(documents):
        raise InputError(f"got {len(distinct)} lists of distinct tokens for {len(documents)} documents")
    check_unit(tokens)
    (name, _), times = next(iter(Counter(map(place_of, documents)).most_common(1)), (("", 0), 0))
    if times > 1:
        raise InputError(f"document {name!r} is added twice; ids must be unique")
