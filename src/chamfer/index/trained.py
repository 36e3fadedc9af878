"""What an index learns from a sample of its vectors before it can keep any."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from chamfer.errors import InputError
from chamfer.index.clusters import TOKENS_PER_CENTROID, Clusters, count_for, train_clusters
from chamfer.index.projection import fit_projection, projected
from chamfer.index.settings import Settings
from chamfer.kernels.residuals import Residuals, train_residuals
from chamfer.support.files import atomic_write
from chamfer.tokens.batch import TokenBatch, Vectors

# Numbers that are enough to learn levels from.
RESIDUALS = 2**25


@dataclass(frozen=True, eq=False)
class Trained:
    """What an index has learnt.

    Args:
        clusters: the centroids.
        asked: how many centroids were asked for; equal or few vectors give fewer.
        projection: where one was asked for.
        residuals: where these are kept.
    """

    clusters: Clusters
    asked: int
    projection: npt.NDArray[np.float32] | None = None
    residuals: Residuals | None = None

    def projected(self, tokens: TokenBatch) -> TokenBatch:
        """Vectors in the dimensions that are kept."""
        if self.projection is None:
            return tokens
        return TokenBatch(projected(tokens.vectors, self.projection), tokens.token_ids, tokens.offsets)

    def save(self, path: Path) -> None:
        """Write one safetensors file."""
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
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote."""
        try:
            with safe_open(path, "numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 -- no mapping
            return cls(
                Clusters(arrays["centroids"], arrays["starts"], arrays["cells"]),
                int(arrays["asked"]),
                arrays.get("projection"),
                Residuals(arrays["levels"], arrays["spread"]) if "levels" in arrays else None,
            )
        except (SafetensorError, KeyError) as error:
            raise InputError(f"{path} is damaged; delete the index and build it again") from error


def sample_size(tokens: int) -> int:
    """How many tokens of a corpus of so many are enough to learn from."""
    return min(tokens, count_for(tokens) * TOKENS_PER_CENTROID)


def train(sample: Vectors, settings: Settings, *, tokens: int) -> Trained:
    """Learn from a sample of token vectors, as the encoder gives them, what an index of about ``tokens`` needs."""
    enough = sample_size(tokens)
    if len(sample) > enough:
        sample = sample[np.sort(np.random.default_rng(0).choice(len(sample), enough, replace=False))]
    if settings.projected is not None and len(sample) < settings.dimensions:
        raise InputError(
            f"a projection is learnt from at least {settings.dimensions} tokens, not {len(sample)}; add more documents "
            "at first, or keep all dimensions"
        )
    projection = None if settings.projected is None else fit_projection(sample, settings.projected)
    kept = sample.astype(np.float32, copy=False) if projection is None else projected(sample, projection)
    return train_kept(kept, settings, projection, tokens=tokens)


def train_kept(
    kept: npt.NDArray[np.float32], settings: Settings, projection: npt.NDArray[np.float32] | None, *, tokens: int
) -> Trained:
    """The same from vectors that are projected already."""
    if not len(kept):  # documents without a token: any centroid will do, and the first tokens outgrow it
        kept = np.eye(1, settings.kept, dtype=np.float32)
    asked = count_for(tokens)
    if not settings.bits:
        return Trained(train_clusters(kept, asked), asked, projection)
    # Were every vector its own centroid, nothing would be left to tell how much later ones leave.
    clusters = train_clusters(kept, max(1, min(asked, len(kept) // 8)))
    some = kept[:: max(1, len(kept) * settings.kept // RESIDUALS)]
    left = some - clusters.centroids[clusters.nearest(some)]
    return Trained(clusters, asked, projection, train_residuals(left, settings.bits))
