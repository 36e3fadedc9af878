"""Judged queries with their minima and evidence; the distances to their candidates are computed once and cached."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.evaluate.groups import Ties
from chamfer.kernels import dispatch
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.learn.vectors import CandidateVectors, CorpusVectors
from chamfer.support.devices import CPU
from chamfer.support.files import atomic_write, writer_lock
from chamfer.support.progress import Advance, Before, ignore
from chamfer.tokens.batch import TokenIds, Vectors
from chamfer.workers.jobs import IN_PROCESS, Table, Workers

Floats = npt.NDArray[np.float32]

NO_TIES = Ties()

# Queries per file in the cache: at most this much work is lost on an interruption.
PART = 64


@dataclass(frozen=True, eq=False)
class JudgedQuery:
    """One judged query, and the distance of each of its tokens to each candidate.

    Args:
        query_id: id of the query.
        token_ids: ``(tokens,)`` ids of its tokens.
        vectors: ``(tokens, dimensions)`` vectors of its tokens.
        distances: ``(candidates, tokens)`` float32, of each token to its closest document token. Candidates
            are sorted by id, so that a stable sort by score breaks ties by id.
        grades: ``(candidates,)`` int32, 0 if not relevant or not judged.
        ideal: all positive grades of the query, best first, including documents that are not candidates.
        ties: what the query may have in common with others.
        lexical: ``(candidates,)`` BM25's score of each candidate; None where no evidence is known.
        pooled: ``(candidates,)`` cosine of the mean vectors of query and candidate; likewise.
        places: ``(candidates,)`` places of the candidates among ``vectors_of``.
        vectors_of: the vectors of the candidates, which an adapter needs; None where they are not at hand.
    """

    query_id: str
    token_ids: TokenIds
    vectors: Vectors
    distances: npt.NDArray[np.float32]
    grades: npt.NDArray[np.int32]
    ideal: npt.NDArray[np.int32]
    ties: Ties = NO_TIES
    lexical: Floats | None = None
    pooled: Floats | None = None
    places: npt.NDArray[np.int64] | None = None
    vectors_of: CandidateVectors | None = None

    def __post_init__(self) -> None:
        candidates, tokens = self.distances.shape
        if len(self.token_ids) != tokens or len(self.vectors) != tokens or tokens == 0:
            raise InputError(f"query {self.query_id!r} has {len(self.token_ids)} token ids, but distances for {tokens}")
        if len(self.grades) != candidates or (self.grades < 0).any():
            raise InputError(f"query {self.query_id!r} needs a grade of at least 0 for each of {candidates} candidates")

    def evidence(self) -> tuple[Floats, Floats]:
        """Lexical and pooled evidence of each candidate; 0 where none is known."""
        nothing = np.zeros(len(self.grades), np.float32)
        return nothing if self.lexical is None else self.lexical, nothing if self.pooled is None else self.pooled

    @property
    def has_evidence(self) -> bool:
        """Whether evidence and the vectors of the candidates are known."""
        return self.lexical is not None and self.pooled is not None and self.vectors_of is not None


def grades_of(documents: Sequence[str], grades: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """Return the grade of each document, 0 if it is negative or not judged."""
    return np.array([max(grades.get(document, 0), 0) for document in documents], np.int32)


def ideal_grades(grades: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """Return the positive grades, best first."""
    return np.array(sorted((grade for grade in grades.values() if grade > 0), reverse=True), np.int32)


@dataclass(frozen=True)
class LeftOut:
    """Judged queries that cannot be learnt from, by reason."""

    without_relevant: tuple[str, ...] = ()
    """Queries without a relevant, non-empty document among their candidates."""
    without_negatives: tuple[str, ...] = ()
    """Queries whose candidates are all relevant."""

    def reasons(self) -> list[str]:
        """Return a sentence for each reason, with the first few queries."""
        found = []
        for queries, why in (
            (self.without_relevant, "no relevant document among {} candidates"),
            (self.without_negatives, "only relevant candidates, and so no negatives"),
        ):
            if queries:
                who, have, own = "queries are", "they have", "their"
                if len(queries) == 1:
                    who, have, own = "query is", "it has", "its"
                some = ", ".join(queries[:3]) + (", ..." if len(queries) > 3 else "")
                found.append(f"{len(queries)} judged {who} left out because {have} {why.format(own)} ({some})")
        return found


def teachable(queries: Sequence[JudgedQuery]) -> tuple[list[JudgedQuery], LeftOut]:
    """Return the queries that can be learnt from: with a relevant candidate and another one, both with tokens."""
    kept, without_relevant, without_negatives = [], [], []
    for query in queries:
        filled = np.isfinite(query.distances[:, 0])
        if not (filled & (query.grades > 0)).any():
            without_relevant.append(query.query_id)
        elif not (filled & (query.grades == 0)).any():
            without_negatives.append(query.query_id)
        else:
            kept.append(query)
    if not kept:
        raise InputError(
            f"nothing can be learnt: of {len(queries)} judged queries, {len(without_relevant)} have no relevant "
            f"document among their candidates and {len(without_negatives)} have only relevant ones; judge other queries"
        )
    return kept, LeftOut(tuple(without_relevant), tuple(without_negatives))


Lexical = Callable[[str, Sequence[str]], Floats]
"""Returns BM25's scores of documents for a query, both given by id."""


