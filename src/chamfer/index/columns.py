"""The arrays of a segment. A column's name is its file name; the ending says how numbers are stored."""

from typing import Literal, NamedTuple

import numpy as np

TOKEN_IDS_FILE, LENGTHS_FILE, CENTROIDS_FILE = "token_ids.i32", "lengths.i32", "centroids.u16"
DISTINCT_FILE, DISTINCT_LENGTHS_FILE = "distinct.i32", "distinct_lengths.i32"
CODES_FILE, SCALES_FILE, BOUNDS_FILE = "codes.u8", "scales.f32", "bounds.f32"
VECTORS_FILE, RESIDUALS_FILE = "vectors.f16", "residuals.u8"

KINDS = {"i32": np.int32, "u16": np.uint16, "f16": np.float16, "u8": np.uint8, "f32": np.float32}
"""Number type by file ending."""


class Column(NamedTuple):
    """The shape of an array: what it has a row for, and how many numbers are in a row."""

    per: Literal["document", "token", "distinct"]
    width: int = 1
