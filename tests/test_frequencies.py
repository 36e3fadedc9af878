import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import DocumentFrequencies, InputError

SIZE = 6
corpora = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=5), min_size=1, max_size=12)


def count(corpus: list[list[int]], sample: float = 1.0, seed: int = 0) -> DocumentFrequencies:
    return DocumentFrequencies.count(iter(corpus), vocabulary_size=SIZE, sample=sample, seed=seed)


def assert_same(one: DocumentFrequencies, other: DocumentFrequencies) -> None:
    assert one.documents == other.documents
    assert one.counts.tolist() == other.counts.tolist()


def test_idf_is_the_papers_formula_and_0_for_unseen_tokens() -> None:
    idf = count([[0, 1, 1], [0], [0, 2]]).idf()
    for token, documents_with in ((0, 3), (1, 1), (2, 1)):
        assert idf[token] == pytest.approx(math.log((3 - documents_with + 0.5) / (documents_with + 0.5) + 1))
    assert idf[3:].tolist() == [0, 0, 0]


@given(corpora, st.integers(0, 12), st.sampled_from([1.0, 0.5]))
def test_parts_add_up_to_the_whole(corpus: list[list[int]], cut: int, sample: float) -> None:
    assert_same(count(corpus[:cut], sample) + count(corpus[cut:], sample), count(corpus, sample))


@given(corpora, st.integers(0, 12))
def test_removed_documents_leave_no_trace(corpus: list[list[int]], cut: int) -> None:
    assert_same(count(corpus) - count(corpus[:cut]), count(corpus[cut:]))


@given(corpora.flatmap(st.permutations))
def test_the_order_of_documents_does_not_matter(corpus: list[list[int]]) -> None:
    assert_same(count(corpus), count(sorted(corpus)))


def test_a_sample_is_about_its_share_and_another_seed_takes_others() -> None:
    corpus = [np.unique(np.random.default_rng(i).integers(0, 1000, 20)).tolist() for i in range(2000)]
    taken = [DocumentFrequencies.count(corpus, vocabulary_size=1000, sample=0.25, seed=seed) for seed in (0, 1)]
    assert all(450 < counted.documents < 550 for counted in taken)
    assert taken[0].counts.tolist() != taken[1].counts.tolist()


def test_truncated_documents_add_up_where_they_are_known() -> None:
    counts = np.array([1, 0])
    one, two, unknown = (DocumentFrequencies(counts, 2, truncated) for truncated in (1, 2, None))
    assert ((one + two).truncated, (two - one).truncated) == (3, 1)
    assert ((one + unknown).truncated, (unknown - one).truncated) == (None, None)


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(InputError, match="token id 6 lies outside"):
        count([[6]])
    with pytest.raises(InputError, match="above 0 and at most 1"):
        count([[1]], sample=0)
    with pytest.raises(InputError, match="document frequencies must be between 0 and 0, the number of documents"):
        count([[1]]) - count([[2]])
    with pytest.raises(InputError, match="different tokenizers"):
        count([[1]]) + DocumentFrequencies.count([[1]], vocabulary_size=7)
    with pytest.raises(InputError, match="at least one document"):
        count([]).idf()
