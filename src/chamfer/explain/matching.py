"""Explaining a score, from texts or from token vectors."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Passage
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.explain.explanation import Explanation
from chamfer.explain.matches import EvidencePart, Match
from chamfer.explain.words import Span, Spelling, placed
from chamfer.kernels.cosines import cosines
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.tokens.batch import TokenBatch, Vectors
from chamfer.tokens.means import mean_vectors
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.mix import POOLED, Evidence, without_corpus
from chamfer.weights.names import check_weights
from chamfer.weights.scale import Scale
from chamfer.weights.token_weights import TokenWeights


def explain(
    query: str,
    document: str,
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = DEFAULT_FORM,
) -> Explanation:
    """Explain the score of a text: what each query token matched, and what that contributed.

    Args:
        query: query text.
        document: document text with at least one token.
        encoder: encoder for both texts.
        weights: token weights; uniform if not given. Lexical evidence of their mix is left out, with an
            ``InputWarning``: it needs the word counts of an index.
        form: ``l2`` or ``cosine``.

    Returns:
        An :class:`chamfer.Explanation`, whose contributions add up to the score of :func:`chamfer.rerank`. To explain
        documents of an index, use :meth:`chamfer.Searcher.explain`.

    >>> from chamfer import Encoder, explain
    >>> why = explain("capital of France", "Paris is the French capital.", encoder=Encoder.load("minilm"))
    >>> [(word.text, word.matched) for word in why.words if not word.special]
    [('capital', 'capital'), ('of', '[SEP]'), ('france', 'french')]
    """
    weights = weights or TokenWeights.uniform(encoder.vocabulary)
    check_weights(weights, encoder, form)
    tokenized = encoder.tokenize([query], "query")
    tokens, encoded = encoder.encode(tokenized), encoder.encode_documents([document])
    adapted, weighted = weights.adapt(tokens), weights.of(tokens)
    mix = without_corpus(weights.mix, "use Searcher.explain for a document of an index", stacklevel=2)
    cosine = cosines(mean_vectors(encoded), mean_vectors(adapted)[0])[0]
    return explain_tokens(
        adapted,
        encoded,
        encoder.vocabulary,
        Scale(weighted, mix, form),
        evidence={POOLED: float(cosine)},
        read=encoder.spans(document),
        document_text=document,
        query_read=tokenized.read[0],
    )


def explain_tokens(
    query: TokenBatch,
    document: TokenBatch,
    vocabulary: Vocabulary,
    scale: Scale,
    *,
    evidence: Mapping[Evidence, float] | None = None,
    read: Sequence[tuple[int, Span | None]] | None = None,
    document_id: str = "",
    document_text: str | None = None,
    document_title: str = "",
    passage: Passage | None = None,
    query_read: int | None = None,
) -> Explanation:
    """Explain the score of a document from token vectors, without encoding anything.

    Args:
        query: batch of one query, adapted if its weights have an adapter.
        document: batch of one document with at least one token.
        vocabulary: vocabulary of the encoder.
        scale: scale of the query's scores, which has its weights.
        evidence: the value of each piece of evidence that the mix of the scale counts.
        read: tokens of the document text with their spans, from :meth:`Encoder.spans`; the token ids of ``document``,
            without spans, if not given.
        document_id: id of the document.
        document_text: text of the document, which begins with its title.
        document_title: its title.
        passage: which passage of the document it is, in an index of passages.
        query_read: number of characters of the query that the model read, if it was longer.
    """
    if len(query) != 1 or len(document) != 1 or len(document.vectors) == 0:
        raise InputError("an explanation needs exactly one query and one document with at least one token")
    distances, places = closest(query.vectors, document.vectors, scale.form)
    parts = scale.parts(distances, evidence or {})
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
                scale.weights,
                places,
                distances,
                parts.tokens,
                strict=True,
            )
        ),
        scale.form,
        document_id,
        document_text,
        query_read,
        tuple(
            EvidencePart(name, (evidence or {})[name], getattr(scale.mix, name), scale.perfect(name), contribution)
            for name, contribution in parts.evidence.items()
        ),
        document_title,
        passage,
    )


def closest(query: Vectors, document: Vectors, form: Form) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The distance of each query token to its closest document token, and that token's position; the first in a tie.

    Equals :func:`chamfer.kernels.reference.match`, with one matrix product per document.
    """
    tokens, vectors = query.astype(np.float64), document.astype(np.float64)
    products = vectors @ tokens.T
    if form == "cosine":
        places = np.argmax(products, axis=0)
        return -products[places, np.arange(len(tokens))], places
    places = np.argmin((vectors**2).sum(axis=1, keepdims=True) - 2 * products, axis=0)
    return np.linalg.norm(vectors[places] - tokens, axis=1), places
