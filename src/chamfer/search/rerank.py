"""`rerank`: rank texts for a query, encoding both on the fly."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.encode.tokenizing import Tokenized
from chamfer.kernels import dispatch
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.strings import list_of_strings
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights


def rerank(
    query: str,
    documents: Mapping[str, str] | Sequence[str],
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = DEFAULT_FORM,
    k: int | None = None,
    query_id: str = "query",
    normalise: bool = False,
) -> Ranking:
    """Rank texts for a query, encoding both on the fly.

    Args:
        query: query text.
        documents: texts by id, or a list of texts, which get their positions ``"0"``, ``"1"``, ... as ids.
        encoder: encoder for the query and the documents.
        weights: token weights; uniform if not given.
        form: ``l2`` or ``cosine``.
        k: number of documents to return; all if not given.
        query_id: id of the query in the result.
        normalise: whether to divide scores by the total weight, so that 0 is a perfect match on every token and one
            threshold suits short and long queries.

    Returns:
        A :class:`chamfer.Ranking`, best first. Ties are broken by id, or by position for a list of texts.

    >>> from chamfer import Encoder, rerank
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> rerank("how to make bread", texts, encoder=Encoder.load("minilm")).document_ids
    ('1', '0')
    """
    by_id = documents if isinstance(documents, Mapping) else _by_position(list_of_strings(documents, "documents"))
    weights = weights or TokenWeights.uniform(encoder.vocabulary)
    check_weights(weights, encoder, form)
    scores = score_texts(
        encoder.tokenize([query], "query"),
        encoder.tokenize(list(by_id.values()), "document"),
        encoder=encoder,
        weights=weights,
        form=form,
        normalise=normalise,
    )
    ranking = Ranking.of(query_id, list(by_id), scores, k)
    if isinstance(documents, Mapping):
        return ranking
    return Ranking(query_id, tuple(str(int(position)) for position in ranking.document_ids), ranking.scores)


def score_texts(
    query: Tokenized, texts: Tokenized, *, encoder: Encoder, weights: TokenWeights, form: Form, normalise: bool = False
) -> npt.NDArray[np.floating]:
    """Score texts for one query, where both are tokenised already.

    Args:
        query: one query.
        texts: texts to score.
        encoder: the encoder that tokenised both.
        weights: weights that fit the encoder.
        form: ``l2`` or ``cosine``.
        normalise: whether to divide scores by the total weight.

    Returns:
        ``(texts,)`` scores; higher is closer. A text without tokens scores ``-inf``.
    """
    tokens = encoder.encode(query)
    if not texts:
        return np.empty(0, np.float32)
    documents = dispatch.on_device(encoder.encode(texts), encoder.scoring_device)
    own_weights = weights.of(tokens)
    scores = dispatch.score(dispatch.minima(tokens, documents, form=form), own_weights)
    return dispatch.normalised(scores, own_weights, form) if normalise else scores


def _by_position(texts: Sequence[str]) -> dict[str, str]:
    """Texts by position, padded with zeros so that ties, which are broken by id, fall in the order of the list."""
    width = len(str(len(texts)))
    return {f"{position:0{width}}": text for position, text in enumerate(texts)}
