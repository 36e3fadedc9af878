"""Learn weights from judged queries of an index."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from chamfer.data.judgements import Judgements
from chamfer.errors import InputError
from chamfer.evaluate.groups import DOCUMENT, Grouping, Ties, group
from chamfer.evaluate.own_documents import own_documents
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery, grades_of, ideal_grades, teachable
from chamfer.learn.learnt import Learnt, MeasuredQueries, measure_held_out
from chamfer.learn.presets import Preset
from chamfer.learn.recipe_names import AUTO
from chamfer.learn.splits import FOLDS, divide
from chamfer.learn.start import Start
from chamfer.learn.vectors import IndexVectors
from chamfer.retrieve.best_passages import first_places
from chamfer.search.searcher import Searcher
from chamfer.support.progress import Progress, quiet
from chamfer.weights.origin import origin
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import UNIFORM
from chamfer.workers.jobs import IN_PROCESS, Workers

DEPTH = 100
"""Number of candidates that each weighting finds."""

LEAST = 2
"""Fewest judged queries: one to learn from, and one to check on."""

Weighting = str | TokenWeights | None
"""Weights to search with; None stands for the searcher's own."""


class JudgedCandidates(NamedTuple):
    """A judged query with its minima, and the ids of its candidates."""

    query: JudgedQuery
    document_ids: Sequence[str]


def judge_in_index(
    searcher: Searcher,
    queries: Mapping[str, str],
    judgements: Judgements,
    *,
    weightings: Sequence[Weighting] = (None, UNIFORM),
    depth: int = DEPTH,
    groups: Mapping[str, Hashable] | None = None,
    progress: Progress = quiet,
) -> list[JudgedCandidates]:
    """Compute the minima of judged queries against their candidates: the top documents by each weighting.

    Judged documents that no search found are not added: only relevant ones would be far from the query, and weights
    would be learnt that reward distance.

    Args:
        searcher: searcher of the index.
        queries: query texts by id.
        judgements: grades of documents for each query.
        weightings: weights to search with; the searcher's own and uniform ones by default.
        depth: number of candidates that each weighting finds.
        groups: group of each query that belongs to one.
        progress: shows the progress.
    """
    own = own_documents(searcher.index, {query: queries[query] for query in judgements}, judgements)
    vectors = IndexVectors(searcher.index, searcher.form)
    judged = []
    with progress("computing minima", len(judgements)) as advance:
        for query, grades in judgements.items():
            ties = Ties.of(queries[query], grades, (groups or {}).get(query))
            judged.append(_judge(searcher, query, queries[query], own[query], grades, ties, weightings, depth, vectors))
            advance(1)
    return judged


def learn_index(
    searcher: Searcher,
    queries: Mapping[str, str],
    judgements: Judgements,
    *,
    weights: Weighting = None,
    depth: int = DEPTH,
    groups: Mapping[str, Hashable] | None = None,
    recipe: str = AUTO,
    preset: Preset | None = None,
    hold_out: float = 0.0,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    seed: int = 0,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> Learnt:
    """Learn weights from judged queries of an index; arguments are those of :func:`judge_in_index` and `chamfer.learn`.

    Candidates to learn from are the top documents by ``weights``, the searcher's own by default, and by uniform ones.
    Held-out queries are searched again, with every weighting that is compared on them: among the candidates of others,
    learnt weights would not meet the documents that they alone rank high. Few queries get fewer folds.
    """
    judge = partial(judge_in_index, searcher, queries, groups=groups, progress=progress)
    judged = [query for query, _ in judge(judgements, weightings=(weights, UNIFORM), depth=depth)]
    learnt_from: Sequence[JudgedQuery] = judged
    held_out: Sequence[JudgedQuery] = []
    kept_apart: Grouping | None = None
    if hold_out:
        kept_apart = group(judged, group_by)
        learnt_from, held_out = divide(judged, hold_out, seed=seed, groups=kept_apart.labels)
    learnt_from, left_out = teachable(learnt_from)
    if len(learnt_from) < LEAST:
        raise InputError(
            f"learning needs relevant documents for at least {LEAST} queries, one to learn from and one to check on, "
            f"but only {len(learnt_from)} can be learnt from; judge more"
        )
    encoder, index = searcher.encoder, searcher.index
    passages = None if index.settings.passages is None else index.frequencies.documents
    whole = None if passages is None else len(searcher)
    made_from = origin(index.name, encoder, documents=whole, passages=passages)
    start = Start.counted(index.frequencies, encoder, made_from, learnt_from=len(learnt_from), form=searcher.form)
    learnt, report = fit_weights(
        learnt_from,
        start,
        recipe=recipe,
        preset=preset,
        folds=min(folds, group(learnt_from, group_by).groups),
        group_by=group_by,
        seed=seed,
        progress=progress,
        workers=workers,
    )
    asked = {query.query_id: judgements[query.query_id] for query in held_out}
    measured = MeasuredQueries.same([])
    if asked:
        measured = _measured(partial(judge, asked), searcher, (learnt, start.mix, start.uniform))
    return Learnt(
        learnt,
        report,
        measure_held_out(measured, learnt, start, group_by=group_by, kept_apart=kept_apart),
        measure_held_out(measured.apart(learnt_from), learnt, start, group_by=group_by),
        repeated=0,
        left_out=left_out,
        unknown=sum(len(grades) - len(index.find(grades)) for grades in judgements.values()),
        truncated={},
        queries=learnt_from,
        start=start,
    )


def _measured(
    judge: Callable[..., list[JudgedCandidates]], searcher: Searcher, weightings: tuple[TokenWeights, ...]
) -> MeasuredQueries:
    """Search for held-out queries with the learnt weights, the zero-shot mix and uniform weights.

    All of them rank the top documents of all. In an index of passages, each ranks its own top documents alone: in the
    others' it would be held to the passages that they chose, which it may not have chosen.
    """
    if searcher.index.settings.passages is None:
        return MeasuredQueries.same([query for query, _ in judge(weightings=weightings)])
    return MeasuredQueries(*([query for query, _ in judge(weightings=(one,))] for one in weightings))


def _judge(
    searcher: Searcher,
    query_id: str,
    text: str,
    own: str | None,
    grades: Mapping[str, int],
    ties: Ties,
    weightings: Sequence[Weighting],
    depth: int,
    vectors: IndexVectors,
) -> JudgedCandidates:
    index = searcher.index
    tokens = searcher.encoder.encode_queries([text])
    weighted = [searcher.queries.weigh(tokens, [text], weights) for weights in weightings]
    # One more where the query is a document itself, which is not a candidate.
    found = [searcher.rank(queries, depth + (own is not None))[0].places for queries in weighted]
    places = np.concatenate(found)
    # Of several passages of a document, the one that the first weighting found.
    places = np.sort(places[first_places(index, places)])
    ids = index.ids(places)
    order = sorted((at for at in range(len(ids)) if ids[at] != own), key=ids.__getitem__)
    ids, places = [ids[at] for at in order], places[order]
    query = JudgedQuery(
        query_id=query_id,
        token_ids=tokens.token_ids,
        vectors=tokens.vectors.astype(np.float32),
        distances=vectors.minima(tokens, places),
        grades=grades_of(ids, grades),
        ideal=ideal_grades(grades),
        ties=ties,
        lexical=vectors.lexical(text, places),
        pooled=vectors.pooled(tokens, places),
        places=places,
        vectors_of=vectors,
    )
    return JudgedCandidates(query, ids)
