"""What is measured of the residuals of a segment, so that most need not be decoded: derived from them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.index.damage import damaged
from chamfer.index.derived import load_array, remedy_for
from chamfer.kernels.limits import RESIDUAL_BOUNDS
from chamfer.kernels.residuals import Measured, Residuals
from chamfer.tokens.batch import Offsets

MEASURED = "residuals-1"
"""Name of the derived files. Another number if the native kernel measures or rounds in another way."""

FACTORS, OF_DOCUMENTS = "factors.npy", "bounds.npy"

# Residuals and their packed codes, all centroids, the centroid of each token, and where documents start.
Stored = tuple[Residuals, npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.uint16], Offsets]


def make_measured(stored: Stored, folder: Path) -> None:
    """Measure residuals, and write the result into a folder."""
    measured = Measured.of(*stored)
    np.save(folder / FACTORS, measured.factors)
    np.save(folder / OF_DOCUMENTS, measured.bounds.ravel())


def read_measured(folder: Path, *, tokens: int, documents: int) -> Measured:
    """Read what :func:`make_measured` wrote; the factors are memory-mapped."""
    factors = load_array(folder / FACTORS, np.float16)
    bounds = np.array(load_array(folder / OF_DOCUMENTS, np.float32))
    sound = np.isfinite(bounds).all() and (bounds >= 0).all()
    if (len(factors), len(bounds)) != (tokens, RESIDUAL_BOUNDS * documents) or not sound:
        raise damaged(folder, "its files are inconsistent", remedy_for(folder))
    return Measured(factors, bounds.reshape(RESIDUAL_BOUNDS, documents))
