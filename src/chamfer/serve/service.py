"""Answering requests with the library, and the weights in use."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from chamfer.data.documents import Document
from chamfer.explain.explanation import Explanation
from chamfer.explain.words import Spelling
from chamfer.index.filters import Filter, SlowFilterError, parse_filter
from chamfer.retrieve.ranker import page_notes
from chamfer.retrieve.stage import Queries
from chamfer.search.hits import Hit, make_hits, probably_nothing
from chamfer.search.query_encoder import QueryEncoder
from chamfer.search.rerank import score_texts
from chamfer.serve.backend import Asked, Backend, Reader
from chamfer.serve.estimates import Estimates
from chamfer.serve.learning_progress import LearningProgress
from chamfer.serve.limits import FILTER_COMPARISONS, FILTER_PATTERN, FILTER_SECONDS
from chamfer.serve.schemas import explain as explain_schemas
from chamfer.serve.schemas import learning as learning_schemas
from chamfer.serve.schemas import search as search_schemas
from chamfer.serve.schemas.evaluation import EvaluateResponse
from chamfer.serve.schemas.fields import MixFields, PassageFields
from chamfer.serve.state import stale_notes
from chamfer.serve.versions import Versions, WeightsVersion
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.mix import NOTHING
from chamfer.weights.scale import EQUAL, UNRELATED
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import UNIFORM


class Weighted(NamedTuple):
    """The query of a rerank request: encoded, weighted and counted once, so that all texts are scored alike."""

    encoder: QueryEncoder
    query: Queries
    missing: list[str]
    """The shards that did not count its words."""
    notes: list[str]
    """Warnings about the query."""


class Texts(NamedTuple):
    """Some of the texts of a rerank request; the query is a string for the first of them."""

    query: str | Weighted
    texts: Sequence[str]
    weights: str | TokenWeights
    mix: MixFields | None = None


class TextScore(NamedTuple):
    """The score of a text, and the kernel's, by which texts are ranked."""

    score: float
    kernel: float


class ScoredTexts(NamedTuple):
    """Scores of each text, the number of tokens of all texts, and the query for the next texts."""

    scores: dict[str, TextScore]
    tokens: int
    query: Weighted


