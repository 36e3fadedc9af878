"""The native kernel against the definition, with every instruction set that this machine has."""

import logging
import os
import pickle
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chamfer import InputError, TokenBatch
from chamfer.kernels import dispatch, limits, native, reference
from chamfer.kernels.codes import Codes
from chamfer.kernels.documents import CodedDocuments, QuantizedDocuments
from chamfer.kernels.form import Form
from tests import wheel
from tests.vectors import OFFSETS, Floats, as_query, batch_of, offsets_for, planted, unit

FORMS: tuple[Form, ...] = ("l2", "cosine")
PATHS = ("avx512", "avx2", "portable")

every_path = pytest.mark.parametrize("path", PATHS)
compiled = pytest.mark.skipif(not native.paths(), reason="chamfer was installed without a C++ compiler")


@contextmanager
def forced(path: str) -> Iterator[None]:
    if path not in native.paths():
        pytest.skip(f"this machine or installation has no {path} instructions")
    with patch.dict("os.environ", {native.VARIABLE: path}):
        yield


def expected_best(
    query: TokenBatch,
    weights: Floats,
    documents: TokenBatch,
    places: npt.NDArray[np.int64],
    k: int,
    form: Form,
    offsets: npt.ArrayLike = 0.0,
) -> tuple[list[int], list[float]]:
    """What the definition gives in 64 bits, told to 32: equal scores in the order of the candidates."""
    found = reference.score(query.vectors, weights, documents.take(places), form, offsets=offsets)
    scores = found.astype(np.float32)
    order = np.argsort(-scores, kind="stable")[:k]
    return places[order].tolist(), scores[order].tolist()


# What vectors look like: how a generator makes some of a given number of dimensions.
Make = Callable[[np.random.Generator, int, int], Floats]


