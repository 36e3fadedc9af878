"""The definition of the score in plain NumPy. Slow on purpose: every faster implementation is tested against it."""

import numpy as np
import numpy.typing as npt

from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.tokens.batch import TokenBatch, Vectors


def minima(query: Vectors, documents: TokenBatch, form: Form = DEFAULT_FORM) -> npt.NDArray[np.float64]:
    """Compute the distance from each query token to the closest token of each document.

    ``l2``: ``min_j ||q_i - d_j||``, as in the paper. ``cosine``: ``min_j -<q_i, d_j>``, the negative cosine for unit
    vectors, which encoders return.

    Returns:
        ``(documents, query tokens)`` float64; infinite for a document without tokens.
    """
    return match(query, documents, form)[0]


def match(
    query: Vectors, documents: TokenBatch, form: Form = DEFAULT_FORM
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Like :func:`minima`, and also return which token of each document is the closest (-1 if it has none).

    Ties go to the first token.
    """
    distances = np.full((len(documents), len(query)), np.inf)
    places = np.full((len(documents), len(query)), -1, dtype=np.int64)
    for d in range(len(documents)):
        tokens = documents[d].vectors.astype(np.float64)
        for i, token in enumerate(query.astype(np.float64)):
            if len(tokens) == 0:
                continue
            to_all = np.linalg.norm(tokens - token, axis=1) if form == "l2" else -(tokens @ token)
            places[d, i] = np.argmin(to_all)
            distances[d, i] = to_all[places[d, i]]
    return distances, places


def score(
    query: Vectors,
    weights: npt.NDArray[np.floating],
    documents: TokenBatch,
    form: Form = DEFAULT_FORM,
    *,
    offsets: npt.ArrayLike = 0.0,
) -> npt.NDArray[np.float64]:
    """Score one query against every document.

    ``score[d] = -mean_i(w_i * minima[d, i]) + offsets[d]``

    Returns:
        ``(documents,)`` float64; higher is closer. A document without tokens scores ``-inf``, whatever its
        offset, so it can never outrank a real one.
    """
    scores = np.full(len(documents), -np.inf)
    for d, distances in enumerate(minima(query, documents, form)):
        if len(documents[d].vectors):
            scores[d] = -np.sum(weights * distances) / len(query)
    return scores + np.asarray(offsets, np.float64)
