"""Re-ranking candidates for a query, from texts or from encoded corpora."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.cache.corpus import EncodedCorpus
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.encode.tokenizing import Tokenized
from chamfer.errors import InputError
from chamfer.kernels import dispatch
from chamfer.kernels.form import Form
from chamfer.support.devices import CPU
from chamfer.support.files import write_json, writer_lock
from chamfer.support.progress import Advance, ignore
from chamfer.support.strings import list_of_strings
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights
from chamfer.workers.jobs import IN_PROCESS, Table, Workers, add_row

# Queries that a worker re-ranks at a time: about a second of work.
TOGETHER = 16


def rerank(
    query: str,
    documents: Mapping[str, str] | Sequence[str],
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = "l2",
    k: int | None = None,
    query_id: str = "query",
    normalise: bool = False,
) -> Ranking:
    """Rank texts for a query, encoding both on the fly.

    Args:
        query: query text.
        documents: texts by id, or a list of texts, which get their positions ``"0"``, ``"1"``, ... as ids.
        encoder: encoder for the query and the documents.
        weights: token weights; uniform if not given.
        form: ``l2`` or ``cosine``.
        k: number of documents to return; all if not given.
        query_id: id of the query in the result.
        normalise: whether to divide scores by the total weight, so that 0 is a perfect match on every token and one
            threshold suits short and long queries.

    Returns:
        A :class:`chamfer.Ranking`, best first. Ties are broken by id, or by position for a list of texts.

    >>> from chamfer import Encoder, rerank
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> rerank("how to make bread", texts, encoder=Encoder.load("minilm")).document_ids
    ('1', '0')
    """
    if not isinstance(documents, Mapping):
        documents = list_of_strings(documents, "documents")
        width = len(str(len(documents)))  # only while sorting: ties must fall in the order of the list
        ranking = rerank(
            query,
            {f"{place:0{width}}": text for place, text in enumerate(documents)},
            encoder=encoder,
            weights=weights,
            form=form,
            k=k,
            query_id=query_id,
            normalise=normalise,
        )
        return Ranking(query_id, tuple(str(int(place)) for place in ranking.document_ids), ranking.scores)
    return rerank_tokenized(
        encoder.tokenize([query], "query"),
        list(documents),
        encoder.tokenize(list(documents.values()), "document"),
        encoder=encoder,
        weights=weights,
        form=form,
        k=k,
        query_id=query_id,
        normalise=normalise,
    )


def rerank_tokenized(
    query: Tokenized,
    ids: Sequence[str],
    texts: Tokenized,
    *,
    encoder: Encoder,
    weights: TokenWeights | None = None,
    form: Form = "l2",
    k: int | None = None,
    query_id: str = "query",
    normalise: bool = False,
) -> Ranking:
    """Rank texts for a query, where both are tokenised already; see :func:`rerank`.

    Args:
        query: one query.
        ids: id of each text.
        texts: texts to rank.
        encoder: the encoder that tokenised them.
        weights: weights of the query tokens; uniform by default.
        form: ``l2`` or ``cosine``.
        k: number of texts to return; all by default.
        query_id: id of the query in the result.
        normalise: whether to divide scores by the total weight.
    """
    weights = weights or TokenWeights.uniform(encoder.vocabulary)
    check_weights(weights, encoder, form)
    tokens = encoder.encode(query)
    if not texts:
        return Ranking(query_id, (), ())
    encoded = encoder.encode(texts)
    distances = dispatch.minima(tokens, dispatch.on_device(encoded, encoder.scoring_device), form=form)
    scores: npt.NDArray[np.floating] = dispatch.score(distances, weights.of(tokens))
    if normalise:
        scores = dispatch.normalised(scores, weights.of(tokens), form)
    return Ranking.of(query_id, ids, scores, k)


def relevance(normalised: float) -> float:
    """Map a normalised score to the range from 0 to 1, where 1 is a perfect match on every token.

    >>> relevance(0.0), relevance(-0.5), relevance(float("-inf"))
    (1.0, 0.75, 0.0)
    """
    return min(max(1 + normalised / 2, 0.0), 1.0)


def rerank_encoded(
    query: TokenBatch,
    candidates: Ranking,
    corpus: EncodedCorpus,
    weightings: Mapping[str, TokenWeights],
    *,
    form: Form = "l2",
    k: int | None = None,
) -> dict[str, Ranking]:
    """Re-rank the candidates of one query with each of several weights, from vectors on disk.

    Distances do not depend on weights, so they are computed once for all. The top ``k`` for a single set of weights
    are found faster, because most documents need no exact score.
    """
    unknown = next((identifier for identifier in candidates.document_ids if identifier not in corpus.place), None)
    if unknown is not None:
        raise InputError(f"candidate {unknown!r} of query {candidates.query_id!r} is not in the encoded corpus")
    places = np.array([corpus.place[identifier] for identifier in candidates.document_ids], dtype=np.int64)
    if k is not None and len(weightings) == 1:
        [(name, weights)] = weightings.items()
        by_id = places[np.argsort(corpus.order[places])]
        found = dispatch.best(query, weights.of(query), corpus, k=k, candidates=[by_id], form=form)[0]
        ids = tuple(corpus.ids[place] for place in found.places)
        return {name: Ranking(candidates.query_id, ids, tuple(found.scores.tolist()))}
    distances = dispatch.minima(query, corpus, candidates=places, form=form)
    return {
        name: Ranking.of(candidates.query_id, candidates.document_ids, dispatch.score(distances, weights.of(query)), k)
        for name, weights in weightings.items()
    }


def rerank_all(
    queries: EncodedCorpus,
    candidates: Sequence[Ranking],
    corpus: EncodedCorpus,
    weightings: Mapping[str, TokenWeights],
    *,
    form: Form = "l2",
    k: int | None = None,
    keep: Path | None = None,
    advance: Advance = ignore,
    workers: Workers = IN_PROCESS,
) -> dict[str, list[Ranking]]:
    """Re-rank the candidates of many queries with each of several weights; workers read the vectors from disk.

    Args:
        queries: encoded queries.
        candidates: candidates of each query.
        corpus: encoded documents.
        weightings: weights by name.
        form: ``l2`` or ``cosine``.
        k: number of documents to return for each query; all if not given.
        keep: folder for finished work, so that the same call resumes after an interruption.
        advance: progress callback, with the number of queries finished, also by an earlier call.
        workers: where to run the work.
    """
    if k is not None and len(weightings) == 1 and corpus.device == CPU:
        _ = corpus.coded  # computed here once, or every worker would do it
    tables: list[Table] = [
        {"query": [one.query_id for one in part], "documents": [list(one.document_ids) for one in part]}
        for part in (candidates[at : at + TOGETHER] for at in range(0, len(candidates), TOGETHER))
    ]
    job = RerankQueries(queries, corpus, dict(weightings), form, k)
    on_gpu = corpus.device != CPU
    if keep is None:
        ranked = list(workers.map(job, tables, advance=advance, gpu=on_gpu))
    else:
        ranked = _kept(keep / f"reranked-{job.key(tables)}", job, tables, advance, workers, on_gpu=on_gpu)
    rankings: dict[str, list[Ranking]] = {name: [] for name in weightings}
    for table in ranked:
        columns = (table[name] for name in ("weights", "query", "documents", "scores"))
        for name, query, documents, scores in zip(*columns, strict=True):
            rankings[name].append(Ranking(query, tuple(documents), tuple(scores)))
    return rankings


def _kept(
    folder: Path, job: "RerankQueries", tables: Sequence[Table], advance: Advance, workers: Workers, *, on_gpu: bool
) -> list[Table]:
    """Run a job over tables, with a file for each finished one; the folder is deleted when all are done."""
    paths = [folder / f"{place:06d}.json" for place in range(len(tables))]
    with writer_lock(folder):
        missing = [place for place, path in enumerate(paths) if not path.exists()]
        advance(sum(len(table["query"]) for table in tables) - sum(len(tables[place]["query"]) for place in missing))
        made = workers.map(job, (tables[place] for place in missing), advance=advance, gpu=on_gpu)
        for place, table in zip(missing, made, strict=True):
            write_json(paths[place], table)
        ranked: list[Table] = [json.loads(path.read_bytes()) for path in paths]
        shutil.rmtree(folder, ignore_errors=True)
    return ranked


@dataclass(frozen=True)
class RerankQueries:
    """A job from queries and their candidates to a ranking for each query and each set of weights."""

    queries: EncodedCorpus
    corpus: EncodedCorpus
    weightings: Mapping[str, TokenWeights]
    form: Form
    k: int | None

    def key(self, tables: Sequence[Table]) -> str:
        """A key that is equal for equal work."""
        digest = hashlib.sha256()
        for name, weights in self.weightings.items():
            digest.update(name.encode())
            digest.update(weights.table.tobytes())
            digest.update(b"" if weights.context is None else weights.context.tobytes())
        work = [self.form, self.k, self.corpus.made_from, self.queries.made_from, tables]
        digest.update(json.dumps(work, sort_keys=True).encode())
        return digest.hexdigest()[:16]

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`."""
        ranked: Table = {"weights": [], "query": [], "documents": [], "scores": []}
        for query_id, documents in zip(table["query"], table["documents"], strict=True):
            tokens = self.queries.tokens[self.queries.place[query_id]]
            found = Ranking(query_id, tuple(documents), (0.0,) * len(documents))
            again = rerank_encoded(tokens, found, self.corpus, self.weightings, form=self.form, k=self.k)
            for name, ranking in again.items():
                add_row(ranked, name, query_id, list(ranking.document_ids), list(ranking.scores))
            advance(1)
        return ranked


@dataclass(frozen=True)
class RerankTexts:
    """A job from queries and texts to a ranking for each query, and the number of truncated texts."""

    encoder: Encoder
    weights: TokenWeights
    form: Form
    k: int | None

    def __call__(self, table: Table, advance: Advance) -> Table:
        """See :class:`chamfer.workers.jobs.Job`; error messages start with the column ``where``."""
        ranked: Table = {"query": [], "documents": [], "scores": [], "truncated": []}
        columns = (table[name] for name in ("where", "id", "query", "ids", "texts"))
        for where, query_id, query, ids, texts in zip(*columns, strict=True):
            read = self.encoder.tokenize([query], "query"), self.encoder.tokenize(texts, "document")
            try:
                ranking = rerank_tokenized(
                    read[0],
                    ids,
                    read[1],
                    encoder=self.encoder,
                    weights=self.weights,
                    form=self.form,
                    k=self.k,
                    query_id=query_id,
                )
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            truncated = read[0].truncated + read[1].truncated
            add_row(ranked, query_id, list(ranking.document_ids), list(ranking.scores), truncated)
            advance(1)
        return ranked
