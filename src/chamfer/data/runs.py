"""Reading and writing TREC run files.

Columns are separated by white space, so white space in an id (``Global warming:170``) is written as a visible symbol
(``Global␠warming:170``) and restored on reading.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.support.files import atomic_write

SPACES = {ord(sign): space for sign, space in zip("␠␉␊␍␋␌", " \t\n\r\v\f", strict=True)}
SIGNS = {ord(space): chr(sign) for sign, space in SPACES.items()}


def format_run(rankings: Iterable[Ranking], *, k: int | None = None, tag: str = "chamfer") -> Iterator[str]:
    """Yield one line ``query Q0 document rank score tag`` for each of the top ``k`` documents.

    Tools that read runs sort by score, so a document that would change places gets the next lower number of 32 bits:
    one of several that score 0 or 1, where scores are cut off.
    """
    tag = tag.translate(SIGNS)
    for ranking in rankings:
        query = ranking.query_id.translate(SIGNS)
        pairs = zip(ranking.document_ids[:k], ranking.scores[:k], strict=True)
        before, last = "", math.inf
        for rank, (document, score) in enumerate(pairs, start=1):
            if score > last or (score == last and document < before):
                score = _next_below(last)
            before, last = document, score
            yield f"{query} Q0 {document.translate(SIGNS)} {rank} {score!r} {tag}\n"


def _next_below(score: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(score), np.float32(-np.inf)))


def write_run(path: Path, rankings: Iterable[Ranking], *, k: int | None = None, tag: str = "chamfer") -> None:
    """Write a run file atomically."""
    with atomic_write(path) as file:
        file.writelines(line.encode() for line in format_run(rankings, k=k, tag=tag))


def read_run(path: Path) -> list[Ranking]:
    """Read a run file. Documents are sorted by score, ties by id; the rank column is ignored."""
    if not path.is_file():
        raise InputError(f"there is no run file {path}; a run file has lines of query, Q0, document, rank, score, tag")
    found: dict[str, dict[str, float]] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            fields = line.split()
            if not fields:
                continue
            try:
                query, _, document, _, score, _ = (field.decode().translate(SPACES) for field in fields)
                value = float(score)
                if math.isnan(value):
                    raise ValueError("NaN")
            except ValueError as error:
                raise InputError(f"{path}, line {number}: expected query, Q0, document, rank, score and tag") from error
            if document in found.setdefault(query, {}):
                raise InputError(f"{path}, line {number}: document {document!r} is ranked twice for query {query!r}")
            found[query][document] = value
    if not found:
        raise InputError(f"{path} contains no rankings; write lines of query, Q0, document, rank, score, tag")
    return [Ranking.of(query, list(scores), list(scores.values())) for query, scores in found.items()]
