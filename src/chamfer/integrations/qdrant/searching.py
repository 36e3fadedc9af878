"""Search a collection like an index; the engine computes both forms of the score."""

from typing import Any, overload

import numpy as np
import numpy.typing as npt
from qdrant_client import models

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.index.index import Index
from chamfer.index.snapshot import Snapshot
from chamfer.integrations.qdrant.filters import condition_of
from chamfer.integrations.qdrant.points import (
    DIMENSIONS,
    ID,
    METADATA,
    MODEL,
    TEXT,
    TITLE,
    TOKENS,
    WORDS,
    Client,
    made_with,
    rows,
    snapshot_of,
)
from chamfer.kernels.fold import fold
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.sparse import sparse_query
from chamfer.retrieve.stage import DEFAULT_DEPTH, Queries
from chamfer.retrieve.stages import BM25, EXACT
from chamfer.search.hits import DEFAULT_K, Hit, Hits
from chamfer.search.rerank import weigh
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.mix import NOTHING, warn_of_tokens_alone
from chamfer.weights.names import check_weights
from chamfer.weights.scale import Scale
from chamfer.weights.token_weights import TokenWeights

STAGES = (BM25, EXACT)


class QdrantSearcher:
    """Searches a collection that an index was pushed into; it needs the encoder and weights, but not the index.

    Scores equal those of a :class:`chamfer.Searcher` up to rounding: the engine rounds queries to 16 bits. Documents
    without tokens are never returned, and a query whose weights are all 0 returns nothing.

    Args:
        client: client of the engine.
        name: name of the collection.
        encoder: the encoder that the index was built with.
        weights: token weights; uniform if not given. A mix is left out, with an ``InputWarning``: the engine scores by
            tokens alone.
        form: ``l2`` or ``cosine``.
        index: the index that was pushed; needed only if its vectors are projected to fewer dimensions.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        encoder: Encoder,
        weights: TokenWeights | None = None,
        *,
        form: Form = DEFAULT_FORM,
        index: Index | Snapshot | None = None,
    ) -> None:
        self.client, self.name, self.encoder, self.form = client, name, encoder, form
        self._trained = None if index is None else snapshot_of(index).trained
        self.weights = weights or TokenWeights.uniform(encoder.vocabulary)
        check_weights(self.weights, encoder, form)
        warn_of_tokens_alone(self.weights.mix, "Qdrant scores")
        pushed = made_with(client, name)
        if pushed.get(MODEL, "") not in ("", encoder.model_fingerprint):
            raise InputError(f"collection {name!r} was encoded with another model; search it with that model")
        asked = encoder.dimensions if self._trained is None else self._trained.clusters.centroids.shape[1]
        if pushed.get(DIMENSIONS, asked) != asked:
            raise InputError(
                f"collection {name!r} has vectors of {pushed[DIMENSIONS]} dimensions, but queries have {asked}; "
                "give the index that was pushed, for its projection: index=..."
            )

    @overload
    def search(
        self, query: str, k: int = DEFAULT_K, *, first_stage: str = BM25, depth: int = ..., where: str | None = None
    ) -> Hits: ...

    @overload
    def search(
        self,
        query: list[str],
        k: int = DEFAULT_K,
        *,
        first_stage: str = BM25,
        depth: int = ...,
        where: str | None = None,
    ) -> list[Hits]: ...

    def search(
        self,
        query: str | list[str],
        k: int = DEFAULT_K,
        *,
        first_stage: str = BM25,
        depth: int = DEFAULT_DEPTH,
        where: str | None = None,
    ) -> Hits | list[Hits]:
        """Find the top ``k`` documents for a query, or for each of several.

        Args:
            query: query text, or a list of query texts.
            k: number of documents to return.
            first_stage: ``bm25``, or ``exhaustive`` to score every document.
            depth: number of BM25 candidates to score.
            where: metadata filter, such as ``year > 2020 and lang = 'en'``.
        """
        texts = [query] if isinstance(query, str) else query
        tokens = self.encoder.encode_queries(texts)
        queries = weigh(tokens, texts, self.weights, self.form)._replace(mix=NOTHING)
        if self._trained is not None:
            queries = queries._replace(tokens=self._trained.projected(queries.tokens))
        hits = self.rank(queries, k, first_stage=first_stage, depth=depth, where=where)
        return hits[0] if isinstance(query, str) else hits

    def rank(
        self,
        queries: Queries,
        k: int,
        *,
        first_stage: str = BM25,
        depth: int = DEFAULT_DEPTH,
        where: str | None = None,
    ) -> list[Hits]:
        """Rank documents for queries that are already encoded and weighted; their mix must be empty."""
        if queries.mix:
            raise InputError("Qdrant scores by tokens alone; give queries without a mix, or search with Searcher")
        if first_stage not in STAGES:
            raise InputError(f"first stages in Qdrant are {' and '.join(STAGES)}, not {first_stage!r}")
        if min(k, depth) < 1:
            raise InputError(f"k and depth must be at least 1, not {k} and {depth}")
        allowed = None if where is None else condition_of(where)
        everything = self.client.count(self.name, allowed, exact=True).count if first_stage == EXACT else 0
        found = []
        for place, text in enumerate(queries.texts):
            among, many = allowed, everything
            if first_stage != EXACT:
                ids = self._candidates(text, max(k, depth), allowed)
                among, many = models.Filter(must=[models.HasIdCondition(has_id=ids)]), len(ids)
            weights = queries.weights_of(place)
            nothing = many == 0 or not weights.any()
            found.append(Hits() if nothing else self._best(queries.tokens[place], weights, k, among, many))
        return found

    def _candidates(self, text: str, depth: int, allowed: models.Filter | None) -> list[models.ExtendedPointId]:
        """BM25's candidates, in a request of their own: in a cluster, the limit of a prefetch applies to each shard."""
        words = sparse_query(text)
        if not words.indices:
            return []
        query = models.SparseVector(**words._asdict())
        found = self.client.query_points(
            self.name, query, using=WORDS, query_filter=allowed, limit=depth, with_payload=False
        )
        return [point.id for point in found.points]

    def _best(
        self, query: TokenBatch, weights: npt.NDArray[np.float32], k: int, among: models.Filter | None, many: int
    ) -> Hits:
        asked, scale = _cosine(query, weights) if self.form == "cosine" else _l2(query, weights, many)
        # The engine applies the filter of a query to all of its prefetches.
        found = self.client.query_points(
            self.name, **asked, query_filter=among, limit=k, with_payload=[ID, TEXT, METADATA, TITLE]
        )
        scored = [(point.payload or {}, point.score * scale) for point in found.points]
        scored.sort(key=lambda pair: (-pair[1], pair[0][ID]))
        scores = Scale(weights, form=self.form).scores(np.array([score for _, score in scored]))
        return Hits(
            Hit(payload[ID], score, payload[TEXT], payload[METADATA], payload.get(TITLE, ""))
            for (payload, _), score in zip(scored, scores.tolist(), strict=True)
        )


