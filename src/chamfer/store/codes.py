"""The 8-bit codes of a corpus, made once and kept beside its vectors."""

import logging
import os
import shutil
from pathlib import Path

import numpy as np

from chamfer.errors import InputError
from chamfer.files import only_writer
from chamfer.kernels import Codes, native
from chamfer.kernels.codes import padded
from chamfer.tokens import TokenBatch

FOLDER = "codes"
CODES, SCALES, BOUNDS = "codes.u8", "scales.f32", "bounds.f32"

# Documents that are rounded at a time: some hundred megabytes of vectors.
AT_A_TIME = 1024


def open_codes(folder: Path, tokens: TokenBatch) -> Codes | None:
    """Open the codes of a finished corpus, memory-mapped, and make them first if they are not there.

    Returns:
        None where they cannot be had: no native kernel, an empty corpus, or a folder that cannot be written.
    """
    if native.path() is None or len(tokens.vectors) == 0:
        return None
    if not (folder / FOLDER).exists():
        try:
            with only_writer(folder):
                _make(folder, tokens)
        except (InputError, OSError) as error:  # another process makes them just now, or the disk is read-only or full
            logging.getLogger("chamfer").info("no codes for %s, so all vectors are read: %s", folder, error)
            return None
    return _map(folder / FOLDER, tokens)


def _make(folder: Path, tokens: TokenBatch) -> None:
    if (folder / FOLDER).exists():  # made while we waited for the lock
        return
    unfinished = folder / f".{FOLDER}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    bounds = []
    with (unfinished / CODES).open("wb") as codes, (unfinished / SCALES).open("wb") as scales:
        for start in range(0, len(tokens), AT_A_TIME):
            made = Codes.of(tokens[start : start + AT_A_TIME])
            codes.write(made.codes.tobytes())
            scales.write(made.scales.tobytes())
            bounds.append(made.bounds)
        for file in (codes, scales):
            file.flush()
            os.fsync(file.fileno())
    with (unfinished / BOUNDS).open("wb") as file:
        file.write(np.concatenate(bounds, axis=1).tobytes())
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / FOLDER)


def _map(folder: Path, tokens: TokenBatch) -> Codes:
    count, dimensions = len(tokens.vectors), padded(tokens.dimensions)
    for name, size in {CODES: count * dimensions, SCALES: count * 4, BOUNDS: len(tokens) * 16}.items():
        if not (folder / name).exists() or (folder / name).stat().st_size != size:
            raise InputError(f"{folder / name} should hold {size} bytes; delete {folder}, and it is made again")
    return Codes(
        np.memmap(folder / CODES, np.uint8, "r", shape=(count, dimensions)),
        np.memmap(folder / SCALES, np.float32, "r", shape=(count,)),
        np.fromfile(folder / BOUNDS, np.float32).reshape(4, len(tokens)),
    )
