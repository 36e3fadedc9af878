"""Learn weights from judged queries of an index."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from chamfer.data.judgements import Judgements
from chamfer.errors import InputError
from chamfer.evaluate.own_documents import own_documents
from chamfer.kernels import dispatch
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery, grades_of, ideal_grades, teachable
from chamfer.learn.learnt import Learnt, measure_held_out
from chamfer.learn.presets import Preset
from chamfer.learn.recipe_names import AUTO
from chamfer.learn.splits import DOCUMENT, FOLDS, divide
from chamfer.learn.start import Start
from chamfer.learn.ties import Ties, are_apart, group
from chamfer.search.searcher import Searcher
from chamfer.support.progress import Progress, quiet
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.origin import origin
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Workers

DEPTH = 100
"""Number of candidates that each of the two weightings finds."""


class JudgedCandidates(NamedTuple):
    """A judged query with its minima, and the ids of its candidates."""

    query: JudgedQuery
    document_ids: Sequence[str]


def judge_in_index(
    searcher: Searcher,
    queries: Mapping[str, str],
    judgements: Judgements,
    *,
    weights: str | TokenWeights | None = None,
    depth: int = DEPTH,
    groups: Mapping[str, Hashable] | None = None,
    progress: Progress = quiet,
) -> list[JudgedCandidates]:
    """Compute the minima of judged queries against their candidates.

    The candidates are the top documents by the current weights and by uniform ones, and the judged documents that the
    index contains.

    Args:
        searcher: searcher of the index.
        queries: query texts by id.
        judgements: grades of documents for each query.
        weights: current weights; the searcher's own by default.
        depth: number of candidates that each of the two weightings finds.
        groups: group of each query that belongs to one.
        progress: shows the progress.
    """
    own = own_documents(searcher.index, {query: queries[query] for query in judgements}, judgements)
    judged = []
    with progress("computing minima", len(judgements)) as advance:
        for query, grades in judgements.items():
            ties = Ties.of(queries[query], grades, (groups or {}).get(query))
            judged.append(_judge(searcher, query, queries[query], own[query], grades, ties, weights, depth))
            advance(1)
    return judged


def learn_judged(
    searcher: Searcher,
    judged: Sequence[JudgedQuery],
    *,
    recipe: str = AUTO,
    preset: Preset | None = None,
    hold_out: float = 0.0,
    folds: int = FOLDS,
    group_by: str = DOCUMENT,
    seed: int = 0,
    unknown: int = 0,
    progress: Progress = quiet,
    workers: Workers = IN_PROCESS,
) -> Learnt:
    """Learn weights from judged queries of an index; the arguments are those of :func:`chamfer.learn`.

    Few queries get fewer folds.
    """
    queries: Sequence[JudgedQuery] = judged
    measured: Sequence[JudgedQuery] = []
    if hold_out:
        queries, measured = divide(judged, hold_out, seed=seed, groups=group(judged, group_by).labels)
    queries, left_out = teachable(queries)
    if len(queries) < 2:
        raise InputError(
            "learning needs relevant documents for at least 2 queries, one to learn from and one to check on, but only "
            f"{len(queries)} can be learnt from; judge more"
        )
    encoder, index = searcher.encoder, searcher.index
    made_from = origin(index.folder.name, encoder)
    start = Start.counted(index.frequencies, encoder, made_from, learnt_from=len(queries), form=searcher.form)
    weights, report = fit_weights(
        queries,
        start,
        recipe=recipe,
        preset=preset,
        folds=min(folds, int(group(queries, group_by).labels.max()) + 1),
        group_by=group_by,
        seed=seed,
        progress=progress,
        workers=workers,
    )
    held_out = measure_held_out(measured, weights, start)
    apart = measure_held_out(list(compress(measured, are_apart(measured, queries))), weights, start)
    return Learnt(weights, report, held_out, apart, 0, left_out, unknown, {}, queries, start)


def _judge(
    searcher: Searcher,
    query_id: str,
    text: str,
    own: str | None,
    grades: Mapping[str, int],
    ties: Ties,
    weights: str | TokenWeights | None,
    depth: int,
) -> JudgedCandidates:
    index = searcher.index
    tokens = searcher.encoder.encode_queries([text])
    current = searcher.queries.weigh(tokens, [text], weights)
    uniform = searcher.queries.weigh(tokens, [text], "uniform")
    found = [searcher.rank(queries, depth)[0].places for queries in (current, uniform)]
    known = index.find(grades)
    places = np.unique(np.concatenate([*found, np.array(list(known.values()), np.int64)]))
    ids = index.ids(places)
    order = sorted((at for at in range(len(ids)) if ids[at] != own), key=ids.__getitem__)
    ids = [ids[at] for at in order]
    documents = [index.tokens(int(place)) for place in places[order]]
    packed = TokenBatch.pack([one.vectors for one in documents], [one.token_ids for one in documents])
    query = JudgedQuery(
        query_id=query_id,
        token_ids=tokens.token_ids,
        vectors=tokens.vectors.astype(np.float32),
        distances=dispatch.minima(current.tokens, dispatch.on_device(packed, index.device), form=searcher.form),
        grades=grades_of(ids, grades),
        ideal=ideal_grades(grades),
        ties=ties,
    )
    return JudgedCandidates(query, ids)
