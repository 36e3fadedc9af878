"""Judgements as BEIR and TREC write them: fields are separated by tabs or spaces, and nothing is quoted."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chamfer.data.records import Records
from chamfer.errors import InputError

QUERY, DOCUMENT, GRADE = "query-id", "corpus-id", "score"
"""The columns, as BEIR names them."""

WHOLE = re.compile(r"\s*([+-]?\d+)(?:\.0*)?\s*")
"""A whole number, also as tables write it among fractions: 1.0."""


def is_qrels(line: str) -> bool:
    r"""Whether the first line of a file is one of BEIR's or TREC's judgements, or BEIR's names of columns.

    >>> is_qrels("query-id\tcorpus-id\tscore"), is_qrels("q1 0 d7 1"), is_qrels("query,document,relevance")
    (True, True, False)
    """
    fields = line.rstrip("\r\n").split("\t")
    if [field.strip().lower().replace("_", "-") for field in fields] == [QUERY, DOCUMENT, GRADE]:
        return True
    fields = line.split() if len(fields) == 1 else fields
    beir = len(fields) == 3 and "\t" in line
    return bool((beir or len(fields) == 4) and WHOLE.fullmatch(fields[-1]))


def read_qrels(path: Path, name: str) -> Records:
    """Read a file, with BEIR's names of columns or without."""
    return Records(_rows(path, name), (QUERY, DOCUMENT, GRADE))


def _rows(path: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{name}, line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                fields = text.split("\t")
                if number == 1 and fields[-1].strip().lower() == GRADE:
                    continue
                if len(fields) == 1:
                    query, _, document, grade = fields[0].split()
                elif len(fields) == 4:
                    query, _, document, grade = fields
                else:
                    query, document, grade = fields
                whole = WHOLE.fullmatch(grade)
                judged_as = int(whole[1] if whole else grade)
            except ValueError as error:
                raise InputError(
                    f"{where}: expected query-id, corpus-id and a whole number, separated by tabs "
                    "(or TREC's four columns, separated by spaces)"
                ) from error
            yield where, {QUERY: query, DOCUMENT: document, GRADE: judged_as}
