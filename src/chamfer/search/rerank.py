"""`rerank`: rank texts for a query, encoding both on the fly."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.data.ranking import Ranking, rank_texts
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels import dispatch
from chamfer.kernels.cosines import cosines
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stage import Queries
from chamfer.search.hits import checked_score
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors
from chamfer.weights.mix import without_corpus
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights

Scores = npt.NDArray[np.floating]

IN_AN_INDEX = "use Searcher.rerank, or chamfer rerank with --index or --corpus"
"""How texts get their lexical evidence."""


def rerank(
    query: str,
    documents: Mapping[str, str] | Sequence[str],
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = DEFAULT_FORM,
    k: int | None = None,
    query_id: str = "query",
    min_score: float = 0.0,
) -> Ranking:
    """Rank texts for a query, encoding both on the fly.

    Args:
        query: query text.
        documents: texts by id, or a list of texts, which get their positions ``"0"``, ``"1"``, ... as ids.
        encoder: encoder for the query and the documents.
        weights: token weights; uniform if not given. Lexical evidence of their mix is left out, with an
            ``InputWarning``: it needs the word counts of an index, see :meth:`chamfer.Searcher.rerank`.
        form: ``l2`` or ``cosine``.
        k: number of documents to return; all if not given.
        query_id: id of the query in the result.
        min_score: leave out documents that score less.

    Returns:
        A :class:`chamfer.Ranking`, best first, with scores from 0 to 1, a perfect match. Ties are broken by id, or by
        position for a list of texts.

    >>> from chamfer import Encoder, rerank
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> rerank("how to make bread", texts, encoder=Encoder.load("minilm")).document_ids
    ('1', '0')
    """
    weights, least = weights or TokenWeights.uniform(encoder.vocabulary), checked_score(min_score)
    check_weights(weights, encoder, form)
    mix = without_corpus(weights.mix, IN_AN_INDEX)
    weighted = weigh(encoder.encode_queries([query]), [query], weights, form)._replace(mix=mix)

    def score(texts: Sequence[str]) -> Scores:
        encoded = encoder.encode_documents(texts)
        return score_texts(weighted, encoded, device=encoder.scoring_device)

    ranking = rank_texts(documents, score, k=k, query_id=query_id)
    return ranking.rescored(weighted.scale_of(0).scores).at_least(least)


def weigh(tokens: TokenBatch, texts: Sequence[str], weights: TokenWeights, form: Form) -> Queries:
    """Weight and adapt the tokens of encoded queries.

    Args:
        tokens: encoded queries.
        texts: their texts.
        weights: weights that fit the encoder.
        form: ``l2`` or ``cosine``.
    """
    return Queries(texts, weights.adapt(tokens), weights.of(tokens), form, weights.mix)


def score_texts(
    query: Queries,
    texts: TokenBatch,
    *,
    device: str,
    lexical: Scores | None = None,
) -> Scores:
    """Score encoded texts for one query.

    Args:
        query: one encoded and weighted query.
        texts: encoded texts, in the dimensions of the query.
        device: device to score on.
        lexical: ``(texts,)`` BM25's scores, if the mix of the query counts them.

    Returns:
        ``(texts,)`` scores of the kernel, plus what the mix adds; the scale of the query converts them. A text without
        tokens scores ``-inf``.
    """
    if not len(texts):
        return np.empty(0, np.float32)
    distances = dispatch.minima(query.tokens, dispatch.on_device(texts, device), form=query.form)
    scores = dispatch.score(distances, query.weights)
    if query.mix.lexical and lexical is None:
        raise InputError("a mix that counts lexical evidence needs BM25's scores of the texts")
    if query.mix:
        nothing = np.zeros(len(texts), np.float32)
        pooled = cosines(mean_vectors(texts), mean_vectors(query.tokens)[0]) if query.mix.pooled else nothing
        scores = scores + query.mix.added(query.weights, lexical=nothing if lexical is None else lexical, pooled=pooled)
    return scores
