"""One version of the shards: queries are encoded here, ranked by the shards, and merged here."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from chamfer.data.documents import Document
from chamfer.errors import UnknownNameError
from chamfer.explain.explanation import Explanation
from chamfer.index.example_queries import interleaved
from chamfer.index.filters import Filter
from chamfer.index.notes import TallyFields, filter_notes
from chamfer.index.shards import ShardVersion, owner_of, read_set
from chamfer.index.tallies import Tally
from chamfer.retrieve.evidence import evidence_of
from chamfer.retrieve.stage import Queries
from chamfer.retrieve.unrelated import DOCUMENTS, SPANS, Span
from chamfer.retrieve.word_counts import WordCounts
from chamfer.search.background import FEWEST, key_of, level_of
from chamfer.search.query_encoder import QueryEncoder
from chamfer.serve.backend import Contents, Counted, Explained, ExplainedDocument, Found, LostError
from chamfer.serve.rankings import Ranked, merge
from chamfer.serve.sharded.pages import filled, page_of, places_of
from chamfer.serve.sharded.scatter import Gathered, Scatter
from chamfer.serve.sharded.shard import Described, Stored
from chamfer.weights.token_weights import TokenWeights


class Level(NamedTuple):
    """What unrelated texts score, and the shards that did not help to estimate it."""

    score: float | None
    missing: set[str]


class ShardReader:
    """Reads one version of the shards; see :class:`chamfer.serve.backend.Reader`.

    Args:
        version: version of the shards.
        queries: encodes queries for this version.
        scatter: asks the shards.
    """

    def __init__(self, version: ShardVersion, queries: QueryEncoder, scatter: Scatter) -> None:
        self.version, self.queries, self._scatter = version, queries, scatter
        self._documents = read_set(queries.index.folder, version).documents
        self._levels: dict[str, Level] = {}
        self._contents: Contents | None = None

    @property
    def documents(self) -> int:
        """The number of documents in all shards."""
        return self._documents

    def find(self, groups: Sequence[Queries], k: int, where: Filter | None, offset: int = 0) -> Found:
        """See :class:`chamfer.serve.backend.Reader`."""
        counted, missing = self._counted(groups)
        if offset:
            rankings, more = self._later_page(counted, k, where, offset)
        else:
            gathered = self._ask("rank", dict.fromkeys(self._scatter.shards, (counted, k, where)))
            each = zip(*gathered.answers.values(), strict=True)
            rankings, more = [merge(answers, k) for answers in each], gathered.missing
        searched = self.documents if where is None and not more else 0
        scales = [queries.scale_of(place) for queries in counted for place in range(len(queries.texts))]
        return Found(rankings, scales, sorted({*missing, *more}), searched, self._notes(where))

    def _later_page(
        self, groups: Sequence[Queries], k: int, where: Filter | None, offset: int
    ) -> tuple[list[Ranked], list[str]]:
        """A page behind others for each query, and the shards that did not answer."""
        placed = self._ask("place", dict.fromkeys(self._scatter.shards, (groups, k, where, offset)))
        each = zip(*placed.answers.values(), strict=True)
        pages = [page_of(dict(zip(placed.answers, answers, strict=True)), k, offset) for answers in each]
        wanted = places_of(pages)
        fetched = self._ask("documents_at", {name: (places,) for name, places in wanted.items()})
        documents: dict[tuple[str, int], Document] = {
            (name, place): document
            for name, answer in fetched.answers.items()
            for place, document in zip(wanted[name], answer, strict=True)
        }
        return [filled(page, documents) for page in pages], [*placed.missing, *fetched.missing]

    def explain(
        self,
        groups: Sequence[Queries],
        ids: Sequence[str],
        where: Filter | None,
        passages: Mapping[str, int] | None = None,
    ) -> Explained:
        """See :class:`chamfer.serve.backend.Reader`."""
        names = list(self._scatter.shards)
        owned: dict[str, list[str]] = {}
        for identifier in ids:
            owned.setdefault(names[owner_of(identifier, len(names))], []).append(identifier)
        counted, missing = self._counted(groups)
        gathered = self._ask("documents", {name: (some, where, counted[0], passages) for name, some in owned.items()})
        stored: list[Stored] = [one for answer in gathered.answers.values() for one in answer]
        there = {one.document.id for one in stored}
        for name in gathered.answers:
            unknown = next((identifier for identifier in owned[name] if identifier not in there), None)
            if unknown is not None:
                raise UnknownNameError(f"there is no document {unknown!r} in the index")
        allowed = [one for one in stored if one.allowed]
        each = zip(*(self._explanations(query, allowed) for query in counted), strict=True)
        documents = [ExplainedDocument.of(one.document, own) for one, own in zip(allowed, each, strict=True)]
        return Explained(documents, sorted({*missing, *gathered.missing}), self._notes(where))

    def _explanations(self, query: Queries, stored: Sequence[Stored]) -> list[Explanation | None]:
        evidence = evidence_of(query, [one.document.content for one in stored], [one.tokens for one in stored])
        return [
            self.queries.explain(query, one.document, one.tokens, values, query.scale_of(0))
            for one, values in zip(stored, evidence, strict=True)
        ]

    def unrelated_score(self, weights: str | TokenWeights) -> float | None:
        """See :class:`chamfer.serve.backend.Reader`; estimated once for each version, in memory."""
        if self.documents < FEWEST:
            return None
        if not self.knows_unrelated_score(weights):
            self._levels[self._key(weights)] = self._estimated(weights)
        return self._levels[self._key(weights)].score

    def knows_unrelated_score(self, weights: str | TokenWeights) -> bool:
        """See :class:`chamfer.serve.backend.Reader`; an estimate of some shards holds while the others are lost."""
        if self.documents < FEWEST:
            return True
        known = self._levels.get(self._key(weights))
        return known is not None and self._holds(known.missing)

    def _key(self, weights: str | TokenWeights) -> str:
        return key_of(self.queries.resolve(weights), weights, self.queries.form)

    def _holds(self, missing: Collection[str]) -> bool:
        """Whether shards would not answer more now than they did when some were missing."""
        return not missing or set(missing) == set(self._scatter.lost)

    def _estimated(self, weights: str | TokenWeights) -> Level:
        shards = self._scatter.shards
        drawn = self._ask("spans", dict.fromkeys(shards, (-(-SPANS // len(shards)),)))
        spans: list[Span] = [span for answer in drawn.answers.values() for span in answer]
        if not spans:
            return Level(None, set(drawn.missing))
        [queries], missing = self._counted([self.queries.encode([span.text for span in spans], weights)])
        documents, count = [span.document for span in spans], -(-DOCUMENTS // len(shards))
        scored = self._ask("unrelated", dict.fromkeys(shards, (queries, documents, count)))
        level = level_of(
            queries.scale_of(place).scores(scores)
            for answer in scored.answers.values()
            for place, scores in enumerate(answer)
        )
        return Level(level, {*drawn.missing, *missing, *scored.missing})

    def count_words(self, queries: Sequence[str]) -> Counted:
        """See :class:`chamfer.serve.backend.Reader`."""
        gathered = self._ask("count_words", dict.fromkeys(self._scatter.shards, (queries,)))
        return Counted(WordCounts.sum(gathered.answers.values()), gathered.missing)

    def contents(self) -> Contents:
        """See :class:`chamfer.serve.backend.Reader`; asked once for each version, and when a lost shard is back."""
        if self._contents is None or not self._holds(self._contents.missing):
            gathered = self._ask("describe", dict.fromkeys(self._scatter.shards, ()))
            each: list[Described] = list(gathered.answers.values())
            passages = None if any(one.passages is None for one in each) else sum(one.passages or 0 for one in each)
            tally, examples = Tally.sum([one.tally for one in each]), interleaved([one.examples for one in each])
            self._contents = Contents(passages, tally, examples, gathered.missing)
        return self._contents

    def _notes(self, where: Filter | None) -> list[str]:
        """Notes on a filter; none if shards are missing, whose documents may have other fields."""
        if where is None:
            return []
        contents = self.contents()
        return [] if contents.missing else filter_notes(TallyFields(contents.tally), where)

    def _counted(self, groups: Sequence[Queries]) -> tuple[Sequence[Queries], list[str]]:
        """Queries with counts of their words in all shards if their mix is lexical: those of one shard would not do."""
        texts = [text for queries in groups if queries.mix.lexical for text in queries.texts]
        if not texts:
            return groups, []
        counts, missing = self.count_words(texts)
        return [queries._replace(counts=counts) if queries.mix.lexical else queries for queries in groups], missing

    def _ask(self, method: str, arguments: Mapping[str, Sequence[Any]]) -> Gathered:
        if not arguments:
            return Gathered({}, [])
        gathered = self._scatter.ask(self.version, method, arguments)
        if len(gathered.missing) == len(self._scatter.shards):
            raise LostError(f"no shard answers: {', '.join(gathered.missing)}; try again later")
        return gathered
