"""What requests mean: the library's own calls, with the weights in use."""

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from chamfer.data.documents import Document
from chamfer.errors import InputError, UnknownNameError
from chamfer.explain.explanation import Explanation
from chamfer.explain.words import Spelling
from chamfer.index.filters import as_filter
from chamfer.retrieve.stage import Queries
from chamfer.search.hits import Hit, Hits
from chamfer.search.reranking import relevance, rerank_tokenized
from chamfer.search.searcher import Searcher
from chamfer.serve import schemas
from chamfer.serve.learning import learn
from chamfer.serve.versions import Version, Versions
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights


class Texts(NamedTuple):
    """Some of the texts of a re-rank request."""

    query: str
    texts: Sequence[str]
    weights: str | TokenWeights


class ScoredTexts(NamedTuple):
    """Relevance from 0 to 1 of some texts, and how many tokens they have."""

    relevance: dict[str, float]
    tokens: int


class Explained(NamedTuple):
    """A document, and what its score is made of; None if it has no tokens."""

    explanation: Explanation | None
    document: Document


class LostError(Exception):
    """Nothing that holds documents can be reached."""


class Service:
    """An index, as it is now, and the versions of its weights. Called from the thread that works, one at a time."""

    def __init__(self, searcher: Searcher, versions: Versions) -> None:
        self.searcher, self.versions = searcher, versions

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self.searcher)

    def close(self) -> None:
        """Leave nothing behind that goes on by itself."""

    def missing_shards(self) -> list[str]:
        """The parts of the index that cannot be reached now: none where there are no parts."""
        return []

    def refresh(self) -> None:
        """Go on to the last commit of the index; where that cannot be opened, stay with the one at hand."""
        try:
            self.searcher = self.searcher.refreshed()
        except (InputError, OSError) as error:
            logging.getLogger("chamfer").warning("the index cannot be opened anew, so the old one is served: %s", error)

    def check(self) -> None:
        """Refuse weights that do not fit the encoder, before anybody asks for them."""
        for version in self.versions.all():
            self.searcher.queries.resolve(version.weights)

    def search(self, asked: Sequence[schemas.SearchRequest]) -> list[schemas.SearchResponse]:
        """Answer several searches; those that ask for the same kind of answer share the work."""
        version, searcher = self.versions.current, self.searcher
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, one in enumerate(asked):
            groups.setdefault((one.k, one.weights, one.where, one.normalise), []).append(place)
        answers: dict[int, schemas.SearchResponse] = {}
        for places in groups.values():
            one = asked[places[0]]
            texts = [asked[place].query for place in places]
            found, missing = self._find(searcher, texts, one, weights_for(one.weights, version))
            number = version.number if one.weights == "current" else None
            for place, hits in zip(places, found, strict=True):
                answers[place] = schemas.SearchResponse(
                    hits=[_found(hit) for hit in hits],
                    query_was_cut=hits.query_was_truncated,
                    weights=number,
                    partial=bool(missing),
                    missing_shards=missing,
                )
        return [answers[place] for place in range(len(asked))]

    def _find(
        self, searcher: Searcher, texts: list[str], asked: schemas.SearchRequest, weights: str | TokenWeights
    ) -> tuple[list[Hits], list[str]]:
        """The best documents for several texts, and the shards whose documents could not be looked at."""
        found = searcher.search(texts, asked.k, weights=weights, where=asked.where, normalise=asked.normalise)
        return found, []

    def score_texts(self, asked: Sequence[Texts]) -> list[ScoredTexts]:
        """How relevant texts are for queries."""
        searcher, answers = self.searcher, []
        for one in asked:
            texts = searcher.encoder.tokenize(list(dict.fromkeys(one.texts)), "document")
            ranking = rerank_tokenized(
                searcher.encoder.tokenize([one.query], "query"),
                texts.texts,
                texts,
                encoder=searcher.encoder,
                weights=searcher.queries.resolve(one.weights),
                form=searcher.form,
                normalise=True,
            )
            found = {text: relevance(score) for text, score in zip(ranking.document_ids, ranking.scores, strict=True)}
            read = dict(zip(texts.texts, map(len, texts.token_ids), strict=True))
            answers.append(ScoredTexts(found, sum(read[text] for text in one.texts)))
        return answers

    def explain(self, asked: Sequence[schemas.ExplainRequest]) -> list[schemas.ExplainResponse]:
        """Take scores apart."""
        return [self._explain(one, self.versions.current, self.searcher) for one in asked]

    def _explain(self, asked: schemas.ExplainRequest, version: Version, searcher: Searcher) -> schemas.ExplainResponse:
        tokenized = searcher.encoder.tokenize([asked.query], "query")
        tokens = searcher.encoder.encode(tokenized)
        queries = searcher.queries.weigh(tokens, [asked.query], weights_for(asked.weights, version))
        explained, missing = self._explanations(searcher, asked, tokens, queries)
        documents = [_explained(one, dict(document.metadata)) for one, document in explained if one is not None]
        spelling = Spelling(searcher.encoder.vocabulary)
        starts = spelling.starts(tokens.token_ids)
        words = spelling.word_of_each(tokens.token_ids)
        table = searcher.queries.resolve(weights_for(asked.weights, version)).table
        return schemas.ExplainResponse(
            query=asked.query,
            query_was_cut=tokenized.was_truncated[0],
            form=searcher.form,
            weights=version.number if asked.weights == "current" else None,
            tokens=[
                schemas.QueryToken(
                    token=searcher.encoder.vocabulary.tokens[token],
                    text=spelling.text([token]),
                    word=word,
                    starts_word=begins,
                    special=token in searcher.encoder.vocabulary.special_ids,
                    weight=float(weight),
                    in_table=float(table[token]),
                )
                for token, word, begins, weight in zip(
                    tokens.token_ids.tolist(), words, starts, queries.weights, strict=True
                )
            ],
            documents=sorted(documents, key=lambda one: (-one.score, one.id)),
            partial=bool(missing),
            missing_shards=missing,
        )

    def _explanations(
        self, searcher: Searcher, asked: schemas.ExplainRequest, tokens: TokenBatch, queries: Queries
    ) -> tuple[list[Explained], list[str]]:
        """The documents that are named, or the best, and the shards whose documents could not be looked at."""
        allowed = searcher.index.allowed(as_filter(asked.where))
        if asked.ids is not None:
            places = searcher.index.places(list(dict.fromkeys(asked.ids)))
            places = places if allowed is None else places[allowed[places]]
        else:
            uniform = searcher.queries.weigh(tokens, [asked.query], "uniform")
            both = [searcher.rank(one, asked.k, allowed=allowed)[0].places for one in (queries, uniform)]
            places = np.unique(np.concatenate(both))
        explained = zip(searcher.explain_places(queries, places), searcher.index.documents(places), strict=True)
        return [Explained(*pair) for pair in explained], []

    def learn(self, asked: schemas.LearnRequest) -> schemas.LearnResponse:
        """Learn weights from marks, as a version that is not used yet."""
        return learn(self.searcher, self.versions, asked)

    def tokens(self, contains: str, order: str, limit: int) -> schemas.TokensResponse:
        """The heaviest or lightest tokens whose spelling contains a text."""
        version = self.versions.current
        weights = self.searcher.queries.resolve(version.weights)
        vocabulary = weights.vocabulary
        wanted = contains.lower()
        chosen = [place for place, token in enumerate(vocabulary.tokens) if wanted in token.lower()]
        heaviest, lightest = weights.extremes(limit, among=np.array(chosen, np.int32))
        found = sorted(heaviest if order == "heaviest" else lightest, key=lambda pair: pair[0].lower() != wanted)
        return schemas.TokensResponse(
            version=version.number, tokens=[schemas.WeighedToken(token=token, weight=weight) for token, weight in found]
        )

    def put(self, asked: schemas.NamedWeights | schemas.ChangedTokens) -> Version:
        """Use new weights: by name, or the current ones with some tokens changed."""
        if isinstance(asked, schemas.NamedWeights):
            return self.versions.put(asked.weights, asked.name or asked.weights)
        current = self.versions.current
        weights = self.searcher.queries.resolve(weights_for(asked.base, current))
        table = weights.table.copy()
        for token, weight in asked.tokens.items():
            if token not in weights.vocabulary.ids:
                how = "GET /weights/tokens finds how it spells words"
                raise UnknownNameError(f"the tokenizer has no token {token!r}; {how}")
            table[weights.vocabulary.ids[token]] = weight
        metadata = {
            **weights.metadata,
            "edited": sorted(asked.tokens)[:100],
            "edited_from": current.number if asked.base == "current" else asked.base,
        }
        changed = TokenWeights(table, weights.vocabulary, metadata, weights.context)
        edited = f"version {current.number}" if asked.base == "current" else asked.base
        return self.versions.put(changed, asked.name or f"{edited}, edited")

    def put_file(self, content: bytes, name: str | None) -> Version:
        """Use weights that were sent as a file."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "sent.safetensors"
            path.write_bytes(content)
            try:
                weights = TokenWeights.load(path)
            except InputError:
                raise InputError("this is no weights file; send what chamfer learn or chamfer weights wrote") from None
        check_weights(weights, self.searcher.encoder, self.searcher.form)
        # The vocabulary is the encoder's, which is there once; that of the file would be kept with every version.
        shared = TokenWeights(weights.table, self.searcher.encoder.vocabulary, weights.metadata, weights.context)
        return self.versions.put(shared, name or "sent as a file")


def weights_for(name: str, version: Version) -> str | TokenWeights:
    """The weights that a request asks for."""
    return version.weights if name == "current" else name


def _found(hit: Hit) -> schemas.Found:
    score = hit.score if math.isfinite(hit.score) else None  # JSON has no infinity
    return schemas.Found(id=hit.id, score=score, text=hit.text, metadata=hit.metadata)


def _explained(explanation: Explanation, metadata: dict[str, object]) -> schemas.ExplainedDocument:
    return schemas.ExplainedDocument(
        id=explanation.document_id,
        score=explanation.score,
        special_share=explanation.special_share,
        text=explanation.document or "",
        metadata=metadata,
        matches=[
            schemas.MatchedToken(
                word=match.word, span=match.span, distance=match.distance, contribution=match.contribution
            )
            for match in explanation.matches
        ],
    )
