"""Query texts to weighted token vectors, for one index."""

import reprlib
from collections.abc import Hashable, Mapping, Sequence

from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.encode.tokenizing import Tokenized
from chamfer.errors import InputError
from chamfer.explain.explanation import Explanation
from chamfer.explain.matching import explain_tokens
from chamfer.index.pooling import pool
from chamfer.index.snapshot import Snapshot
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stage import Queries
from chamfer.search.rerank import weigh
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.unread import unread, unread_note
from chamfer.weights.mix import Evidence
from chamfer.weights.names import COUNTED, DEFAULT_WEIGHTS, cache_key, check_weights, weights_by_name
from chamfer.weights.scale import Scale
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import UNIFORM


class OtherModelError(InputError):
    """An index was built with another model."""


class QueryEncoder:
    """Encodes queries and weights their tokens for one snapshot of an index.

    It reads the settings, the projection and the document frequencies of the index, never its documents, so the server
    in front of shards can use it without any documents of its own.

    Args:
        index: snapshot of the index.
        encoder: the encoder that the index was built with.
        weights: default weights: ``uniform``, ``idf``, ``idf-soft``, ``mix``, a file, or :class:`chamfer.TokenWeights`.
        form: ``l2`` or ``cosine``.
    """

    def __init__(
        self,
        index: Snapshot,
        encoder: Encoder,
        *,
        weights: str | TokenWeights = DEFAULT_WEIGHTS,
        form: Form = DEFAULT_FORM,
    ) -> None:
        built_with = index.settings.encoder.get("model", encoder.model_fingerprint)
        if built_with != encoder.model_fingerprint:
            raise OtherModelError(
                f"the index in {index.folder} was built with another model ({index.settings.encoder.get('name')}); "
                "search it with that model"
            )
        self.index, self.encoder, self.weights, self.form = index, encoder, weights, form
        self._loaded: dict[str, tuple[Hashable, TokenWeights]] = {}
        self.resolve(weights)

    def encode(self, texts: Sequence[str], weights: str | TokenWeights | None = None) -> Queries:
        """Encode query texts and weight their tokens.

        Args:
            texts: query texts.
            weights: weights to use instead of the default ones.
        """
        tokenized = self.encoder.tokenize(texts, "query")
        queries = self.weigh(self.encoder.encode(tokenized), texts, weights)
        return queries._replace(read=tokenized.read)

    def weigh(self, tokens: TokenBatch, texts: Sequence[str], weights: str | TokenWeights | None = None) -> Queries:
        """Weight and adapt the tokens of encoded queries, and project them to the dimensions of the index.

        Args:
            tokens: encoded queries.
            texts: their texts.
            weights: weights to use instead of the default ones.
        """
        queries = weigh(tokens, texts, self.resolve(self.weights if weights is None else weights), self.form)
        return queries._replace(tokens=self.index.trained.projected(queries.tokens))

    def encode_texts(self, texts: Tokenized) -> TokenBatch:
        """Encode texts as the index stores its documents: pooled and projected, but not rounded."""
        return self.index.trained.projected(pool(self.encoder.encode(texts), self.index.settings.pool))

    def notes(self, queries: Queries, place: int) -> list[str]:
        """Warnings about one of several weighted queries, in one sentence each."""
        text = reprlib.repr(queries.texts[place])
        told = []
        if not queries.weights_of(place).any():
            told.append(f"no token of the query {text} has a weight above 0, so every document has the same score")
        if unread([queries.texts[place]], queries.tokens[place : place + 1], self.encoder.vocabulary):
            told.append(unread_note(f"the query {text}", self.encoder.name))
        return told

    def all_notes(self, queries: Queries, place: int) -> list[str]:
        """The same, and that a query was cut, for answers that have no other way to say so."""
        read = queries.read[place]
        cut = f"the query is longer than the model reads, which is its first {read} characters"
        return [*self.notes(queries, place), *([] if read is None else [cut])]

    def resolve(self, weights: str | TokenWeights) -> TokenWeights:
        """Turn the name of weights, or a weights file, into weights that fit the encoder.

        A file is read once, and again after it has changed.
        """
        if isinstance(weights, TokenWeights):
            check_weights(weights, self.encoder, self.form)
            return weights
        key = cache_key(weights)
        loaded_key, loaded = self._loaded.get(weights, (None, None))
        if loaded is None or loaded_key != key:
            loaded = self._load(weights)
            self._loaded[weights] = key, loaded
        return loaded

    def _load(self, weights: str) -> TokenWeights:
        counted = self.index.frequencies
        # Without a single token there is nothing to count and nothing to find, so any weights will do.
        name = UNIFORM if weights in COUNTED and not counted.counts.any() else weights
        return weights_by_name(name, self.encoder, lambda: counted, form=self.form)

    def explain(
        self, query: Queries, document: Document, tokens: TokenBatch, evidence: Mapping[Evidence, float], scale: Scale
    ) -> Explanation | None:
        """Explain the score of one document for one query; None if the document has no tokens.

        Args:
            query: one encoded and weighted query.
            document: the document, for its id, title and text.
            tokens: its token vectors.
            evidence: the value of each piece of evidence that the mix of the query counts.
            scale: scale of the query's scores.
        """
        if not len(tokens.vectors):
            return None
        return explain_tokens(
            query.tokens,
            tokens,
            self.encoder.vocabulary,
            scale,
            evidence=evidence,
            read=self.encoder.spans(document.content),
            document_id=document.id,
            document_text=document.content,
            document_title=document.title,
            passage=document.passage,
            query_read=next(iter(query.read), None),
        )