class Service:
    """Answers requests from a backend, with versioned weights. Called from one worker thread at a time.

    Args:
        backend: an index or shards.
        versions: versions of the weights.
    """

    def __init__(self, backend: Backend, versions: Versions) -> None:
        self.backend, self.versions, self.learning = backend, versions, LearningProgress()
        self._estimates = Estimates()

    def close(self) -> None:
        """Stop background work."""
        self.backend.close()
        self._estimates.close()

    @property
    def queries(self) -> QueryEncoder:
        """Encodes queries for the commit that is served now."""
        return self.backend.reader.queries

    def search(
        self, asked: Sequence[search_schemas.SearchRequest]
    ) -> list[search_schemas.SearchResponse | SlowFilterError]:
        """Answer several searches; those with the same settings are answered as a batch.

        A filter that times out is an answer: raised, it would be tried again for each search of the batch.
        """
        version, reader = self.versions.current, self.backend.reader
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, one in enumerate(asked):
            groups.setdefault(settings_of(one), []).append(place)
        answers: dict[int, search_schemas.SearchResponse | SlowFilterError] = {}
        for places in groups.values():
            group = [asked[place] for place in places]
            try:
                answers |= dict(zip(places, self._search(group, version, reader), strict=True))
            except SlowFilterError as error:
                answers |= dict.fromkeys(places, error)
        return [answers[place] for place in range(len(asked))]

    def _search(
        self, group: Sequence[search_schemas.SearchRequest], version: WeightsVersion, reader: Reader
    ) -> list[search_schemas.SearchResponse]:
        asked = group[0]
        where = _filter(asked.where)
        weights = weights_for(asked.weights, version)
        queries = _with_mix(reader.queries.encode([one.query for one in group], weights), asked.mix)
        found = reader.find([queries], asked.k, where, asked.offset)
        # Later pages lack the best document, and nothing is estimated for a mix of one request.
        problem = self.backend.problem
        level = None if asked.offset or asked.mix is not None else self._estimates.level(reader, weights)
        return [
            search_schemas.SearchResponse(
                hits=[_found(hit) for hit in make_hits(ranked.documents, scores) if hit.score >= asked.min_score],
                query_was_truncated=queries.read[place] is not None,
                query_read=queries.read[place],
                probably_nothing=probably_nothing(scores, level),
                notes=[
                    *found.notes,
                    *page_notes(len(ranked.documents), asked.k, asked.offset, found.searched),
                    *reader.queries.notes(queries, place),
                    *stale_notes(problem),
                ],
                weights=number_of(asked.weights, version),
                stale=problem is not None,
                partial=bool(found.missing),
                missing_shards=found.missing,
            )
            for place, (ranked, scores) in enumerate(zip(found.rankings, found.scores, strict=True))
        ]

    def search_batches(
        self, asked: Sequence[search_schemas.BatchRequest]
    ) -> list[search_schemas.BatchResponse | SlowFilterError]:
        """Answer batches of searches, each of them at once and from one commit."""
        return [self._search_batch(one) for one in asked]

    def _search_batch(self, asked: search_schemas.BatchRequest) -> search_schemas.BatchResponse | SlowFilterError:
        settings = {name: getattr(asked, name) for name in type(asked).model_fields if name != "queries"}
        results = []
        for answer in self.search([search_schemas.SearchRequest(query=query, **settings) for query in asked.queries]):
            if isinstance(answer, SlowFilterError):
                return answer
            results.append(answer)
        return search_schemas.BatchResponse(results=results)

    def score_texts(self, asked: Sequence[Texts]) -> list[ScoredTexts]:
        """Score texts for queries."""
        answers = []
        for one in asked:
            weighted = self._weighted(one.query, one.weights, one.mix) if isinstance(one.query, str) else one.query
            encoder, query = weighted.encoder, weighted.query
            texts = encoder.encoder.tokenize(list(dict.fromkeys(one.texts)), "document")
            scores = score_texts(
                query,
                encoder.encode_texts(texts),
                device=encoder.encoder.scoring_device,
                lexical=None if query.counts is None else query.counts.scores(query.texts[0], texts.texts),
            )
            read = dict(zip(texts.texts, map(len, texts.token_ids), strict=True))
            pairs = zip(query.scale_of(0).scores(scores).tolist(), scores.tolist(), strict=True)
            found = dict(zip(texts.texts, (TextScore(*pair) for pair in pairs), strict=True))
            answers.append(ScoredTexts(found, sum(read[text] for text in one.texts), weighted))
        return answers

    def _weighted(self, query: str, weights: str | TokenWeights, mix: MixFields | None) -> Weighted:
        reader = self.backend.reader
        queries, missing = _with_mix(reader.queries.encode([query], weights), mix), list[str]()
        if queries.mix.lexical:
            counts, missing = reader.count_words([query])
            queries = queries._replace(counts=counts)
        notes = [*reader.queries.all_notes(queries, 0), *stale_notes(self.backend.problem)]
        return Weighted(reader.queries, queries, missing, notes)

    def explain(self, asked: Sequence[explain_schemas.ExplainRequest]) -> list[explain_schemas.ExplainResponse]:
        """Explain scores."""
        return [self._explain(one, self.versions.current, self.backend.reader) for one in asked]

    def _explain(
        self, asked: explain_schemas.ExplainRequest, version: WeightsVersion, reader: Reader
    ) -> explain_schemas.ExplainResponse:
        where = _filter(asked.where)
        name = asked.weights
        if isinstance(name, int):
            version, name = self.versions.find(name), "current"
        chosen = weights_for(name, version)
        encoder, weights = reader.queries.encoder, reader.queries.resolve(chosen)
        query = _with_mix(reader.queries.encode([asked.query], weights), asked.mix)
        uniform = query._replace(weights=np.ones_like(query.weights), mix=NOTHING)
        if weights.adapter is not None:
            uniform = reader.queries.encode([asked.query], UNIFORM)
        missing, notes, nothing = set[str](), list[str](), None
        ids, ranked, passages = list(dict.fromkeys(asked.ids or ())), list[str](), dict[str, int]()
        if asked.ids is None:
            found = reader.find([query, uniform], asked.k, where)
            missing.update(found.missing)
            notes += found.notes
            ids = list(dict.fromkeys(document.id for ranked in found.rankings for document in ranked.documents))
            shown = found.rankings[0].documents
            ranked = [document.id for document in shown]
            if asked.mix is None:  # nothing is estimated for a mix of one request
                nothing = probably_nothing(found.scores[0], self._estimates.level(reader, chosen))
            passages = {one.id: one.passage.number for one in shown if one.passage is not None}
            where = None  # these documents pass it, and it may have taken all the time that it has
        explained = reader.explain([query] if weights.adapter is None else [query, uniform], ids, where, passages)
        missing.update(explained.missing)
        notes += [*explained.notes, *reader.queries.notes(query, 0), *stale_notes(problem := self.backend.problem)]
        documents = [_explained(one.document, *one.explanations) for one in explained.documents if one.explanations]
        return explain_schemas.ExplainResponse(
            query=asked.query,
            query_was_truncated=query.read[0] is not None,
            query_read=query.read[0],
            probably_nothing=nothing,
            notes=notes,
            form=reader.queries.form,
            weights=number_of(name, version),
            mix=MixFields.of(query.mix),
            tokens=_query_tokens(query, weights, encoder.vocabulary),
            documents=_in_order(documents, ranked),
            stale=problem is not None,
            partial=bool(missing),
            missing_shards=sorted(missing),
        )

    def learn(self, asked: learning_schemas.LearnRequest) -> learning_schemas.LearnResponse:
        """Learn weights from judgements, as a version that is not in use yet."""
        with self.learning:
            return self.backend.learn(self.versions, asked, self.learning.progress)

    def evaluate(self, asked: Asked, is_abandoned: Callable[[], bool]) -> EvaluateResponse:
        """Compare weights on judged queries."""
        return self.backend.evaluate(asked, is_abandoned)


