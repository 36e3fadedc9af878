"""Training: what an index learns from a sample of vectors before it can store any."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from chamfer.errors import InputError, first_line
from chamfer.index.clusters import MOST, TOKENS_PER_CENTROID, Clusters, count_for, train_clusters
from chamfer.index.damage import damaged
from chamfer.index.projection import fit_projection, projected
from chamfer.index.settings import Settings
from chamfer.kernels.residuals import Residuals, train_residuals
from chamfer.support.files import atomic_write
from chamfer.support.records import need
from chamfer.support.sampling import draw
from chamfer.tokens.batch import TokenBatch, Vectors

# Maximum number of values to train residual levels on.
MOST_VALUES = 2**25


@dataclass(frozen=True, eq=False)
class Trained:
    """What an index has learnt.

    Args:
        clusters: centroids.
        asked: requested number of centroids; few or equal vectors give fewer.
        projection: projection matrix, if vectors are projected.
        residuals: quantization levels, if residuals are stored.
    """

    clusters: Clusters
    asked: int
    projection: npt.NDArray[np.float32] | None = None
    residuals: Residuals | None = None

    def projected(self, tokens: TokenBatch) -> TokenBatch:
        """Project vectors to the stored dimensions."""
        if self.projection is None:
            return tokens
        return TokenBatch(projected(tokens.vectors, self.projection), tokens.token_ids, tokens.offsets)

    def save(self, path: Path) -> None:
        """Write a safetensors file."""
        clusters = self.clusters
        arrays: dict[str, npt.NDArray[Any]] = {
            "centroids": clusters.centroids,
            "starts": clusters.starts,
            "cells": clusters.cells,
            "asked": np.array(self.asked),
        }
        if self.projection is not None:
            arrays["projection"] = self.projection
        if self.residuals is not None:
            arrays |= {"levels": self.residuals.levels, "spread": self.residuals.spread}
        with atomic_write(path) as file:
            file.write(save(arrays))

    @classmethod
    def load(cls, path: Path, settings: Settings) -> Self:
        """Read a file that :meth:`save` wrote for an index with these settings."""
        try:
            with safe_open(path, "numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 -- no mapping
            _check(arrays, settings)
            return cls(
                Clusters(arrays["centroids"], arrays["starts"], arrays["cells"]),
                int(arrays["asked"]),
                arrays.get("projection"),
                Residuals(arrays["levels"], arrays["spread"]) if "levels" in arrays else None,
            )
        except (SafetensorError, TypeError, ValueError) as error:
            raise damaged(path, first_line(error)) from error


def _check(arrays: Mapping[str, npt.NDArray[Any]], settings: Settings) -> None:
    """Refuse arrays that were not trained for an index with these settings."""
    shapes: dict[str, tuple[int | None, ...]] = {
        "centroids": (None, settings.kept),
        "cells": (None, settings.kept),
        "starts": (None,),
        "asked": (),
    }
    if settings.projected is not None:
        shapes["projection"] = (settings.dimensions, settings.kept)
    if settings.bits:
        shapes |= {"levels": (2**settings.bits,), "spread": (settings.kept,)}
    need(arrays.keys() == shapes.keys(), f"it must hold {', '.join(shapes)}")
    for name, shape in shapes.items():
        values, kind = arrays[name], np.int64 if name in ("starts", "asked") else np.float32
        fits = len(shape) == values.ndim and all(
            wanted in (None, found) for wanted, found in zip(shape, values.shape, strict=True)
        )
        need(fits and values.dtype == kind, f"{name} cannot be {values.dtype} of shape {values.shape}")
        need(np.isfinite(values).all(), f"{name} must be finite")
    centroids, cells, starts = (arrays[name] for name in ("centroids", "cells", "starts"))
    need(1 <= len(centroids) <= MOST and arrays["asked"] >= 1, f"it must hold from 1 to {MOST} centroids")
    sorted_by_cell = len(starts) == len(cells) + 1 and starts[0] == 0 and starts[-1] == len(centroids)
    need(sorted_by_cell and (np.diff(starts) >= 0).all(), "its centroids must be sorted by cell")


def sample_size(tokens: int) -> int:
    """Number of tokens to train on, for a corpus of ``tokens``."""
    return min(tokens, count_for(tokens) * TOKENS_PER_CENTROID)


def check_projection(tokens: int, settings: Settings) -> None:
    """Raise an error if a projection cannot be learnt from so few tokens."""
    if settings.projected is not None and tokens < settings.dimensions:
        raise InputError(
            f"a projection is learnt from at least {settings.dimensions} tokens, not {tokens}; start with more "
            "documents, or keep all dimensions"
        )


def train(sample: Vectors, settings: Settings, *, tokens: int) -> Trained:
    """Train on a sample of vectors from the encoder.

    Args:
        sample: token vectors.
        settings: settings of the index.
        tokens: estimated number of tokens in the index, which determines the number of centroids.
    """
    enough = sample_size(tokens)
    if len(sample) > enough:
        sample = sample[draw(len(sample), enough)]
    check_projection(len(sample), settings)
    projection = None if settings.projected is None else fit_projection(sample, settings.projected)
    kept = sample.astype(np.float32, copy=False) if projection is None else projected(sample, projection)
    return train_kept(kept, settings, projection, tokens=tokens)


def train_kept(
    kept: npt.NDArray[np.float32], settings: Settings, projection: npt.NDArray[np.float32] | None, *, tokens: int
) -> Trained:
    """Like :func:`train`, for vectors that are already projected."""
    if not len(kept):  # no document has a token; any centroid will do until tokens are added
        kept = np.eye(1, settings.kept, dtype=np.float32)
    asked = count_for(tokens)
    if not settings.bits:
        return Trained(train_clusters(kept, asked), asked, projection)
    # If every vector were its own centroid, all residuals would be 0, and levels could not be learnt.
    clusters = train_clusters(kept, max(1, min(asked, len(kept) // 8)))
    some = kept[:: max(1, len(kept) * settings.kept // MOST_VALUES)]
    left = some - clusters.centroids[clusters.nearest(some)]
    return Trained(clusters, asked, projection, train_residuals(left, settings.bits))
