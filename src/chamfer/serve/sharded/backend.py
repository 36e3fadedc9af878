"""The backend of a server of shards: follows their versions, and knows which shards are missing."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any

from chamfer.errors import InputError, last_line
from chamfer.index.shards import ShardVersion, current_version, holds_shards
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.backend import Asked
from chamfer.serve.schemas.documents import DeleteResponse, NewDocument, PutResponse
from chamfer.serve.schemas.evaluation import EvaluateResponse
from chamfer.serve.schemas.learning import CheckRequest, CheckResponse, LearnRequest, LearnResponse
from chamfer.serve.sharded.head import open_queries
from chamfer.serve.sharded.reader import ShardReader
from chamfer.serve.sharded.scatter import Scatter
from chamfer.serve.state import Problem, Reasons, State, problem_of
from chamfer.serve.versions import Versions
from chamfer.support.progress import Progress

# Seconds that shards may take to open a new version, and the pause before they are asked again.
OPENING_SECONDS, AGAIN_SECONDS = 600.0, 10.0
# Once every shard has opened the version: seconds to wait for its other replicas, some of which may be lost for good,
# and the pause between two looks.
SETTLING_SECONDS, PAUSE = 10.0, 0.05
# Seconds that shards may take to answer a health check.
HEALTH_SECONDS = 2.0

REASONS = Reasons(
    gone="the folder of the shards is gone",
    empty="the folder of the shards holds none any more",
    unreadable="the folder of the shards cannot be read by the server",
    other_model="the shards were replaced by those of another model; restart the server",
    unfinished="the new version cannot be served yet",
    unopened="the new version cannot be served yet",
)


class ShardBackend:
    """Serves shards and follows their versions; see :class:`chamfer.serve.backend.Backend`.

    Args:
        version: version of the shards to begin with.
        queries: encodes queries for that version.
        scatter: asks the shards.
    """

    def __init__(self, version: ShardVersion, queries: QueryEncoder, scatter: Scatter) -> None:
        self.reader = ShardReader(version, queries, scatter)
        self._scatter = scatter
        self._coming: Future[ShardReader] | None = None
        self._not_before = 0.0
        self._state = State()

    @property
    def name(self) -> str:
        """See :class:`chamfer.serve.backend.Backend`."""
        return self.reader.queries.index.name

    def close(self) -> None:
        """See :class:`chamfer.serve.backend.Backend`."""
        self._scatter.close()

    @property
    def problem(self) -> Problem | None:
        """See :class:`chamfer.serve.backend.Backend`."""
        return self._state.problem

    @property
    def age(self) -> float:
        """See :class:`chamfer.serve.backend.Backend`."""
        return self._state.age

    def missing_shards(self) -> list[str]:
        """Names of the shards that are lost, or do not answer a health check in time."""
        found = self._scatter.ask_all(self.reader.version, "holds", self._every_shard(), seconds=HEALTH_SECONDS)
        return sorted({*found.missing, *self._scatter.lost})

    def refresh(self) -> None:
        """Switch to the newest version, once the shards have opened it beside the one that is served."""
        try:
            if self._coming is not None and self._coming.done():
                coming, self._coming = self._coming, None
                self.reader = coming.result()
            newest = current_version(self.reader.queries.index.folder)
        except Exception as error:
            self._not_before = time.monotonic() + AGAIN_SECONDS
            folder = self.reader.queries.index.folder
            self._state.set(problem_of(error, last_line(error), folder, holds_shards, REASONS))
            return
        if newest == self.reader.version:
            self._state.is_current()
            self._state.set(None)
        if self._coming is None and newest != self.reader.version and time.monotonic() >= self._not_before:
            self._coming = Future()
            # A daemon, because it may wait minutes for shards while the server stops.
            Thread(target=self._prepare, args=(newest, self._coming), name="serve-next-version", daemon=True).start()

    def _prepare(self, version: ShardVersion, coming: "Future[ShardReader]") -> None:
        try:
            coming.set_result(self.prepare(version))
        except BaseException as error:
            coming.set_exception(error)

    def prepare(self, version: ShardVersion) -> ShardReader:
        """Have every shard open a version, with all replicas that can be reached, and return a reader of it."""
        before = self.reader.queries
        queries = open_queries(before.index.folder, version, before.encoder, form=before.form)
        reader = ShardReader(version, queries, self._scatter)
        seen: dict[str, set[str]] = {name: set() for name in self._scatter.shards}
        settled = None
        while True:
            opened = self._scatter.ask_all(version, "prepare", self._every_shard(), seconds=OPENING_SECONDS)
            if opened.missing:
                raise InputError(
                    f"{', '.join(opened.missing)} cannot open version {version.number}; see Ray's log for the reason"
                )
            counted = sum(one.documents for one in opened.answers.values())
            if counted != reader.documents:
                raise InputError(
                    f"the shards of version {version.number} hold {counted} documents instead of {reader.documents}; "
                    "split the index again"
                )
            for name, one in opened.answers.items():
                seen[name].add(one.replica)
            settled = settled or time.monotonic() + SETTLING_SECONDS
            if all(len(seen[name]) >= replicas.count for name, replicas in self._scatter.shards.items()):
                return reader
            if time.monotonic() >= settled:  # a replica that comes later opens the version when it is asked
                return reader
            time.sleep(PAUSE)

    unlearnable = (
        "weights cannot be learnt from shards; learn them with chamfer learn from the index that was split, and upload "
        "them with PUT /weights/file"
    )

    def learn(self, versions: Versions, asked: LearnRequest, progress: Progress) -> LearnResponse:
        """Refused: learning reads the vectors of many documents many times."""
        raise InputError(self.unlearnable)

    def check_judgements(self, asked: CheckRequest) -> CheckResponse:
        """Refused, as learning is."""
        raise InputError(self.unlearnable)

    unmeasurable = (
        "weights cannot be evaluated on shards; evaluate them with chamfer evaluate on the index that was split"
    )

    def evaluate(self, asked: Asked, is_abandoned: Callable[[], bool]) -> EvaluateResponse:
        """Refused: the texts of a hundred documents would travel for each query and each of the weights."""
        raise InputError(self.unmeasurable)

    read_only = "shards cannot be changed; change the index that was split, and split it again with chamfer index shard"

    def put_documents(self, documents: Sequence[NewDocument], is_abandoned: Callable[[], bool]) -> PutResponse:
        """Refused: shards are parts of an index elsewhere."""
        raise InputError(self.read_only)

    def delete_documents(self, ids: Sequence[str]) -> DeleteResponse:
        """Refused: shards are parts of an index elsewhere."""
        raise InputError(self.read_only)

    def merge_segments(self) -> None:
        """Nothing: shards are never changed."""

    def _every_shard(self) -> dict[str, Sequence[Any]]:
        return dict.fromkeys(self._scatter.shards, ())