def _cosine(query: TokenBatch, weights: npt.NDArray[np.float32]) -> tuple[dict[str, Any], float]:
    """A query with its weights folded in, scaled so that the largest is 1 and fits 16 bits; and the inverse scale."""
    largest = weights.max()
    asked = {"query": rows(fold(query, weights / largest).vectors, 0), "using": TOKENS}
    return asked, float(largest) / len(weights)


def _l2(query: TokenBatch, weights: npt.NDArray[np.float32], candidates: int) -> tuple[dict[str, Any], float]:
    """A prefetch per query token that scores all candidates, and a formula that sums the square roots.

    ``sum_i -w_i / tokens * sqrt(|q_i|^2 + 1 - 2 * score[i])``, see :func:`.points.rows`
    """
    tokens = np.flatnonzero(weights)
    rounded = query.vectors[tokens].astype(np.float16)
    squares = np.square(rounded.astype(np.float64)).sum(axis=1)
    prefetch = [models.Prefetch(query=[row], using=TOKENS, limit=candidates) for row in rows(rounded, 1)]
    terms: list[models.Expression] = []
    for place, (weight, square) in enumerate(zip(weights[tokens].tolist(), squares.tolist(), strict=True)):
        # Rounding can make it about -1e-7, whose root is an error; every server that has formulas has abs.
        square_distance = models.AbsExpression(
            abs=models.SumExpression(sum=[square + 1, models.MultExpression(mult=[-2.0, f"$score[{place}]"])])
        )
        distance = models.SqrtExpression(sqrt=square_distance)
        terms.append(models.MultExpression(mult=[-weight / len(weights), distance]))
    return {"prefetch": prefetch, "query": models.FormulaQuery(formula=models.SumExpression(sum=terms))}, 1.0
