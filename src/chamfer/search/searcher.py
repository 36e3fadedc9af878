"""`Searcher`: an index, its encoder, weights and a first stage in one object."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self, overload

import numpy as np
import numpy.typing as npt

from chamfer.data.ranking import Ranking, rank_texts
from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError, InputWarning
from chamfer.explain.explanation import Explanation
from chamfer.index.encoder import load_encoder
from chamfer.index.filters import as_filter
from chamfer.index.index import Index
from chamfer.index.manifest import read_manifest
from chamfer.index.notes import filter_notes
from chamfer.index.snapshot import Snapshot
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.ranker import Ranker, page_notes, whole
from chamfer.retrieve.stage import Candidates, Queries
from chamfer.retrieve.stages import AUTO
from chamfer.retrieve.word_counts import WordCounts
from chamfer.search.hits import COMPARED, DEFAULT_K, Hits, make_hits
from chamfer.search.query_encoder import QueryEncoder
from chamfer.search.rerank import score_texts
from chamfer.support.devices import AUTO as AUTO_DEVICE
from chamfer.weights.names import DEFAULT_WEIGHTS
from chamfer.weights.token_weights import TokenWeights


class Searcher:
    """Searches an index: a first stage finds candidates, and the kernel scores them exactly.

    A searcher reads one commit of the index and is not affected by later writes; :meth:`refreshed` moves on to the
    newest commit. Open one with :meth:`open`.

    >>> from chamfer import Encoder, Searcher, build_index
    >>> texts = {"a": "Paris is the capital of France.", "b": "Bread is baked from flour."}
    >>> built = build_index(getfixture("tmp_path"), texts, Encoder.load("minilm"))
    >>> searcher = Searcher.open(getfixture("tmp_path"))
    >>> [hit.id for hit in searcher.search("how to make bread", k=1)]
    ['b']
    """

    def __init__(
        self,
        index: Snapshot,
        encoder: Encoder,
        *,
        weights: str | TokenWeights = DEFAULT_WEIGHTS,
        first_stage: str = AUTO,
        form: Form = DEFAULT_FORM,
        verify: bool = False,
    ) -> None:
        """Internal: a searcher of an open commit; the other arguments are those of :meth:`open`."""
        self.index, self.encoder, self.form = index, encoder, form
        self.queries = QueryEncoder(index, encoder, weights=weights, form=form)
        self._first_stage, self._verify = first_stage, verify
        self._ranker = Ranker(index, first_stage=first_stage)
        self._ranker.evidence.open(self.queries.resolve(weights).mix)

    @classmethod
    def open(
        cls,
        folder: str | Path | Index,
        *,
        weights: str | TokenWeights = DEFAULT_WEIGHTS,
        first_stage: str = AUTO,
        form: Form = DEFAULT_FORM,
        encoder: Encoder | None = None,
        device: str = AUTO_DEVICE,
        verify: bool = False,
    ) -> Self:
        """Open an index, and load the encoder that it was built with, unless an open index has one already.

        Args:
            folder: folder of the index, or an open index.
            weights: ``uniform``; ``idf``, ``idf-soft`` or ``mix``, computed from the index; a weights file; or
                :class:`chamfer.TokenWeights`.
            first_stage: name of what finds the candidates, such as ``centroids`` or ``bm25``, or several joined by
                ``+``; ``auto`` scores every document of a small index, and uses ``centroids`` for a large one.
            form: ``l2`` or ``cosine``.
            encoder: an encoder that is already loaded; documents are scored on its device.
            device: device to load the encoder on otherwise, see :meth:`chamfer.Encoder.load`.
            verify: compare the checksums of all files first, and refuse a damaged index. An index of up to 8 MB is
                always verified. Of a larger one, sizes and the files that are needed whole are checked otherwise, so
                that opening takes no longer for a larger index. Files that this process has verified and that did not
                change are not read again.
        """
        if isinstance(folder, Index) and not verify:
            index = folder.snapshot
        else:
            index = Snapshot.open(folder.folder if isinstance(folder, Index) else folder, verify=verify)
        if encoder is None and isinstance(folder, Index) and device == AUTO_DEVICE:
            encoder = folder.encoder
        if encoder is None:  # loading takes seconds, so a damaged index is reported first
            encoder = load_encoder(index.settings, "query", device)
        return cls._of_snapshot(index.on(encoder.scoring_device), encoder, weights, first_stage, form, verify=verify)

    @classmethod
    def _of_snapshot(
        cls,
        index: Snapshot,
        encoder: Encoder,
        weights: str | TokenWeights,
        first_stage: str,
        form: Form,
        *,
        verify: bool,
    ) -> Self:
        """A searcher of a snapshot, or of a newer one if a writer removes files of this one meanwhile."""
        while True:
            try:
                return cls(index, encoder, weights=weights, first_stage=first_stage, form=form, verify=verify)
            except (InputError, OSError):
                if read_manifest(index.folder) == index.manifest:
                    raise
            index = Snapshot.open(index.folder, device=index.device, verify=verify)

    def __len__(self) -> int:
        """The number of documents."""
        return self.index.manifest.documents

    def __repr__(self) -> str:
        return f"Searcher({str(self.index.folder)!r}, documents={len(self)}, weights={self.queries.weights!r})"

    @overload
    def search(
        self,
        query: str,
        k: int = DEFAULT_K,
        *,
        offset: int = 0,
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
        k: int = DEFAULT_K,
        *,
        offset: int = 0,
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
        k: int = DEFAULT_K,
        *,
        offset: int = 0,
        weights: str | TokenWeights | None = None,
        first_stage: str | None = None,
        depth: int | None = None,
        where: str | None = None,
        among: Iterable[str] | None = None,
        normalise: bool = False,
    ) -> Hits | list[Hits]:
        """Find the top ``k`` documents for one query, or for each of several.

        Args:
            query: query text, or a list of query texts, which are encoded and answered as a batch.
            k: number of documents to return.
            offset: number of better documents to skip: with ``k=10``, ``offset=10`` is the second page.
            weights: weights to use instead of the searcher's own.
            first_stage: first stage to use instead of the searcher's own.
            depth: number of candidates to score exactly; the default of the first stage if not given.
            where: filter on metadata, as in ``year > 2020 and lang = 'en'``.
            among: ids of the documents to search; all documents if not given.
            normalise: whether to divide scores by the total weight, so that 0 is a perfect match on every token and
                one threshold suits short and long queries. Evidence of a mix is added to that.

        Returns:
            :class:`chamfer.Hits`, best first, ties broken by id; a list of them for a list of queries. In an index of
            passages, a document has the score of its best passage, which its hit shows. An
            ``InputWarning`` says if no document can match a part of the filter, if the first stage found too few
            candidates for the page, or what is odd about a query.

        >>> from chamfer import Encoder, Searcher, build_index
        >>> built = build_index(getfixture("tmp_path"), {"a": "Paris is the capital."}, Encoder.load("minilm"))
        >>> [[hit]] = Searcher.open(getfixture("tmp_path")).search(["french capital"], normalise=True)
        >>> hit.id, -1 < hit.score < 0
        ('a', True)
        """
        texts = [query] if isinstance(query, str) else query
        k, offset = whole(k, "k"), whole(offset, "offset", least=0)
        queries = self.queries.encode(texts, weights)
        condition = as_filter(where)
        notes = [note for place in range(len(texts)) for note in self.queries.notes(queries, place)]
        notes += filter_notes(self.index, condition)
        allowed = self.index.allowed(condition, among)
        ranked = self.rank(queries, k, first_stage=first_stage, depth=depth, allowed=allowed, offset=offset)
        found = [one.after(offset) for one in ranked]
        searched = self.index.count(allowed)
        for note in notes + [note for one in found for note in page_notes(len(one.places), k, offset, searched)]:
            warnings.warn(note, InputWarning, stacklevel=2)
        hits = [
            make_hits(
                self.index.documents(one.places),
                one.scores,
                queries.weights_of(place),
                form=self.form,
                normalise=normalise,
                query_was_truncated=queries.was_truncated[place],
            )
            for place, one in enumerate(found)
        ]
        return hits[0] if isinstance(query, str) else hits

    @overload
    def explain(self, query: str, document: str, *, weights: str | TokenWeights | None = None) -> Explanation: ...

    @overload
    def explain(
        self, query: str, document: list[str] | None = None, *, weights: str | TokenWeights | None = None
    ) -> list[Explanation]: ...

    def explain(
        self, query: str, document: str | list[str] | None = None, *, weights: str | TokenWeights | None = None
    ) -> Explanation | list[Explanation]:
        """Explain the score of a document: what each query token matched, and what that contributed.

        Args:
            query: query text.
            document: id of a document that has tokens, or a list of ids; by default the top two documents.
            weights: weights to use instead of the searcher's own.

        Returns:
            An :class:`chamfer.Explanation`; a list of them for a list of ids. In an index of passages, it explains the
            best passage for the query, or without ids, the one that was found.

        >>> from chamfer import Encoder, Searcher, build_index
        >>> built = build_index(getfixture("tmp_path"), {"a": "Bread is baked from flour."}, Encoder.load("minilm"))
        >>> why = Searcher.open(getfixture("tmp_path")).explain("baking bread", "a")
        >>> [(word.text, word.matched) for word in why.words if not word.special]
        [('baking', 'baked'), ('bread', 'bread')]
        """
        encoded = self.queries.encode([query], weights)
        if document is None:
            places = self.rank(encoded, COMPARED, allowed=self.index.allowed())[0].places
        else:
            places = self.explained(encoded, [document] if isinstance(document, str) else document)
        explanations = []
        for identifier, explanation in zip(self.index.ids(places), self.explain_places(encoded, places), strict=True):
            if explanation is None:
                raise InputError(f"document {identifier!r} has no tokens, so it has no score to explain")
            explanations.append(explanation)
        return explanations[0] if isinstance(document, str) else explanations

    def rerank(
        self,
        query: str,
        documents: Mapping[str, str] | Sequence[str],
        k: int | None = None,
        *,
        weights: str | TokenWeights | None = None,
        normalise: bool = False,
    ) -> Ranking:
        """Rank texts for a query as if they were documents of the index; its word counts are those of BM25.

        Args:
            query: query text.
            documents: texts by id, or a list of texts, which get their positions ``"0"``, ``"1"``, ... as ids.
            k: number of texts to return; all if not given.
            weights: weights to use instead of the searcher's own.
            normalise: as in :meth:`search`.

        Returns:
            A :class:`chamfer.Ranking`, best first. A text of the index has the score of its document, up to the
            rounding of stored vectors.

        >>> from chamfer import Encoder, Searcher, build_index
        >>> built = build_index(getfixture("tmp_path"), {"a": "Paris is the capital."}, Encoder.load("minilm"))
        >>> texts = {"b": "Bread is baked from flour.", "c": "Cats sleep all day."}
        >>> Searcher.open(getfixture("tmp_path")).rerank("how to make bread", texts).document_ids
        ('b', 'c')
        """
        encoded = self.queries.encode([query], weights)

        def score(texts: Sequence[str]) -> npt.NDArray[np.floating]:
            return score_texts(
                encoded,
                self.queries.encode_texts(self.encoder.tokenize(texts, "document")),
                device=self.encoder.scoring_device,
                lexical=self.word_counts([query]).scores(query, texts) if encoded.mix.lexical else None,
                normalise=normalise,
            )

        return rank_texts(documents, score, k=k)

    def refreshed(self) -> Self:
        """A searcher for the newest commit of the index: this one if nothing was written since."""
        folder = self.index.folder
        if read_manifest(folder) == self.index.manifest:
            return self
        weights, index = self.queries.weights, Snapshot.open(folder, device=self.index.device, verify=self._verify)
        newer = self._of_snapshot(index, self.encoder, weights, self._first_stage, self.form, verify=self._verify)
        newer._ranker.evidence.open(self._ranker.evidence.opened)
        return newer

    def rank(
        self,
        queries: Queries,
        k: int,
        *,
        first_stage: str | None = None,
        depth: int | None = None,
        allowed: npt.NDArray[np.bool_] | None = None,
        offset: int = 0,
    ) -> list[Candidates]:
        """Internal: rank documents, given by their places; see :meth:`chamfer.retrieve.ranker.Ranker.rank`."""
        return self._ranker.rank(queries, k, first_stage=first_stage, depth=depth, allowed=allowed, offset=offset)

    def explained(
        self, query: Queries, ids: Sequence[str], passages: Mapping[str, int] | None = None
    ) -> npt.NDArray[np.int64]:
        """Internal: what is explained of documents; see :meth:`chamfer.retrieve.ranker.Ranker.explained`."""
        return self._ranker.explained(query, ids, passages)

    def explain_places(self, query: Queries, places: npt.NDArray[np.int64]) -> list[Explanation | None]:
        """Internal: explain documents by place, for one encoded query; None for a document without tokens.

        Args:
            query: one encoded and weighted query.
            places: places of documents in the index.
        """
        documents, found = self.index.documents(places), self._ranker.evidence.of(query, 0, places)
        return [
            self.queries.explain(query, document, self.index.tokens(place), found.values_at(n))
            for n, (place, document) in enumerate(zip(places.tolist(), documents, strict=True))
        ]

    def word_counts(self, queries: Sequence[str]) -> WordCounts:
        """Internal: counts of the words of some queries in the index."""
        return self._ranker.evidence.bm25.counts(queries)
