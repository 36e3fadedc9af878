"""Every implementation of the minima that this machine has, and small problems to try them on."""

import os
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest

from chamfer import TokenBatch
from chamfer.kernels import blas, native, reference
from chamfer.kernels.form import Form
from tests.vectors import batch_of

Floats = npt.NDArray[np.floating]
Backend = Callable[[Floats, TokenBatch, npt.NDArray[np.int64], Form], Floats]
FORMS: tuple[Form, ...] = ("l2", "cosine")


def _reference(query: Floats, documents: TokenBatch, candidates: npt.NDArray[np.int64], form: Form) -> Floats:
    return reference.minima(query, documents.take(candidates), form)


def _native(path: str, query: Floats, documents: TokenBatch, candidates: npt.NDArray[np.int64], form: Form) -> Floats:
    with patch.dict(os.environ, {native.VARIABLE: path}):
        return native.minima(query, documents, candidates, form)


BACKENDS: dict[str, Backend] = {
    "reference": _reference,
    "blas": blas.minima,
    **{path: partial(_native, path) for path in native.paths()},
}

every_backend = pytest.mark.parametrize("backend", BACKENDS)


def vectors_of(generator: np.random.Generator, count: int, dimensions: int, *, unit: bool = True) -> Floats:
    vectors = generator.standard_normal((count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if unit else vectors * 7


def documents_of(
    generator: np.random.Generator, lengths: list[int], dimensions: int, *, unit: bool = True
) -> TokenBatch:
    vectors = vectors_of(generator, sum(lengths), dimensions, unit=unit).astype(np.float16)
    return batch_of(vectors, lengths)
