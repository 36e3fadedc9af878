"""Weights learnt from judged documents, and what they would change."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.objective import tokens_seen
from chamfer.learn.on_index import judge_in_index, learn_index
from chamfer.learn.quality import quality, ranked
from chamfer.search.searcher import Searcher
from chamfer.serve.schemas.fields import MixFields
from chamfer.serve.schemas.learning import Changed, Judgement, LearnRequest, LearnResponse, Moved
from chamfer.serve.versions import Versions
from chamfer.weights.token_weights import TokenWeights

# Largest number of changed tokens in a response.
MOST_CHANGED = 30


def learn(searcher: Searcher, versions: Versions, asked: LearnRequest) -> LearnResponse:
    """Learn weights, and store them as a version that is not in use yet."""
    current = versions.current
    judgements = merge_judgements(asked.judgements)
    # Raises an error for an unknown id.
    searcher.index.places([document for grades in judgements.values() for document in grades])
    queries = {text: text for text in judgements}
    learnt = learn_index(searcher, queries, judgements, weights=current.weights, recipe=asked.recipe)
    in_use = searcher.queries.resolve(current.weights)
    # Each is ranked among candidates that include its own top, as its searches will rank them.
    candidates = judge_in_index(searcher, queries, judgements, weightings=(in_use, learnt.weights))
    judged = [query for query, _ in candidates]
    version = versions.put(learnt.weights, asked.name or f"learnt from {learnt.report.queries} queries", use=False)
    moved = []
    for query, ids in candidates:
        before, after = _ranks(query, in_use), _ranks(query, learnt.weights)
        moved += [
            Moved(query=query.query_id, id=ids[place], before=int(before[place]), after=int(after[place]))
            for place in np.flatnonzero(query.grades).tolist()
        ]
    return LearnResponse(
        version=version.number,
        left_out=learnt.left_out.reasons(),
        chosen=learnt.report.choice.name,
        why=learnt.report.choice.why,
        queries=learnt.report.queries,
        ndcg_before=float(quality(judged, in_use)[:, 0].mean()),
        ndcg_after=float(quality(judged, learnt.weights)[:, 0].mean()),
        mix_before=MixFields.of(in_use.mix),
        mix_after=MixFields.of(learnt.weights.mix),
        adapter=learnt.weights.adapter is not None,
        moved=moved,
        changed=_changed(judged, in_use, learnt.weights),
    )


def merge_judgements(judgements: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    """Return the grades of judged documents by query text: 1 if relevant, 0 if not."""
    merged: dict[str, dict[str, int]] = {}
    for one in judgements:
        grades = merged.setdefault(one.query, {})
        for grade, documents in ((1, one.relevant), (0, one.not_relevant)):
            for document in documents:
                if grades.setdefault(document, grade) != grade:
                    raise InputError(
                        f"document {document!r} is judged both relevant and not relevant for {one.query!r}; choose one"
                    )
    return merged


def _ranks(query: JudgedQuery, weights: TokenWeights) -> npt.NDArray[np.int64]:
    """``(candidates,)`` the rank of each candidate, from 1."""
    return np.argsort(ranked(query, weights)) + 1


def _changed(judged: list[JudgedQuery], before: TokenWeights, after: TokenWeights) -> list[Changed]:
    seen = tokens_seen(judged)
    largest = sorted(seen, key=lambda token: -abs(float(after.table[token]) - float(before.table[token])))
    return [
        Changed(
            token=before.vocabulary.tokens[token],
            before=float(before.table[token]),
            after=float(after.table[token]),
        )
        for token in largest[:MOST_CHANGED]
        if before.table[token] != after.table[token]
    ]
