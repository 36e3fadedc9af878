"""Learnt weights against those in use, on the judged queries of an index: what each search would show instead."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np

from chamfer.data.judgements import Judgements
from chamfer.evaluate.groups import group
from chamfer.evaluate.significance import Comparison, compare
from chamfer.learn.learnt import Learnt
from chamfer.learn.on_index import JudgedCandidates, judge_in_index
from chamfer.learn.quality import quality, ranked
from chamfer.search.searcher import Searcher
from chamfer.support.progress import Advance, Progress, quiet
from chamfer.weights.learnt_queries import learnt_from
from chamfer.weights.token_weights import TokenWeights


class RelevantDocument(NamedTuple):
    """The rank of a relevant document, from 1, before and after; None where neither search finds it."""

    id: str
    before: int | None
    after: int | None


class ComparedQuery(NamedTuple):
    """One judged query, with the weights in use and with learnt ones."""

    query_id: str
    before: float
    """nDCG@10 with the weights in use."""
    after: float
    """nDCG@10 with learnt weights."""
    moved: Sequence[RelevantDocument]


class AgainstUse(NamedTuple):
    """Learnt weights against those in use."""

    held_out: bool
    """Whether each query was searched with weights that were learnt without it, in the same way as the result."""
    queries: Sequence[ComparedQuery]
    comparison: Comparison | None
    """Paired test on nDCG@10; None if no query was held out."""
    known: int
    """Number of queries that the weights in use were learnt from."""


def against_use(
    searcher: Searcher,
    learnt: Learnt,
    queries: Mapping[str, str],
    judgements: Judgements,
    in_use: TokenWeights,
    *,
    progress: Progress = quiet,
) -> AgainstUse:
    """Search for judged queries with the weights in use and with learnt ones.

    Each query is searched with the weights of the fold that it was held out of, so gains are those on queries that
    weights were not fitted to. Queries that the weights in use were learnt from are left out, for the same reason. If
    none remain, the learnt weights themselves are compared on all queries, which flatters them.

    Args:
        searcher: searcher of the index.
        learnt: what was learnt from these queries.
        queries: query texts by id.
        judgements: grades of documents for each query.
        in_use: the weights in use.
        progress: shows the progress.
    """
    taught = [query.query_id for query in learnt.queries]
    known = learnt_from([in_use.metadata], {query: queries[query] for query in taught})
    new = [(weights, [query for query in own if query not in known]) for weights, own in learnt.report.folds]
    held_out = any(own for _, own in new)
    parts = new if held_out else [(learnt.weights, taught)]
    compared: list[ComparedQuery] = []
    with progress("comparing with the weights in use", sum(len(own) for _, own in parts)) as advance:
        for weights, own in parts:
            asked = {query: judgements[query] for query in own}
            if asked:
                compared += _compared(searcher, queries, asked, weights, in_use, advance)
    compared.sort(key=lambda one: taught.index(one.query_id))
    comparison = None
    if held_out:
        after, before = (np.array([getattr(one, name) for one in compared]) for name in ("after", "before"))
        judged = {query.query_id: query for query in learnt.queries}
        together = group([judged[one.query_id] for one in compared])
        comparison = compare(after, before, groups=together.labels)
    return AgainstUse(held_out, compared, comparison, len(known))


def _compared(
    searcher: Searcher,
    queries: Mapping[str, str],
    judgements: Judgements,
    weights: TokenWeights,
    in_use: TokenWeights,
    advance: Advance,
) -> list[ComparedQuery]:
    def counted(_what: str, _total: int) -> AbstractContextManager[Advance]:
        return nullcontext(advance)

    # Each is ranked among candidates that include its own top, as its searches would rank them.
    before = judge_in_index(searcher, queries, judgements, weightings=(in_use, weights), progress=counted)
    after = before
    if searcher.index.settings.passages is not None:  # the same documents, by the passages that the new weights find
        after = judge_in_index(searcher, queries, judgements, weightings=(weights, in_use))
    found = []
    for one, other in zip(before, after, strict=True):
        relevant = [document for document, grade in judgements[one.query.query_id].items() if grade > 0]
        ranks, later = _ranks(one, in_use), _ranks(other, weights)
        moved = [RelevantDocument(document, ranks.get(document), later.get(document)) for document in relevant]
        [(ndcg, _)], [(then, _)] = quality([one.query], in_use).tolist(), quality([other.query], weights).tolist()
        found.append(ComparedQuery(one.query.query_id, ndcg, then, moved))
    return found


def _ranks(judged: JudgedCandidates, weights: TokenWeights) -> dict[str, int]:
    """The rank of each candidate, from 1."""
    return {judged.document_ids[place]: rank for rank, place in enumerate(ranked(judged.query, weights).tolist(), 1)}
