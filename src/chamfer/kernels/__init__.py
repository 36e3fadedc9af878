"""One door to every implementation of the score."""

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import blas
from chamfer.kernels.form import Form
from chamfer.tokens import TokenBatch

__all__ = ["Form", "minima", "score"]


def minima(
    query: TokenBatch,
    documents: TokenBatch,
    *,
    candidates: npt.ArrayLike | None = None,
    form: Form = "l2",
) -> npt.NDArray[np.float32]:
    """Give the distance of each token of one query to the closest token of each candidate.

    Distances do not depend on weights: keep them, and every weighting is ``-minima @ weights / tokens``.

    Args:
        query: a batch of one query.
        documents: where the candidates are.
        candidates: places of documents, in the order wanted; all documents if not given.
        form: ``l2`` or ``cosine``, see :mod:`chamfer.kernels.reference`.

    Returns:
        ``(candidates, query tokens)`` float32; infinite for a document without tokens.
    """
    if form not in ("l2", "cosine"):
        raise InputError(f"the form of the score is 'l2' or 'cosine', not {form!r}")
    if len(query) != 1 or len(query.vectors) == 0:
        raise InputError(f"scoring takes one query with tokens, not {len(query)} with {len(query.vectors)}")
    if query.dimensions != documents.dimensions:
        raise InputError(
            f"queries have {query.dimensions} dimensions but documents have {documents.dimensions}; "
            "encode both with one model"
        )
    places = np.arange(len(documents)) if candidates is None else np.asarray(candidates, dtype=np.int64)
    if len(places) and (places.min() < 0 or places.max() >= len(documents)):
        raise InputError(f"candidates must be places from 0 to {len(documents) - 1}")
    return blas.minima(query.vectors, documents, places, form)


def score(distances: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Turn the minima of one query into scores.

    ``score[d] = -mean_i(w_i * minima[d, i])``

    Args:
        distances: ``(documents, query tokens)`` from :func:`minima`.
        weights: ``(query tokens,)``, none negative.

    Returns:
        ``(documents,)`` float32; higher is closer. A document without tokens scores ``-inf``.
    """
    if weights.shape != distances.shape[1:]:
        raise InputError(f"{distances.shape[1]} query tokens need as many weights, not {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("token weights must be finite and not negative")
    empty: npt.NDArray[np.bool_] = np.isinf(distances[:, 0])
    finite = np.where(empty[:, None], np.float32(0), distances)
    return np.where(empty, np.float32(-np.inf), -(finite @ weights) / np.float32(len(weights)))
