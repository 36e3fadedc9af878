"""The scale of scores: where its ends are, that it keeps the order, and that parts add up."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer.kernels.form import Form
from chamfer.retrieve.bm25 import BM25
from chamfer.retrieve.word_counts import WordCounts
from chamfer.weights.mix import NOTHING, Mix
from chamfer.weights.scale import EQUAL, UNRELATED, Scale

both_forms = pytest.mark.parametrize("form", ["l2", "cosine"])
WEIGHTS = np.array([0.5, 2.0, 0.0, 1.0], np.float32)


def kernel(distances: list[float], form: Form, mix: Mix = NOTHING, lexical: float = 0.0, pooled: float = 0.0) -> float:
    """The kernel's score of one document, with what the mix adds."""
    added = mix.added(WEIGHTS, lexical=np.array([lexical]), pooled=np.array([pooled]))[0]
    return float(-(WEIGHTS * distances).sum() / len(WEIGHTS) + added)


@both_forms
@pytest.mark.parametrize("mix", [NOTHING, Mix(pooled=0.4), Mix(lexical=0.012, pooled=0.4)])
def test_equal_vectors_score_1_and_unrelated_ones_0(form: Form, mix: Mix) -> None:
    scale = Scale(WEIGHTS, mix, form, own=7.0)
    best = kernel([EQUAL[form]] * 4, form, mix, lexical=7.0, pooled=1.0)
    worst = kernel([UNRELATED[form]] * 4, form, mix)
    np.testing.assert_allclose(scale.scores(np.array([best, worst])), [1, 0], atol=1e-6)


@both_forms
@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=20), st.floats(0, 50))
@settings(max_examples=100, deadline=None)
def test_the_order_is_that_of_the_kernel_and_all_scores_are_from_0_to_1(
    form: Form, scores: list[float], own: float
) -> None:
    given_scores = np.array(sorted(scores), np.float32)
    found = Scale(WEIGHTS, Mix(0.02, 0.4), form, own).scores(given_scores)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()
    between = (found[1:] < 1) & (found[:-1] > 0) & (np.diff(given_scores.astype(np.float64)) > 1e-6)
    assert (np.diff(found)[between] > 0).all()


def test_neither_the_scale_of_weights_nor_the_number_of_tokens_matters() -> None:
    distances = np.array([0.3, 0.9, 1.2, 0.1])
    once = Scale(WEIGHTS, Mix(pooled=0.4)).scores(np.array([kernel(distances.tolist(), "l2")]))
    scaled = Scale(8 * WEIGHTS, Mix(pooled=0.4)).scores(np.array([8 * kernel(distances.tolist(), "l2")]))
    twice = Scale(np.tile(WEIGHTS, 2), Mix(pooled=0.4)).scores(np.array([kernel(distances.tolist(), "l2")]))
    np.testing.assert_allclose([scaled, twice], [once, once], atol=1e-12)


@both_forms
@pytest.mark.parametrize("pooled", [0.6, -1.0, 30.0])
def test_parts_add_up_to_the_score_wherever_it_is_cut_off(form: Form, pooled: float) -> None:
    mix, distances = Mix(lexical=0.1, pooled=3.0), np.array([0.3, 0.9, 1.2, 0.1])
    scale = Scale(WEIGHTS, mix, form, own=5.0)
    parts = scale.parts(distances, {"lexical": 2.0, "pooled": pooled})
    [score] = scale.scores(np.array([kernel(distances.tolist(), form, mix, 2.0, pooled)]))
    assert math.fsum([*parts.tokens, *parts.evidence.values()]) == pytest.approx(score, abs=1e-6)


def test_a_token_brings_more_the_closer_its_match_is() -> None:
    parts = Scale(np.ones(3)).parts(np.array([0.0, 1.0, 2**0.5]), {})
    np.testing.assert_allclose(parts.tokens, [1 / 3, (1 - 0.5**0.5) / 3, 0])


def test_nothing_matches_without_tokens_or_without_weights() -> None:
    assert Scale(WEIGHTS).scores(np.array([-np.inf])).tolist() == [0.0]
    nothing = Scale(np.zeros(2), Mix(pooled=1.0))
    assert nothing.scores(np.array([0.0, -np.inf])).tolist() == [0.0, 0.0]
    parts = nothing.parts(np.zeros(2), {"pooled": 1.0})
    assert (parts.tokens.tolist(), parts.evidence) == ([0.0, 0.0], {"pooled": 0.0})


def test_bm25_of_the_query_itself_is_that_of_a_document_with_its_words() -> None:
    texts = {"a": "the cat sat on a mat", "b": "dogs bark at cats", "c": "no animal"}
    query = "cats and dogs and cats"
    counts = WordCounts.of(list(texts.values()))
    assert BM25(texts).own(query) == counts.own(query) == pytest.approx(float(counts.scores(query, [query])[0]))
    assert counts.own("zebra") > counts.own("cats"), "a word that no document has is not found by any"
    assert counts.own("the and") == 0
