"""The 8-bit codes of an encoded corpus, computed once and stored beside its vectors."""

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chamfer.kernels import native
from chamfer.kernels.codes import Codes, padded
from chamfer.support.files import InUseError, atomic_write, write_json, writer_lock
from chamfer.tokens.batch import AT_A_TIME, TokenBatch, parts

FORMAT = 1
FOLDER = "codes"
MANIFEST, CODES_FILE, SCALES_FILE, BOUNDS_FILE = "manifest.json", "codes.u8", "scales.f32", "bounds.f32"


def open_codes(folder: Path, tokens: TokenBatch, made_from: Mapping[str, Any]) -> Codes | None:
    """Open the codes of a finished corpus, memory-mapped; compute and write them first if necessary.

    Args:
        folder: folder of the corpus.
        tokens: its vectors.
        made_from: what determines the vectors; codes made from anything else are replaced.

    Returns:
        None without a native kernel, for an empty corpus, or if the folder cannot be written to now.
    """
    if native.path() is None or len(tokens.vectors) == 0:
        return None
    manifest = {"format": FORMAT, "made_from": dict(made_from), "tokens": len(tokens.vectors), "documents": len(tokens)}
    if not _is_whole(folder / FOLDER, tokens, manifest):
        try:
            with writer_lock(folder):
                _make(folder, tokens, manifest)
        except (InUseError, OSError) as error:  # another process writes, or the disk is read-only or full
            logging.getLogger("chamfer").info("no 8-bit codes for %s, so searches read all vectors: %s", folder, error)
            return None
    return Codes(
        np.memmap(folder / FOLDER / CODES_FILE, np.uint8, "r", shape=(len(tokens.vectors), padded(tokens.dimensions))),
        np.memmap(folder / FOLDER / SCALES_FILE, np.float32, "r", shape=(len(tokens.vectors),)),
        np.fromfile(folder / FOLDER / BOUNDS_FILE, np.float32).reshape(4, len(tokens)),
    )


def _is_whole(folder: Path, tokens: TokenBatch, manifest: Mapping[str, Any]) -> bool:
    count = len(tokens.vectors)
    sizes = {CODES_FILE: count * padded(tokens.dimensions), SCALES_FILE: count * 4, BOUNDS_FILE: len(tokens) * 16}
    try:
        return json.loads((folder / MANIFEST).read_bytes()) == manifest and all(
            (folder / name).stat().st_size == size for name, size in sizes.items()
        )
    except (OSError, ValueError):
        return False


def _make(folder: Path, tokens: TokenBatch, manifest: Mapping[str, Any]) -> None:
    unfinished = folder / f".{FOLDER}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    bounds = []
    with atomic_write(unfinished / CODES_FILE) as codes, atomic_write(unfinished / SCALES_FILE) as scales:
        for part in parts(tokens.offsets, AT_A_TIME):
            made = Codes.of(tokens[part])
            codes.write(made.codes.data)
            scales.write(made.scales.data)
            bounds.append(made.bounds)
    with atomic_write(unfinished / BOUNDS_FILE) as file:
        file.write(np.concatenate(bounds, axis=1).data)
    write_json(unfinished / MANIFEST, manifest)
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    unfinished.rename(folder / FOLDER)
