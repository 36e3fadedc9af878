"""What learning works on: the minima of judged queries against their candidates, computed once and kept."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer import kernels
from chamfer.errors import InputError
from chamfer.files import only_writer, written_whole
from chamfer.kernels import Form
from chamfer.progress import Advance, ignore
from chamfer.ranking import Ranking
from chamfer.store.corpus import EncodedCorpus
from chamfer.tokens import TokenIds, Vectors

# Queries per file on disk: what an interruption can lose.
PART = 64


@dataclass(frozen=True, eq=False)
class JudgedQuery:
    """One judged query, its candidates and how far each of its tokens is from each of them.

    Args:
        query_id: its name.
        token_ids: ``(tokens,)`` what its weights are looked up by.
        vectors: ``(tokens, dimensions)`` of its tokens.
        distances: ``(candidates, tokens)`` float32, from :func:`chamfer.kernels.minima`. Candidates are in the
            order of their ids, so that a stable sort by score breaks ties by id.
        grades: ``(candidates,)`` int32, 0 for what is not relevant or not judged.
        retrieved: ``(candidates,)`` false for relevant documents that the first stage missed. They are there to
            learn from; quality is measured without them.
        ideal: all positive grades of the query, best first, also of documents that are no candidates.
    """

    query_id: str
    token_ids: TokenIds
    vectors: Vectors
    distances: npt.NDArray[np.float32]
    grades: npt.NDArray[np.int32]
    retrieved: npt.NDArray[np.bool_]
    ideal: npt.NDArray[np.int32]


@dataclass(frozen=True)
class LeftOut:
    """Judged queries and judgements that cannot be learnt from, by the reason."""

    without_relevant: tuple[str, ...] = ()
    """Queries for which no document is judged relevant."""
    without_negatives: tuple[str, ...] = ()
    """Queries whose candidates are all relevant."""
    unknown_documents: int = 0
    """Judgements of documents that are not in the corpus."""

    def reasons(self) -> list[str]:
        """A sentence for each reason that applies, with the first of the queries."""
        found = []
        for queries, why in (
            (self.without_relevant, "without a relevant document in the corpus"),
            (self.without_negatives, "whose candidates are all relevant"),
        ):
            if queries:
                some = ", ".join(queries[:3]) + (", ..." if len(queries) > 3 else "")
                found.append(f"{len(queries)} queries {why} were left out ({some})")
        if self.unknown_documents:
            found.append(f"{self.unknown_documents} judgements are of documents that are not in the corpus")
        return found


def judged_minima(
    folder: Path,
    queries: EncodedCorpus,
    corpus: EncodedCorpus,
    candidates: Sequence[Ranking],
    judgements: Mapping[str, Mapping[str, int]],
    *,
    form: Form = "l2",
    advance: Advance = ignore,
) -> tuple[list[JudgedQuery], LeftOut]:
    """Compute the minima of every judged query, or read those that an earlier call left in ``folder``.

    Relevant documents that the first stage missed are added to the candidates. Queries that nothing can be learnt
    from are left out and named.
    """
    plans, left_out = _plan(corpus, candidates, judgements)
    if not plans:
        raise InputError(
            f"nothing can be learnt: of {len(candidates)} judged queries, {len(left_out.without_relevant)} have no "
            f"relevant document in the corpus and {len(left_out.without_negatives)} have no other candidate"
        )
    key = hashlib.sha256(json.dumps([form, corpus.made_from, queries.made_from, plans]).encode()).hexdigest()[:16]
    folder = folder / f"minima-{key}"
    found: list[JudgedQuery] = []
    with only_writer(folder):
        for start in range(0, len(plans), PART):
            part = plans[start : start + PART]
            path = folder / f"{start // PART:05}.npy"
            if not path.exists():
                minima = [_minima(plan, queries, corpus, form) for plan in part]
                with written_whole(path) as file:
                    np.save(file, np.concatenate([one.ravel() for one in minima]))
            found += _read(path, part, queries, corpus, judgements)
            advance(len(part))
    return found, left_out


# A plan is what decides the minima of a query: its id, its candidates in order, and how many of these were retrieved.
Plan = tuple[str, list[str], list[bool]]


def _plan(
    corpus: EncodedCorpus, candidates: Sequence[Ranking], judgements: Mapping[str, Mapping[str, int]]
) -> tuple[list[Plan], LeftOut]:
    plans: list[Plan] = []
    without_relevant, without_negatives, unknown = [], [], 0
    for ranking in candidates:
        grades = judgements.get(ranking.query_id, {})
        unknown += sum(document not in corpus.place for document in grades)
        relevant = {document for document, grade in grades.items() if grade > 0 and document in corpus.place}
        relevant.discard(ranking.query_id)
        retrieved = set(ranking.document_ids)
        everything = sorted(retrieved | relevant)
        if not relevant:
            without_relevant.append(ranking.query_id)
        elif len(everything) == len(relevant):
            without_negatives.append(ranking.query_id)
        else:
            plans.append((ranking.query_id, everything, [document in retrieved for document in everything]))
    return plans, LeftOut(tuple(without_relevant), tuple(without_negatives), unknown)


def _minima(plan: Plan, queries: EncodedCorpus, corpus: EncodedCorpus, form: Form) -> npt.NDArray[np.float32]:
    query_id, documents, _ = plan
    places = [corpus.place[document] for document in documents]
    return kernels.minima(queries.tokens[queries.place[query_id]], corpus.tokens, candidates=places, form=form)


def _read(
    path: Path,
    part: Sequence[Plan],
    queries: EncodedCorpus,
    corpus: EncodedCorpus,
    judgements: Mapping[str, Mapping[str, int]],
) -> list[JudgedQuery]:
    flat = np.load(path, mmap_mode="r")
    found, start = [], 0
    for query_id, documents, retrieved in part:
        query = queries.tokens[queries.place[query_id]]
        size = len(documents) * len(query.token_ids)
        grades = judgements[query_id]
        ideal = sorted(
            (grade for document, grade in grades.items() if grade > 0 and document != query_id), reverse=True
        )
        found.append(
            JudgedQuery(
                query_id=query_id,
                token_ids=query.token_ids,
                vectors=np.asarray(query.vectors, dtype=np.float32),
                distances=flat[start : start + size].reshape(len(documents), -1),
                grades=np.array([max(grades.get(document, 0), 0) for document in documents], dtype=np.int32),
                retrieved=np.array(retrieved, dtype=np.bool_),
                ideal=np.array(ideal, dtype=np.int32),
            )
        )
        start += size
    if start != len(flat):
        raise InputError(f"{path} does not hold the minima it should; delete {path.parent} and learn again")
    return found
