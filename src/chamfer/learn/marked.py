"""Weights from documents that people marked while they searched an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chamfer.errors import InputError
from chamfer.kernels import dispatch
from chamfer.learn.fit import LearningReport, fit_weights
from chamfer.learn.judged import JudgedQuery, LeftOut, teachable
from chamfer.learn.recipes import Start
from chamfer.search.searcher import Searcher
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.token_weights import TokenWeights

FOLDS = 3


class Marks(NamedTuple):
    """A query and ids of documents that were marked for it. What is not marked counts as not relevant."""

    query: str
    relevant: Sequence[str]
    not_relevant: Sequence[str] = ()


@dataclass(frozen=True)
class MarkedLearnt:
    """Weights that were learnt from marks, and what they were learnt from."""

    weights: TokenWeights
    report: LearningReport
    left_out: LeftOut
    judged: Sequence["JudgedMarks"]


class JudgedMarks(NamedTuple):
    """The marks of one query as learning sees them."""

    judged: JudgedQuery
    document_ids: Sequence[str]
    """Of the candidates."""


def learn_marked(
    searcher: Searcher,
    marks: Sequence[Marks],
    *,
    weights: str | TokenWeights | None = None,
    recipe: str = "prior",
    depth: int = 100,
    seed: int = 0,
) -> MarkedLearnt:
    """Learn weights from marks.

    Candidates are the best documents by the weights in use and by uniform ones, and what was marked.

    Args:
        searcher: of the index that was searched.
        marks: of at least two queries, each with a relevant document.
        weights: those in use; the searcher's own if not given.
        recipe: see :func:`chamfer.learn.fit.fit_weights`. ``prior`` stays near softened IDF where marks are few;
            ``auto`` keeps to uniform weights unless something beats them beyond noise, which takes many.
        depth: how many candidates each of the two weightings finds.
        seed: of the folds and the bootstrap.
    """
    merged = _merged(marks)
    judged = [_judged(searcher, one, weights, depth) for one in merged]
    kept, left_out = teachable([one.judged for one in judged])
    if len(kept) < 2:
        raise InputError(
            "learning needs relevant documents of at least 2 queries, one to learn from and one to check on; "
            f"here something can be learnt from {len(kept)}"
        )
    encoder = searcher.encoder
    made_from = {
        "corpus": searcher.index.folder.name,
        "encoder": encoder.name,
        "document_length": encoder.document_length,
        "model": encoder.model_fingerprint,
        "learnt_from": len(kept),
        "form": searcher.form,
    }
    start = Start.counted(searcher.index.frequencies, encoder.vocabulary, made_from)
    learnt, report = fit_weights(kept, start, recipe=recipe, folds=min(FOLDS, len(kept)), seed=seed)
    return MarkedLearnt(learnt, report, left_out, judged)


def _merged(marks: Sequence[Marks]) -> list[Marks]:
    """One entry for each different query; a document that was marked both ways is an error."""
    relevant: dict[str, dict[str, None]] = {}
    others: dict[str, dict[str, None]] = {}
    for mark in marks:
        relevant.setdefault(mark.query, {}).update(dict.fromkeys(mark.relevant))
        others.setdefault(mark.query, {}).update(dict.fromkeys(mark.not_relevant))
    for query, chosen in relevant.items():
        both = next((identifier for identifier in chosen if identifier in others[query]), None)
        if both is not None:
            raise InputError(f"document {both!r} is marked relevant and not relevant for {query!r}; mark it one way")
    return [Marks(query, list(chosen), list(others[query])) for query, chosen in relevant.items()]


def _judged(searcher: Searcher, marks: Marks, weights: str | TokenWeights | None, depth: int) -> JudgedMarks:
    tokens = searcher.encoder.encode_queries([marks.query])
    own = searcher.queries.weigh(tokens, [marks.query], weights)
    uniform = searcher.queries.weigh(tokens, [marks.query], "uniform")
    found = [searcher.rank(queries, depth)[0].places for queries in (own, uniform)]
    marked = searcher.index.places([*marks.relevant, *marks.not_relevant])
    places = np.unique(np.concatenate([*found, marked]))
    ids = searcher.index.ids(places)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    ids = [ids[place] for place in order]
    documents = [searcher.index.tokens(int(place)) for place in places[order]]
    packed = TokenBatch.pack([one.vectors for one in documents], [one.token_ids for one in documents])
    relevant = set(marks.relevant)
    judged = JudgedQuery(
        query_id=marks.query,
        token_ids=tokens.token_ids,
        vectors=tokens.vectors.astype(np.float32),
        distances=dispatch.minima(own.tokens, dispatch.on_device(packed, searcher.index.device), form=searcher.form),
        grades=np.array([identifier in relevant for identifier in ids], np.int32),
        retrieved=np.ones(len(ids), np.bool_),
        ideal=np.ones(len(relevant), np.int32),
    )
    return JudgedMarks(judged, ids)
