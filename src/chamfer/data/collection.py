"""Judged collections in the BEIR layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chamfer.data.corpus import documents_from
from chamfer.data.documents import corpus_file
from chamfer.data.judged import check_documents, read_judged
from chamfer.data.judgements import Judgements, is_relevant, judgements_from
from chamfer.data.queries import Queries, is_own_document, queries_from
from chamfer.data.reading import USUAL, Reading
from chamfer.errors import InputError


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries and judgements.

    Args:
        name: name of the collection, for reports.
        documents: texts by document id.
        queries: texts by query id.
        judgements: for each split, grades by query id and document id.
        query_fields: further fields of queries, by query id, such as a session to group them by.

    >>> pets = Collection(
    ...     name="pets",
    ...     documents={"cats": "Cats sleep all day.", "dogs": "Dogs bark at night."},
    ...     queries={"q1": "why do cats sleep", "q2": "what do birds eat"},
    ...     judgements={"test": {"q1": {"cats": 1}}},
    ... )
    >>> pets.judged_queries("test")
    {'q1': 'why do cats sleep'}
    """

    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    judgements: Mapping[str, Judgements]
    query_fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def unknown_judged(self, split: str) -> int:
        """Number of judgements in a split whose document is not in the corpus, so that no search can find it."""
        return sum(document not in self.documents for grades in self.judgements[split].values() for document in grades)

    def own_document(self, query: str) -> str | None:
        """The id of the document that is the query itself, as in ArguAna, and not judged relevant; None without one.

        Queries and documents that are both numbered from 1 share ids, and nothing else.
        """
        document = self.documents.get(query)
        if document is None or not is_own_document(query, self.queries[query], document):
            return None
        return None if any(is_relevant(split, query, query) for split in self.judgements.values()) else query

    def judged_queries(self, split: str) -> dict[str, str]:
        """The queries of a split that have at least one judgement, in the order of the file."""
        if split not in self.judgements:
            known = ", ".join(sorted(self.judgements)) or "none"
            raise InputError(f"{self.name} has no split {split!r}; it has: {known}")
        judged = self.judgements[split]
        if not judged:
            raise InputError(f"the split {split!r} of {self.name} holds no judgements")
        return {identifier: text for identifier, text in self.queries.items() if identifier in judged}


def load_collection(
    path: str | Path,
    *,
    queries: str | Path | None = None,
    qrels: Sequence[str | Path] = (),
    allow_empty: bool = False,
) -> Collection:
    r"""Read a judged collection: a BEIR folder with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/*.tsv``.

    A document's text is its title and its text, joined by a space.

    Args:
        path: the folder; or a corpus of any format, if there are ``qrels``.
        queries: file of queries to read instead of the folder's; the folder's own judgements are then ignored.
        qrels: files with more judgements, in any format that :func:`chamfer.learn` takes; each is a split, named by its
            path. Without queries, they hold the texts of queries.
        allow_empty: accept documents without text, which rank last.

    >>> folder = getfixture("tmp_path")
    >>> for name, content in {
    ...     "corpus.jsonl": '{"_id": "cats", "title": "Cats", "text": "sleep all day"}',
    ...     "queries.jsonl": '{"_id": "q1", "text": "why do cats sleep"}',
    ...     "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\tcats\t1\n",
    ... }.items():
    ...     (folder / name).parent.mkdir(exist_ok=True)
    ...     written = (folder / name).write_text(content)
    >>> collection = load_collection(folder)
    >>> collection.documents, collection.judgements
    ({'cats': 'Cats sleep all day'}, {'test': {'q1': {'cats': 1}}})
    """
    path = Path(path)
    if not (path.is_dir() or (path.is_file() and (queries or qrels))):
        raise InputError(
            f"{path} is not a folder; a judged collection is a folder with corpus.jsonl, queries.jsonl and qrels/"
            + ("; another corpus needs a file of judgements (--qrels FILE)" if path.is_file() else "")
        )
    own = path / "queries.jsonl"
    with_texts = bool(qrels) and queries is None and not own.is_file()
    documents = load_documents(path if with_texts else corpus_file(path), allow_empty=allow_empty)
    name, known = path.resolve().name, Queries({}, {}) if with_texts else queries_from(queries or own)
    texts, fields = dict(known.texts), dict(known.fields)
    judgements: dict[str, Judgements] = {}
    for file in qrels:
        judged = read_judged(queries, file, known)
        check_documents(judged.judgements, documents, next(iter(documents)), name)
        texts, fields = {**texts, **judged.queries}, {**fields, **judged.query_fields}
        judgements[str(file)] = judged.judgements
    if queries is None:
        judgements |= {file.stem: judgements_from(file, texts) for file in sorted((path / "qrels").glob("*.tsv"))}
    return Collection(name, documents, texts, judgements, fields)


def load_corpus(path: str | Path, *, allow_empty: bool = False) -> Collection:
    """Read the documents of a corpus of any format, and the queries of a folder that has them; no judgements.

    Args:
        path: a file or a folder.
        allow_empty: accept documents without text, which rank last.
    """
    documents = load_documents(path, allow_empty=allow_empty)
    own = Path(path) / "queries.jsonl"
    queries = queries_from(own) if own.is_file() else Queries({}, {})
    return Collection(Path(path).resolve().name, documents, queries.texts, {}, queries.fields)


def load_documents(path: str | Path, *, reading: Reading = USUAL, allow_empty: bool = False) -> dict[str, str]:
    """Titles and texts of a corpus, by id; see :func:`chamfer.data.corpus.documents_from`."""
    corpus = documents_from(path, reading=reading, allow_empty=allow_empty)
    documents = {document.id: document.content for document in corpus.read()}
    if not any(documents.values()):
        raise InputError(
            f"{path} holds no documents with text; a line of JSON lines is an object with '_id', 'title' and 'text'"
        )
    return documents
