"""What a service reads from: an index on this machine, or shards."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from chamfer.data.documents import Document
from chamfer.explain.explanation import Explanation
from chamfer.index.filters import Filter
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.word_counts import WordCounts
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.rankings import Ranked
from chamfer.serve.schemas.documents import DeleteResponse, NewDocument, PutResponse
from chamfer.serve.schemas.learning import LearnRequest, LearnResponse
from chamfer.serve.state import Problem
from chamfer.serve.versions import Versions


class Found(NamedTuple):
    """Rankings, one for each query of each group in order.

    Args:
        rankings: the documents of the page that was asked for.
        missing: the shards that did not answer.
        searched: number of documents that pass the filter; 0 if unknown.
        notes: notes on the filter.
    """

    rankings: Sequence[Ranked]
    missing: list[str]
    searched: int
    notes: Sequence[str] = ()


class ExplainedDocument(NamedTuple):
    """A document, or one passage of it, and its explanation for each query; none if it has no tokens."""

    document: Document
    explanations: Sequence[Explanation]

    @classmethod
    def of(cls, document: Document, explanations: Iterable[Explanation | None]) -> Self:
        """A document, with the explanations that there are."""
        return cls(document, [one for one in explanations if one is not None])


class Explained(NamedTuple):
    """Explained documents, and the shards that did not answer."""

    documents: Sequence[ExplainedDocument]
    missing: list[str]


class Counted(NamedTuple):
    """Counts of words in the documents, and the shards that did not answer."""

    counts: WordCounts
    missing: list[str]


class LostError(Exception):
    """No shard can be reached."""


class UnwritableError(Exception):
    """The documents cannot be changed now."""


class Reader(Protocol):
    """One commit of the documents. A request uses one reader throughout, so its answer never mixes commits."""

    @property
    def queries(self) -> QueryEncoder:
        """Encodes queries for this commit."""

    @property
    def documents(self) -> int:
        """The number of documents."""

    def find(self, groups: Sequence[Queries], k: int, where: Filter | None, offset: int = 0) -> Found:
        """Find the top ``k`` documents for each query of each group; the filter is evaluated once for all.

        Args:
            groups: encoded and weighted queries; each group has its own mix.
            k: number of documents to return.
            where: filter on metadata.
            offset: number of documents to skip.
        """

    def explain(
        self,
        groups: Sequence[Queries],
        ids: Sequence[str],
        where: Filter | None,
        passages: Mapping[str, int] | None = None,
    ) -> Explained:
        """Explain the scores of documents; those that do not pass the filter are left out.

        Args:
            groups: one encoded and weighted query each. All explain the same passage of a document.
            ids: ids of documents; an unknown one is an error.
            where: filter on metadata.
            passages: numbers of the passages that were found, by id; by default, the best one for the first query.
        """

    def count_words(self, queries: Sequence[str]) -> Counted:
        """Count the words of queries in all documents, for lexical evidence.

        Args:
            queries: query texts.
        """


class Backend(Protocol):
    """Documents that may change while they are served."""

    @property
    def name(self) -> str:
        """Name of the folder that is served."""

    @property
    def reader(self) -> Reader:
        """The commit that is served now."""

    def refresh(self) -> None:
        """Switch to the newest commit; if it cannot be opened, keep serving the current one."""

    @property
    def problem(self) -> Problem | None:
        """What is wrong, as far as is known without asking anybody; None if all is well."""

    def missing_shards(self) -> list[str]:
        """Names of the shards that cannot be reached now."""

    def learn(self, versions: Versions, asked: LearnRequest) -> LearnResponse:
        """Learn weights from judgements, as a version that is not in use yet."""

    @property
    def read_only(self) -> str | None:
        """Why no document can ever be changed, in one sentence; None if documents can be changed."""

    def put_documents(self, documents: Sequence[NewDocument], is_abandoned: Callable[[], bool]) -> PutResponse:
        """Add documents, and replace those that have the same ids: all of them, or none.

        Args:
            documents: the documents.
            is_abandoned: whether the client has stopped waiting; asked until the commit, so that nothing is stored.
        """

    def delete_documents(self, ids: Sequence[str]) -> DeleteResponse:
        """Delete documents.

        Args:
            ids: their ids; unknown ones are no error.
        """

    def merge_segments(self) -> None:
        """Do what changes of documents have put off, so that they are answered sooner."""

    def close(self) -> None:
        """Stop background work."""
