"""Which token matched what, and what its weight did."""

from collections.abc import Sequence
from typing import NamedTuple

from chamfer.errors import InputError
from chamfer.kernels import Form, reference
from chamfer.tokens import TokenBatch
from chamfer.weights import TokenWeights


class Match(NamedTuple):
    """One query token and the document token that it found closest."""

    query_token: str
    weight: float
    document_token: str
    document_word: str
    """The whole word that the document token is a piece of."""
    distance: float
    contribution: float
    """What the token adds to the score; the contributions of all tokens add up to it."""


def explain(query: TokenBatch, document: TokenBatch, weights: TokenWeights, *, form: Form = "l2") -> list[Match]:
    """Say for every query token which token of the document it matched, and what that added to the score.

    Args:
        query: a batch of one query.
        document: a batch of one document with tokens.
        weights: what each query token counts.
        form: ``l2`` or ``cosine``.
    """
    if len(query) != 1 or len(document) != 1 or len(document.vectors) == 0:
        raise InputError("an explanation is of one query and one document that has tokens")
    distances, places = reference.match(query.vectors, document, form)
    spell = weights.vocabulary.tokens
    document_tokens = [spell[token] for token in document.token_ids]
    return [
        Match(
            query_token=spell[token],
            weight=float(weight),
            document_token=document_tokens[place],
            document_word=word_at(document_tokens, int(place)),
            distance=float(distance),
            contribution=float(-weight * distance / len(query.token_ids)),
        )
        for token, weight, place, distance in zip(
            query.token_ids, weights.of(query), places[0], distances[0], strict=True
        )
    ]


def word_at(tokens: Sequence[str], place: int) -> str:
    """Join the word pieces around a token to the word they spell.

    >>> word_at(["un", "##believ", "##able", "story"], 1)
    'unbelievable'
    """
    start, stop = place, place + 1
    while start > 0 and tokens[start].startswith("##"):
        start -= 1
    while stop < len(tokens) and tokens[stop].startswith("##"):
        stop += 1
    return "".join(token.removeprefix("##") for token in tokens[start:stop])
