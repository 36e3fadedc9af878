from typing import final

import numpy as np
import numpy.typing as npt

Halves = npt.NDArray[np.uint16]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

class Packed:
    def __init__(self, vectors: Halves, offsets: Places, /) -> None: ...

@final
class Coded(Packed):
    def __init__(self, vectors: Halves, offsets: Places, codes: Bytes, scales: Floats, bounds: Floats, /) -> None: ...

@final
class CodesOnly:
    def __init__(self, dimensions: int, offsets: Places, codes: Bytes, scales: Floats, bounds: Floats, /) -> None: ...

@final
class ResidualsOnly:
    def __init__(
        self,
        offsets: Places,
        packed: Bytes,
        bits: int,
        levels: Floats,
        spread: Floats,
        centroids: Floats,
        chosen: npt.NDArray[np.uint16],
        factors: Halves,
        bounds: Floats,
        /,
    ) -> None: ...

def measure_residuals(
    path: str,
    packed: Bytes,
    bits: int,
    levels: Floats,
    spread: Floats,
    centroids: Floats,
    chosen: npt.NDArray[np.uint16],
    offsets: Places,
    factors: Halves,
    bounds: Floats,
    threads: int,
    /,
) -> None: ...
def decode_residuals(
    path: str,
    packed: Bytes,
    bits: int,
    levels: Floats,
    spread: Floats,
    centroids: Floats,
    chosen: npt.NDArray[np.uint16],
    rows: Places,
    threads: int,
    /,
) -> Halves: ...
def decode_codes(path: str, codes: Bytes, scales: Floats, dimensions: int, rows: Places, threads: int, /) -> Halves: ...
def survivors(
    path: str,
    documents: CodesOnly | ResidualsOnly,
    query: Floats,
    weights: Floats,
    candidates: Places,
    offsets: Floats,
    k: int,
    l2: bool,
    threads: int,
    /,
) -> Places: ...
def choose(
    products: Floats, many: Places, same: Places, bar: float, weights: Floats, l2: bool, /
) -> tuple[Places, Places, Floats]: ...
def probe(
    starts: Places,
    places: npt.NDArray[np.uint32],
    documents: int,
    ends: Places,
    lists: Places,
    gains: Floats,
    allowed: Bytes,
    depth: int,
    /,
) -> tuple[Places, Floats]: ...
def paths() -> list[str]: ...
def quantize(
    path: str,
    vectors: Halves,
    offsets: Places,
    codes: Bytes,
    scales: Floats,
    bounds: Floats,
    threads: int,
    /,
) -> None: ...
def rank(
    path: str,
    documents: Coded,
    query: Floats,
    weights: Floats,
    candidates: Places,
    offsets: Floats,
    k: int,
    l2: bool,
    threads: int,
    /,
) -> tuple[Places, Floats, int, int, int]: ...
def minima(path: str, documents: Packed, query: Floats, candidates: Places, l2: bool, threads: int, /) -> Floats: ...
def dots(path: str, rows: Halves, query: Floats, threads: int, /) -> Floats: ...
