"""Judged collections in the BEIR layout."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chamfer.errors import InputError

Judgements = Mapping[str, Mapping[str, int]]
"""Query id -> document id -> grade; 0 is judged and not relevant."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries and, for each split, who judged what relevant."""

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    judgements: Mapping[str, Judgements]

    def judged_queries(self, split: str) -> dict[str, str]:
        """The queries of a split that have at least one judgement, in the order of the file."""
        if split not in self.judgements:
            known = ", ".join(sorted(self.judgements)) or "none"
            raise InputError(f"{self.name} has no split {split!r}; it has: {known}")
        judged = self.judgements[split]
        return {identifier: text for identifier, text in self.queries.items() if identifier in judged}


def load_collection(folder: Path, *, allow_empty: bool = False) -> Collection:
    """Read ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv`` from a folder.

    A document is its title and its text with a space between. A document with neither is an error,
    unless ``allow_empty`` keeps it: it then has no tokens and can never be ranked above another.
    """
    documents = load_documents(folder / "corpus.jsonl", allow_empty=allow_empty)
    queries: dict[str, str] = {}
    for number, record in read_json_lines(folder / "queries.jsonl"):
        _add(queries, "query", folder / "queries.jsonl", number, record, text_of(record), allow_empty=False)
    if not queries:
        raise InputError(f"{folder / 'queries.jsonl'} holds no queries")
    judgements = {path.stem: _load_judgements(path, queries) for path in sorted((folder / "qrels").glob("*.tsv"))}
    return Collection(folder.resolve().name, documents, queries, judgements)


def load_documents(path: Path, *, allow_empty: bool = False) -> dict[str, str]:
    """Read a corpus as JSON lines with ``_id``, ``title`` and ``text``; a folder means its corpus.jsonl."""
    if path.is_dir():
        path = path / "corpus.jsonl"
    documents: dict[str, str] = {}
    for number, record in read_json_lines(path):
        _add(documents, "document", path, number, record, text_of(record), allow_empty=allow_empty)
    if not any(documents.values()):
        raise InputError(f"{path} holds no documents with text")
    return documents


def text_of(record: Mapping[str, Any]) -> str:
    """Title and text of a record, joined by a space where both are there."""
    return " ".join(part for part in (str(record.get(key) or "").strip() for key in ("title", "text")) if part)


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line; blank lines are passed over."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with path.open("rb") as file:
        yield from parse_json_lines(file, str(path))


def parse_json_lines(lines: Iterator[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Like :func:`read_json_lines`, from lines that are already open."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is not UTF-8"
            raise InputError(f"{name}, line {number}: not a JSON object ({reason})") from error
        if not isinstance(record, dict):
            raise InputError(f"{name}, line {number}: not a JSON object but {type(record).__name__}")
        yield number, record


def _add(
    texts: dict[str, str],
    what: str,
    path: Path,
    number: int,
    record: Mapping[str, Any],
    text: str,
    *,
    allow_empty: bool,
) -> None:
    identifier = record.get("_id")
    if not isinstance(identifier, str) or not identifier:
        raise InputError(f"{path}, line {number}: a {what} needs a non-empty string under '_id'")
    if identifier in texts:
        raise InputError(f"{path}, line {number}: the id {identifier!r} was used before; ids must be unique")
    if not text and not allow_empty:
        way_out = "; --allow-empty keeps such documents, ranked last" if what == "document" else ""
        raise InputError(f"{path}, line {number}: {what} {identifier!r} has no text{way_out}")
    texts[identifier] = text


def _load_judgements(path: Path, queries: Mapping[str, str]) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            fields = line.rstrip("\n").split("\t")
            if number == 1 and fields[-1] == "score":
                continue
            if not line.strip():
                continue
            try:
                query, document, grade = fields[0], fields[1], int(fields[2])
            except (IndexError, ValueError) as error:
                raise InputError(
                    f"{path}, line {number}: expected query-id, corpus-id and a whole number, separated by tabs"
                ) from error
            if query not in queries:
                raise InputError(f"{path}, line {number}: query {query!r} is not in queries.jsonl")
            judged.setdefault(query, {})[document] = grade
    return judged
