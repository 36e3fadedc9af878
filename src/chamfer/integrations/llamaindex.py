"""LlamaIndex: a node postprocessor that re-ranks with token weights, and a retriever over an index."""

from chamfer import Encoder, InputError, Searcher, TokenWeights, rerank
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.search.hits import DEFAULT_K, Hit, passage_metadata

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
    from pydantic import Field, InstanceOf, PositiveInt
except ImportError as error:
    raise InputError(
        "chamfer.integrations.llamaindex needs llama-index-core; run: pip install 'chamfer[llamaindex]'"
    ) from error


class WeightedRerank(BaseNodePostprocessor):
    """Re-ranks retrieved nodes by their scores from :func:`chamfer.rerank`, best first.

    Returns new ``NodeWithScore`` objects around the same nodes. Scores are from 0 to 1, a perfect match. Ties keep the
    input order. A node without text scores 0 and ranks last.

    Args:
        encoder: encoder for queries and documents.
        weights: token weights; uniform if not given. Lexical evidence of their mix is left out, see
            :func:`chamfer.rerank`.
        form: ``l2`` or ``cosine``.
        top_n: number of nodes to return; all if not given.
        metadata_mode: metadata to include in the text; by default what LlamaIndex shows to embedding models,
            ``MetadataMode.NONE`` for the text alone.

    >>> from llama_index.core.schema import TextNode
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
    >>> best = WeightedRerank(encoder=Encoder.load("minilm"), top_n=1)
    >>> [node.text for node in best.postprocess_nodes(nodes, query_str="how to make bread")]
    ['Bread is baked from flour.']
    """

    encoder: InstanceOf[Encoder] = Field(exclude=True)  # a model cannot be serialised to JSON
    weights: InstanceOf[TokenWeights] | None = Field(default=None, exclude=True)
    form: Form = DEFAULT_FORM
    top_n: PositiveInt | None = None
    metadata_mode: MetadataMode = MetadataMode.EMBED

    @classmethod
    def class_name(cls) -> str:
        """Name of this step in LlamaIndex."""
        return "ChamferWeightedRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InputError("re-ranking needs a query; give query_str or query_bundle")
        texts = [node.get_content(self.metadata_mode) for node in nodes]
        ranking = rerank(
            query_bundle.query_str,
            texts,
            encoder=self.encoder,
            weights=self.weights,
            form=self.form,
            k=self.top_n,
        )
        return [
            NodeWithScore(node=nodes[int(place)].node, score=score)
            for place, score in zip(ranking.document_ids, ranking.scores, strict=True)
        ]


class IndexRetriever(BaseRetriever):
    """Retrieves from an index, with the encoder, weights and first stage of a :class:`chamfer.Searcher`.

    Nodes have the id, the title above the text, and the metadata of the index, and a score from 0 to 1, a perfect
    match. In an index of passages, the text is that of the best passage, and ``passage`` in the metadata says
    which it is, unless the document has metadata of that name; language models do not see that.

    Args:
        searcher: searcher over the index; it reads the commit that it opened.
        k: number of documents to return.
        where: metadata filter, such as ``year > 2020 and lang = 'en'``.
        min_score: leave out documents that score less, from 0 to 1.

    >>> from chamfer import build_index
    >>> built = build_index(getfixture("tmp_path"), {"a": "Paris is the capital.", "b": "Bread is baked from flour."})
    >>> retriever = IndexRetriever(Searcher.open(getfixture("tmp_path")), k=1)
    >>> [node.node_id for node in retriever.retrieve("how to make bread")]
    ['b']
    """

    def __init__(
        self, searcher: Searcher, *, k: int = DEFAULT_K, where: str | None = None, min_score: float = 0.0
    ) -> None:
        super().__init__()
        self._searcher, self._k, self._where, self._min_score = searcher, k, where, min_score

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._searcher.search(query_bundle.query_str, self._k, where=self._where, min_score=self._min_score)
        return [NodeWithScore(node=_node(hit), score=hit.score) for hit in hits]


def _node(hit: Hit) -> TextNode:
    """A hit with its title above its text; which passage it is, models do not see."""
    added = passage_metadata(hit)
    return TextNode(
        id_=hit.id,
        text=hit.headed,
        metadata={**hit.metadata, **added},
        excluded_embed_metadata_keys=[*added],
        excluded_llm_metadata_keys=[*added],
    )
