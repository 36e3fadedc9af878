"""Offsets, which are added to the scores of candidates, on every kernel and for documents stored in every way."""

import os
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import TokenBatch
from chamfer.kernels import dispatch, native, reference
from chamfer.kernels.best import Best
from chamfer.kernels.codes import Codes
from chamfer.kernels.documents import CodedDocuments, Documents, QuantizedDocuments
from chamfer.kernels.form import Form
from tests.backends import FORMS, documents_of, vectors_of
from tests.vectors import OFFSETS, as_query, batch_of, offsets_for


def quantized(documents: TokenBatch) -> QuantizedDocuments:
    codes = Codes.of(documents).for_decoded_vectors(documents)
    return QuantizedDocuments(codes, documents.offsets, documents.dimensions)


STORED: dict[str, Callable[[TokenBatch], Documents]] = {
    "16 bits and codes": CodedDocuments.of,
    "16 bits": partial(CodedDocuments, codes=None),
    "8 bits": quantized,
}

every_kernel = pytest.mark.parametrize("kernel", [*native.paths(), native.NUMPY])
every_way = pytest.mark.parametrize("stored", STORED)
quick = settings(deadline=None, max_examples=10)
seeds = st.integers(0, 2**32 - 1)


class Problem:
    """Some documents, few or many, one query of many tokens, and what the definition gives."""

    def __init__(self, kernel: str, stored: str, form: Form, seed: int, lengths: list[int] | None = None) -> None:
        self.generator = np.random.default_rng(seed)
        self.lengths = lengths or self.generator.integers(0, 12, size=self.generator.choice([3, 20, 150])).tolist()
        vectors = documents_of(self.generator, self.lengths, 24)
        self.query = as_query(vectors_of(self.generator, int(self.generator.integers(1, 40)), 24))
        self.weights = self.generator.uniform(0, 2, len(self.query.vectors)).astype(np.float32)
        self.kernel, self.form = kernel, form
        with patch.dict(os.environ, {native.VARIABLE: kernel}):
            self.documents = STORED[stored](vectors)
        taken = self.documents.take(np.arange(len(self.lengths)))
        self.scores = reference.score(self.query.vectors, self.weights, taken, form)

    def best(
        self, k: int, offsets: npt.ArrayLike | None = None, candidates: npt.NDArray[np.int64] | None = None
    ) -> Best:
        with patch.dict(os.environ, {native.VARIABLE: self.kernel}):
            [found] = dispatch.best(
                self.query,
                self.weights,
                self.documents,
                k=k,
                candidates=None if candidates is None else [candidates],
                form=self.form,
                offsets=None if offsets is None else [offsets],
            )
        return found


