"""The 8-bit codes of an encoded corpus, computed once and stored beside its vectors."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.cache.derived import derived_folder
from chamfer.kernels import native
from chamfer.kernels.codes import Codes, padded
from chamfer.support.files import atomic_write
from chamfer.tokens.batch import AT_A_TIME, TokenBatch, parts

FORMAT = 1
FOLDER = "codes"
CODES_FILE, SCALES_FILE, BOUNDS_FILE = "codes.u8", "scales.f32", "bounds.f32"


def open_codes(corpus: Path, tokens: TokenBatch, made_from: Mapping[str, Any]) -> Codes | None:
    """Open the codes of a finished corpus, memory-mapped; compute and write them first if necessary.

    Args:
        corpus: folder of the corpus.
        tokens: its vectors.
        made_from: what determines the vectors; codes made from anything else are replaced.

    Returns:
        None without a native kernel, for an empty corpus, or if the folder cannot be written to now.
    """
    count = len(tokens.vectors)
    if native.path() is None or count == 0:
        return None
    manifest = {"format": FORMAT, "made_from": dict(made_from), "tokens": count, "documents": len(tokens)}
    sizes = {CODES_FILE: count * padded(tokens.dimensions), SCALES_FILE: count * 4, BOUNDS_FILE: len(tokens) * 16}
    folder = derived_folder(corpus, FOLDER, manifest, sizes, partial(_make, tokens))
    if folder is None:
        return None
    return Codes(
        np.memmap(folder / CODES_FILE, np.uint8, "r", shape=(count, padded(tokens.dimensions))),
        np.memmap(folder / SCALES_FILE, np.float32, "r", shape=(count,)),
        np.fromfile(folder / BOUNDS_FILE, np.float32).reshape(4, len(tokens)),
    )


def _make(tokens: TokenBatch, folder: Path) -> None:
    bounds = []
    with atomic_write(folder / CODES_FILE) as codes, atomic_write(folder / SCALES_FILE) as scales:
        for part in parts(tokens.offsets, AT_A_TIME):
            made = Codes.of(tokens[part])
            codes.write(made.codes.data)
            scales.write(made.scales.data)
            bounds.append(made.bounds)
    with atomic_write(folder / BOUNDS_FILE) as file:
        file.write(np.concatenate(bounds, axis=1).data)
