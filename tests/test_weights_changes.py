"""Where the weight of each token comes from, what it was before, and how weights are distributed."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import DocumentFrequencies, InputError, TokenWeights
from chamfer.learn.fit import fit_weights
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.changes import BY_HAND, LEARNT, Changes, changed
from chamfer.weights.digest import digest_of
from chamfer.weights.distribution import BINS, histogram
from chamfer.weights.files import largest_size, weights_bytes
from chamfer.weights.token_origins import ORIGINS, token_origins
from tests.problems import random_problem, start
from tests.test_weights_files import WORDS, file_of, refused

COUNTED = DocumentFrequencies(np.array([3, 3, 1, 0]), 3)


def origins(weights: TokenWeights) -> list[str]:
    return [ORIGINS[place] for place in token_origins(weights, COUNTED)]


def edited(weights: TokenWeights, token: int) -> TokenWeights:
    table = weights.table.copy()
    table[token] = 9
    changes = changed(weights.changes, weights.table, [token], BY_HAND)
    return TokenWeights(table, weights.vocabulary, weights.metadata, changes=changes)


def test_every_weight_says_where_it_comes_from() -> None:
    soft = TokenWeights.soft_idf(COUNTED, WORDS)
    assert origins(soft) == ["special", "counted", "counted", "unseen"]
    assert origins(edited(soft, 3)) == ["special", "counted", "counted", "edited"]
    assert origins(TokenWeights.uniform(WORDS)) == ["uniform"] * 4
    assert origins(edited(TokenWeights.uniform(WORDS), 1)) == ["uniform", "edited", "uniform", "uniform"]
    assert origins(TokenWeights(soft.table, WORDS)) == ["given"] * 4


def test_learnt_weights_come_from_judged_queries_where_these_have_the_token() -> None:
    queries = random_problem(25, queries=30)
    weights, _ = fit_weights(queries, start())
    seen = np.unique(np.concatenate([query.token_ids for query in queries]))
    assert weights.changes is not None
    assert np.flatnonzero(weights.changes.kinds == LEARNT).tolist() == seen.tolist()
    np.testing.assert_array_equal(weights.changes.before[seen], start().mix.table[seen])
    counted = DocumentFrequencies(np.ones(len(weights.table), np.int64), 9)
    found = [ORIGINS[place] for place in token_origins(weights, counted)]
    assert {found[token] for token in seen} == {"learnt"}
    assert "learnt" not in {found[token] for token in range(len(found)) if token not in seen}


def test_weights_that_an_earlier_version_learnt_do_not_claim_to_be_counted() -> None:
    old = TokenWeights(np.ones(4, np.float32), WORDS, {"recipe": "blend", "learnt_from": 12})
    assert origins(old) == ["given"] * 4
    assert origins(edited(old, 1)) == ["given", "edited", "given", "given"]
    # The recipe of learning and the weights without labels share this name.
    by_recipe = TokenWeights(np.ones(4, np.float32), WORDS, {"recipe": "mix", "prior": "mix", "learnt_from": 12})
    assert origins(by_recipe) == ["given"] * 4


def test_a_weight_that_is_edited_twice_remembers_the_last_one() -> None:
    once = edited(TokenWeights.uniform(WORDS), 2)
    twice = edited(once, 2)
    assert twice.changes is not None
    assert twice.changes.before.tolist() == [0, 0, 9, 0]


def test_changes_are_saved_and_change_no_score(tmp_path: Path) -> None:
    weights = edited(TokenWeights.uniform(WORDS), 2)
    weights.save(tmp_path / "w.safetensors")
    for vocabulary in (None, WORDS):
        again = TokenWeights.load(tmp_path / "w.safetensors", vocabulary)
        assert again.changes is not None
        assert weights.changes is not None
        np.testing.assert_array_equal(again.changes.kinds, weights.changes.kinds)
        np.testing.assert_array_equal(again.changes.before, weights.changes.before)
    assert digest_of(weights) == digest_of(TokenWeights(weights.table, WORDS))
    assert len(weights_bytes(weights.content)) <= largest_size(WORDS, 1)


def test_a_file_without_changes_is_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(file_of())
    assert TokenWeights.load(tmp_path / "w.safetensors").changes is None


@pytest.mark.parametrize(
    "tensors",
    [
        {"changed": np.zeros(4, np.uint8)},
        {"changed": np.zeros(3, np.uint8), "before": np.zeros(3, np.float32)},
        {"changed": np.zeros(4, np.uint8), "before": np.zeros(5, np.float32)},
        {"changed": np.zeros(4, np.float32), "before": np.zeros(4, np.float32)},
        {"changed": np.full(4, 3, np.uint8), "before": np.zeros(4, np.float32)},
        {"changed": np.ones(4, np.uint8), "before": np.full(4, np.nan, np.float32)},
        {"changed": np.ones(4, np.uint8), "before": np.full(4, -1, np.float32)},
    ],
)
def test_damaged_changes_are_refused(tmp_path: Path, tensors: dict[str, np.ndarray]) -> None:
    refused(file_of(tensors), tmp_path)


def test_changes_of_another_vocabulary_are_refused() -> None:
    two = Changes(np.zeros(2, np.uint8), np.zeros(2, np.float32))
    with pytest.raises(InputError, match="expected changes of 4 weights, got 2"):
        TokenWeights(np.ones(4, np.float32), WORDS, changes=two)
    with pytest.raises(InputError, match="a kind"):
        Changes(np.zeros(2, np.uint8), np.zeros(3, np.float32))


@given(st.lists(st.floats(0, 1e9, width=32), max_size=200))
def test_a_histogram_counts_every_weight_once(values: list[float]) -> None:
    weights = np.array(values, np.float32)
    bins = histogram(weights)
    assert sum(one.size for one in bins) == len(weights)
    assert len(bins) <= BINS + 3
    for one in bins:
        least, below = (None if edge is None else np.float32(edge) for edge in one[:2])
        inside = (weights >= (0 if least is None else least)) & (weights < (np.inf if below is None else below))
        assert int(inside.sum()) == one.size
    assert all(one.below == other.least for one, other in pairwise(bins))


def test_a_few_huge_weights_do_not_squash_a_histogram() -> None:
    usual = np.random.default_rng(1).uniform(0.5, 1.5, 2000).astype(np.float32)
    plain, huge = histogram(usual), histogram(np.concatenate([usual, np.full(80, 1e9, np.float32)]))
    assert len(plain) >= 10
    least, below, size = huge[-1]
    assert (below, size) == (None, 80)
    assert least is not None
    assert least < 10
    assert sum(one.size > 0 for one in huge) >= 10


def test_equal_weights_are_one_bin() -> None:
    assert [tuple(one) for one in histogram(np.ones(7, np.float32))] == [(1.0, 1.05, 7)]
    assert histogram(np.zeros(0, np.float32)) == []


def test_a_vocabulary_of_other_marks_has_origins_too() -> None:
    vocabulary = Vocabulary(("<s>", "▁cat", "s"), special_ids=frozenset({0}))
    soft = TokenWeights.soft_idf(DocumentFrequencies(np.array([2, 1, 0]), 2), vocabulary)
    assert [ORIGINS[place] for place in token_origins(soft, DocumentFrequencies(np.array([2, 1, 0]), 2))] == [
        "special",
        "counted",
        "unseen",
    ]
