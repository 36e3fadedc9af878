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
from chamfer.search.background import Levels
from chamfer.search.finding import find_hits
from chamfer.search.hits import COMPARED, DEFAULT_K, Hits, checked_score
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
        self.ranker = Ranker(index, first_stage=first_stage)
        """Internal: ranks documents, given by their places."""
        self.ranker.evidence.open(self.queries.resolve(weights).mix)
        self.levels = Levels(self.ranker, self.queries)
        """Internal: what unrelated texts score."""

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
        min_score: float = 0.0,
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
        min_score: float = 0.0,
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
        min_score: float = 0.0,
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
            min_score: leave out documents that score less.

        Returns:
            :class:`chamfer.Hits`, best first, ties broken by id; a list of them for a list of queries. Scores are from
            0 to 1, a perfect match. In an index of passages, a document has the score of its best passage, which its
            hit shows. An ``InputWarning`` says if no document can match a part of the filter, if the first stage found
            too few candidates for the page, or what is odd about a query.

        >>> from chamfer import Encoder, Searcher, build_index
        >>> built = build_index(getfixture("tmp_path"), {"a": "Paris is the capital."}, Encoder.load("minilm"))
        >>> [[hit]] = Searcher.open(getfixture("tmp_path")).search(["french capital"], min_score=0.3)
        >>> hit.id, 0.3 < hit.score < 1
        ('a', True)
        """
        texts = [query] if isinstance(query, str) else query
        k, offset, least = whole(k, "k"), whole(offset, "offset", least=0), checked_score(min_score)
        queries = self.queries.encode(texts, weights)
        condition = as_filter(where)
        notes = [note for place in range(len(texts)) for note in self.queries.notes(queries, place)]
        notes += filter_notes(self.index, condition)
        allowed = self.index.allowed(condition, among)
        ranked = self.rank(queries, k, first_stage=first_stage, depth=depth, allowed=allowed, offset=offset)
        searched, counts = self.index.count(allowed), [len(one.after(offset).places) for one in ranked]
        for note in notes + [note for count in counts for note in page_notes(count, k, offset, searched)]:
            warnings.warn(note, InputWarning, stacklevel=2)
        # Later pages know nothing, as those of a server, which lacks the best document then.
        level = (lambda: None) if offset else (lambda: self.unrelated_score(weights))
        hits = find_hits(self.ranker, queries, ranked, offset=offset, min_score=least, level=level)
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
            best passage for the query, or without ids, the one that was found. An ``InputWarning`` says what is odd
            about the query.

        >>> from chamfer import Encoder, Searcher, build_index
        >>> built = build_index(getfixture("tmp_path"), {"a": "Bread is baked from flour."}, Encoder.load("minilm"))
        >>> why = Searcher.open(getfixture("tmp_path")).explain("baking bread", "a")
        >>> [(word.text, word.matched) for word in why.words if not word.special]
        [('baking', 'baked'), ('bread', 'bread')]
        """
        encoded = self.queries.encode([query], weights)
        for note in self.queries.notes(encoded, 0):
            warnings.warn(note, InputWarning, stacklevel=2)
        if document is None:
            places = self.rank(encoded, COMPARED, allowed=self.index.allowed())[0].places
        else:
            places = self.ranker.explained(encoded, [document] if isinstance(document, str) else document)
        explanations = self.explain_places(encoded, places)
        if None in explanations:
            empty = self.index.ids(places)[explanations.index(None)]
            raise InputError(f"document {empty!r} has no tokens, so it has no score to explain")
        found = [explanation for explanation in explanations if explanation is not None]
        return found[0] if isinstance(document, str) else found

    def unrelated_score(self, weights: str | TokenWeights | None = None) -> float | None:
        """The score that one in a hundred unrelated texts reaches; None for an index of fewer than 20 documents.

        It is estimated when it is first asked for, also by :attr:`chamfer.Hits.probably_nothing`, in a second or two,
        and kept with the index, if that can be written, until there are twice or half as many documents.

        Args:
            weights: weights to use instead of the searcher's own.
        """
        return self.levels.of(self.queries.weights if weights is None else weights)

    def rerank(
        self,
        query: str,
        documents: Mapping[str, str] | Sequence[str],
        k: int | None = None,
        *,
        weights: str | TokenWeights | None = None,
        min_score: float = 0.0,
    ) -> Ranking:
        """Rank texts for a query as if they were documents of the index; its word counts are those of BM25.

        Args:
            query: query text.
            documents: texts by id, or a list of texts, which get their positions ``"0"``, ``"1"``, ... as ids.
            k: number of texts to return; all if not given.
            weights: weights to use instead of the searcher's own.
            min_score: leave out texts that score less.

        Returns:
            A :class:`chamfer.Ranking`, best first. A text of the index has the score of its document, up to the
            rounding of stored vectors. An ``InputWarning`` says what is odd about the query, or that it was cut.

        >>> from chamfer import Encoder, Searcher, build_index
        >>> built = build_index(getfixture("tmp_path"), {"a": "Paris is the capital."}, Encoder.load("minilm"))
        >>> texts = {"b": "Bread is baked from flour.", "c": "Cats sleep all day."}
        >>> Searcher.open(getfixture("tmp_path")).rerank("how to make bread", texts).document_ids
        ('b', 'c')
        """
        least, encoded = checked_score(min_score), self.queries.encode([query], weights)
        for note in self.queries.all_notes(encoded, 0):
            warnings.warn(note, InputWarning, stacklevel=2)
        counts = self.ranker.evidence.bm25.counts([query]) if encoded.mix.lexical else None

        def score(texts: Sequence[str]) -> npt.NDArray[np.floating]:
            return score_texts(
                encoded,
                self.queries.encode_texts(self.encoder.tokenize(texts, "document")),
                device=self.encoder.scoring_device,
                lexical=None if counts is None else counts.scores(query, texts),
            )

        return rank_texts(documents, score, k=k).rescored(encoded.scale_of(0, counts).scores).at_least(least)

    def refreshed(self) -> Self:
        """A searcher for the newest commit of the index: this one if nothing was written since."""
        folder = self.index.folder
        if read_manifest(folder) == self.index.manifest:
            return self
        weights, index = self.queries.weights, Snapshot.open(folder, device=self.index.device, verify=self._verify)
        newer = self._of_snapshot(index, self.encoder, weights, self._first_stage, self.form, verify=self._verify)
        newer.ranker.evidence.open(self.ranker.evidence.opened)
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
        return self.ranker.rank(queries, k, first_stage=first_stage, depth=depth, allowed=allowed, offset=offset)

    def explain_places(self, query: Queries, places: npt.NDArray[np.int64]) -> list[Explanation | None]:
        """Internal: explain documents by place, for one encoded query; None for a document without tokens.

        Args:
            query: one encoded and weighted query.
            places: places of documents in the index.
        """
        documents, found = self.index.documents(places), self.ranker.evidence.of(query, 0, places)
        [scale] = self.ranker.scales(query)
        return [
            self.queries.explain(query, document, self.index.tokens(place), found.values_at(n), scale)
            for n, (place, document) in enumerate(zip(places.tolist(), documents, strict=True))
        ]
