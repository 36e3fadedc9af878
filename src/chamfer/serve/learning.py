"""Weights learnt from judged documents, and what they would change."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chamfer.errors import InputError
from chamfer.learn.in_use import against_use
from chamfer.learn.judged import JudgedQuery, LeftOut
from chamfer.learn.objective import tokens_seen
from chamfer.learn.on_index import learn_index
from chamfer.learn.verdict import verdict_on_use
from chamfer.search.searcher import Searcher
from chamfer.serve.schemas.fields import MixFields
from chamfer.serve.schemas.learning import (
    Changed,
    CheckedQuery,
    CheckRequest,
    CheckResponse,
    ComparedQuery,
    Judgement,
    LearnRequest,
    LearnResponse,
    RelevantDocument,
)
from chamfer.serve.spellings import spelled
from chamfer.serve.versions import VERDICT, Versions
from chamfer.support.progress import Progress, quiet
from chamfer.tokens.unread import is_read
from chamfer.weights.token_weights import TokenWeights

# Largest number of changed tokens in a response, and of queries that one sentence names.
MOST_CHANGED, NAMED_QUERIES = 30, 3


def learn(searcher: Searcher, versions: Versions, asked: LearnRequest, progress: Progress = quiet) -> LearnResponse:
    """Learn weights, compare them with those in use, and store them as a version that is not in use yet."""
    current = versions.current
    judgements = merge_judgements(asked.judgements)
    # Raises an error for an unknown id.
    searcher.index.places([document for grades in judgements.values() for document in grades])
    queries = {text: text for text in judgements}
    learnt = learn_index(searcher, queries, judgements, weights=current.weights, recipe=asked.recipe, progress=progress)
    in_use = searcher.queries.resolve(current.weights)
    against = against_use(searcher, learnt, queries, judgements, in_use, progress=progress)
    verdict = verdict_on_use(against.comparison, learnt.report.queries, known=against.known)
    weights = replace(learnt.weights, metadata={**learnt.weights.metadata, VERDICT: verdict.found})
    version = versions.put(weights, asked.name or f"learnt from {learnt.report.queries} queries", use=False)
    gains = np.array([one.after - one.before for one in against.queries])
    return LearnResponse(
        version=version.number,
        verdict=verdict.found,
        sentence=verdict.sentence,
        left_out=_left_out(learnt.left_out),
        chosen=learnt.report.choice.name,
        why=learnt.report.choice.why,
        queries=learnt.report.queries,
        held_out=against.held_out,
        known=against.known,
        better=int((gains > 0).sum()),
        unchanged=int((gains == 0).sum()),
        worse=int((gains < 0).sum()),
        p_value=None if against.comparison is None else against.comparison.p_value,
        ndcg_before=float(np.mean([one.before for one in against.queries])),
        ndcg_after=float(np.mean([one.after for one in against.queries])),
        mix_before=MixFields.of(in_use.mix),
        mix_after=MixFields.of(learnt.weights.mix),
        adapter=learnt.weights.adapter is not None,
        compared=[
            ComparedQuery(
                query=one.query_id,
                ndcg_before=one.before,
                ndcg_after=one.after,
                documents=[RelevantDocument(**moved._asdict()) for moved in one.moved],
            )
            for one in against.queries
        ],
        changed=_changed(learnt.queries, in_use, learnt.weights),
    )


def check(searcher: Searcher, asked: CheckRequest) -> CheckResponse:
    """Say what can be learnt from judgements, without learning anything."""
    index, encoder = searcher.index, searcher.encoder
    known = index.find({document for one in asked.judgements for document in (*one.relevant, *one.not_relevant)})
    read = encoder.tokenize([one.query for one in asked.judgements], "query")
    found = []
    for one, token_ids in zip(asked.judgements, read.token_ids, strict=True):
        problem = None
        if not len(token_ids) or not is_read(one.query, token_ids, encoder.vocabulary):
            problem = "the model of this index cannot read this query"
        elif not one.relevant:
            problem = "no document is marked relevant"
        elif not any(document in known for document in one.relevant):
            problem = "its relevant documents are no longer in the index"
        unknown = [document for document in (*one.relevant, *one.not_relevant) if document not in known]
        found.append(CheckedQuery(query=one.query, problem=problem, unknown=unknown))
    return CheckResponse(queries=found)


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


def _left_out(left: LeftOut) -> list[str]:
    """What was not learnt from, in words for those who marked results."""
    found = []
    for queries, why in (
        (left.without_relevant, "no search finds a document that is marked relevant"),
        (left.without_negatives, "every document that a search finds is marked relevant"),
    ):
        if queries:
            some = ", ".join(f"“{query}”" for query in queries[:NAMED_QUERIES])
            more = len(queries) - NAMED_QUERIES
            found.append(f"Not learnt from, because {why}: {some}{f' and {more} more' if more > 0 else ''}.")
    return found


def _changed(judged: Sequence[JudgedQuery], before: TokenWeights, after: TokenWeights) -> list[Changed]:
    seen, spelling = tokens_seen(judged).tolist(), spelled(before.vocabulary)
    largest = sorted(seen, key=lambda token: -abs(float(after.table[token]) - float(before.table[token])))
    return [
        Changed(
            **spelling.fields(token),
            before=float(before.table[token]),
            after=float(after.table[token]),
        )
        for token in largest[:MOST_CHANGED]
        if before.table[token] != after.table[token]
    ]
