"""The native kernel: the score with the vector instructions of the CPU, compiled from ``native/``.

The instruction set is chosen at run time. The environment variable ``CHAMFER_KERNEL`` forces ``avx512``, ``avx2``,
``portable``, or ``numpy``, which does without the native kernel.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import numpy.typing as npt

from chamfer.errors import DamagedError, InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.support.threads import free_cores
from chamfer.tokens.batch import TokenBatch, Vectors

_why = "chamfer was installed without a C++ compiler; install it again with one"
try:
    import chamfer.kernels._native as _native
except ModuleNotFoundError:
    _native = None  # type: ignore[assignment]
except ImportError as error:
    _native, _why = None, str(error)  # type: ignore[assignment]

VARIABLE = "CHAMFER_KERNEL"
NUMPY = "numpy"


def paths() -> list[str]:
    """The instruction sets that this machine and this installation support, fastest first."""
    return [] if _native is None else _native.paths()


def path() -> str | None:
    """The instruction set to use, or None for NumPy."""
    asked = os.environ.get(VARIABLE, "").lower()
    if asked == NUMPY:
        return None
    found = paths()
    if asked:
        if asked not in found:
            raise InputError(f"{VARIABLE} is {asked!r}, but this machine supports {', '.join([*found, NUMPY])}")
        return asked
    if not found:
        _warn_that_it_is_missing()
        return None
    return found[0]


@cache
def _warn_that_it_is_missing() -> None:
    logging.getLogger("chamfer").warning("the native kernel is missing, so chamfer is much slower: %s", _why)


def minima(
    query: Vectors, documents: TokenBatch, candidates: npt.NDArray[np.int64], form: Form = DEFAULT_FORM
) -> npt.NDArray[np.float32]:
    """Compute :func:`chamfer.kernels.reference.minima` for candidates among 16-bit documents, in their order."""
    with _input_errors():
        packed = _native.Packed(*_arrays(documents))
        return _native.minima(_path(), packed, _in_32_bits(query), candidates, form == "l2", free_cores())


def dots(rows: npt.NDArray[np.float16], query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """``(rows,)`` the product of each 16-bit vector and one query vector."""
    with _input_errors():
        return _native.dots(_path(), np.ascontiguousarray(rows).view(np.uint16), _in_32_bits(query), free_cores())


def best(
    query: Vectors,
    weights: npt.NDArray[np.float32],
    documents: "_native.Coded",
    candidates: npt.NDArray[np.int64],
    k: int,
    form: Form,
    threads: int,
    offsets: npt.NDArray[np.float32] | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], int, int, int]:
    """Find the top k of some candidates, whose offsets are added to their scores.

    Returns:
        Their positions among the candidates, their scores, the number of documents whose vectors were read, the number
        of token products that screening computed, and the number without screening.
    """
    with _input_errors():
        numbers = _in_32_bits(query), _in_32_bits(weights), candidates, _or_empty(offsets)
        return _native.rank(_path(), documents, *numbers, k, form == "l2", threads)


def survivors(
    query: Vectors,
    weights: npt.NDArray[np.float32],
    documents: "_native.CodesOnly | _native.ResidualsOnly",
    candidates: npt.NDArray[np.int64],
    k: int,
    form: Form,
    offsets: npt.NDArray[np.float32] | None = None,
) -> npt.NDArray[np.int64]:
    """Positions of the candidates that can be in the top k, by their codes or residuals and offsets alone."""
    with _input_errors():
        numbers = _in_32_bits(query), _in_32_bits(weights), candidates, _or_empty(offsets)
        return _native.survivors(_path(), documents, *numbers, k, form == "l2", free_cores())


def choose(
    products: npt.NDArray[np.float32],
    many: npt.NDArray[np.int64],
    same: npt.NDArray[np.int64],
    bar: float,
    weights: npt.NDArray[np.float32],
    form: Form,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Choose lists to probe for each query token, as :class:`chamfer.retrieve.centroids.Centroids` does.

    Args:
        products: ``(query tokens, lists)`` of each token and the centroid of each list.
        many: ``(query tokens,)`` number of lists to probe, those with the largest products.
        same: ``(query tokens,)`` one more list, which is probed as if its product were ``bar``, or -1; left out if all
            chosen products, and the next one, are at least ``bar``.
        bar: product of the lists in ``same``.
        weights: ``(query tokens,)``
        form: what a product adds to a score.

    Returns:
        Where the lists of each token end; the lists, closest first; and the gain of each: its weighted value less that
        of the first list that is not probed.
    """
    with _input_errors():
        return _native.choose(np.ascontiguousarray(products), many, same, bar, _in_32_bits(weights), form == "l2")


