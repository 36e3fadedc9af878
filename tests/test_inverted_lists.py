"""Inverted lists, and the candidates found by probing them."""

from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chamfer import InputError
from chamfer.kernels import native
from chamfer.kernels.inverted_lists import InvertedLists
from chamfer.tokens.batch import offsets_of

compiled = pytest.mark.skipif(not native.paths(), reason="chamfer was installed without a C++ compiler")


def random_lists(generator: np.random.Generator, documents: int, count: int, tokens: int) -> InvertedLists:
    document = np.sort(generator.integers(documents, size=tokens)) if documents else np.empty(0, np.int64)
    offsets = offsets_of(np.bincount(document, minlength=documents))
    return InvertedLists.of(generator.integers(count, size=len(document)), offsets, count)


def random_probes(
    generator: np.random.Generator, count: int, tokens: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Some lists for each query token; whole gains make many equal sums."""
    many = generator.integers(0, min(count, 6) + 1, tokens)
    chosen = [generator.choice(count, size, replace=False) for size in many]
    gains = generator.integers(0, 4, many.sum()).astype(np.float32)
    return np.cumsum(many), np.concatenate([*chosen, np.empty(0, np.int64)]), gains


def by_hand(
    lists: InvertedLists,
    probes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float32]],
    depth: int,
    allowed: npt.NDArray[np.bool_] | None,
) -> list[tuple[int, float]]:
    """What the docstring says, one document at a time."""
    ends, chosen, gains = probes
    members = [set(lists.places[lists.starts[n] : lists.starts[n + 1]].tolist()) for n in range(len(lists.starts) - 1)]
    gained = {}
    for document in range(lists.documents):
        first = [
            next((n for n in range(start, stop) if document in members[chosen[n]]), None)
            for start, stop in zip([0, *ends], ends, strict=False)
        ]
        inside = [n for n in first if n is not None]
        if inside and (allowed is None or allowed[document]):
            gained[document] = float(sum(gains[n] for n in inside))
    return sorted(gained.items(), key=lambda pair: (-pair[1], pair[0]))[:depth]


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.integers(0, 30),
    count=st.integers(1, 12),
    tokens=st.integers(0, 120),
    query=st.integers(0, 6),
    depth=st.integers(0, 40),
    filtered=st.booleans(),
)
@example(0, 5, 3, 20, 0, 4, False)
@example(0, 0, 3, 0, 2, 4, True)
def test_a_document_gains_by_the_first_list_it_is_in_natively_and_in_numpy(
    seed: int, documents: int, count: int, tokens: int, query: int, depth: int, filtered: bool
) -> None:
    generator = np.random.default_rng(seed)
    lists = random_lists(generator, documents, count, tokens)
    probes = random_probes(generator, count, query)
    allowed = generator.random(documents) < 0.5 if filtered else None
    expected = by_hand(lists, probes, depth, allowed)
    for kernel in (native.NUMPY, *native.paths()[:1]):
        with patch.dict("os.environ", {native.VARIABLE: kernel}):
            places, gained = lists.probe(*probes, depth=depth, allowed=allowed)
        assert list(zip(places.tolist(), gained.tolist(), strict=True)) == expected
        assert places.dtype == np.int64
        assert gained.dtype == np.float32


@compiled
def test_sums_of_any_gains_are_those_of_numpy() -> None:
    generator = np.random.default_rng(4)
    lists = random_lists(generator, 2000, 64, 20_000)
    ends, chosen, _ = random_probes(generator, 64, 30)
    gains = generator.random(len(chosen)).astype(np.float32)
    fast = lists.probe(ends, chosen, gains, depth=300)
    with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):
        slow = lists.probe(ends, chosen, gains, depth=300)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_document_is_in_a_list_once_and_lists_rise() -> None:
    generator = np.random.default_rng(1)
    chosen, document = generator.integers(5, size=200), np.sort(generator.integers(20, size=200))
    offsets = offsets_of(np.bincount(document, minlength=20))
    with patch("chamfer.kernels.inverted_lists.AT_A_TIME", 6):  # several parts
        lists = InvertedLists.of(chosen.astype(np.uint16), offsets, 7)
    assert len(lists.starts) == 8
    for number in range(7):
        own = lists.places[lists.starts[number] : lists.starts[number + 1]].tolist()
        assert own == sorted(set(document[chosen == number].tolist()))


@compiled
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"starts": np.array([0, 2, 9])}, "starts must not decrease or exceed the number of places"),
        ({"starts": np.array([0, 2, 1])}, "starts must not decrease"),
        ({"starts": np.array([-1, 2, 3])}, "starts must not decrease"),
        ({"starts": np.empty(0, np.int64)}, None),
        ({"lists": np.array([0, 2])}, "probed lists must exist"),
        ({"lists": np.array([0, -1])}, "probed lists must exist"),
        ({"gains": np.ones(3, np.float32)}, "every list needs a gain"),
        ({"ends": np.array([1, 3])}, "ends must not decrease"),
        ({"ends": np.array([2, 1])}, "ends must not decrease"),
        ({"ends": np.array([-1, 2])}, "ends must not decrease"),
        ({"allowed": np.ones(2, bool)}, "one entry per document"),
        ({"depth": -1}, None),
        ({"documents": -1}, None),
    ],
)
def test_arrays_that_lie_are_refused_and_never_read(changes: dict[str, Any], message: str | None) -> None:
    good: dict[str, Any] = {
        "starts": np.array([0, 2, 3]),
        "places": np.array([0, 1, 1], np.uint32),
        "documents": 3,
        "ends": np.array([1, 2]),
        "lists": np.array([0, 1]),
        "gains": np.ones(2, np.float32),
        "allowed": None,
        "depth": 5,
    }
    places, gained = native.probe(**good)
    assert (places.tolist(), gained.tolist()) == ([1, 0], [2, 1])
    with pytest.raises(InputError, match=message):
        native.probe(**good | changes)


@compiled
def test_a_place_beyond_the_documents_is_passed_over() -> None:
    places, gained = native.probe(
        np.array([0, 2]),
        np.array([0, 4_000_000_000], np.uint32),
        1,
        ends=np.array([1]),
        lists=np.array([0]),
        gains=np.ones(1, np.float32),
        allowed=None,
        depth=5,
    )
    assert (places.tolist(), gained.tolist()) == ([0], [1])
