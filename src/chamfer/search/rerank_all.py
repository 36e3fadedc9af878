"""Re-ranking the candidates of many queries on workers, resumable after an interruption."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.ranking import Ranking
from chamfer.search.rerank_encoded import CANDIDATES, OWN, RANKED, RerankEncoded
from chamfer.support.devices import CPU
from chamfer.support.files import write_json, writer_lock
from chamfer.support.progress import Advance, Before, ignore
from chamfer.weights.mix import LEXICAL
from chamfer.workers.jobs import IN_PROCESS, Table, Workers, add_row, empty_table, rows

# Queries that a worker re-ranks at a time: about a second of work.
QUERIES_PER_TABLE = 16


class Lexical(NamedTuple):
    """BM25's scores, with queries and documents given by id."""

    of: Callable[[str, Sequence[str]], npt.NDArray[np.float32]]
    """The scores of some documents for a query."""
    own: Callable[[str], float]
    """The score of a query's own text."""


def rerank_all(
    job: RerankEncoded,
    candidates: Sequence[Ranking],
    *,
    lexical: Lexical | None = None,
    keep: Path | None = None,
    advance: Advance = ignore,
    workers: Workers = IN_PROCESS,
) -> dict[str, list[Ranking]]:
    """Re-rank the candidates of many queries with each of several weightings.

    Args:
        job: queries, documents and weights.
        candidates: candidates of each query.
        lexical: BM25's scores; required for a mix with lexical evidence, and not called otherwise.
        keep: folder for finished work, so that the same call resumes after an interruption.
        advance: progress callback, with the number of queries finished, also by an earlier call.
        workers: workers that re-rank.

    Returns:
        By the name of the weights, a ranking for each query.
    """
    on_gpu = job.corpus.device != CPU
    if job.k is not None and len(job.weightings) == 1 and not on_gpu:
        _ = job.corpus.coded  # computed once here, or every worker would do it
    mixes = [weights.mix for weights in job.weightings.values()]
    if any(mix.pooled for mix in mixes):
        _ = job.corpus.means  # likewise
    if not any(mix.lexical for mix in mixes):
        lexical = None
    tables = list(_tables(candidates))

    def run(some: Iterable[Table]) -> Iterator[Table]:
        sent = some if lexical is None else (_with_lexical(table, lexical) for table in some)
        return workers.map(job, sent, advance=advance, gpu=on_gpu)

    if keep is None:
        ranked: Iterable[Table] = run(tables)
    else:
        ranked = _run_resumably(run, tables, keep / f"reranked-{job.key(tables)}", advance)
    rankings: dict[str, list[Ranking]] = {name: [] for name in job.weightings}
    for table in ranked:
        for name, query, documents, scores in rows(table, RANKED):
            rankings[name].append(Ranking(query, tuple(documents), tuple(scores)))
    return rankings


def _tables(candidates: Sequence[Ranking]) -> Iterator[Table]:
    for start in range(0, len(candidates), QUERIES_PER_TABLE):
        table = empty_table(CANDIDATES)
        for ranking in candidates[start : start + QUERIES_PER_TABLE]:
            add_row(table, ranking.query_id, list(ranking.document_ids))
        yield table


def _with_lexical(table: Table, lexical: Lexical) -> Table:
    pairs = list(rows(table, CANDIDATES))
    found = [lexical.of(query, documents).tolist() for query, documents in pairs]
    return {**table, LEXICAL: found, OWN: [lexical.own(query) for query, _ in pairs]}


def _run_resumably(
    run: Callable[[Iterable[Table]], Iterator[Table]], tables: Sequence[Table], folder: Path, advance: Advance
) -> list[Table]:
    """Save the result for each table in a file; the folder is deleted when all are finished."""
    paths = [folder / f"{place:06d}.json" for place in range(len(tables))]
    with writer_lock(folder):
        missing = [place for place, path in enumerate(paths) if not path.exists()]
        finished = [table for table, path in zip(tables, paths, strict=True) if path.exists()]
        advance(Before(sum(len(table["query"]) for table in finished)))
        for place, table in zip(missing, run(tables[place] for place in missing), strict=True):
            write_json(paths[place], table)
        ranked: list[Table] = [json.loads(path.read_bytes()) for path in paths]
        shutil.rmtree(folder, ignore_errors=True)
    return ranked
