"""The backend of a server with one index on this machine."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from chamfer.errors import InputError
from chamfer.index.example_queries import examples_of
from chamfer.index.filters import Filter
from chamfer.index.manifest import is_index, missing_segments
from chamfer.index.notes import filter_notes
from chamfer.retrieve.stage import Queries
from chamfer.search.query_encoder import QueryEncoder
from chamfer.search.searcher import Searcher
from chamfer.serve.backend import Asked, Contents, Counted, Explained, ExplainedDocument, Found
from chamfer.serve.documents import delete_documents, merge_segments, put_documents
from chamfer.serve.evaluating import evaluate
from chamfer.serve.learning import check, learn
from chamfer.serve.rankings import Ranked
from chamfer.serve.schemas.documents import DeleteResponse, NewDocument, PutResponse
from chamfer.serve.schemas.evaluation import EvaluateResponse
from chamfer.serve.schemas.learning import CheckRequest, CheckResponse, LearnRequest, LearnResponse
from chamfer.serve.service import Service
from chamfer.serve.state import DAMAGED, Problem, Reasons, State, problem_of
from chamfer.serve.versions import Versions
from chamfer.support.progress import Progress
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import NAMES

REASONS = Reasons(
    gone="the index folder is gone",
    empty="the index folder holds no index any more",
    unreadable="the index folder cannot be read by the server",
    other_model="the index was replaced by one of another model; restart the server",
    unfinished="the index is being built again, and the one before it is served until then",
    unopened="the newest commit of the index cannot be opened",
)

# What is open is intact, but no other server could open it.
MISSING = "files of the index are gone"


class IndexReader:
    """One commit of an index; see :class:`chamfer.serve.backend.Reader`."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher

    @property
    def queries(self) -> QueryEncoder:
        """See :class:`chamfer.serve.backend.Reader`."""
        return self.searcher.queries

    @property
    def documents(self) -> int:
        """See :class:`chamfer.serve.backend.Reader`."""
        return len(self.searcher)

    def find(self, groups: Sequence[Queries], k: int, where: Filter | None, offset: int = 0) -> Found:
        """See :class:`chamfer.serve.backend.Reader`."""
        index = self.searcher.index
        with index.soundness.noticing_damage():
            allowed = index.allowed(where)
            found = [
                one.after(offset)
                for queries in groups
                for one in self.searcher.rank(queries, k, allowed=allowed, offset=offset)
            ]
            rankings = [Ranked(index.documents(one.places), one.scores) for one in found]
            scales = [scale for queries in groups for scale in self.searcher.ranker.scales(queries)]
            return Found(rankings, scales, [], index.count(allowed), filter_notes(index, where))

    def explain(
        self,
        groups: Sequence[Queries],
        ids: Sequence[str],
        where: Filter | None,
        passages: Mapping[str, int] | None = None,
    ) -> Explained:
        """See :class:`chamfer.serve.backend.Reader`."""
        index = self.searcher.index
        with index.soundness.noticing_damage():
            places, allowed = self.searcher.ranker.explained(groups[0], ids, passages), index.allowed(where)
            places = places if allowed is None else places[allowed[places]]
            each = zip(*(self.searcher.explain_places(query, places) for query in groups), strict=True)
            pairs = zip(index.documents(places), each, strict=True)
            documents = [ExplainedDocument.of(*pair) for pair in pairs]
            return Explained(documents, [], filter_notes(index, where))

    def unrelated_score(self, weights: str | TokenWeights) -> float | None:
        """See :class:`chamfer.serve.backend.Reader`."""
        with self.searcher.index.soundness.noticing_damage():
            return self.searcher.unrelated_score(weights)

    def knows_unrelated_score(self, weights: str | TokenWeights) -> bool:
        """See :class:`chamfer.serve.backend.Reader`."""
        return self.searcher.levels.knows(weights)

    def count_words(self, queries: Sequence[str]) -> Counted:
        """See :class:`chamfer.serve.backend.Reader`."""
        with self.searcher.index.soundness.noticing_damage():
            return Counted(self.searcher.ranker.evidence.bm25.counts(queries), [])

    def contents(self) -> Contents:
        """See :class:`chamfer.serve.backend.Reader`."""
        return self._contents

    @cached_property
    def _contents(self) -> Contents:
        index = self.searcher.index
        with index.soundness.noticing_damage():
            passages = None if index.settings.passages is None else index.manifest.rows
            return Contents(passages, index.tally, examples_of(index), [])


