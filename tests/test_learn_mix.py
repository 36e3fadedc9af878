"""Learning how much lexical and pooled evidence counts."""

from dataclasses import replace

import numpy as np
import pytest

from chamfer.learn.fitting import fit_configurations
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.quality import quality
from chamfer.learn.registry import configurations_of
from chamfer.learn.solver import CONTEXT, LOG_MIX, MIXED, Learner, PenaltyConfiguration, fit_sequence
from chamfer.weights.mix import FOR_LATE_INTERACTION, FOR_POOLED_ENCODERS, NOTHING, Mix
from tests.problems import random_problem, start, uniform


def with_evidence(queries: list[JudgedQuery], seed: int, *, telling: bool = False) -> list[JudgedQuery]:
    """Random evidence; or BM25's scores that are far higher for what is relevant."""
    generator = np.random.default_rng(seed)
    found = []
    for query in queries:
        lexical = generator.gamma(2, 4, len(query.grades)) + (20 * (query.grades > 0) if telling else 0)
        pooled = generator.uniform(-0.2, 0.9, len(query.grades))
        found.append(replace(query, lexical=lexical.astype(np.float32), pooled=pooled.astype(np.float32)))
    return found


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("mix", [FOR_POOLED_ENCODERS, FOR_LATE_INTERACTION], ids=["both kinds", "lexical alone"])
def test_the_gradient_of_the_mix_is_that_of_the_loss(mix: Mix, context: bool) -> None:
    queries = with_evidence(random_problem(0, queries=5, candidates=6), 1)
    learner = Learner(queries, uniform().with_mix(mix), context=context, mix=True)
    size = len(learner._seen) + learner._dimensions + 2 + 1  # two kinds of evidence, and the factor of all scores
    x = np.random.default_rng(2).normal(0, 0.3, size)
    steps = np.eye(size) * 1e-2
    quotients = [(learner._loss(x + h, 3.0, 1.0)[0] - learner._loss(x - h, 3.0, 1.0)[0]) / 2e-2 for h in steps]
    gradient = learner._loss(x, 3.0, 1.0)[1]
    # 32-bit arithmetic inside, so the quotients are good to about 1e-3
    np.testing.assert_allclose(gradient, quotients, atol=2e-3)
    assert (np.abs(gradient[-3:-1]) > 1e-3).all(), "the mix does matter here"


def test_the_loss_ranks_as_searches_do() -> None:
    """Without moving from the prior, the scores that are learnt from are in the order of a search's."""
    queries = with_evidence(random_problem(1, queries=30), 2)
    learner = Learner(queries, uniform().with_mix(FOR_POOLED_ENCODERS), context=False, mix=True)
    sharp = np.zeros(len(learner._seen) + 3)
    sharp[-1] = 3.0  # so that the loss is about how far the relevant document is behind the best
    tokens_alone = Learner(queries, uniform(), context=False)
    scores = [-query.distances.mean(axis=1) + uniform_added(query) for query in queries]
    logits = [20 * np.exp(3.0) * (one - one.max()) for one in scores]
    losses = [
        np.log(np.exp(one).sum()) - one[np.flatnonzero(query.grades)[0]]
        for one, query in zip(logits, queries, strict=True)
    ]
    assert learner._loss(sharp, 0.0, 0.0)[0] == pytest.approx(np.mean(losses), rel=1e-4)
    assert tokens_alone._loss(np.delete(sharp, [-3, -2]), 0.0, 0.0)[0] != pytest.approx(np.mean(losses), rel=1e-2)


def uniform_added(query: JudgedQuery) -> np.ndarray:
    lexical, pooled = query.evidence()
    return FOR_POOLED_ENCODERS.added(np.ones(len(query.token_ids)), lexical=lexical, pooled=pooled)


def test_evidence_that_tells_counts_more_and_evidence_that_does_not_counts_less() -> None:
    train, test = (with_evidence(random_problem(seed, queries=240), seed, telling=True) for seed in (3, 4))
    (learnt,) = fit_sequence(train, start(), [PenaltyConfiguration("zero-shot mix", 3.0, 1.0, recipe=MIXED)])
    assert learnt.mix.lexical > 2 * FOR_POOLED_ENCODERS.lexical
    assert learnt.mix.pooled < FOR_POOLED_ENCODERS.pooled / 2
    assert quality(test, learnt).mean() > quality(test, start().mix).mean() + 0.1
    assert quality(test, learnt).mean() > quality(test, learnt.with_mix(NOTHING)).mean() + 0.1


def test_the_mix_stays_within_its_limits_however_telling_the_evidence_is() -> None:
    queries = with_evidence(random_problem(5, queries=400), 5, telling=True)
    (learnt,) = fit_sequence(queries, start(), [PenaltyConfiguration("zero-shot mix", 1e6, 1e6, recipe=MIXED)])
    lowest, highest = (np.exp(limit) for limit in LOG_MIX)
    for name in ("lexical", "pooled"):
        moved = getattr(learnt.mix, name) / getattr(FOR_POOLED_ENCODERS, name)
        assert lowest * 0.999 <= moved <= highest * 1.001


def test_evidence_that_the_prior_leaves_out_stays_out() -> None:
    queries = with_evidence(random_problem(6), 6, telling=True)
    learner = Learner(queries, uniform().with_mix(FOR_LATE_INTERACTION), context=False, mix=True)
    learnt = learner.weights(learner.solve(10.0, 0.0))
    assert learnt.mix.pooled == 0
    assert learnt.mix.lexical > FOR_LATE_INTERACTION.lexical


def test_recipes_that_know_nothing_of_evidence_learn_the_same_with_it() -> None:
    queries = random_problem(7)
    for recipe in ("prior", "context", "paper"):
        configurations = configurations_of([recipe])[:1]
        (_, plain), (_, given) = (
            next(fit_configurations(some, start(), configurations))
            for some in (queries, with_evidence(queries, 7, telling=True))
        )
        np.testing.assert_array_equal(plain.table, given.table)
        assert not given.mix


def test_weights_keep_the_name_of_their_recipe_also_where_no_evidence_counts() -> None:
    learner = Learner(random_problem(8), uniform(), context=True, mix=True)
    learnt = learner.weights(learner.solve(10.0, 10.0))
    assert learnt.metadata["recipe"] == MIXED != CONTEXT
    assert not learnt.mix
