"""What requests mean where documents lie in shards: encoded and weighted here, ranked there, merged here."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.documents import Document
from chamfer.encode import Encoder
from chamfer.errors import InputError, UnknownNameError
from chamfer.index.building import load_encoder
from chamfer.index.filters import parse_filter
from chamfer.index.shards import current_version, open_head, owner_of
from chamfer.kernels import Form
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.stages import EXACT
from chamfer.search import Hits, Searcher
from chamfer.serve import schemas
from chamfer.serve.service import Explained, LostError, Service
from chamfer.serve.sharded.scatter import Gathered, Scatter
from chamfer.serve.sharded.shard import Kept, Ranked
from chamfer.serve.versions import Versions
from chamfer.tokens import TokenBatch
from chamfer.weights import TokenWeights

# How long shards may take to open a new version, and what is waited before they are asked to do so again.
OPENING_SECONDS, AGAIN_SECONDS = 600.0, 10.0
# How long they may take to say that they are there.
HEALTH_SECONDS = 2.0


def open_searcher(folder: Path, version: int, *, form: Form = "l2", encoder: Encoder | None = None) -> Searcher:
    """A searcher that encodes queries and weighs their tokens for a version, and finds nothing itself."""
    head = open_head(folder, version)
    encoder = encoder or load_encoder(head.settings, "query")
    return Searcher(head, encoder, first_stage=EXACT, form=form)


class ShardedService(Service):
    """A set of shards, and the versions of its weights.

    The searcher is of one version of the set; who answers a request takes it once, and asks shards for that version.
    """

    def __init__(self, searcher: Searcher, versions: Versions, scatter: Scatter) -> None:
        super().__init__(searcher, versions)
        self._scatter = scatter
        self._thread = ThreadPoolExecutor(1, "serve-next-version")
        self._coming: Future[Searcher] | None = None
        self._not_before = 0.0

    @property
    def documents(self) -> int:
        """How many there are in all shards."""
        return self.searcher.index.frequencies.documents

    def missing_shards(self) -> list[str]:
        """Those that do not say at once that they can answer."""
        return self._ask_all(self.searcher, "prepare", seconds=HEALTH_SECONDS, losing=False).missing

    def refresh(self) -> None:
        """Go on to the last version of the set, once every shard has opened it beside the one that is served."""
        if self._coming is not None and self._coming.done():
            coming, self._coming = self._coming, None
            try:
                self.searcher = coming.result()
            except (InputError, OSError) as error:
                self._not_before = time.monotonic() + AGAIN_SECONDS
                logging.getLogger("chamfer").warning("the new version cannot be served yet: %s", error)
        newest = current_version(self.searcher.index.folder)
        if self._coming is None and newest > _version(self.searcher) and time.monotonic() >= self._not_before:
            self._coming = self._thread.submit(self.prepared, newest)

    def prepared(self, version: int) -> Searcher:
        """Have every shard open a version; the searcher for it."""
        before = self.searcher
        searcher = open_searcher(before.index.folder, version, form=before.form, encoder=before.encoder)
        opened = self._ask_all(searcher, "prepare", seconds=OPENING_SECONDS, losing=False)
        if opened.missing:
            raise InputError(f"{', '.join(opened.missing)} cannot open version {version}; see the log of Ray for why")
        counted = sum(opened.answers.values())
        if counted != searcher.index.frequencies.documents:
            raise InputError(
                f"the shards of version {version} hold {counted} documents, not {searcher.index.frequencies.documents}"
            )
        return searcher

    def learn(self, asked: schemas.LearnRequest) -> schemas.LearnResponse:
        """Refused: learning reads the vectors of many documents, again and again."""
        raise InputError(
            "weights are not learnt from shards; learn them from the index that was split, with chamfer learn, "
            "and send them with PUT /weights/file"
        )

    def _find(
        self, searcher: Searcher, texts: list[str], asked: schemas.SearchRequest, weights: str | TokenWeights
    ) -> tuple[list[Hits], list[str]]:
        _check(asked.where)
        queries = searcher.weighted(searcher.encoder.encode_queries(texts), texts, weights)
        found = self._rank(searcher, queries, asked.k, asked.where)
        hits = []
        for place in range(len(texts)):
            documents, scores = merged([answer[place] for answer in found.answers.values()], asked.k)
            hits.append(searcher.hits(documents, scores, queries.weights_of(place), normalise=asked.normalise))
        return hits, found.missing

    def _explanations(
        self, searcher: Searcher, asked: schemas.ExplainRequest, tokens: TokenBatch, queries: Queries
    ) -> tuple[list[Explained], list[str]]:
        _check(asked.where)
        missing: set[str] = set()
        ids = list(dict.fromkeys(asked.ids or ()))
        if asked.ids is None:
            for one in (queries, searcher.weighted(tokens, [asked.query], "uniform")):
                found = self._rank(searcher, one, asked.k, asked.where)
                missing.update(found.missing)
                best, _ = merged([answer[0] for answer in found.answers.values()], asked.k)
                ids += [document.id for document in best if document.id not in ids]
        names = self._scatter.names
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
            Explained(searcher.explanation(queries, one.document, one.tokens), one.document)
            for one in kept
            if one.allowed
        ]
        return explained, sorted(missing)

    def _rank(self, searcher: Searcher, queries: Queries, k: int, where: str | None) -> Gathered:
        return self._ask_all(searcher, "rank", queries, k, where)

    def _ask_all(self, searcher: Searcher, method: str, *arguments: Any, **options: Any) -> Gathered:  # noqa: ANN401
        return self._ask(searcher, method, dict.fromkeys(self._scatter.names, arguments), **options)

    def _ask(self, searcher: Searcher, method: str, arguments: dict[str, Any], **options: Any) -> Gathered:  # noqa: ANN401
        gathered = self._scatter.ask(_version(searcher), method, arguments, **options)
        if not gathered.answers and options.get("losing", True):
            raise LostError(f"no shard answers: {', '.join(gathered.missing)}; try again later")
        return gathered


def merged(found: Sequence[Ranked], k: int) -> tuple[list[Document], npt.NDArray[np.float32]]:
    """The best ``k`` of what shards found for one query; equal scores are ordered by id, as they are in one index."""
    every = [pair for one in found for pair in zip(one.documents, one.scores.tolist(), strict=True)]
    every.sort(key=lambda pair: (-pair[1], pair[0].id))
    return [document for document, _ in every[:k]], np.array([score for _, score in every[:k]], np.float32)


def _version(searcher: Searcher) -> int:
    return searcher.index.manifest.version


def _check(where: str | None) -> None:
    """Refuse a filter that makes no sense before it is sent anywhere."""
    if where is not None:
        parse_filter(where)
