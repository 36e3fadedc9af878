"""From texts, or from vectors, to explanations."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.explain.explanation import Explanation, Match
from chamfer.explain.words import Span, Spelling, placed
from chamfer.kernels.form import Form
from chamfer.tokens.batch import TokenBatch, Vectors
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights


def explain(
    query: str,
    document: str,
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = "l2",
) -> Explanation:
    """Say for every query token which token of a document it matched, and what that added to the score.

    Args:
        query: a text.
        document: a text with at least one token.
        encoder: gives vectors to both.
        weights: what each query token counts; all the same if not given.
        form: ``l2`` or ``cosine``.

    >>> encoder = Encoder.load("minilm")
    >>> explained = explain("capital of France", "Paris is the French capital.", encoder=encoder)
    >>> [(word.text, word.matched) for word in explained.words if not word.special]
    [('capital', 'capital'), ('of', '[SEP]'), ('france', 'french')]
    """
    weights = weights or TokenWeights.uniform(encoder.vocabulary)
    check_weights(weights, encoder, form)
    tokens = encoder.encode_queries([query])
    kept = encoder.encode_documents([document])
    return explain_tokens(
        tokens,
        weights.of(tokens),
        kept,
        encoder.vocabulary,
        form=form,
        read=encoder.spans(document),
        document_text=document,
    )


def explain_tokens(
    query: TokenBatch,
    weights: npt.NDArray[np.floating],
    document: TokenBatch,
    vocabulary: Vocabulary,
    *,
    form: Form = "l2",
    read: Sequence[tuple[int, Span | None]] | None = None,
    document_id: str = "",
    document_text: str | None = None,
) -> Explanation:
    """Like :func:`explain`, for a query and a document that are encoded already.

    Args:
        query: a batch of one query.
        weights: ``(query tokens,)``.
        document: a batch of one document with tokens.
        vocabulary: of the encoder.
        form: ``l2`` or ``cosine``.
        read: the tokens of the document's text and where they are, see :meth:`Encoder.spans`; those of ``document``
            if not given.
        document_id: which document it is.
        document_text: its text.
    """
    if len(query) != 1 or len(document) != 1 or len(document.vectors) == 0:
        raise InputError("an explanation is of one query and one document that has tokens")
    distances, places = closest(query.vectors, document.vectors, form)
    contributions = -weights.astype(np.float64) * distances / len(query.token_ids)
    spelling = Spelling(vocabulary)
    kept = document.token_ids
    found = placed(kept, read if read is not None else [(token, None) for token in kept.tolist()], spelling)
    special = vocabulary.is_special
    return Explanation(
        tuple(
            Match(
                token=vocabulary.tokens[token],
                text=spelling.text([token]),
                of_word=of_word,
                starts_word=starts,
                special=bool(special[token]),
                weight=float(weight),
                matched=vocabulary.tokens[document.token_ids[place]],
                word=found[place].word,
                span=found[place].span,
                distance=float(distance),
                contribution=float(contribution),
            )
            for token, of_word, starts, weight, place, distance, contribution in zip(
                query.token_ids.tolist(),
                spelling.word_of_each(query.token_ids),
                spelling.starts(query.token_ids),
                weights,
                places,
                distances,
                contributions,
                strict=True,
            )
        ),
        form,
        document_id,
        document_text,
    )


def closest(query: Vectors, document: Vectors, form: Form) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The distance of each query token to its closest document token, and which that is; the first of several.

    As :func:`chamfer.kernels.reference.match`, by one matrix product for a document.
    """
    tokens, vectors = query.astype(np.float64), document.astype(np.float64)
    products = vectors @ tokens.T
    if form == "cosine":
        places = np.argmax(products, axis=0)
        return -products[places, np.arange(len(tokens))], places
    places = np.argmin((vectors**2).sum(axis=1, keepdims=True) - 2 * products, axis=0)
    return np.linalg.norm(vectors[places] - tokens, axis=1), places
