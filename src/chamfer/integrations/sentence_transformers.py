"""sentence-transformers: weighted MaxSim for its ``MultiVectorEncoder``, whose similarities see vectors and no tokens.

So the weights must come with the vectors (:func:`weighted_queries`) or with the function (:class:`WeightedMaxSim`).
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels import dispatch
from chamfer.kernels.form import Form
from chamfer.support.devices import scoring_device
from chamfer.tokens.batch import TokenBatch
from chamfer.weights.names import check_weights
from chamfer.weights.token_weights import TokenWeights

Matrix = Tensor | npt.NDArray[np.floating]
Mask = Matrix | Sequence[Matrix]
Embeddings = Matrix | Sequence[Matrix]
"""A list of ``(tokens, dimensions)``, or one of them, or ``(texts, tokens, dimensions)`` filled up with zero rows."""


def weighted_queries(encoder: Encoder, texts: Sequence[str], weights: TokenWeights) -> list[Tensor]:
    """Give query embeddings that carry their weights: row ``i`` of a query is ``w_i * q_i``.

    ``sum_i max_j <w_i q_i, d_j> = sum_i w_i max_j <q_i, d_j>`` for ``w >= 0``: any MaxSim of them is weighted, the
    ``cosine`` form times the number of tokens. The ``l2`` form is not to be had this way. The trap: the weight is the
    length of the row, so whatever normalises these rows again (``normalize_embeddings=True``, an engine with a cosine
    metric) gives uniform weights, without an error. A token of weight 0 is a row of zeros, which looks like padding.

    Args:
        encoder: gives the token vectors; ``Encoder(model, name)`` makes one of a ``MultiVectorEncoder``.
        texts: queries.
        weights: what each query token counts.

    Returns:
        for each query ``(tokens, dimensions)`` float32, on the processor.

    >>> encoder = Encoder.load("minilm")
    >>> [query] = weighted_queries(encoder, ["bread"], TokenWeights.uniform(encoder.vocabulary))
    >>> query.shape, [round(float(length), 3) for length in query.norm(dim=1)]
    (torch.Size([3, 384]), [1.0, 1.0, 1.0])
    """
    check_weights(weights, encoder, "cosine")
    queries = encoder.encode_queries(texts)
    each = [queries[place] for place in range(len(queries))]
    return [torch.from_numpy(query.vectors * weights.of(query)[:, None]) for query in each]


class WeightedMaxSim:
    """A similarity function that holds the weights of some queries and scores these, in this order, and no others.

    ``similarity[q, d] = -mean_i(w_i * min_j ||q_i - d_j||)``, or in the ``cosine`` form the mean of
    ``w_i * max_j <q_i, d_j>``. Padding is cut off before: among unit vectors a row of zeros is at distance 1 from every
    token, closer than any real one whose cosine is below 0.5. It is for evaluation: losses get no gradient from it.

    Args:
        weights: for each query ``(tokens,)`` float32, none negative; see :meth:`of`.
        form: ``l2`` or ``cosine``.
    """

    def __init__(self, weights: Sequence[npt.NDArray[np.float32]], *, form: Form = "l2") -> None:
        self.weights, self.form = list(weights), form

    @classmethod
    def of(cls, encoder: Encoder, texts: Sequence[str], weights: TokenWeights, *, form: Form = "l2") -> Self:
        """The similarity function for these queries: the texts that the model will be given, in their order.

        >>> encoder = Encoder.load("minilm")
        >>> bread = WeightedMaxSim.of(encoder, ["bread"], TokenWeights.uniform(encoder.vocabulary))
        >>> vectors = encoder.encode_queries(["bread"]).vectors
        >>> bread([vectors], [vectors, vectors[1:]]).shape
        torch.Size([1, 2])
        """
        check_weights(weights, encoder, form)
        queries = encoder.encode_queries(texts)
        return cls([weights.of(queries[place]) for place in range(len(queries))], form=form)

    def __call__(self, a: Embeddings, b: Embeddings, a_mask: Mask | None = None, b_mask: Mask | None = None) -> Tensor:
        """Score every query with every document.

        Args:
            a: unit vectors of the queries that the weights are for; not those of :func:`weighted_queries`.
            b: of documents.
            a_mask: which rows are tokens; without it, in a three-dimensional array, those that are not all zero.
            b_mask: likewise.

        Returns:
            ``(queries, documents)`` float32 on the device of the documents; a document without tokens scores ``-inf``.
        """
        queries, documents = _tokens(a, a_mask), _tokens(b, b_mask)
        if len(queries) != len(self.weights):
            raise InputError(
                f"this similarity holds the weights of {len(self.weights)} queries, not of {len(queries)}; "
                "make one of the texts that are scored, in their order"
            )
        device = next((part.device for part in b if isinstance(part, Tensor)), torch.device("cpu"))
        scores = np.zeros((len(queries), len(documents)), np.float32)
        if scores.size:
            packed = dispatch.on_device(_packed(documents), scoring_device(str(device)))
            for place, (query, weights) in enumerate(zip(queries, self.weights, strict=True)):
                scores[place] = dispatch.score(dispatch.minima(_packed([query]), packed, form=self.form), weights)
        return torch.from_numpy(scores).to(device)


def _tokens(embeddings: Embeddings, mask: Mask | None) -> list[npt.NDArray[np.float32]]:
    """The rows of each text that are tokens."""
    if not isinstance(embeddings, Sequence) and embeddings.ndim == 2:
        embeddings, mask = embeddings[None], mask if mask is None or isinstance(mask, Sequence) else mask[None]
    matrices = [_array(matrix) for matrix in embeddings]
    if mask is not None:
        return [rows[_array(kept).astype(bool)[: len(rows)]] for rows, kept in zip(matrices, mask, strict=True)]
    return matrices if isinstance(embeddings, Sequence) else [rows[rows.any(axis=1)] for rows in matrices]


def _array(matrix: Matrix) -> npt.NDArray[np.float32]:
    return np.asarray(matrix.float().cpu() if isinstance(matrix, Tensor) else matrix, np.float32)


def _packed(texts: Sequence[npt.NDArray[np.float32]]) -> TokenBatch:
    return TokenBatch.pack(texts, [np.zeros(len(rows), np.int32) for rows in texts])  # the ids play no part in scores
