"""sentence-transformers: weighted MaxSim for its ``MultiVectorEncoder``.

Its similarity functions see vectors but no tokens, so weights come with the query vectors (:func:`weighted_queries`) or
with the similarity function (:class:`WeightedMaxSim`).
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from chamfer import Encoder, InputError, TokenBatch, TokenWeights
from chamfer.kernels import dispatch
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.devices import scoring_device
from chamfer.weights.adapter import Adapter
from chamfer.weights.mix import warn_of_tokens_alone
from chamfer.weights.names import check_weights
from chamfer.weights.scale import Scale

Matrix = Tensor | npt.NDArray[np.floating]
Mask = Matrix | Sequence[Matrix]
Embeddings = Matrix | Sequence[Matrix]
"""A list of ``(tokens, dimensions)``, or one of them, or ``(texts, tokens, dimensions)`` padded with zero rows."""


def weighted_queries(encoder: Encoder, texts: Sequence[str], weights: TokenWeights) -> list[Tensor]:
    """Encode queries and scale every token vector by its weight: row ``i`` of a query is ``w_i * q_i``.

    ``sum_i max_j <w_i q_i, d_j> = sum_i w_i max_j <q_i, d_j>`` for ``w >= 0``, so plain MaxSim of these rows is
    weighted MaxSim: the ``cosine`` form times the number of tokens. The ``l2`` form cannot be computed this way. Do not
    normalise the rows again (``normalize_embeddings=True``, an engine with a cosine metric): the weight is the length
    of the row, so normalising silently gives uniform weights. A token of weight 0 is a row of zeros, like padding.

    Args:
        encoder: encoder for the queries; ``Encoder(model, name)`` wraps a ``MultiVectorEncoder``.
        texts: query texts.
        weights: token weights; an adapter is applied, a mix is left out with an ``InputWarning``.

    Returns:
        for each query ``(tokens, dimensions)`` float32, on the CPU.

    >>> encoder = Encoder.load("minilm")
    >>> [query] = weighted_queries(encoder, ["bread"], TokenWeights.uniform(encoder.vocabulary))
    >>> query.shape, [round(float(length), 3) for length in query.norm(dim=1)]
    (torch.Size([3, 384]), [1.0, 1.0, 1.0])
    """
    check_weights(weights, encoder, "cosine")
    warn_of_tokens_alone(weights.mix, "these rows score")
    queries = encoder.encode_queries(texts)
    each = [queries[place] for place in range(len(queries))]
    return [torch.from_numpy(weights.adapt(query).vectors * weights.of(query)[:, None]) for query in each]


class WeightedMaxSim:
    """A similarity function with the weights of fixed queries; it scores these queries, in their order.

    ``similarity[q, d] = -mean_i(w_i * min_j ||q_i - d_j||)``, or in the ``cosine`` form the mean of
    ``w_i * max_j <q_i, d_j>``. Padding is removed first: a row of zeros is at distance 1 from every unit vector, closer
    than any token whose cosine is below 0.5. For evaluation only: it has no gradient.

    Args:
        weights: for each query ``(tokens,)`` float32, not negative; see :meth:`of`.
        form: ``l2`` or ``cosine``.
        adapter: applied to the vectors of queries first.
    """

    def __init__(
        self,
        weights: Sequence[npt.NDArray[np.float32]],
        *,
        form: Form = DEFAULT_FORM,
        adapter: Adapter | None = None,
    ) -> None:
        self.weights, self.form, self.adapter = list(weights), form, adapter

    @classmethod
    def of(cls, encoder: Encoder, texts: Sequence[str], weights: TokenWeights, *, form: Form = DEFAULT_FORM) -> Self:
        """Make the similarity function for query texts, in the order in which the model will get them.

        A mix is left out, with an ``InputWarning``.

        >>> encoder = Encoder.load("minilm")
        >>> bread = WeightedMaxSim.of(encoder, ["bread"], TokenWeights.uniform(encoder.vocabulary))
        >>> vectors = encoder.encode_queries(["bread"]).vectors
        >>> bread([vectors], [vectors, vectors[1:]]).shape
        torch.Size([1, 2])
        """
        check_weights(weights, encoder, form)
        warn_of_tokens_alone(weights.mix, "a similarity function scores")
        queries = encoder.encode_queries(texts)
        own = [weights.of(queries[place]) for place in range(len(queries))]
        return cls(own, form=form, adapter=weights.adapter)

    def __call__(self, a: Embeddings, b: Embeddings, a_mask: Mask | None = None, b_mask: Mask | None = None) -> Tensor:
        """Score every query with every document.

        Args:
            a: unit vectors of the queries; not those of :func:`weighted_queries`.
            b: unit vectors of the documents.
            a_mask: which rows of ``a`` are tokens; by default, in a padded array, those that are not all zero.
            b_mask: which rows of ``b`` are tokens.

        Returns:
            ``(queries, documents)`` float32 on the device of the documents, from 0 to 1, a perfect match.
        """
        queries, documents = _tokens(a, a_mask), _tokens(b, b_mask)
        if self.adapter is not None:
            queries = [self.adapter.adapted(rows) for rows in queries]
        if len(queries) != len(self.weights):
            raise InputError(
                f"this similarity function has the weights of {len(self.weights)} queries, but got {len(queries)}; "
                "make one for these texts, in their order"
            )
        device = next((part.device for part in b if isinstance(part, Tensor)), torch.device("cpu"))
        scores = np.zeros((len(queries), len(documents)), np.float32)
        if scores.size:
            packed = dispatch.on_device(_packed(documents), scoring_device(str(device)))
            for place, (query, weights) in enumerate(zip(queries, self.weights, strict=True)):
                kernel = dispatch.score(dispatch.minima(_packed([query]), packed, form=self.form), weights)
                scores[place] = Scale(weights, form=self.form).scores(kernel)
        return torch.from_numpy(scores).to(device)


def _tokens(embeddings: Embeddings, mask: Mask | None) -> list[npt.NDArray[np.float32]]:
    """The token vectors of each text, without padding."""
    if not isinstance(embeddings, Sequence) and embeddings.ndim == 2:
        embeddings, mask = embeddings[None], mask if mask is None or isinstance(mask, Sequence) else mask[None]
    matrices = [_array(matrix) for matrix in embeddings]
    if mask is not None:
        return [rows[_array(kept).astype(bool)[: len(rows)]] for rows, kept in zip(matrices, mask, strict=True)]
    return matrices if isinstance(embeddings, Sequence) else [rows[rows.any(axis=1)] for rows in matrices]


def _array(matrix: Matrix) -> npt.NDArray[np.float32]:
    return np.asarray(matrix.float().cpu() if isinstance(matrix, Tensor) else matrix, np.float32)


def _packed(texts: Sequence[npt.NDArray[np.float32]]) -> TokenBatch:
    # Scores do not depend on token ids.
    return TokenBatch.pack(texts, [np.zeros(len(rows), np.int32) for rows in texts])
