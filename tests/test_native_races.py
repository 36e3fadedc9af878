"""Arrays that another thread changes, shrinks or forgets while the native kernel reads them."""

import gc
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import InputError
from chamfer.kernels import blas, dispatch, native
from chamfer.kernels.codes import Codes
from chamfer.kernels.documents import CodedDocuments
from chamfer.kernels.form import Form
from tests.vectors import as_query, batch_of, planted, unit

compiled = pytest.mark.skipif(not native.paths(), reason="chamfer was installed without a C++ compiler")


@compiled
def test_a_thread_that_changes_arrays_meanwhile_causes_an_error_at_worst() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.kernel_races"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr  # the last name is that of the race which was lost


@compiled
def test_documents_keep_their_arrays_alive_and_in_place() -> None:
    query, documents = planted(np.random.default_rng(5))
    memory = bytearray(documents.vectors.tobytes())
    vectors = np.frombuffer(memory, np.float16).reshape(documents.vectors.shape)
    codes = Codes.of(documents)
    scales = codes.scales.copy()
    coded = native.coded(batch_of(vectors, [30] * 300), codes.codes, scales, codes.bounds)
    arguments = query.vectors, np.ones(40, np.float32), coded, np.arange(300), 5, "l2", 2
    before = native.best(*arguments)[0].tolist()  # type: ignore[arg-type]
    with pytest.raises(BufferError):
        memory.clear()
    with pytest.raises(ValueError, match="cannot resize"):
        scales.resize(1)
    del vectors, scales, codes, documents, memory
    gc.collect()
    assert native.best(*arguments)[0].tolist() == before  # type: ignore[arg-type]


@compiled
@pytest.mark.parametrize("form", ["l2", "cosine"])
@pytest.mark.parametrize("damaged", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_a_number_is_an_error_and_never_sorted(form: Form, damaged: float) -> None:
    generator = np.random.default_rng(6)
    documents = batch_of(unit(generator, 400, 16).astype(np.float16), [2] * 200)
    query, weights = as_query(unit(generator, 3, 16)), np.ones(3, np.float32)
    codes = Codes.of(documents)
    documents.vectors[:200] = damaged
    for given in (CodedDocuments(documents, codes), CodedDocuments(documents, None)):
        with pytest.raises(InputError, match="not a number; its vectors are damaged"):
            dispatch.best(query, weights, given, k=200, form=form)
    for kernel in (native.NUMPY, *native.paths()):
        with (
            patch.dict("os.environ", {native.VARIABLE: kernel}),
            pytest.raises(InputError, match="not a number; its vectors are damaged"),
        ):
            dispatch.minima(query, documents, form=form)


@compiled
def test_arrays_of_another_type_or_layout_are_refused_in_our_words() -> None:
    vectors = np.eye(4, dtype=np.float16)
    wrong: list[Any] = [np.ones(4), np.ones((4, 1), np.float32), np.ones(8, np.float32)[::2]]
    for scales in wrong:
        with pytest.raises(InputError, match="wrong type, number of dimensions or memory layout"):
            native.coded(batch_of(vectors, [4]), np.zeros((4, 4), np.uint8), scales, np.zeros((4, 1), np.float32))


def test_offsets_that_another_thread_changed_are_refused_by_blas() -> None:
    documents = batch_of(np.eye(4, dtype=np.float32), [2, 2])
    for lie in ([0, 9, 4], [0, -1, 4], [0, 5, 4]):
        documents.offsets[:] = lie
        with pytest.raises(InputError, match="offsets must be in ascending order"):
            blas.minima(np.eye(1, 4, dtype=np.float32), documents, np.arange(2))