def probe(
    starts: npt.NDArray[np.int64],
    places: npt.NDArray[np.uint32],
    documents: int,
    *,
    ends: npt.NDArray[np.int64],
    lists: npt.NDArray[np.int64],
    gains: npt.NDArray[np.float32],
    allowed: npt.NDArray[np.bool_] | None,
    depth: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Compute :meth:`chamfer.kernels.inverted_lists.InvertedLists.probe`."""
    mask = np.empty(0, np.uint8) if allowed is None else np.ascontiguousarray(allowed).view(np.uint8)
    with _input_errors():
        return _native.probe(starts, places, documents, ends, lists, gains, mask, depth)


def decode_residuals(
    packed: npt.NDArray[np.uint8],
    levels: npt.NDArray[np.float32],
    spread: npt.NDArray[np.float32],
    centroids: npt.NDArray[np.float32],
    chosen: npt.NDArray[np.uint16],
    rows: npt.NDArray[np.int64],
) -> npt.NDArray[np.float16]:
    """Compute :meth:`chamfer.kernels.residuals.Residuals.decode` for some rows."""
    bits = len(levels).bit_length() - 1
    with _input_errors():
        made = _native.decode_residuals(_path(), packed, bits, levels, spread, centroids, chosen, rows, free_cores())
    return made.view(np.float16)


def measure_residuals(
    packed: npt.NDArray[np.uint8],
    levels: npt.NDArray[np.float32],
    spread: npt.NDArray[np.float32],
    centroids: npt.NDArray[np.float32],
    chosen: npt.NDArray[np.uint16],
    offsets: npt.NDArray[np.int64],
    factors: npt.NDArray[np.float16],
    bounds: npt.NDArray[np.float32],
) -> None:
    """Compute :class:`chamfer.kernels.residuals.Measured`, into the given arrays."""
    bits, places = len(levels).bit_length() - 1, np.ascontiguousarray(offsets)
    trained = bits, levels, spread, centroids
    with _input_errors():
        _native.measure_residuals(
            _path(), packed, *trained, chosen, places, factors.view(np.uint16), bounds, free_cores()
        )


def decode_codes(
    codes: npt.NDArray[np.uint8], scales: npt.NDArray[np.float32], dimensions: int, rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.float16]:
    """Compute :meth:`chamfer.kernels.codes.Codes.vectors` for some rows."""
    with _input_errors():
        return _native.decode_codes(_path(), codes, scales, dimensions, rows, free_cores()).view(np.float16)


def quantize(
    documents: TokenBatch,
    codes: npt.NDArray[np.uint8],
    scales: npt.NDArray[np.float32],
    bounds: npt.NDArray[np.float32],
) -> None:
    """Compute the codes of 16-bit documents, into the given arrays."""
    with _input_errors():
        _native.quantize(_path(), *_arrays(documents), codes, scales, bounds, free_cores())


def coded(
    documents: TokenBatch,
    codes: npt.NDArray[np.uint8],
    scales: npt.NDArray[np.float32],
    bounds: npt.NDArray[np.float32],
) -> "_native.Coded":
    """Documents and their codes as the native kernel takes them."""
    with _input_errors():
        return _native.Coded(*_arrays(documents), codes, scales, bounds)


def codes_only(
    dimensions: int,
    offsets: npt.NDArray[np.int64],
    codes: npt.NDArray[np.uint8],
    scales: npt.NDArray[np.float32],
    bounds: npt.NDArray[np.float32],
) -> "_native.CodesOnly":
    """Codes without vectors as the native kernel takes them."""
    with _input_errors():
        return _native.CodesOnly(dimensions, np.ascontiguousarray(offsets), codes, scales, bounds)


def residuals_only(
    offsets: npt.NDArray[np.int64],
    packed: npt.NDArray[np.uint8],
    levels: npt.NDArray[np.float32],
    spread: npt.NDArray[np.float32],
    centroids: npt.NDArray[np.float32],
    chosen: npt.NDArray[np.uint16],
    factors: npt.NDArray[np.float16],
    bounds: npt.NDArray[np.float32],
) -> "_native.ResidualsOnly":
    """Residuals, and what was measured of them, as the native kernel takes them."""
    trained = len(levels).bit_length() - 1, levels, spread, centroids
    with _input_errors():
        return _native.ResidualsOnly(
            np.ascontiguousarray(offsets), packed, *trained, chosen, factors.view(np.uint16), bounds
        )


@contextmanager
def _input_errors() -> Iterator[None]:
    """Turn the errors of the native kernel, which validates its arguments and scores, into ours."""
    try:
        yield
    except RuntimeError as error:
        raise DamagedError(str(error)) from error
    except ValueError as error:
        raise InputError(str(error)) from error
    except TypeError as error:  # from nanobind, whose message lists every argument
        raise InputError(
            "an array has the wrong type, number of dimensions or memory layout for the native kernel"
        ) from error


def _path() -> str:
    chosen = path()
    if chosen is None:
        raise InputError(f"the native kernel is required but missing or disabled by {VARIABLE}={NUMPY}")
    return chosen


def _arrays(documents: TokenBatch) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64]]:
    return np.ascontiguousarray(documents.vectors).view(np.uint16), np.ascontiguousarray(documents.offsets)


def _or_empty(offsets: npt.NDArray[np.float32] | None) -> npt.NDArray[np.float32]:
    return np.empty(0, np.float32) if offsets is None else _in_32_bits(offsets)


def _in_32_bits(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)
