"""One object to hold: an index, an encoder, weights and a first stage."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.explain.explanation import Explanation, Explanations
from chamfer.explain.matching import explain_tokens
from chamfer.index.building import check_finished, load_encoder
from chamfer.index.manifest import needed_manifest, read_manifest
from chamfer.index.reading import Index
from chamfer.kernels import dispatch
from chamfer.kernels.form import Form
from chamfer.retrieve.ranker import Ranker, whole
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.support.devices import AUTO
from chamfer.support.notebook import table
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.names import check_weights, weights_by_name
from chamfer.weights.token_weights import TokenWeights

COUNTED = ("idf", "idf-soft")

# Characters of a text in a table.
SHOWN = 300


class Hit(NamedTuple):
    """A document that was found; a higher score is closer."""

    id: str
    score: float
    text: str
    metadata: dict[str, Any]


class Hits(list[Hit]):
    """What a search found, the best first; a notebook shows it as a table."""

    def _repr_html_(self) -> str:
        texts = [hit.text if len(hit.text) <= SHOWN else f"{hit.text[:SHOWN]} …" for hit in self]
        rows = [(place, hit.id, hit.score, text) for place, (hit, text) in enumerate(zip(self, texts, strict=True), 1)]
        return table(["", "document", "score", "text"], rows)


class Searcher:
    """Searches an index: a first stage finds candidates, the kernel scores them exactly.

    It answers from one commit of the index, whatever is written meanwhile; :meth:`refreshed` goes on to the last one.

    Args:
        index: opened.
        encoder: the one that the index was built with.
        weights: ``uniform``, ``idf``, ``idf-soft`` (counted over the index, as it is now), a file, or weights.
        first_stage: a name, see :mod:`chamfer.retrieve.stages`.
        form: ``l2`` or ``cosine``.
    """

    def __init__(
        self,
        index: Index,
        encoder: Encoder,
        *,
        weights: str | TokenWeights = "idf-soft",
        first_stage: str = "auto",
        form: Form = "l2",
    ) -> None:
        made_with = index.settings.encoder.get("model", encoder.model_fingerprint)
        if made_with != encoder.model_fingerprint:
            raise InputError(
                f"the index in {index.folder} was built with another model ({index.settings.encoder.get('name')}); "
                "search with that one"
            )
        self.index, self.encoder = index, encoder
        self._weights, self._first_stage, self.form = weights, first_stage, form
        self._weightings: dict[str, TokenWeights] = {}
        self.weighting(weights)
        self._ranker = Ranker(index, first_stage=first_stage, form=form)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        weights: str | TokenWeights = "idf-soft",
        first_stage: str = "auto",
        form: Form = "l2",
        encoder: Encoder | None = None,
        device: str = AUTO,
    ) -> Self:
        """Open an index, and the encoder that it was built with.

        Args:
            folder: where the index lies.
            weights: see :class:`Searcher`.
            first_stage: likewise.
            form: likewise.
            encoder: one that is loaded already; scores are computed where it is.
            device: where to load it otherwise, see :meth:`chamfer.Encoder.load`.

        >>> from chamfer import Encoder, build_index
        >>> texts = {"a": "Paris is the capital of France.", "b": "Bread is baked from flour."}
        >>> folder = getfixture("tmp_path")
        >>> cut = build_index(folder, texts, Encoder.load("minilm"))
        >>> [hit.id for hit in Searcher.open(folder).search("how to make bread", k=1)]
        ['b']
        """
        folder = Path(folder)
        check_finished(needed_manifest(folder), folder)
        if encoder is None:  # which takes seconds to load: whether the index is whole is told before
            encoder = load_encoder(Index.open(folder).settings, "query", device)
        return cls._open(folder, encoder, encoder.scoring_device, weights, first_stage, form)

    @classmethod
    def _open(
        cls, folder: Path, encoder: Encoder, device: str, weights: str | TokenWeights, first_stage: str, form: Form
    ) -> Self:
        while True:
            index = Index.open(folder, device=device)
            try:
                return cls(index, encoder, weights=weights, first_stage=first_stage, form=form)
            except (InputError, OSError):
                if read_manifest(folder) == index.manifest:  # else a writer may have removed what a stage was reading
                    raise

    def __len__(self) -> int:
        return self.index.manifest.documents

    @overload
    def search(
        self,
        query: str,
        k: int = 10,
        *,
        weights: str | TokenWeights | None = None,
        first_stage: str | None = None,
        depth: int | None = None,
        where: str | None = None,
        among: Iterable[str] | None = None,
        normalise: bool = False,
    ) -> Hits: ...

    @overload
    def search(
        self,
        query: list[str],
        k: int = 10,
        *,
        weights: str | TokenWeights | None = None,
        first_stage: str | None = None,
        depth: int | None = None,
        where: str | None = None,
        among: Iterable[str] | None = None,
        normalise: bool = False,
    ) -> list[Hits]: ...

    def search(
        self,
        query: str | list[str],
        k: int = 10,
        *,
        weights: str | TokenWeights | None = None,
        first_stage: str | None = None,
        depth: int | None = None,
        where: str | None = None,
        among: Iterable[str] | None = None,
        normalise: bool = False,
    ) -> Hits | list[Hits]:
        """Find the best ``k`` documents for a query, or for each of several.

        Args:
            query: a text, or a list of texts, which are encoded and answered together.
            k: how many documents to find.
            weights: others than the searcher's own.
            first_stage: another than the searcher's own.
            depth: how many candidates of the first stage are scored exactly; see :mod:`chamfer.retrieve.stages`.
            where: only documents whose metadata fulfil this, as in ``year > 2020 and lang = 'en'``.
            among: only documents with these ids.
            normalise: divide by the total weight, so that 0 is a perfect match on every token and scores of short and
                long queries can be compared with one threshold.
        """
        texts = [query] if isinstance(query, str) else query
        k = whole(k, "a search finds at least 1 document")
        queries = self._queries(texts, weights)
        found = self.rank(queries, k, first_stage=first_stage, depth=depth, allowed=self.index.allowed(where, among))
        hits = [
            self.hits(self.index.documents(one.places), one.scores, queries.weights_of(place), normalise=normalise)
            for place, one in enumerate(found)
        ]
        return hits[0] if isinstance(query, str) else hits

    def rank(
        self,
        queries: Queries,
        k: int,
        *,
        first_stage: str | None = None,
        depth: int | None = None,
        allowed: npt.NDArray[np.bool_] | None = None,
    ) -> list[Candidates]:
        """Places and scores of the best ``k`` documents for queries that are encoded and weighted already.

        Args:
            queries: see :meth:`weighted`.
            k: how many documents to find.
            first_stage: another than the searcher's own.
            depth: how many candidates of the first stage are scored exactly.
            allowed: ``(places,)`` which documents may be found; all that were not deleted if not given.
        """
        return self._ranker.rank(queries, k, first_stage=first_stage, depth=depth, allowed=allowed)

    def explain(self, query: str, ids: Sequence[str], *, weights: str | TokenWeights | None = None) -> Explanations:
        """Take the scores of some documents apart: which token matched what, and what that added.

        Args:
            query: a text.
            ids: of documents that have tokens.
            weights: others than the searcher's own.
        """
        if isinstance(ids, str):
            raise InputError("give a list of ids to explain, not one text, whose letters would be the ids")
        places = self.index.places(ids)
        explained = self.explained(self._queries([query], weights), places)
        for identifier, explanation in zip(ids, explained, strict=True):
            if explanation is None:
                raise InputError(f"document {identifier!r} has no tokens, so there is no score to explain")
        return Explanations(explanation for explanation in explained if explanation is not None)

    def explained(self, query: Queries, places: npt.NDArray[np.int64]) -> list[Explanation | None]:
        """Like :meth:`explain`, for one query that is encoded and weighted, and places; None without tokens."""
        documents = self.index.documents(places)
        return [
            self.explanation(query, document, self.index.tokens(place))
            for place, document in zip(places.tolist(), documents, strict=True)
        ]

    def explanation(self, query: Queries, document: Document, tokens: TokenBatch) -> Explanation | None:
        """Take apart the score of one document, wherever it and its vectors come from; None without tokens."""
        if not len(tokens.vectors):
            return None
        return explain_tokens(
            query.tokens,
            query.weights,
            tokens,
            self.encoder.vocabulary,
            form=self.form,
            read=self.encoder.spans(document.text),
            document_id=document.id,
            document_text=document.text,
        )

    def refreshed(self) -> Self:
        """A searcher of the last commit: this one if there is no newer."""
        folder = self.index.folder
        if read_manifest(folder) == self.index.manifest:
            return self
        return self._open(folder, self.encoder, self.index.device, self._weights, self._first_stage, self.form)

    def weighted(self, tokens: TokenBatch, texts: Sequence[str], weights: str | TokenWeights | None = None) -> Queries:
        """Give encoded queries their weights, in the dimensions that the index keeps."""
        weighting = self.weighting(self._weights if weights is None else weights)
        return Queries(texts, self.index.trained.projected(tokens), weighting.of(tokens))

    def _queries(self, texts: Sequence[str], weights: str | TokenWeights | None) -> Queries:
        return self.weighted(self.encoder.encode_queries(texts), texts, weights)

    def hits(
        self,
        documents: Sequence[Document],
        scores: npt.NDArray[np.floating],
        weights: npt.NDArray[np.float32],
        *,
        normalise: bool = False,
    ) -> Hits:
        """Documents and their scores as a search gives them; ``weights`` are those of the query's tokens."""
        scores = scores.astype(np.float64)
        if normalise:
            scores = dispatch.normalised(scores, weights, self.form)
        return Hits(
            Hit(document.id, float(score), document.text, json.loads(document.metadata))
            for document, score in zip(documents, scores, strict=True)
        )

    def weighting(self, weights: str | TokenWeights) -> TokenWeights:
        """Weights by name, counted over the index where they must be, or a file, or as they are."""
        if isinstance(weights, TokenWeights):
            check_weights(weights, self.encoder, self.form)
            return weights
        if weights not in self._weightings:
            counted = self.index.frequencies
            # Where no document has a token nothing can be counted, nor found: any weights will do.
            name = "uniform" if weights in COUNTED and not counted.counts.any() else weights
            self._weightings[weights] = weights_by_name(name, self.encoder, lambda: counted, form=self.form)
        return self._weightings[weights]
