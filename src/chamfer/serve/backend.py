"""What a service reads from: an index on this machine, or shards."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.data.judged import Judged
from chamfer.explain.explanation import Explanation
from chamfer.index.filters import Filter
from chamfer.index.tallies import Tally
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.word_counts import WordCounts
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.rankings import Ranked
from chamfer.serve.schemas.documents import DeleteResponse, NewDocument, PutResponse
from chamfer.serve.schemas.evaluation import EvaluateResponse
from chamfer.serve.schemas.learning import CheckRequest, CheckResponse, LearnRequest, LearnResponse
from chamfer.serve.state import Problem
from chamfer.serve.versions import Versions
from chamfer.support.progress import Progress
from chamfer.weights.scale import Scale
from chamfer.weights.token_weights import TokenWeights


class Found(NamedTuple):
    """Rankings, one for each query of each group in order.

    Args:
        rankings: the documents of the page that was asked for, with the kernel's scores.
        scales: the scale of each query's scores.
        missing: the shards that did not answer.
        searched: number of documents that pass the filter; 0 if unknown.
        notes: notes on the filter.
    """

    rankings: Sequence[Ranked]
    scales: Sequence[Scale]
    missing: list[str]
    searched: int
    notes: Sequence[str] = ()

    @property
    def scores(self) -> list[npt.NDArray[np.float64]]:
        """The scores of each ranking, from 0 to 1."""
        return [scale.scores(ranked.scores) for scale, ranked in zip(self.scales, self.rankings, strict=True)]


class ExplainedDocument(NamedTuple):
    """A document, or one passage of it, and its explanation for each query; none if it has no tokens."""

    document: Document
    explanations: Sequence[Explanation]

    @classmethod
    def of(cls, document: Document, explanations: Iterable[Explanation | None]) -> Self:
        """A document, with the explanations that there are."""
        return cls(document, [one for one in explanations if one is not None])


class Explained(NamedTuple):
    """Explained documents, the shards that did not answer, and notes on the filter."""

    documents: Sequence[ExplainedDocument]
    missing: list[str]
    notes: Sequence[str] = ()


class Counted(NamedTuple):
    """Counts of words in the documents, and the shards that did not answer."""

    counts: WordCounts
    missing: list[str]


class Contents(NamedTuple):
    """What the documents hold.

    Args:
        passages: number of passages; None without passages.
        tally: how many documents have each metadata field and each of its values.
        examples: example queries.
        missing: the shards that did not answer.
    """

    passages: int | None
    tally: Tally
    examples: list[str]
    missing: list[str]


class Asked(NamedTuple):
    """Judged queries, and the weights to compare on them.

    Args:
        read: reads the queries and their judgements, in the thread of the evaluation.
        split: what they are called.
        weights: weights by the names to show.
        versions: the numbers of those that are versions, by name.
        baseline: name of the weights to compare the others with; chosen if not given.
    """

    read: Callable[[], Judged]
    split: str
    weights: Mapping[str, str | TokenWeights]
    versions: Mapping[str, int]
    baseline: str | None


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

    def unrelated_score(self, weights: str | TokenWeights) -> float | None:
        """The score that one in a hundred unrelated texts reaches, see :class:`chamfer.search.background.Levels`.

        Args:
            weights: the weights of the queries.
        """

    def knows_unrelated_score(self, weights: str | TokenWeights) -> bool:
        """Whether :meth:`unrelated_score` answers at once.

        Args:
            weights: the weights of the queries.
        """

    def count_words(self, queries: Sequence[str]) -> Counted:
        """Count the words of queries in all documents, for lexical evidence.

        Args:
            queries: query texts.
        """

    def contents(self) -> Contents:
        """The fields of the documents, and example queries; counted once."""


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

    @property
    def age(self) -> float:
        """Seconds since what is served was last known to be the newest."""

    def missing_shards(self) -> list[str]:
        """Names of the shards that cannot be reached now."""

    @property
    def unlearnable(self) -> str | None:
        """Why weights can never be learnt here, in one sentence; None if they can."""

    def learn(self, versions: Versions, asked: LearnRequest, progress: Progress) -> LearnResponse:
        """Learn weights from judgements, as a version that is not in use yet."""

    @property
    def unmeasurable(self) -> str | None:
        """Why weights can never be evaluated here, in one sentence; None if they can."""

    def evaluate(self, asked: Asked, is_abandoned: Callable[[], bool]) -> EvaluateResponse:
        """Compare weights on judged queries.

        Args:
            asked: the judged queries, and the weights.
            is_abandoned: whether the client has stopped waiting; asked now and then, to stop the work.
        """

    def check_judgements(self, asked: CheckRequest) -> CheckResponse:
        """Say what can be learnt from judgements."""

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
