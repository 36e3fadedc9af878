"""LangChain: a document compressor that re-ranks with weights, and a retriever over an index."""

from collections.abc import Sequence

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.search.hits import DEFAULT_K
from chamfer.search.reranking import relevance, rerank
from chamfer.search.searcher import Searcher
from chamfer.weights.token_weights import TokenWeights

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
    """Re-ranks retrieved documents, the best first.

    What comes back are copies, with ``relevance_score`` in their metadata, from 0 to 1, which is a perfect match on
    every token; the documents given stay as they are. Equal scores keep the order in which the documents came. A
    document without text has relevance 0 and comes last, unless ``top_n`` leaves it out.

    Args:
        encoder: gives the token vectors.
        weights: what each query token counts; all the same if not given.
        form: ``l2`` or ``cosine``.
        top_n: keep only so many; all if not given, or if there are fewer.

    >>> reranker = WeightedReranker(encoder=Encoder.load("minilm"), top_n=1)
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> documents = [Document(page_content=text) for text in texts]
    >>> [document.page_content for document in reranker.compress_documents(documents, "how to make bread")]
    ['Bread is baked from flour.']
    """

    encoder: InstanceOf[Encoder]
    weights: InstanceOf[TokenWeights] | None = None
    form: Form = "l2"
    top_n: PositiveInt | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The best documents for a query; ``callbacks`` are not called, there is nothing to tell on the way."""
        texts = [document.page_content for document in documents]
        ranking = rerank(
            query, texts, encoder=self.encoder, weights=self.weights, form=self.form, k=self.top_n, normalise=True
        )
        return [
            _scored(documents[int(place)], score)
            for place, score in zip(ranking.document_ids, ranking.scores, strict=True)
        ]


class IndexRetriever(BaseRetriever):
    """Retrieves from an index that :class:`chamfer.Searcher` opened, with its encoder, weights and first stage.

    Documents carry the id, text and metadata of the index, and ``relevance_score`` in their metadata.

    Args:
        searcher: what is asked; it answers from the commit that it opened.
        k: how many documents to find.
        where: only documents whose metadata fulfil this, as in ``year > 2020 and lang = 'en'``.
    """

    searcher: InstanceOf[Searcher]
    k: PositiveInt = DEFAULT_K
    where: str | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.searcher.search(query, self.k, where=self.where, normalise=True)
        return [_scored(Document(id=hit.id, page_content=hit.text, metadata=hit.metadata), hit.score) for hit in hits]


def _scored(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": relevance(score)}})