class IndexBackend:
    """Serves an index and follows its commits; see :class:`chamfer.serve.backend.Backend`.

    Args:
        searcher: searcher of the index.
    """

    def __init__(self, searcher: Searcher) -> None:
        self.reader = IndexReader(searcher)
        self._state = State()

    @property
    def name(self) -> str:
        """See :class:`chamfer.serve.backend.Backend`."""
        return self.reader.searcher.index.name

    def refresh(self) -> None:
        """See :class:`chamfer.serve.backend.Backend`."""
        try:
            searcher = self.reader.searcher.refreshed()
            if searcher is not self.reader.searcher:
                self.close()
                self.reader = IndexReader(searcher)
            missing = missing_segments(searcher.index.folder, searcher.index.manifest)
        except (InputError, OSError) as error:
            self._state.set(problem_of(error, str(error), self.reader.searcher.index.folder, is_index, REASONS))
            return
        self._state.is_current()
        soundness = searcher.index.soundness
        soundness.check_in_background()
        damage = soundness.damage
        if damage is not None:
            self._state.set(Problem("failing", DAMAGED, str(damage)))
        else:
            self._state.set(Problem("failing", MISSING, f"they are {', '.join(missing)}") if missing else None)

    @property
    def problem(self) -> Problem | None:
        """See :class:`chamfer.serve.backend.Backend`."""
        return self._state.problem

    @property
    def age(self) -> float:
        """See :class:`chamfer.serve.backend.Backend`."""
        return self._state.age

    def missing_shards(self) -> list[str]:
        """None: there are no shards."""
        return []

    unlearnable = unmeasurable = None

    def learn(self, versions: Versions, asked: LearnRequest, progress: Progress) -> LearnResponse:
        """See :class:`chamfer.serve.backend.Backend`."""
        searcher = self.reader.searcher
        with searcher.index.soundness.noticing_damage():
            return learn(searcher, versions, asked, progress)

    def check_judgements(self, asked: CheckRequest) -> CheckResponse:
        """See :class:`chamfer.serve.backend.Backend`."""
        searcher = self.reader.searcher
        with searcher.index.soundness.noticing_damage():
            return check(searcher, asked)

    def evaluate(self, asked: Asked, is_abandoned: Callable[[], bool]) -> EvaluateResponse:
        """See :class:`chamfer.serve.backend.Backend`."""
        searcher = self.reader.searcher
        with searcher.index.soundness.noticing_damage():
            return evaluate(searcher, asked, is_abandoned)

    read_only = None

    def put_documents(self, documents: Sequence[NewDocument], is_abandoned: Callable[[], bool]) -> PutResponse:
        """See :class:`chamfer.serve.backend.Backend`."""
        return put_documents(self.reader.searcher, documents, is_abandoned)

    def delete_documents(self, ids: Sequence[str]) -> DeleteResponse:
        """See :class:`chamfer.serve.backend.Backend`."""
        return delete_documents(self.reader.searcher.index.folder, ids)

    def merge_segments(self) -> None:
        """See :class:`chamfer.serve.backend.Backend`."""
        merge_segments(self.reader.searcher.index.folder)

    def close(self) -> None:
        """See :class:`chamfer.serve.backend.Backend`."""
        self.reader.searcher.index.soundness.stop()


def service_of(searcher: Searcher) -> Service:
    """Serve an index; the weights of its searcher are the first version, kept in memory.

    Args:
        searcher: searcher of the index.
    """
    weights = searcher.queries.weights
    name = Path(weights).stem if isinstance(weights, str) else "given"
    first = weights if weights in NAMES else searcher.queries.resolve(weights)
    return Service(IndexBackend(searcher), Versions(first, name))