def judged_minima(
    folder: Path,
    queries: EncodedCorpus,
    corpus: EncodedCorpus,
    candidates: Sequence[Ranking],
    judgements: Mapping[str, Mapping[str, int]],
    *,
    ties: Mapping[str, Ties] | None = None,
    lexical: Lexical | None = None,
    form: Form = DEFAULT_FORM,
    advance: Advance = ignore,
    workers: Workers = IN_PROCESS,
) -> list[JudgedQuery]:
    """Compute the minima of every judged query, or read them from the cache.

    Judged documents that the first stage missed are not added to the candidates: whatever is unlike all of them would
    then be relevant, and learning would find that far is good. Workers memory-map the vectors.

    Args:
        folder: cache folder.
        queries: encoded queries.
        corpus: encoded documents.
        candidates: candidates of each query.
        judgements: grades of documents for each query.
        ties: what each query may have in common with others.
        lexical: returns BM25's scores of documents for a query, both by id; without it, evidence is not known.
        form: form of the score.
        advance: progress callback.
        workers: processes that compute.
    """
    plans = [(ranking.query_id, sorted(ranking.document_ids)) for ranking in candidates]
    key = hashlib.sha256(json.dumps([form, corpus.made_from, queries.made_from, plans]).encode()).hexdigest()[:16]
    folder = folder / f"minima-{key}"
    parts = [(folder / f"{start // PART:05}.npy", plans[start : start + PART]) for start in range(0, len(plans), PART)]
    if not all(path.exists() for path, _ in parts):
        with writer_lock(folder):
            missing = [(path, part) for path, part in parts if not path.exists()]
            advance(Before(len(plans) - sum(len(part) for _, part in missing)))
            tables: Iterator[Table] = (
                {"query": [query for query, _ in part], "documents": [documents for _, documents in part]}
                for _, part in missing
            )
            computed = workers.map(
                ComputeMinima(queries, corpus, form), tables, advance=advance, gpu=corpus.device != CPU
            )
            for (path, _), table in zip(missing, computed, strict=True):
                with atomic_write(path) as file:
                    np.save(file, np.frombuffer(b"".join(table["minima"]), np.float32))
    judged = [query for path, part in parts for query in _read(path, part, queries, judgements, ties or {})]
    if lexical is None:
        return judged
    vectors = CorpusVectors(corpus, form)
    return [
        _with_evidence(query, plan[1], queries, vectors, lexical(query.query_id, plan[1]))
        for query, plan in zip(judged, plans, strict=True)
    ]


def _with_evidence(
    query: JudgedQuery, documents: Sequence[str], queries: EncodedCorpus, vectors: CorpusVectors, lexical: Floats
) -> JudgedQuery:
    places = np.array([vectors.corpus.place[document] for document in documents], np.int64)
    pooled = vectors.pooled(queries.tokens[queries.place[query.query_id]], places)
    return replace(query, lexical=lexical, pooled=pooled, places=places, vectors_of=vectors)


Plan = tuple[str, list[str]]
"""Everything that determines the minima of a query: its id and its sorted candidates."""


@dataclass(frozen=True)
class ComputeMinima:
    """Job: a table of queries and candidate ids -> minima, as bytes of ``(candidates, tokens)`` float32."""

    queries: EncodedCorpus
    corpus: EncodedCorpus
    form: Form

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        found = []
        for query_id, documents in zip(table["query"], table["documents"], strict=True):
            found.append(_minima(query_id, documents, self.queries, self.corpus, self.form).tobytes())
            advance(1)
        return {"minima": found}


def _minima(
    query_id: str, documents: Sequence[str], queries: EncodedCorpus, corpus: EncodedCorpus, form: Form
) -> npt.NDArray[np.float32]:
    places = [corpus.place[document] for document in documents]
    query = queries.tokens[queries.place[query_id]]
    return dispatch.minima(query, corpus, candidates=places, form=form)


def _read(
    path: Path,
    part: Sequence[Plan],
    queries: EncodedCorpus,
    judgements: Mapping[str, Mapping[str, int]],
    ties: Mapping[str, Ties],
) -> list[JudgedQuery]:
    tokens = [queries.tokens[queries.place[query_id]] for query_id, _ in part]
    ends = np.cumsum([len(plan[1]) * len(query.token_ids) for plan, query in zip(part, tokens, strict=True)])
    try:
        flat = np.asarray(np.load(path, mmap_mode="r"))  # a plain array, which Ray can share
    except (ValueError, EOFError):
        flat = np.zeros(0, np.float32)
    if flat.shape != (ends[-1],) or flat.dtype != np.float32:
        raise InputError(f"{path} is damaged; delete {path.parent} and learn again")
    found = []
    for (query_id, documents), query, own in zip(part, tokens, np.split(flat, ends[:-1]), strict=True):
        grades = judgements.get(query_id, {})
        found.append(
            JudgedQuery(
                query_id=query_id,
                token_ids=query.token_ids,
                vectors=np.asarray(query.vectors, dtype=np.float32),
                distances=own.reshape(len(documents), len(query.token_ids)),
                grades=grades_of(documents, grades),
                ideal=ideal_grades(grades),
                ties=ties.get(query_id, NO_TIES),
            )
        )
    return found
