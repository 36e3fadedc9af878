"""Explaining scores of an evaluation: from an index, or from the vectors of a collection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chamfer.evaluate.setup import Setup
from chamfer.explain.explanation import Explanation
from chamfer.explain.matching import explain_tokens
from chamfer.kernels.cosines import cosines
from chamfer.search.searcher import Searcher
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.means import mean_vectors
from chamfer.weights.mix import LEXICAL, POOLED, Evidence
from chamfer.weights.scale import Scale
from chamfer.weights.token_weights import TokenWeights


@dataclass(frozen=True, eq=False)
class ExplainFromIndex:
    """Explains scores of documents of an index; see :data:`chamfer.evaluate.changes.Explain`.

    Args:
        searcher: searcher of the index.
        weightings: weights by the names of systems.
        texts: query texts by id.
    """

    searcher: Searcher
    weightings: Mapping[str, TokenWeights]
    texts: Mapping[str, str]

    def __call__(self, system: str, query: str, documents: Sequence[str]) -> Sequence[Explanation | None] | None:
        """Explain the scores of documents."""
        if system not in self.weightings:
            return None
        encoded = self.searcher.queries.encode([self.texts[query]], self.weightings[system])
        return self.searcher.explain_places(encoded, self.searcher.ranker.explained(encoded, documents))


@dataclass(frozen=True, eq=False)
class ExplainFromCollection:
    """Explains scores of documents of a collection; see :data:`chamfer.evaluate.changes.Explain`.

    Args:
        setup: the collection, its encoder and its vectors.
        weightings: weights by the names of systems.
    """

    setup: Setup
    weightings: Mapping[str, TokenWeights]

    def __call__(self, system: str, query: str, documents: Sequence[str]) -> Sequence[Explanation | None] | None:
        """Explain the scores of documents."""
        if system not in self.weightings:
            return None
        weights, setup = self.weightings[system], self.setup
        text = setup.collection.queries[query]
        tokens = setup.encoder.encode_queries([text])
        adapted, own = weights.adapt(tokens), weights.of(tokens)
        scale = Scale(own, weights.mix, setup.form, setup.bm25.own(text) if weights.mix.lexical else 0.0)
        return [self._explain(document, adapted, scale, text) for document in documents]

    def _explain(self, document: str, query: TokenBatch, scale: Scale, text: str) -> Explanation | None:
        corpus, encoder = self.setup.corpus, self.setup.encoder
        place = corpus.place.get(document)  # a run may rank documents that are not in the corpus
        if place is None or not len(corpus.tokens[place].vectors):
            return None
        evidence: dict[Evidence, float] = {}
        if scale.mix.lexical:
            evidence[LEXICAL] = float(self.setup.bm25.scores(text, [document])[0])
        if scale.mix.pooled:
            evidence[POOLED] = float(cosines(corpus.means[[place]], mean_vectors(query)[0])[0])
        content = self.setup.collection.documents[document]
        return explain_tokens(
            query,
            corpus.tokens[place],
            encoder.vocabulary,
            scale,
            evidence=evidence,
            read=encoder.spans(content),
            document_id=document,
            document_text=content,
        )