def settings_of(asked: search_schemas.SearchRequest) -> tuple[object, ...]:
    """All of a search but its query. Searches with equal settings are answered as a batch, others one after another.

    Each of them may take as long as a filter may, so a request that has timed out meanwhile can be dropped.
    """
    return asked.k, asked.offset, asked.weights, asked.where, asked.min_score, asked.mix and asked.mix.mix


def _filter(where: str | None) -> Filter | None:
    if where is None:
        return None
    return parse_filter(where, comparisons=FILTER_COMPARISONS, pattern=FILTER_PATTERN, seconds=FILTER_SECONDS)


def _with_mix(queries: Queries, chosen: MixFields | None) -> Queries:
    return queries if chosen is None else queries._replace(mix=chosen.mix)


def weights_for(name: str, version: WeightsVersion) -> str | TokenWeights:
    """The weights that a request names."""
    return version.weights if name == "current" else name


def number_of(name: str, version: WeightsVersion) -> int | None:
    """The version number, if a request names the weights in use."""
    return version.number if name == "current" else None


def _found(hit: Hit) -> search_schemas.Found:
    return search_schemas.Found(
        id=hit.id,
        score=hit.score,
        title=hit.title,
        text=hit.text,
        passage=PassageFields.of_passage(hit.passage),
        metadata=hit.metadata,
    )


def _query_tokens(query: Queries, weights: TokenWeights, vocabulary: Vocabulary) -> list[explain_schemas.QueryToken]:
    spelling, token_ids = Spelling(vocabulary), query.tokens.token_ids
    words, starts = spelling.word_of_each(token_ids), spelling.starts(token_ids)
    return [
        explain_schemas.QueryToken(
            token=vocabulary.tokens[token],
            text=spelling.text([token]),
            word=word,
            starts_word=starts_word,
            special=token in vocabulary.special_ids,
            weight=float(weight),
            in_table=float(weights.table[token]),
        )
        for token, word, starts_word, weight in zip(token_ids.tolist(), words, starts, query.weights, strict=True)
    ]


def _explained(
    document: Document, explanation: Explanation, uniform: Explanation | None = None
) -> explain_schemas.ExplainedDocument:
    return explain_schemas.ExplainedDocument(
        id=document.id,
        score=explanation.score,
        special_share=explanation.special_share,
        title=document.title,
        text=document.content,
        passage=PassageFields.of_passage(document.passage),
        metadata=dict(document.metadata),
        matches=_matches(explanation),
        uniform_matches=None if uniform is None else _matches(uniform),
        evidence=[explain_schemas.EvidencePart(**part._asdict()) for part in explanation.evidence],
        distances=explain_schemas.DistanceRange(unrelated=UNRELATED[explanation.form], equal=EQUAL[explanation.form]),
    )


def _in_order(
    documents: Sequence[explain_schemas.ExplainedDocument], ranked: Sequence[str]
) -> list[explain_schemas.ExplainedDocument]:
    """Documents by their scores, those that a search found in its order: it also knows of what scores cut off."""
    found, lowest = {one.id: one for one in documents}, 1.0
    key: dict[str, tuple[float, int, str]] = {one.id: (-one.score, len(ranked), one.id) for one in documents}
    for place, identifier in enumerate(one for one in ranked if one in found):
        lowest = min(lowest, found[identifier].score)
        key[identifier] = -lowest, place, identifier
    return sorted(documents, key=lambda one: key[one.id])


def _matches(explanation: Explanation) -> list[explain_schemas.MatchedToken]:
    return [
        explain_schemas.MatchedToken(
            matched=match.matched,
            word=match.word,
            span=match.span,
            distance=match.distance,
            contribution=match.contribution,
        )
        for match in explanation.matches
    ]
