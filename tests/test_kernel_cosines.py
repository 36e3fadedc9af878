"""Cosines of mean vectors: the same on every path, and for every number of rows."""

import numpy as np
import numpy.typing as npt
import pytest

from chamfer import InputError
from chamfer.errors import DamagedError
from chamfer.kernels import native
from chamfer.kernels.cosines import cosines

PATHS = [*native.paths(), native.NUMPY]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(native.VARIABLE, request.param)
    return str(request.param)


def unit(rows: int, dimensions: int) -> npt.NDArray[np.float16]:
    values = np.random.default_rng(rows).normal(size=(rows, dimensions))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return values.astype(np.float16)


@pytest.mark.parametrize("dimensions", [1, 7, 16, 33, 128, 384])
@pytest.mark.parametrize("rows", [0, 1, 8, 9, 2500])
def test_they_are_products(path: str, rows: int, dimensions: int) -> None:
    means, query = unit(rows, dimensions), unit(1, dimensions)[0].astype(np.float32)
    found = cosines(means, query)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, means.astype(np.float64) @ query, atol=1e-6)
    alone = [cosines(means[place : place + 1], query)[0] for place in range(0, rows, 100)]
    np.testing.assert_array_equal(found[::100], alone)


@pytest.mark.skipif(not native.paths(), reason="there is no native kernel")
def test_what_cannot_be_multiplied_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.VARIABLE, native.paths()[0])
    with pytest.raises(InputError, match="the same number of dimensions"):
        cosines(unit(3, 8), np.ones(9, np.float32))
    means = unit(3, 8)
    means[1, 2] = np.inf
    with pytest.raises(DamagedError, match="not a number"):
        cosines(means, np.ones(8, np.float32))
