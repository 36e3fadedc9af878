"""Re-ranking requests that bring their own texts, as they arrive."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.word_counts import WordCounts
from chamfer.search.rerank import IN_AN_INDEX, score_texts, weigh
from chamfer.search.rerank_all import QUERIES_PER_TABLE
from chamfer.search.searcher import Searcher
from chamfer.support.progress import Advance
from chamfer.weights.mix import Mix, without_corpus
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Table, Workers, add_row, empty_table, rows


class Request(NamedTuple):
    """A query and the texts to rank for it."""

    where: str
    """Where the request comes from; error messages start with it."""
    query_id: str
    query: str
    ids: list[str]
    """Id of each text."""
    texts: list[str]


class Response(NamedTuple):
    """The answer to a request."""

    ranking: Ranking
    truncated: int
    """Number of texts, the query included, that were longer than the model reads."""


RESPONSE = ("query", "documents", "scores", "truncated")
"""Columns of responses: query id, document ids and scores, best first, and the number of truncated texts."""


def rerank_requests(
    requests: Iterable[Request],
    *,
    encoder: Encoder,
    weights: TokenWeights,
    form: Form = DEFAULT_FORM,
    k: int | None = None,
    counts: WordCounts | None = None,
    workers: Workers = IN_PROCESS,
) -> Iterator[Response]:
    """Answer requests in order, each as soon as it is ranked.

    Args:
        requests: the requests; they may arrive one by one.
        encoder: encoder for queries and texts.
        weights: token weights.
        form: ``l2`` or ``cosine``.
        k: number of texts to return for each query; all if not given.
        counts: word counts of a corpus, for lexical evidence; without them it is left out, with a warning.
        workers: workers that encode and rank.
    """
    mix = weights.mix if counts is not None else without_corpus(weights.mix, IN_AN_INDEX)
    job = RerankTexts(encoder, weights, mix, counts, form, k)
    for answered in workers.map(job, _tables(requests, workers), gpu=encoder.may_use_gpu):
        for query, documents, scores, truncated in rows(answered, RESPONSE):
            yield Response(Ranking(query, tuple(documents), tuple(scores)), truncated)


def rerank_like_documents(searcher: Searcher, requests: Iterable[Request], k: int | None = None) -> Iterator[Response]:
    """Answer requests in order, with the texts ranked like documents of an index.

    Args:
        searcher: searcher of the index, with the weights to use.
        requests: the requests; they may arrive one by one.
        k: number of texts to return for each query; all if not given.
    """
    for where, query_id, query, ids, texts in requests:
        try:
            ranking = searcher.rerank(query, dict(zip(ids, texts, strict=True)), k)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        read = searcher.encoder.tokenize([query], "query"), searcher.encoder.tokenize(texts, "document")
        yield Response(replace(ranking, query_id=query_id), sum(one.truncated for one in read))


def _tables(requests: Iterable[Request], workers: Workers) -> Iterator[Table]:
    """One request per table in this process, so that each is answered at once; on Ray several."""
    rest = iter(requests)
    while some := list(islice(rest, 1 if workers.at_once == 1 else QUERIES_PER_TABLE)):
        table = empty_table(Request._fields)
        for request in some:
            add_row(table, *request)
        yield table


@dataclass(frozen=True)
class RerankTexts:
    """A job from a table of :class:`Request` to a table of :data:`RESPONSE`."""

    encoder: Encoder
    weights: TokenWeights
    mix: Mix
    counts: WordCounts | None
    form: Form
    k: int | None

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        ranked = empty_table(RESPONSE)
        for where, query_id, query_text, ids, document_texts in rows(table, Request._fields):
            query = self.encoder.tokenize([query_text], "query")
            texts = self.encoder.tokenize(document_texts, "document")
            try:
                weighted = weigh(self.encoder.encode(query), query.texts, self.weights, self.form)
                encoded = self.encoder.encode(texts)
                weighted = weighted._replace(mix=self.mix)
                scores = score_texts(
                    weighted,
                    encoded,
                    device=self.encoder.scoring_device,
                    lexical=self.counts.scores(query_text, document_texts) if self.counts is not None else None,
                )
                scale = weighted.scale_of(0, self.counts)
                ranking = Ranking.of(query_id, ids, scores, self.k).rescored(scale.scores)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            truncated = query.truncated + texts.truncated
            add_row(ranked, query_id, list(ranking.document_ids), list(ranking.scores), truncated)
            advance(1)
        return ranked
