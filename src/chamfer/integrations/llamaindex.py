"""LlamaIndex: a node post-processor that re-ranks with weights."""

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.search.reranking import rerank
from chamfer.weights.token_weights import TokenWeights

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
    from pydantic import Field, InstanceOf, PositiveInt
except ImportError as error:
    raise InputError(
        "chamfer.integrations.llamaindex needs llama-index-core; run: pip install 'chamfer[llamaindex]'"
    ) from error


class WeightedRerank(BaseNodePostprocessor):
    """Re-ranks retrieved nodes: ``score = -mean_i(w_i * min_j ||q_i - d_j||)``, the best first.

    What comes back are new ``NodeWithScore`` objects around the same nodes; those given keep their scores. Equal scores
    keep the order in which the nodes came. A node without text scores ``-inf`` and comes last, unless ``top_n`` leaves
    it out.

    Args:
        encoder: gives the token vectors.
        weights: what each query token counts; all the same if not given.
        form: ``l2`` or ``cosine``.
        top_n: keep only so many; all if not given, or if there are fewer.
        metadata_mode: which metadata are read as part of the text: those that LlamaIndex shows to embedding models
            if not given, ``MetadataMode.NONE`` for the bare text.

    >>> from llama_index.core.schema import TextNode
    >>> texts = ["Paris is the capital of France.", "Bread is baked from flour."]
    >>> nodes = [NodeWithScore(node=TextNode(text=text)) for text in texts]
    >>> best = WeightedRerank(encoder=Encoder.load("minilm"), top_n=1)
    >>> [node.text for node in best.postprocess_nodes(nodes, query_str="how to make bread")]
    ['Bread is baked from flour.']
    """

    encoder: InstanceOf[Encoder] = Field(exclude=True)  # excluded, because a model is no part of a JSON description
    weights: InstanceOf[TokenWeights] | None = Field(default=None, exclude=True)
    form: Form = "l2"
    top_n: PositiveInt | None = None
    metadata_mode: MetadataMode = MetadataMode.EMBED

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex describes this step."""
        return "ChamferWeightedRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InputError("re-ranking nodes needs a query, not None; give query_str or query_bundle")
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
