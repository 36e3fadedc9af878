"""TREC run files, in and out.

Their columns are separated by white space, so an id that holds some (``Global warming:170``) is written with
``%20`` for a space, as in an address, and read back as it was.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from chamfer.errors import InputError
from chamfer.files import written_whole
from chamfer.ranking import Ranking


def format_run(rankings: Iterable[Ranking], *, k: int | None = None, tag: str = "chamfer") -> Iterator[str]:
    """Give ``query Q0 document rank score tag``, one line for each of the best ``k`` documents."""
    for ranking in rankings:
        pairs = zip(ranking.document_ids[:k], ranking.scores[:k], strict=True)
        for rank, (document, score) in enumerate(pairs, start=1):
            yield f"{_escape(ranking.query_id)} Q0 {_escape(document)} {rank} {score!r} {tag}\n"


def write_run(path: Path, rankings: Iterable[Ranking], *, k: int | None = None, tag: str = "chamfer") -> None:
    """Write a run file, whole or not at all."""
    with written_whole(path) as file:
        file.writelines(line.encode() for line in format_run(rankings, k=k, tag=tag))


def read_run(path: Path) -> list[Ranking]:
    """Read a run file: documents by falling score, equal scores by id, whatever the rank column says."""
    if not path.is_file():
        raise InputError(f"there is no run file {path}")
    found: dict[str, dict[str, float]] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            fields = line.split()
            if not fields:
                continue
            try:
                query, _, document, _, score, _ = (_unescape(field.decode()) for field in fields)
                value = float(score)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: expected query, Q0, document, rank, score and tag") from error
            if document in found.setdefault(query, {}):
                raise InputError(f"{path}, line {number}: document {document!r} is ranked twice for query {query!r}")
            found[query][document] = value
    if not found:
        raise InputError(f"{path} ranks nothing")
    return [Ranking.of(query, list(scores), list(scores.values())) for query, scores in found.items()]


def _escape(identifier: str) -> str:
    return re.sub(r"[ \t\n\r\f\v]|%(?=[0-9A-F]{2})", lambda found: f"%{ord(found[0]):02X}", identifier)


def _unescape(field: str) -> str:
    return re.sub(r"%(20|09|0A|0D|0C|0B|25)", lambda found: chr(int(found[1], 16)), field)
