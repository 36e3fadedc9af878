"""LangChain: a document compressor that re-ranks with token weights, and a retriever over an index."""

from collections.abc import Sequence

from chamfer import Encoder, InputError, Searcher, TokenWeights, rerank
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.search.hits import DEFAULT_K, Hit, passage_metadata

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import InstanceOf, PositiveInt
except ImportError as error:
    raise InputError(
        "chamfer.integrations.langchain needs langchain-core; run: pip install 'chamfer[langchain]'"
    ) from error


class WeightedReranker(BaseDocumentCompressor):
    """Re-ranks retrieved documents, best first.

    Returns copies with a ``relevance_score`` in their metadata, from 0 to 1, a perfect match. Ties keep the input
    order. A document without text has relevance 0 and ranks last.

    Args:
        encoder: encoder for queries and documents.
        weights: token weights; uniform if not given. Lexical evidence of their mix is left out, see
            :func:`chamfer.rerank`.
        form: ``l2`` or ``cosine``.
        top_n: number of documents to return; all if not given.

    >>> reranker = WeightedReranker(encoder=Encoder.load("minilm"), top_n=1)
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> documents = [Document(page_content=text) for text in texts]
    >>> [document.page_content for document in reranker.compress_documents(documents, "how to make bread")]
    ['Bread is baked from flour.']
    """

    encoder: InstanceOf[Encoder]
    weights: InstanceOf[TokenWeights] | None = None
    form: Form = DEFAULT_FORM
    top_n: PositiveInt | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the top documents for a query; ``callbacks`` is accepted but not used."""
        texts = [document.page_content for document in documents]
        ranking = rerank(query, texts, encoder=self.encoder, weights=self.weights, form=self.form, k=self.top_n)
        return [
            _scored(documents[int(place)], score)
            for place, score in zip(ranking.document_ids, ranking.scores, strict=True)
        ]


class IndexRetriever(BaseRetriever):
    """Retrieves from an index, with the encoder, weights and first stage of a :class:`chamfer.Searcher`.

    Documents have the id, the title above the text, and the metadata of the index, with a ``relevance_score`` in it. In
    an index of passages, the text is that of the best passage, and ``passage`` in the metadata says which it is, unless
    the document has metadata of that name.

    Args:
        searcher: searcher over the index; it reads the commit that it opened.
        k: number of documents to return.
        where: metadata filter, such as ``year > 2020 and lang = 'en'``.
        min_score: leave out documents that score less, from 0 to 1.
    """

    searcher: InstanceOf[Searcher]
    k: PositiveInt = DEFAULT_K
    where: str | None = None
    min_score: float = 0.0

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.searcher.search(query, self.k, where=self.where, min_score=self.min_score)
        return [_scored(_document(hit), hit.score) for hit in hits]


def _document(hit: Hit) -> Document:
    """A hit with its title above its text, because only the content of a document reaches a prompt."""
    return Document(id=hit.id, page_content=hit.headed, metadata={**hit.metadata, **passage_metadata(hit)})


def _scored(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
