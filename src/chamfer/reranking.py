"""A query and its candidates in, a ranking out."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from chamfer import kernels
from chamfer.encode import Encoder
from chamfer.errors import InputError
from chamfer.kernels import Form
from chamfer.ranking import Ranking
from chamfer.store.corpus import EncodedCorpus
from chamfer.tokens import TokenBatch
from chamfer.weightings import check_weights
from chamfer.weights import TokenWeights


def rerank(
    query: str,
    documents: Mapping[str, str] | Sequence[str],
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = "l2",
    k: int | None = None,
    query_id: str = "query",
    normalise: bool = False,
) -> Ranking:
    """Rank texts for a query, encoding both on the fly.

    Args:
        query: what is looked for.
        documents: texts by id, or a list of texts, whose ids are then their places ``"0"``, ``"1"``, ...
        encoder: gives the token vectors.
        weights: what each query token counts; all the same if not given.
        form: ``l2`` or ``cosine``.
        k: keep only so many.
        query_id: the name of the query in the result.
        normalise: divide by the total weight, so that 0 is a perfect match on every token and scores of short and
            long queries can be compared with one threshold.

    >>> from chamfer import Encoder, rerank
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> rerank("how to make bread", texts, encoder=Encoder.load("minilm")).document_ids
    ('1', '0')
    """
    if isinstance(documents, str):
        raise InputError("give a list of documents, not one text, whose letters would be ranked one by one")
    if not isinstance(documents, Mapping):
        width = len(str(len(documents)))  # only while sorting: ties must fall in the order of the list
        ranking = rerank(
            query,
            {f"{place:0{width}}": text for place, text in enumerate(documents)},
            encoder=encoder,
            weights=weights,
            form=form,
            k=k,
            query_id=query_id,
            normalise=normalise,
        )
        return Ranking(query_id, tuple(str(int(place)) for place in ranking.document_ids), ranking.scores)
    weights = weights or TokenWeights.uniform(encoder.vocabulary)
    check_weights(weights, encoder, form)
    tokens = encoder.encode_queries([query])
    if not documents:
        return Ranking(query_id, (), ())
    encoded = encoder.encode_documents(list(documents.values()))
    distances = kernels.minima(tokens, kernels.placed(encoded, encoder.scoring_device), form=form)
    scores: npt.NDArray[np.floating] = kernels.score(distances, weights.of(tokens))
    if normalise:
        scores = kernels.normalised(scores, weights.of(tokens), form)
    return Ranking.of(query_id, list(documents), scores, k)


def relevance(normalised: float) -> float:
    """A normalised score as other tools print it: from 0 to 1, which is a perfect match on every token.

    >>> relevance(0.0), relevance(-0.5), relevance(float("-inf"))
    (1.0, 0.75, 0.0)
    """
    return min(max(1 + normalised / 2, 0.0), 1.0)


def rerank_encoded(
    query: TokenBatch,
    candidates: Ranking,
    corpus: EncodedCorpus,
    weightings: Mapping[str, TokenWeights],
    *,
    form: Form = "l2",
    k: int | None = None,
) -> dict[str, Ranking]:
    """Rank the candidates of one query again, once for each weighting, from vectors on disk.

    All of them are ranked from one computation of the distances, which do not depend on the weights. The best ``k``
    for one weighting are found faster, because most documents need not be scored exactly.
    """
    unknown = next((identifier for identifier in candidates.document_ids if identifier not in corpus.place), None)
    if unknown is not None:
        raise InputError(f"candidate {unknown!r} of query {candidates.query_id!r} is not in the encoded corpus")
    places = np.array([corpus.place[identifier] for identifier in candidates.document_ids], dtype=np.int64)
    if k is not None and len(weightings) == 1:
        [(name, weights)] = weightings.items()
        by_id = places[np.argsort(corpus.order[places])]
        documents = corpus.coded if corpus.on_device is None else corpus.on_device
        found = kernels.best(query, weights.of(query), documents, k=k, candidates=[by_id], form=form)[0]
        ids = tuple(corpus.ids[place] for place in found.places)
        return {name: Ranking(candidates.query_id, ids, tuple(found.scores.tolist()))}
    distances = kernels.minima(query, corpus.placed, candidates=places, form=form)
    return {
        name: Ranking.of(candidates.query_id, candidates.document_ids, kernels.score(distances, weights.of(query)), k)
        for name, weights in weightings.items()
    }
