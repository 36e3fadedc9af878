"""Judged collections in the BEIR layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chamfer.data.documents import check_new, corpus_file, id_of, read_documents, texts_of
from chamfer.data.jsonlines import read_json_lines
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

    def unknown_judged(self, split: str) -> int:
        """How many judgements of a split are of documents that are not in the corpus: nothing can find those."""
        return sum(document not in self.documents for grades in self.judgements[split].values() for document in grades)

    def judged_queries(self, split: str) -> dict[str, str]:
        """The queries of a split that have at least one judgement, in the order of the file."""
        if split not in self.judgements:
            known = ", ".join(sorted(self.judgements)) or "none"
            raise InputError(f"{self.name} has no split {split!r}; it has: {known}")
        judged = self.judgements[split]
        if not judged:
            raise InputError(f"the split {split!r} of {self.name} judges nothing")
        return {identifier: text for identifier, text in self.queries.items() if identifier in judged}


def load_collection(
    path: Path, *, queries: Path | None = None, qrels: Sequence[Path] = (), allow_empty: bool = False
) -> Collection:
    """Read ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv`` from a folder, or the same from other places.

    A document is its title and its text with a space between. A document with neither is an error,
    unless ``allow_empty`` keeps it: it then has no tokens and can never be ranked above another.

    Args:
        path: the folder; or a corpus alone, if the queries are given.
        queries: read the queries here instead; the folder's own judgements are then not read.
        qrels: further judgements, each a split under the name of its path.
        allow_empty: keep documents without text.
    """
    if not (path.is_dir() or (path.is_file() and queries)):
        raise InputError(
            f"{path} is no folder; a judged collection is one with corpus.jsonl, queries.jsonl and qrels/"
            + (
                ", and a corpus alone needs --queries FILE and --qrels FILE where a command has them"
                if path.is_file()
                else ""
            )
        )
    documents = load_documents(path, allow_empty=allow_empty)
    texts = _load_queries(queries or path / "queries.jsonl")
    judgements = {str(file): load_judgements(file, texts) for file in qrels}
    if queries is None:
        judgements |= {file.stem: load_judgements(file, texts) for file in sorted((path / "qrels").glob("*.tsv"))}
    return Collection(path.resolve().name, documents, texts, judgements)


def load_documents(path: Path, *, allow_empty: bool = False) -> dict[str, str]:
    """Read a corpus as JSON lines with ``_id``, ``title`` and ``text``; a folder means its corpus.jsonl."""
    documents = {document.id: document.content for document in read_documents(path, allow_empty=allow_empty)}
    if not any(documents.values()):
        raise InputError(
            f"{corpus_file(path)} holds no documents with text; a line is an object with '_id', 'title' and 'text'"
        )
    return documents


def load_judgements(path: Path, queries: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Read judgements: BEIR's (query, document, grade; tabs) or TREC's (query, 0, document, grade; blanks)."""
    if not path.is_file():
        raise InputError(f"there is no file {path} with judgements")
    judged: dict[str, dict[str, int]] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                fields = line.decode().rstrip("\r\n").split("\t")
                if number == 1 and fields[-1] == "score":
                    continue
                if len(fields) == 1:
                    query, _, document, grade = fields[0].split()
                else:
                    query, document, grade = fields
                judged_as = int(grade)
            except ValueError as error:
                raise InputError(
                    f"{path}, line {number}: expected query-id, corpus-id and a whole number, separated by tabs "
                    "(or TREC's four columns, separated by blanks)"
                ) from error
            if query not in queries:
                raise InputError(f"{path}, line {number}: query {query!r} is not among the queries")
            if judged.setdefault(query, {}).setdefault(document, judged_as) != judged_as:
                raise InputError(f"{path}, line {number}: {document!r} was judged otherwise for {query!r} before")
    return judged


def _load_queries(path: Path) -> dict[str, str]:
    queries: dict[str, str] = {}
    for number, record in read_json_lines(path):
        where = f"{path}, line {number}"
        identifier = id_of(record, where)
        check_new(identifier, queries, where)
        text = " ".join(part for part in texts_of(record, identifier, where) if part)
        if not text:
            raise InputError(f"{path}, line {number}: query {identifier!r} has no text; remove it or mend it")
        queries[identifier] = text
    if not queries:
        raise InputError(f"{path} holds no queries; a line is an object with '_id' and 'text'")
    return queries
