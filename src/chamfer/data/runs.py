"""TREC run files, in and out.

Their columns are separated by white space, so an id that holds some (``Global warming:170``) is written with the
sign for it (``Global␠warming:170``), and read back as it was.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from chamfer.data.ranking import Ranking
from chamfer.errors import InputError
from chamfer.support.files import atomic_write

SPACES = {ord(sign): space for sign, space in zip("␠␉␊␍␋␌", " \t\n\r\v\f", strict=True)}
SIGNS = {ord(space): chr(sign) for sign, space in SPACES.items()}


def format_run(rankings: Iterable[Ranking], *, k: int | None = None, tag: str = "chamfer") -> Iterator[str]:
    """Give ``query Q0 document rank score tag``, one line for each of the best ``k`` documents."""
    tag = tag.translate(SIGNS)
    for ranking in rankings:
        query = ranking.query_id.translate(SIGNS)
        pairs = zip(ranking.document_ids[:k], ranking.scores[:k], strict=True)
        for rank, (document, score) in enumerate(pairs, start=1):
            yield f"{query} Q0 {document.translate(SIGNS)} {rank} {score!r} {tag}\n"


def write_run(path: Path, rankings: Iterable[Ranking], *, k: int | None = None, tag: str = "chamfer") -> None:
    """Write a run file, whole or not at all."""
    with atomic_write(path) as file:
        file.writelines(line.encode() for line in format_run(rankings, k=k, tag=tag))


def read_run(path: Path) -> list[Ranking]:
    """Read a run file: documents by falling score, equal scores by id, whatever the rank column says."""
    if not path.is_file():
        raise InputError(f"there is no run file {path}; it needs lines of query, Q0, document, rank, score, tag")
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
                    raise ValueError("a score must be a number")
            except ValueError as error:
                raise InputError(f"{path}, line {number}: expected query, Q0, document, rank, score and tag") from error
            if document in found.setdefault(query, {}):
                raise InputError(f"{path}, line {number}: document {document!r} is ranked twice for query {query!r}")
            found[query][document] = value
    if not found:
        raise InputError(f"{path} ranks nothing; it needs lines of query, Q0, document, rank, score, tag")
    return [Ranking.of(query, list(scores), list(scores.values())) for query, scores in found.items()]
