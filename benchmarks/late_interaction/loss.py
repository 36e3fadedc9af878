"""The loss: each query should find its document among those of the batch, and each document its query."""

from collections.abc import Sequence
from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.util import maxsim


class BothWays(torch.nn.Module):
    """Cross-entropy over MaxSim within a batch, by rows and by columns. The library's own loss has the rows only.

    Args:
        model: the model to train.
    """

    def __init__(self, model: MultiVectorEncoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, columns: Sequence[dict[str, Any]], labels: torch.Tensor | None = None) -> torch.Tensor:
        """The loss of a batch of queries and documents, as the trainer calls it."""
        queries, documents = (self.model(dict(column), task=column["task"]) for column in columns)
        scores = maxsim(
            queries["token_embeddings"],
            documents["token_embeddings"],
            queries["attention_mask"].bool(),
            documents["attention_mask"].bool(),
        )
        own = torch.arange(len(scores), device=scores.device)
        by_query, by_document = (torch.nn.functional.cross_entropy(side, own) for side in (scores, scores.T))
        return (by_query + by_document) / 2


@torch.inference_mode()
def accuracy(model: MultiVectorEncoder, queries: Sequence[str], documents: Sequence[str], batch: int) -> float:
    """Share of queries that score their own document highest among those of their batch."""
    found = 0
    for start in range(0, len(queries), batch):
        one = model.encode_query(list(queries[start : start + batch]))
        other = model.encode_document(list(documents[start : start + batch]))
        best = maxsim(one, other).argmax(dim=1).cpu()
        found += int((best == torch.arange(len(best))).sum())
    return found / len(queries)