def in_clusters(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    """Few directions and little noise, as tokens of real texts: many that are nearly equally close."""
    centres = unit(generator, 4, dimensions)
    vectors: Floats = centres[generator.integers(4, size=count)]
    vectors += 0.05 * generator.standard_normal((count, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def few_numbers(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    """Whole numbers: many ties, and tokens that are all zero."""
    return generator.integers(-1, 2, size=(count, dimensions)).astype(np.float64)


def of_any_length(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    return unit(generator, count, dimensions) * 10.0 ** generator.uniform(-3, 3, (count, 1))


def huge(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    return generator.uniform(-60000, 60000, (count, dimensions))


def denormal(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    return generator.integers(-3, 4, size=(count, dimensions)) * 2.0**-24


def with_an_outlier(generator: np.random.Generator, count: int, dimensions: int) -> Floats:
    """One dimension that dwarfs the others, which 8 bits then hardly see."""
    vectors = unit(generator, count, dimensions)
    vectors[:, 0] += 20
    return vectors


MAKERS: list[Make] = [unit, in_clusters, few_numbers, of_any_length, huge, denormal, with_an_outlier]

problems: dict[str, st.SearchStrategy[Any]] = {
    "make": st.sampled_from(MAKERS),
    "dimensions": st.one_of(st.integers(1, 40), st.sampled_from([48, 96, 127, 128, 130, 384, 1024])),
    "query_length": st.one_of(st.integers(1, 36), st.sampled_from([64, 257])),
    "lengths": st.lists(st.one_of(st.integers(0, 20), st.sampled_from([0, 1, 7, 8, 9, 300])), min_size=1, max_size=25),
    "form": st.sampled_from(FORMS),
    "kind": st.sampled_from([None, *OFFSETS]),
    "seed": st.integers(0, 2**32 - 1),
}


@compiled
@every_path
@settings(deadline=None, max_examples=200)
@given(**problems, k=st.integers(0, 30))
@example(unit, 128, 32, [10_000, 3], 1, "l2", None, 0)
@example(unit, 64, 1024, [40, 0, 30], 2, "l2", None, 0)
@example(few_numbers, 3, 5, [4] * 25, 5, "cosine", None, 0)
@example(unit, 8, 1, [3, 0, 2], 2, "l2", None, 5)
@example(in_clusters, 64, 40, [20] * 25, 5, "l2", "as the scores", 0)
@example(few_numbers, 3, 5, [4] * 25, 5, "cosine", "some equal", 0)
def test_the_best_are_those_of_the_definition(
    path: str,
    make: Make,
    dimensions: int,
    query_length: int,
    lengths: list[int],
    k: int,
    form: Form,
    kind: str | None,
    seed: int,
) -> None:
    generator = np.random.default_rng(seed)
    documents = batch_of(make(generator, sum(lengths), dimensions).astype(np.float16), lengths)
    query = as_query(make(generator, query_length, dimensions))
    if len(documents.vectors):  # a query token that is a document token, and a document that is there twice
        query.vectors[0] = documents.vectors[generator.integers(len(documents.vectors))]
    weights = generator.uniform(0, 2, query_length).astype(np.float32)
    weights[generator.random(query_length) < 0.2] = 0
    places = generator.integers(len(lengths), size=len(lengths) + 3)
    offsets = None
    if kind is not None:
        scores = reference.score(query.vectors, weights, documents, form)[places]
        offsets = [offsets_for(generator, scores, kind)]
    with forced(path):
        coded = CodedDocuments.of(documents)
        [found] = dispatch.best(query, weights, coded, k=k, candidates=[places], form=form, offsets=offsets)
    expected_places, expected_scores = expected_best(
        query, weights, documents, places, k, form, 0.0 if offsets is None else offsets[0]
    )
    assert found.places.tolist() == expected_places
    assert found.scores.tolist() == expected_scores


@compiled
@every_path
@settings(deadline=None, max_examples=150)
@given(**problems, k=st.integers(0, 30))
@example(unit, 128, 32, [10_000, 3], 1, "l2", None, 0)
@example(few_numbers, 3, 5, [4] * 25, 5, "cosine", None, 0)
@example(in_clusters, 64, 40, [20] * 25, 5, "l2", "as the scores", 0)
def test_codes_alone_never_miss_one_of_the_best(
    path: str,
    make: Make,
    dimensions: int,
    query_length: int,
    lengths: list[int],
    k: int,
    form: Form,
    kind: str | None,
    seed: int,
) -> None:
    generator = np.random.default_rng(seed)
    documents = batch_of(make(generator, sum(lengths), dimensions).astype(np.float16), lengths)
    query = as_query(make(generator, query_length, dimensions))
    weights = generator.uniform(0, 2, query_length).astype(np.float32)
    weights[generator.random(query_length) < 0.2] = 0
    places = generator.integers(len(lengths), size=len(lengths) + 3)
    with forced(path):
        codes = Codes.of(documents).for_decoded_vectors(documents)
        decoded = batch_of(codes.vectors(dimensions), lengths)
        quantized = QuantizedDocuments(codes, documents.offsets, dimensions)
        scores = reference.score(query.vectors, weights, decoded, form)[places]
        own = None if kind is None else offsets_for(generator, scores, kind)
        offsets = None if own is None else [own]
        scores += 0 if own is None else own
        survivors = native.survivors(query.vectors, weights, quantized.handle, places, k, form, own)
        [found] = dispatch.best(query, weights, quantized, k=k, candidates=[places], form=form, offsets=offsets)
    filled = decoded.lengths[places] > 0
    if k and filled.any():  # whoever scores like the last of the best belongs to them
        bar = np.sort(scores[filled])[::-1][: min(k, filled.sum())][-1]
        assert set(np.flatnonzero(filled & (scores >= bar)).tolist()) <= set(survivors.tolist())
    assert survivors.tolist() == sorted(set(survivors.tolist()))
    # The answer itself is scored in 32 bits, as all vectors without codes are.
    with patch.dict("os.environ", {native.VARIABLE: path}):
        plain = CodedDocuments(decoded, None)
        [everything] = dispatch.best(query, weights, plain, k=k, candidates=[places], form=form, offsets=offsets)
    assert len(found.places) == min(k, len(places))
    np.testing.assert_array_equal(np.isinf(found.scores), np.isinf(everything.scores))
    longest = max(np.linalg.norm(batch.vectors.astype(np.float64), axis=1).max(initial=0) for batch in (query, decoded))
    finite = ~np.isinf(found.scores)
    tolerance = 2e-3 * longest if form == "l2" else 1e-5 * longest**2
    np.testing.assert_allclose(found.scores[finite], everything.scores[finite], rtol=1e-4, atol=2 * tolerance)


@compiled
@every_path
def test_codes_alone_leave_few_to_decode(path: str) -> None:
    query, documents = planted(np.random.default_rng(9))
    with forced(path):
        quantized = QuantizedDocuments(Codes.of(documents).for_decoded_vectors(documents), documents.offsets, 64)
        found = native.survivors(query.vectors, np.ones(40, np.float32), quantized.handle, np.arange(300), 5, "l2")
    assert 5 <= len(found) < 60


@pytest.mark.parametrize("form", FORMS)
def test_numpy_makes_the_same_codes_and_finds_the_same_in_them(form: Form) -> None:
    query, documents = planted(np.random.default_rng(10))
    weights = np.linspace(0, 1, 40, dtype=np.float32)

    def best() -> tuple[Codes, list[int]]:
        codes = Codes.of(documents).for_decoded_vectors(documents)
        quantized = QuantizedDocuments(codes, documents.offsets, 64)
        return codes, dispatch.best(query, weights, quantized, k=8, form=form)[0].places.tolist()

    codes, places = best()
    with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):
        again, same = best()
    assert np.abs(codes.codes.astype(int) - again.codes).max() <= 1  # where a number lies between two codes
    assert (codes.codes != again.codes).mean() < 0.001
    np.testing.assert_allclose(codes.scales, again.scales, rtol=1e-6)
    assert places == same


@compiled
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": -1}, "k must not be negative"),
        ({"candidates": np.array([0, 3])}, "places of documents"),
        ({"candidates": np.array([-1])}, "places of documents"),
        ({"weights": np.array([1, -1], np.float32)}, "between 0 and 1e9"),
        ({"weights": np.array([1, np.nan], np.float32)}, "between 0 and 1e9"),
        ({"weights": np.ones(3, np.float32)}, "every query token needs a weight"),
        ({"offsets": np.zeros(2, np.float32)}, "every candidate needs an offset"),
        ({"offsets": np.array([0, 1, np.nan], np.float32)}, "between -1e9 and 1e9"),
        ({"offsets": np.array([0, 1, -2e9], np.float32)}, "between -1e9 and 1e9"),
        ({"query": np.ones((2, 3), np.float32)}, "same number of dimensions"),
        ({"query": np.full((2, 4), np.inf, np.float32)}, "must be finite"),
        ({"query": np.ones((0, 4), np.float32)}, "at least one token"),
    ],
)
def test_what_codes_alone_cannot_tell_is_refused(changes: dict[str, Any], message: str) -> None:
    documents = batch_of(np.eye(4, dtype=np.float16), [1, 2, 1])
    codes = Codes.of(documents).for_decoded_vectors(documents)
    request: dict[str, Any] = {
        "query": np.eye(2, 4, dtype=np.float32),
        "weights": np.ones(2, np.float32),
        "documents": QuantizedDocuments(codes, documents.offsets, 4).handle,
        "candidates": np.arange(3),
        "k": 1,
        "form": "l2",
    }
    native.survivors(**request)
    with pytest.raises(InputError, match=message):
        native.survivors(**request | changes)


@compiled
@every_path
@settings(deadline=None, max_examples=100)
@given(**{name: values for name, values in problems.items() if name != "kind"})
def test_minima_are_those_of_the_definition(
    path: str, make: Make, dimensions: int, query_length: int, lengths: list[int], form: Form, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    documents = batch_of(make(generator, sum(lengths), dimensions).astype(np.float16), lengths)
    query = as_query(make(generator, query_length, dimensions))
    with forced(path):
        found = dispatch.minima(query, documents, form=form)
    expected = reference.minima(query.vectors, documents, form)
    longest = max(
        np.linalg.norm(batch.vectors.astype(np.float64), axis=1).max(initial=0) for batch in (query, documents)
    )
    # A distance is the root of a difference of squares, so 32 bits leave more of an error where tokens nearly coincide.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-3 * longest if form == "l2" else 1e-5 * longest**2)


@compiled
@every_path
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("query_scale", "weight_scale"), [(1, 0), (1e-30, 1), (1e-20, 1), (1e9, 1), (1, 1e-40), (1, 1e9)]
)
def test_numbers_at_the_ends_of_the_range(path: str, form: Form, query_scale: float, weight_scale: float) -> None:
    generator = np.random.default_rng(7)
    lengths = [5, 0, 1, 9, 5]
    documents = batch_of(huge(generator, 20, 16).astype(np.float16), lengths)
    documents.vectors[:6] = 0
    query = as_query(unit(generator, 20, 16) * query_scale)
    query.vectors[:] = np.clip(query.vectors, -1e9, 1e9)
    weights = (generator.uniform(0.1, 1, 20) * weight_scale).astype(np.float32)
    with forced(path):
        [found] = dispatch.best(query, weights, CodedDocuments.of(documents), k=5, form=form)
    places, scores = expected_best(query, weights, documents, np.arange(5), 5, form)
    assert found.places.tolist() == places
    np.testing.assert_allclose(found.scores, scores, rtol=1e-6)


@compiled
@every_path
def test_codes_are_as_near_to_the_vectors_as_they_say(path: str) -> None:
    generator = np.random.default_rng(0)
    for make in MAKERS:
        documents = batch_of(make(generator, 60, 50).astype(np.float16), [20, 0, 40])
        with forced(path):
            codes = Codes.of(documents)
        vectors = documents.vectors.astype(np.float64)
        lost = np.linalg.norm((codes.codes[:, :50] - 128.0) * codes.scales[:, None] - vectors, axis=1)
        norms = np.linalg.norm(vectors, axis=1)
        relative, largest, longest, shortest = codes.bounds
        for document, part in ((0, slice(0, 20)), (2, slice(20, 60))):
            assert lost[part].max() <= largest[document] <= lost[part].max() + 1e-6 * norms.max()
            assert (lost[part] <= relative[document] * codes.scales[part] + 1e-12).all() or not codes.scales[part].any()
            assert shortest[document] <= norms[part].min() <= norms[part].max() <= longest[document]


@compiled
@every_path
@pytest.mark.parametrize("form", FORMS)
def test_weights_make_it_faster(path: str, form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAMFER_THREADS", "1")  # among several it depends on their turns what is known when
    query, documents = planted(np.random.default_rng(0))
    uneven = np.where(np.arange(40) < 16, 1.0, 0.01).astype(np.float32)
    half = np.where(np.arange(40) < 20, 1.0, 0.0).astype(np.float32)
    with forced(path):
        coded = CodedDocuments.of(documents)
        [all_even] = dispatch.best(query, np.ones(40, np.float32), coded, k=5, form=form)
        [dropped] = dispatch.best(query, uneven, coded, k=5, form=form)
        [without] = dispatch.best(query, half, coded, k=300, form=form)
    assert without.saved == 0.5  # tokens without weight are never computed
    assert dropped.saved > 0.3  # once some good ones are known, most documents are out after the heavy tokens
    assert dropped.saved > all_even.saved
    assert dropped.read < 30


@compiled
@pytest.mark.parametrize("form", FORMS)
def test_several_queries_and_threads_give_what_one_gives(form: Form) -> None:
    generator = np.random.default_rng(1)
    documents = CodedDocuments.of(batch_of(unit(generator, 4000, 32).astype(np.float16), [40] * 100))
    queries = batch_of(unit(generator, 30, 32).astype(np.float32), [3, 20, 7])
    weights = generator.uniform(0, 1, 30).astype(np.float32)
    candidates = [generator.permutation(100)[:60], np.arange(100), np.array([], np.int64)]
    together = dispatch.best(queries, weights, documents, k=9, candidates=candidates, form=form)
    for n, found in enumerate(together):
        part = weights[queries.offsets[n] : queries.offsets[n + 1]]
        for cores in (1, 3):
            with patch.object(dispatch, "free_cores", return_value=cores):
                [alone] = dispatch.best(queries[n], part, documents, k=9, candidates=[candidates[n]], form=form)
            np.testing.assert_array_equal(found.places, alone.places)
            np.testing.assert_array_equal(found.scores, alone.scores)


@compiled
def test_a_second_thread_costs_nothing_on_a_busy_machine() -> None:
    query, documents = planted(np.random.default_rng(11))
    coded, weights = CodedDocuments.of(documents), np.ones(40, np.float32)
    times: dict[int, list[float]] = {1: [], 2: []}
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        for _ in range(25):
            for threads, taken in times.items():
                time.sleep(0.005)  # as between two requests
                start = time.perf_counter()
                native.best(query.vectors, weights, coded.handle, np.arange(300), 5, "l2", threads)
                taken.append(time.perf_counter() - start)
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert np.median(times[2]) < 2 * np.median(times[1])  # 30 times, when helpers that had no core were waited for


@pytest.mark.parametrize("form", FORMS)
def test_numpy_gives_the_same_best(form: Form) -> None:
    query, documents = planted(np.random.default_rng(2))
    weights = np.linspace(0, 1, 40, dtype=np.float32)
    coded = CodedDocuments.of(documents)
    with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):
        [found] = dispatch.best(query, weights, coded, k=10, form=form)
    places, scores = expected_best(query, weights, documents, np.arange(300), 10, form)
    assert found.places.tolist() == places
    np.testing.assert_allclose(found.scores, scores, rtol=1e-4)


def test_without_a_compiler_numpy_is_used_and_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    query, documents = planted(np.random.default_rng(3))
    native._warn_that_it_is_missing.cache_clear()
    with patch.object(native, "_native", None), caplog.at_level(logging.WARNING):
        coded = CodedDocuments.of(documents)
        assert coded.codes is None
        for _ in range(2):
            [found] = dispatch.best(query, np.ones(40, np.float32), coded, k=3)
            assert len(found.places) == 3
    [record] = caplog.records
    assert "the native kernel is missing, so chamfer is much slower" in record.message


def test_instructions_that_are_not_there_are_named() -> None:
    with (
        patch.dict("os.environ", {native.VARIABLE: "neon"}),
        pytest.raises(InputError, match=r"CHAMFER_KERNEL is 'neon', but this machine supports .*numpy"),
    ):
        native.path()


@compiled
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": -1}, "k must be 0 or more, not -1"),
        ({"k": 2.5}, "k must be a whole number, not 2.5"),
        ({"documents": as_query(np.eye(2, 4))}, r"CodedDocuments.of\(documents\)"),
        ({"weights": np.array([1, -1], np.float32)}, "finite and not negative"),
        ({"weights": np.array([1, np.nan], np.float32)}, "finite and not negative"),
        ({"weights": np.ones(3, np.float32)}, r"expected 2 weights, one per query token, got shape \(3,\)"),
        ({"candidates": [[0, 3]]}, "places from 0 to 2"),
        ({"candidates": [[0], [1]]}, "got 2 lists of candidates for 1 queries"),
        ({"form": "dot"}, "'l2' or 'cosine'"),
        ({"offsets": []}, "got 0 lists of offsets for 1 queries"),
        ({"offsets": [[0, 0]]}, r"expected 3 offsets, one per candidate, got shape \(2,\)"),
        ({"offsets": [[0, 0, 0]], "candidates": [[1, 2]]}, r"expected 2 offsets, one per candidate, got shape \(3,\)"),
        ({"offsets": [[0, 0, np.nan]]}, "offsets must be finite"),
        ({"offsets": [[0, 1e300, 0]]}, "offsets must be finite"),
        ({"offsets": [[0, 0, -1.1e9]]}, "between -1e\\+09 and 1e\\+09"),
        ({"queries": as_query(np.full((2, 4), 1e20))}, "above 1e\\+09; normalise"),
        ({"weights": np.array([1, 1e12], np.float32)}, "must not be above 1e\\+09"),
        ({"candidates": [[True, False, True]]}, "whole numbers, not bool"),
        ({"candidates": [[[0, 1]]]}, r"whole numbers, not int64 of shape \(1, 2\)"),
        ({"queries": as_query(np.ones((2, 3)))}, "queries have 3 dimensions but documents have 4"),
        ({"queries": batch_of(np.ones((2, 4), np.float32), [2, 0])}, "at least one token"),
    ],
)
def test_what_cannot_be_ranked_is_refused(changes: dict[str, object], message: str) -> None:
    documents = CodedDocuments.of(batch_of(np.eye(4, dtype=np.float16), [1, 2, 1]))
    request = {"queries": as_query(np.eye(2, 4)), "weights": [1, 1], "documents": documents, "k": 1}
    dispatch.best(**request)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        dispatch.best(**request | changes)  # type: ignore[arg-type]


@compiled
@every_path
def test_vectors_of_any_layout_and_width_and_a_copy_give_the_same(path: str) -> None:
    query, documents = planted(np.random.default_rng(8))
    wide = np.asfortranarray(documents.vectors.astype(np.float32))
    with forced(path):
        [expected] = dispatch.best(query, np.ones(40, np.float32), CodedDocuments.of(documents), k=5)
        other = CodedDocuments.of(batch_of(wide, [30] * 300))
        [found] = dispatch.best(query, np.ones(40, np.float32), other, k=5)
        [copied] = dispatch.best(query, np.ones(40, np.float32), pickle.loads(pickle.dumps(other)), k=5)
        minima = dispatch.minima(query, batch_of(np.asfortranarray(documents.vectors), [30] * 300))
        np.testing.assert_array_equal(minima, dispatch.minima(query, documents))
    assert expected.places.tolist() == found.places.tolist() == copied.places.tolist()


@compiled
def test_arrays_that_lie_are_refused_and_never_read() -> None:
    vectors, offsets = np.eye(4, dtype=np.float16).view(np.uint16), np.array([0, 1, 4])
    codes, scales, bounds = np.zeros((4, 4), np.uint8), np.zeros(4, np.float32), np.zeros((4, 2), np.float32)
    kernel = pytest.importorskip("chamfer.kernels._native")
    for lie in ([0, 1, 9], [1, 2, 4], [0, 5, 4], [0, 1], []):
        with pytest.raises(ValueError, match="offsets"):
            kernel.Packed(vectors, np.array(lie, np.int64))
    for wrong in (
        (codes[:3], scales, bounds),
        (codes[:, :3].copy(), scales, bounds),
        (codes, scales[:3], bounds),
        (codes, scales, bounds[:3]),
        (codes, scales, np.zeros((4, 3), np.float32)),
    ):
        with pytest.raises(ValueError, match="codes, scales and bounds must match the vectors"):
            kernel.Coded(vectors, offsets, *wrong)
        with pytest.raises(ValueError, match=r"codes, scales and bounds must match the vectors|offsets"):
            kernel.CodesOnly(4, offsets, *wrong)
    with pytest.raises(ValueError, match="codes, scales and bounds must match the vectors"):
        kernel.CodesOnly(5, offsets, codes, scales, bounds)
    with pytest.raises(ValueError, match="finite and not negative"):
        kernel.CodesOnly(4, offsets, codes, scales, -np.ones((4, 2), np.float32))
    good = kernel.Coded(vectors, offsets, codes, scales, bounds)
    query, ones, none = np.eye(2, 4, dtype=np.float32), np.ones(2, np.float32), np.empty(0, np.float32)
    for candidates in ([2], [-1]):
        with pytest.raises(ValueError, match="places of documents"):
            kernel.rank("portable", good, query, ones, np.array(candidates), none, 1, True, 1)
    with pytest.raises(ValueError, match="finite"):
        kernel.rank("portable", good, query * np.float32(np.nan), ones, np.array([0]), none, 1, True, 1)
    with pytest.raises(InputError, match="finite"):
        Codes.of(TokenBatch.trusted(np.full((1, 4), np.inf, np.float16), np.zeros(1, np.int32), np.array([0, 1])))
    with pytest.raises(InputError, match="16-bit vectors, not from float32"):
        Codes.of(batch_of(np.eye(4, dtype=np.float32), [4]))


@compiled
def test_the_compiler_was_given_the_numbers_that_python_has() -> None:
    query = as_query(np.eye(1, 4))
    documents = CodedDocuments.of(batch_of(np.eye(4, dtype=np.float16), [1, 2, 1]))
    for weight, fits in ((limits.LARGEST, True), (1.01 * limits.LARGEST, False)):
        weights = np.array([weight], np.float32)
        with nullcontext() if fits else pytest.raises(InputError, match="between 0 and 1e9"):
            native.best(query.vectors, weights, documents.handle, np.arange(3), 1, "l2", 1)
    # CMakeLists.txt finds lines of this form only.
    found = re.findall("^([A-Z_]+) = [0-9.e-]+$", Path(limits.__file__).read_text(), re.MULTILINE)
    assert found == [name for name in vars(limits) if name.isupper()]


@compiled
def test_what_every_wheel_is_tested_with_passes_here() -> None:
    wheel.main()
