"""Validation of queries, weights, candidates and their offsets."""

import operator
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.kernels.limits import LARGEST
from chamfer.tokens.batch import TokenBatch

LARGEST_ON_DEVICE = 6e4
"""The largest number in a query vector on a GPU, where queries are rounded to 16 bits."""


def check_queries(queries: TokenBatch, dimensions: int, form: Form, *, on_device: bool = False) -> None:
    """Refuse an unknown form, and query vectors that cannot be scored against documents of this many dimensions."""
    if form not in ("l2", "cosine"):
        raise InputError(f"the form of the score is 'l2' or 'cosine', not {form!r}")
    if queries.dimensions != dimensions:
        raise InputError(
            f"queries have {queries.dimensions} dimensions but documents have {dimensions}; encode both with one model"
        )
    largest = LARGEST_ON_DEVICE if on_device else LARGEST
    if len(queries.vectors) and float(np.abs(queries.vectors).max()) > largest:
        raise InputError(f"query vectors hold numbers above {largest:g}; normalise them first")
    if (queries.lengths == 0).any():
        raise InputError("every query needs at least one token")


def check_weight_values(weights: npt.NDArray[np.floating]) -> None:
    """Refuse weights that are negative, not finite, or too large."""
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("token weights must be finite and not negative")
    if (weights > LARGEST).any():
        raise InputError(f"token weights must not be above {LARGEST:g}; divide all of them by the same number")


def checked_weights(weights: npt.ArrayLike, tokens: int) -> npt.NDArray[np.float32]:
    """One float32 weight for each of ``tokens`` query tokens."""
    values = np.asarray(weights, dtype=np.float32)
    if values.shape != (tokens,):
        raise InputError(f"expected {tokens} weights, one per query token, got shape {values.shape}")
    check_weight_values(values)
    return values


def checked_k(k: int) -> int:
    """The number of documents to find, 0 or more."""
    try:
        count = min(operator.index(k), np.iinfo(np.int64).max)
    except TypeError:
        raise InputError(f"k must be a whole number, not {k!r}") from None
    if count < 0:
        raise InputError(f"k must be 0 or more, not {k}")
    return count


def checked_candidates(candidates: npt.ArrayLike, documents: int) -> npt.NDArray[np.int64]:
    """Places of documents as int64; the given array itself if it is one already."""
    given = np.asarray(candidates)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise InputError(f"candidates must be a list of whole numbers, not {given.dtype} of shape {given.shape}")
    places = np.ascontiguousarray(given, dtype=np.int64)
    if len(places) and (places.min() < 0 or places.max() >= documents):
        raise InputError(f"candidates must be places from 0 to {documents - 1}")
    return places


def checked_offsets(offsets: Sequence[npt.ArrayLike], candidates: Sequence[int]) -> list[npt.NDArray[np.float32]]:
    """For each query, one float32 offset for each of its candidates, of which it has ``candidates[n]``."""
    if len(offsets) != len(candidates):
        raise InputError(f"got {len(offsets)} lists of offsets for {len(candidates)} queries")
    return [_checked_offsets(own, count) for own, count in zip(offsets, candidates, strict=True)]


def _checked_offsets(offsets: npt.ArrayLike, candidates: int) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        values = np.asarray(offsets, dtype=np.float32)
    if values.shape != (candidates,):
        raise InputError(f"expected {candidates} offsets, one per candidate, got shape {values.shape}")
    if not (np.abs(values) <= LARGEST).all():
        raise InputError(f"offsets must be finite, and between -{LARGEST:g} and {LARGEST:g}")
    return values
