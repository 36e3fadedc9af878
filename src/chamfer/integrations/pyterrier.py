"""PyTerrier: transformers that encode queries with token weights, and re-rank. They do not start Java."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from chamfer import Encoder, InputError, TokenBatch, TokenWeights
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stage import Queries
from chamfer.search.rerank import score_texts, weigh
from chamfer.weights.mix import without_corpus
from chamfer.weights.names import check_weights

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise InputError("chamfer.integrations.pyterrier needs pyterrier; run: pip install 'chamfer[pyterrier]'") from error

QUERY_VECTORS, QUERY_TOKENS, QUERY_WEIGHTS = "query_embs", "query_toks", "query_weights"


class QueryEncoder(pt.Transformer):
    """Encodes queries: reads ``qid, query``; adds ``query_embs, query_toks, query_weights``.

    The columns are those of pyterrier_colbert: for each query, ``(tokens, dimensions)`` float32 vectors, ``(tokens,)``
    int32 token ids, and ``(tokens,)`` float32 weights. An adapter of the weights has moved the vectors. Rows with the
    same query text are encoded once. A query without text raises an error.

    Args:
        encoder: encoder for the queries.
        weights: token weights; uniform if not given.
        form: form of the score that the weights are for, ``l2`` or ``cosine``.

    >>> queries = pd.DataFrame({"qid": ["1"], "query": ["how to make bread"]})
    >>> QueryEncoder(Encoder.load("minilm"))(queries)["query_weights"][0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, encoder: Encoder, weights: TokenWeights | None = None, *, form: Form = DEFAULT_FORM) -> None:
        self.encoder = encoder
        self.weights = weights or TokenWeights.uniform(encoder.vocabulary)
        check_weights(self.weights, encoder, form)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return a copy of the frame with the three columns."""
        pt.validate.columns(inp, includes=["qid", "query"])
        place = {text: n for n, text in enumerate(dict.fromkeys(inp["query"]))}
        queries = self.encoder.encode_queries(list(place))
        encoded = [queries[place[text]] for text in inp["query"]]
        columns = {
            QUERY_VECTORS: [self.weights.adapt(query).vectors for query in encoded],
            QUERY_TOKENS: [query.token_ids for query in encoded],
            QUERY_WEIGHTS: [self.weights.of(query) for query in encoded],
        }
        return inp.assign(**{name: pd.Series(values, inp.index, dtype=object) for name, values in columns.items()})


class Reranker(pt.Transformer):
    """Re-ranks: reads ``qid, query, docno, text``; adds ``score`` and ``rank`` (from 0), best first.

    Scores are those of :func:`chamfer.rerank`, from 0 to 1. A frame with ``query_embs`` is not encoded again; its
    weights are ``query_weights`` or, without that column, looked up by ``query_toks``, and the vectors are then
    adapted. Rows are grouped by query, and ties keep the input order. A document without text scores 0.

    Args:
        encoder: encoder for queries and documents.
        weights: token weights; uniform if not given. Lexical evidence of their mix is left out, with an
            ``InputWarning``; a pipeline can add its own, as in ``0.1 * bm25 + reranker``.
        form: ``l2`` or ``cosine``.

    >>> frame = pd.DataFrame({"qid": "1", "query": "how to make bread", "docno": ["a", "b"],
    ...     "text": ["Paris is the capital of France.", "Bread is baked from flour."]})
    >>> Reranker(Encoder.load("minilm"))(frame)["docno"].tolist()
    ['b', 'a']
    """

    def __init__(self, encoder: Encoder, weights: TokenWeights | None = None, *, form: Form = DEFAULT_FORM) -> None:
        self._queries = QueryEncoder(encoder, weights, form=form)
        self.encoder, self.weights = encoder, self._queries.weights
        self.form: Form = form
        self._mix = without_corpus(self.weights.mix, "combine the scores with those of a BM25 transformer")

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return a ranked copy of the frame."""
        with pt.validate.any(inp) as check:
            check.result_frame(extra_columns=["query", "text"])
            check.result_frame(extra_columns=[QUERY_VECTORS, "text"])
        ranked = [self._ranked(inp.iloc[places]) for places in inp.groupby("qid", sort=False).indices.values()]
        return pd.concat(ranked or [inp.assign(score=0.0, rank=0)], ignore_index=True)

    def _ranked(self, rows: pd.DataFrame) -> pd.DataFrame:
        query = self._query(rows.iloc[[0]])
        texts = [text if isinstance(text, str) else "" for text in rows["text"]]
        scores = score_texts(query, self.encoder.encode_documents(texts), device=self.encoder.scoring_device)
        order, scores = np.argsort(-scores, kind="stable"), query.scale_of(0).scores(scores)
        ranks = np.arange(len(rows)) + pt.model.FIRST_RANK
        # pt.model.add_ranks triggers a deprecation warning of pandas 3.1.
        return rows.iloc[order].assign(score=scores[order], rank=ranks)

    def _query(self, row: pd.DataFrame) -> Queries:
        given: dict[Hashable, Any] = (row if QUERY_VECTORS in row else self._queries.transform(row)).iloc[0].to_dict()
        vectors = np.asarray(given[QUERY_VECTORS], np.float32)
        ids = np.asarray(given.get(QUERY_TOKENS, np.zeros(len(vectors))), np.int32)
        query = TokenBatch.pack([vectors], [ids])
        if QUERY_WEIGHTS in given:
            return Queries([], query, np.asarray(given[QUERY_WEIGHTS], np.float32), self.form, self._mix)
        if QUERY_TOKENS in given:
            return weigh(query, [], self.weights, self.form)._replace(mix=self._mix)
        raise InputError(
            f"a frame with {QUERY_VECTORS} also needs {QUERY_WEIGHTS} or {QUERY_TOKENS}, to weight tokens; add a column"
        )
