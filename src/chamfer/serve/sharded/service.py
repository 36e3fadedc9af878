"""What requests mean where documents lie in shards: encoded and weighted here, ranked there, merged here."""

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import InputError, UnknownNameError, last_line
from chamfer.index.filters import parse_filter
from chamfer.index.shards import ShardVersion, current_version, owner_of
from chamfer.retrieve.stage import Queries
from chamfer.search.hits import Hits, make_hits
from chamfer.search.searcher import Searcher
from chamfer.serve import schemas
from chamfer.serve.service import Explained, LostError, Service
from chamfer.serve.sharded.head import SetSearcher
from chamfer.serve.sharded.scatter import Gathered, Scatter
from chamfer.serve.sharded.shard import Kept, Ranked
from chamfer.serve.versions import Versions
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.token_weights import TokenWeights

# How long shards may take to open a new version, and what is waited before they are asked to do so again.
OPENING_SECONDS, AGAIN_SECONDS = 600.0, 10.0
# Once each shard has opened it, how long the rest of its replicas may take, for a lost one may not come back; and what
# is waited before they are asked again.
SETTLING_SECONDS, PAUSE = 10.0, 0.05
# How long they may take to say that they are there.
HEALTH_SECONDS = 2.0


class ShardedService(Service):
    """A set of shards, and the versions of its weights.

    The searcher is of one version of the set; who answers a request takes it once, and asks shards for that version.
    """

    searcher: SetSearcher

    def __init__(self, searcher: SetSearcher, versions: Versions, scatter: Scatter) -> None:
        super().__init__(searcher, versions)
        self._scatter = scatter
        self._coming: Future[SetSearcher] | None = None
        self._not_before = 0.0

    def close(self) -> None:
        """See :meth:`Service.close`."""
        self._scatter.close()

    @property
    def documents(self) -> int:
        """How many there are in all shards."""
        return self.searcher.index.frequencies.documents

    def missing_shards(self) -> list[str]:
        """Those that are lost, or do not say at once that they are there."""
        asked = self._everywhere()
        found = self._scatter.ask_all(self.searcher.version, "holds", asked, seconds=HEALTH_SECONDS)
        return sorted({*found.missing, *self._scatter.lost})

    def refresh(self) -> None:
        """Go on to the last version of the set, once its shards have opened it beside the one that is served."""
        try:
            if self._coming is not None and self._coming.done():
                coming, self._coming = self._coming, None
                self.searcher = coming.result()
            newest = current_version(self.searcher.index.folder)
        except Exception as error:
            self._not_before = time.monotonic() + AGAIN_SECONDS
            logging.getLogger("chamfer").warning("the new version cannot be served yet: %s", last_line(error))
            return
        if self._coming is None and newest != self.searcher.version and time.monotonic() >= self._not_before:
            self._coming = Future()
            # Nobody waits for this thread at the end, which may wait for shards for minutes.
            Thread(target=self._prepare, args=(newest, self._coming), name="serve-next-version", daemon=True).start()

    def _prepare(self, version: ShardVersion, coming: "Future[SetSearcher]") -> None:
        try:
            coming.set_result(self.prepared(version))
        except BaseException as error:
            coming.set_exception(error)

    def prepared(self, version: ShardVersion) -> SetSearcher:
        """Have every shard open a version, all of its replicas if they can be reached; the searcher for it."""
        before = self.searcher
        searcher = SetSearcher(before.index.folder, version, before.encoder, form=before.form)
        seen: dict[str, set[str]] = {name: set() for name in self._scatter.shards}
        settled = None
        while True:
            opened = self._scatter.ask_all(version, "prepare", self._everywhere(), seconds=OPENING_SECONDS)
            if opened.missing:
                raise InputError(
                    f"{', '.join(opened.missing)} cannot open version {version.number}; see the log of Ray for why"
                )
            counted = sum(one.documents for one in opened.answers.values())
            if counted != searcher.index.frequencies.documents:
                raise InputError(
                    f"the shards of version {version.number} hold {counted} documents, "
                    f"not {searcher.index.frequencies.documents}"
                )
            for name, one in opened.answers.items():
                seen[name].add(one.replica)
            settled = settled or time.monotonic() + SETTLING_SECONDS
            if all(len(seen[name]) >= replicas.count for name, replicas in self._scatter.shards.items()):
                return searcher
            if time.monotonic() >= settled:  # who opens it later does so when it is asked
                return searcher
            time.sleep(PAUSE)

    def learn(self, asked: schemas.LearnRequest) -> schemas.LearnResponse:
        """Refused: learning reads the vectors of many documents, again and again."""
        raise InputError(
            "weights are not learnt from shards; learn them from the index that was split, with chamfer learn, "
            "and send them with PUT /weights/file"
        )

    def _find(
        self, searcher: Searcher, texts: list[str], asked: schemas.SearchRequest, weights: str | TokenWeights
    ) -> tuple[list[Hits], list[str]]:
        searcher = _of_a_set(searcher)
        _check(asked.where)
        queries = searcher.queries.encode(texts, weights)
        found = self._rank(searcher, queries, asked.k, asked.where)
        hits = []
        for place in range(len(texts)):
            documents, scores = merged([answer[place] for answer in found.answers.values()], asked.k)
            hits.append(
                make_hits(
                    documents,
                    scores,
                    queries.weights_of(place),
                    form=searcher.form,
                    normalise=asked.normalise,
                    query_was_truncated=queries.was_truncated[place],
                )
            )
        return hits, found.missing

    def _explanations(
        self, searcher: Searcher, asked: schemas.ExplainRequest, tokens: TokenBatch, queries: Queries
    ) -> tuple[list[Explained], list[str]]:
        searcher = _of_a_set(searcher)
        _check(asked.where)
        missing: set[str] = set()
        ids = list(dict.fromkeys(asked.ids or ()))
        if asked.ids is None:
            for one in (queries, searcher.queries.weigh(tokens, [asked.query], "uniform")):
                found = self._rank(searcher, one, asked.k, asked.where)
                missing.update(found.missing)
                best, _ = merged([answer[0] for answer in found.answers.values()], asked.k)
                ids += [document.id for document in best if document.id not in ids]
        names = list(self._scatter.shards)
        owned: dict[str, list[str]] = {}
        for identifier in ids:
            owned.setdefault(names[owner_of(identifier, len(names))], []).append(identifier)
        asking = {name: (some, asked.where) for name, some in owned.items()}
        found = self._ask(searcher, "documents", asking) if asking else Gathered({}, [])
        missing.update(found.missing)
        kept: list[Kept] = [one for answer in found.answers.values() for one in answer]
        there = {one.document.id for one in kept}
        for name in found.answers:
            unknown = next((identifier for identifier in owned[name] if identifier not in there), None)
            if unknown is not None:
                raise UnknownNameError(f"there is no document {unknown!r} in the index; name one that it holds")
        explained = [
            Explained(searcher.queries.explain(queries, one.document, one.tokens), one.document)
            for one in kept
            if one.allowed
        ]
        return explained, sorted(missing)

    def _rank(self, searcher: SetSearcher, queries: Queries, k: int, where: str | None) -> Gathered:
        return self._ask(searcher, "rank", self._everywhere(queries, k, where))

    def _everywhere(self, *arguments: Any) -> dict[str, Sequence[Any]]:  # noqa: ANN401 -- those of a method of shards
        return dict.fromkeys(self._scatter.shards, arguments)

    def _ask(self, searcher: SetSearcher, method: str, arguments: Mapping[str, Sequence[Any]]) -> Gathered:
        gathered = self._scatter.ask(searcher.version, method, arguments)
        if len(gathered.missing) == len(self._scatter.shards):
            raise LostError(f"no shard answers: {', '.join(gathered.missing)}; try again later")
        return gathered


def merged(found: Sequence[Ranked], k: int) -> tuple[list[Document], npt.NDArray[np.float32]]:
    """The best ``k`` of what shards found for one query; equal scores are ordered by id, as they are in one index."""
    every = [pair for one in found for pair in zip(one.documents, one.scores.tolist(), strict=True)]
    every.sort(key=lambda pair: (-pair[1], pair[0].id))
    return [document for document, _ in every[:k]], np.array([score for _, score in every[:k]], np.float32)


def _of_a_set(searcher: Searcher) -> SetSearcher:
    if not isinstance(searcher, SetSearcher):
        raise TypeError("shards are asked for a version of their set")
    return searcher


def _check(where: str | None) -> None:
    """Refuse a filter that makes no sense before it is sent anywhere."""
    if where is not None:
        parse_filter(where)
