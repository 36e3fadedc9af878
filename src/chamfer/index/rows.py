"""Documents as a segment stores them: computed from vectors, or gathered from other segments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.data.documents import Document
from chamfer.errors import DamagedError, InputError
from chamfer.index.columns import (
    BOUNDS_FILE,
    CENTROIDS_FILE,
    CODES_FILE,
    DISTINCT_FILE,
    DISTINCT_LENGTHS_FILE,
    LENGTHS_FILE,
    RESIDUALS_FILE,
    SCALES_FILE,
    TOKEN_IDS_FILE,
    VECTORS_FILE,
)
from chamfer.index.damage import REMEDY
from chamfer.index.settings import Settings
from chamfer.index.trained import Trained
from chamfer.kernels.codes import Codes
from chamfer.kernels.residuals import Residuals
from chamfer.support.threads import free_cores, map_in_threads
from chamfer.tokens.batch import AT_A_TIME, Offsets, TokenBatch, TokenIds, Vectors, offsets_of, parts, rows_at

Columns = Mapping[str, npt.NDArray[Any]]

# Tolerance for the length of a unit vector, for 16-bit floats and rounding.
NORM_TOLERANCE = 0.01


@dataclass(frozen=True)
class Rows:
    """Documents, and an array for each column of the settings."""

    documents: Sequence[Document]
    columns: Columns


def columns_in_parts(
    tokens: TokenBatch, distinct: Sequence[TokenIds], settings: Settings, trained: Trained
) -> Iterator[tuple[slice, Columns]]:
    """Compute the columns of documents in parts, several at once on different cores; yields each part's slice too.

    Args:
        tokens: vectors, after pooling.
        distinct: distinct token ids of each text.
        settings: settings of the index.
        trained: projection, centroids and residual levels.
    """

    def make(part: slice) -> tuple[slice, Columns]:
        return part, _columns(tokens[part], distinct[part], settings, trained)

    waiting = parts(tokens.offsets)
    while some := list(islice(waiting, free_cores())):
        yield from map_in_threads(make, some)


def _columns(tokens: TokenBatch, distinct: Sequence[TokenIds], settings: Settings, trained: Trained) -> Columns:
    kept = trained.projected(tokens)
    with np.errstate(over="ignore"):
        batch = TokenBatch(kept.vectors.astype(np.float16), kept.token_ids, kept.offsets)
    wide = batch.vectors.astype(np.float32)
    columns: dict[str, npt.NDArray[Any]] = {
        LENGTHS_FILE: batch.lengths.astype(np.int32),
        TOKEN_IDS_FILE: batch.token_ids,
        CENTROIDS_FILE: trained.clusters.nearest(wide),
        DISTINCT_LENGTHS_FILE: np.array([len(ids) for ids in distinct], np.int32),
        DISTINCT_FILE: np.concatenate([*distinct, np.empty(0, np.int32)]).astype(np.int32),
    }
    if trained.residuals is not None:
        return {**columns, RESIDUALS_FILE: _residuals(wide, columns[CENTROIDS_FILE], trained)}
    codes = Codes.of(batch)
    if settings.precision == "float16":
        columns[VECTORS_FILE] = batch.vectors
    else:
        codes = codes.for_decoded_vectors(batch)
    return {**columns, CODES_FILE: codes.codes, SCALES_FILE: codes.scales, BOUNDS_FILE: codes.bounds.T}


def check_unit(tokens: TokenBatch) -> None:
    """Refuse vectors that do not have unit length; after pooling or projection, all would."""

    def check(start: int) -> None:
        some = tokens.vectors[start : start + AT_A_TIME].astype(np.float32, copy=False)
        norms = np.sqrt(np.einsum("td,td->t", some, some))
        wrong = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))  # also true for NaN
        if len(wrong):
            raise InputError(f"token vectors must have unit length, not {norms[wrong[0]]:.4g}; normalise them first")

    map_in_threads(check, range(0, len(tokens.vectors), AT_A_TIME))


def decoded(columns: Columns, rows: npt.NDArray[np.int64] | slice, settings: Settings, trained: Trained) -> Vectors:
    """Decode the vectors of some rows, in 16 bits."""
    if VECTORS_FILE in columns:
        return np.asarray(columns[VECTORS_FILE][rows])
    if CODES_FILE in columns:
        codes = Codes(columns[CODES_FILE], columns[SCALES_FILE], np.empty((4, 0), np.float32))
        _check_scales(codes.scales[rows])
        return codes.vectors(settings.kept, rows)
    return levels_of(trained).decode(columns[RESIDUALS_FILE], trained.clusters.centroids, columns[CENTROIDS_FILE], rows)


def _check_scales(scales: npt.NDArray[np.float32]) -> None:
    """Refuse scales that no unit vector has; the largest is that of an axis."""
    if not (scales.min(initial=0) >= 0 and scales.max(initial=0) <= (1 + NORM_TOLERANCE) / 127):  # nor NaN
        raise DamagedError(f"{SCALES_FILE} holds numbers that no unit vector has; {REMEDY}")


def recoded(columns: Columns, settings: Settings, before: Trained, trained: Trained) -> dict[str, npt.NDArray[Any]]:
    """Encode rows again for new centroids; precision that residuals lost before is not recovered."""
    vectors = decoded(columns, slice(None), settings, before)
    again = {**columns, CENTROIDS_FILE: trained.clusters.nearest(vectors)}
    if trained.residuals is not None:
        again[RESIDUALS_FILE] = _residuals(vectors, again[CENTROIDS_FILE], trained)
    return again


def _residuals(vectors: Vectors, centroids: npt.NDArray[np.uint16], trained: Trained) -> npt.NDArray[np.uint8]:
    return levels_of(trained).encode(vectors.astype(np.float32, copy=False) - trained.clusters.centroids[centroids])


def levels_of(trained: Trained) -> Residuals:
    """The levels of residuals; an index that stores residuals without levels is an error."""
    if trained.residuals is None:
        raise InputError("the index stores residuals but has no levels to decode them; build it again")
    return trained.residuals


class Source(NamedTuple):
    """The columns of a segment, and the offsets of each document's tokens and distinct tokens."""

    columns: Columns
    offsets: Mapping[str, Offsets]


def gather(
    sources: Sequence[Source],
    owner: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    settings: Settings,
) -> dict[str, npt.NDArray[Any]]:
    """Copy documents from several segments into new arrays, in the given order.

    Args:
        sources: the segments.
        owner: ``(documents,)`` segment of each document.
        places: ``(documents,)`` place of each document in its segment.
        settings: settings of the index.
    """
    gathered: dict[str, npt.NDArray[Any]] = {}
    lengths_of = {"token": LENGTHS_FILE, "distinct": DISTINCT_LENGTHS_FILE}
    # Lengths are the first columns; the sizes of the others follow from them.
    for name, column in settings.columns.items():
        whole = column.per == "document"
        to = np.arange(len(places) + 1) if whole else offsets_of(gathered[lengths_of[column.per]])
        first = sources[0].columns[name]
        gathered[name] = np.empty((to[-1], *first.shape[1:]), first.dtype)
        for number, source in enumerate(sources):
            chosen = np.flatnonzero(owner == number)
            rows = places[chosen] if whole else rows_at(source.offsets[column.per], places[chosen])
            gathered[name][rows_at(to, chosen)] = source.columns[name][rows]
    return gathered