@every_kernel
@every_way
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", OFFSETS)
@quick
@given(seed=seeds, k=st.sampled_from([1, 3, 10, 200]), some=st.booleans())
def test_the_top_k_is_that_of_the_definition(
    kernel: str, stored: str, form: Form, kind: str, seed: int, k: int, *, some: bool
) -> None:
    problem = Problem(kernel, stored, form, seed)
    places = problem.generator.integers(len(problem.lengths), size=len(problem.lengths) // 2 + 1) if some else None
    scores = problem.scores if places is None else problem.scores[places]
    offsets = offsets_for(problem.generator, scores, kind)
    found = problem.best(k, offsets, places)
    right = (scores + offsets).astype(np.float32)
    order = np.argsort(-right, kind="stable")[:k]
    exact = kernel != native.NUMPY and stored == "16 bits and codes"
    if exact:
        assert found.places.tolist() == (order if places is None else places[order]).tolist()
        assert found.scores.tolist() == right[order].tolist()
        return
    # In 32 bits, documents may swap whose scores are equal up to rounding; their scores are still the top k.
    np.testing.assert_allclose(found.scores, right[order], rtol=1e-6, atol=2e-3 if form == "l2" else 1e-5)
    by_place = dict(zip(range(len(scores)) if places is None else places.tolist(), scores, strict=True))
    np.testing.assert_array_equal(np.isneginf(found.scores), [np.isneginf(by_place[n]) for n in found.places.tolist()])


@every_kernel
@every_way
@pytest.mark.parametrize("form", FORMS)
@quick
@given(seed=seeds, k=st.sampled_from([1, 10, 200]))
def test_offsets_of_0_are_no_offsets(kernel: str, stored: str, form: Form, seed: int, k: int) -> None:
    problem = Problem(kernel, stored, form, seed)
    found, right = problem.best(k, np.zeros(len(problem.lengths))), problem.best(k)
    np.testing.assert_array_equal(found.places, right.places)
    np.testing.assert_array_equal(found.scores, right.scores)


@every_kernel
@every_way
@quick
@given(seed=seeds, shift=st.sampled_from([-1, 0.5, 8]))
def test_a_constant_shifts_scores_and_changes_no_ranking(kernel: str, stored: str, seed: int, shift: float) -> None:
    problem = Problem(kernel, stored, "l2", seed, lengths=[5] * 40)
    found, right = problem.best(10, np.full(40, shift)), problem.best(10)
    np.testing.assert_allclose(found.scores, right.scores + np.float32(shift), atol=1e-6)
    gaps = -np.diff(np.sort(problem.scores)[::-1][:11])
    if gaps.min() > 1e-4:  # no two are equal up to rounding
        np.testing.assert_array_equal(found.places, right.places)


@every_kernel
@every_way
@pytest.mark.parametrize("offset", [1.0, 1e9])
def test_a_document_without_tokens_never_wins_with_any_offset(kernel: str, stored: str, offset: float) -> None:
    problem = Problem(kernel, stored, "l2", 0, lengths=[0, 3, 0, 2])
    found = problem.best(4, [offset, -1e9, offset, -1e9])
    assert sorted(found.places[:2].tolist()) == [1, 3]
    assert found.places[2:].tolist() == [0, 2]
    assert np.isneginf(found.scores).tolist() == [False, False, True, True]


@every_kernel
@every_way
def test_equal_scores_keep_the_order_of_the_candidates(kernel: str, stored: str) -> None:
    one = vectors_of(np.random.default_rng(0), 4, 24).astype(np.float16)
    with patch.dict(os.environ, {native.VARIABLE: kernel}):
        documents = STORED[stored](batch_of(np.concatenate([one] * 30), [4] * 30))
        offsets = np.tile(np.array([0, 0.5, 0.25], np.float32), 10)
        places = np.arange(30)[::-1].copy()
        [found] = dispatch.best(
            as_query(one), np.ones(4), documents, k=13, candidates=[places], offsets=[offsets[places]]
        )
    assert found.places.tolist() == [*range(28, 0, -3), 29, 26, 23]


@every_kernel
@every_way
def test_every_query_has_its_own_offsets(kernel: str, stored: str) -> None:
    generator = np.random.default_rng(1)
    vectors = documents_of(generator, [4] * 50, 24)
    queries = batch_of(vectors_of(generator, 9, 24), [3, 2, 4])
    weights = generator.uniform(0, 1, 9).astype(np.float32)
    offsets = [generator.standard_normal(50).astype(np.float32) for _ in range(3)]
    candidates = [generator.permutation(50)[:30], np.arange(50), np.empty(0, np.int64)]
    with patch.dict(os.environ, {native.VARIABLE: kernel}):
        documents = STORED[stored](vectors)
        for chosen in (None, candidates):
            own = offsets if chosen is None else [one[places] for one, places in zip(offsets, chosen, strict=True)]
            together = dispatch.best(queries, weights, documents, k=5, candidates=chosen, offsets=own)
            for n, found in enumerate(together):
                mine = weights[queries.offsets[n] : queries.offsets[n + 1]]
                only = None if chosen is None else [chosen[n]]
                [alone] = dispatch.best(queries[n], mine, documents, k=5, candidates=only, offsets=[own[n]])
                np.testing.assert_array_equal(found.places, alone.places)
                np.testing.assert_array_equal(found.scores, alone.scores)


@pytest.mark.skipif(not native.paths(), reason="chamfer was installed without a C++ compiler")
@pytest.mark.parametrize("form", FORMS)
def test_low_offsets_rule_documents_out_before_their_codes_are_read(
    form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAMFER_THREADS", "1")  # among several it depends on their turns what is known when
    problem = Problem(native.paths()[0], "16 bits and codes", form, 0, lengths=[5] * 400)
    offsets = np.full(400, -8.0)
    offsets[:20] = 0
    found = problem.best(10, offsets)
    assert found.saved > 0.9
    assert found.read <= 20


@pytest.mark.parametrize("weight", [1e-40, 1.0, 1e9])
@pytest.mark.parametrize("size", [1e-36, 1e-20, 1.0, 1e9])
@every_kernel
def test_offsets_of_any_size_beside_weights_of_any_size(kernel: str, weight: float, size: float) -> None:
    problem = Problem(kernel, "16 bits and codes", "l2", 2, lengths=[3] * 60)
    problem.weights[:] = weight
    offsets = (size * problem.generator.uniform(0, 1, 60)).astype(np.float32)
    found = problem.best(7, offsets)
    taken = problem.documents.take(np.arange(60))
    right = reference.score(problem.query.vectors, problem.weights, taken, offsets=offsets).astype(np.float32)
    order = np.argsort(-right, kind="stable")[:7]
    np.testing.assert_allclose(found.scores, right[order], rtol=1e-4)
    if kernel != native.NUMPY:
        assert found.scores.tolist() == right[order].tolist()
