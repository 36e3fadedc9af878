"""What ``chamfer demo`` shows: its headings are true of every query under them."""

from collections.abc import Callable

import pytest

from chamfer.cli.demo_cases import (
    FALLS,
    FAR_DOWN,
    FAR_UP,
    RISES,
    SHOWN,
    Case,
    is_plain,
    lowered_by_mix,
    raised_by_mix,
    raised_by_weights,
)
from chamfer.weights.zero_shot import MIX, SOFT_IDF, UNIFORM


def case(uniform: int, soft: int, mix: int, *, answer: str = "json.loads", other: str = "csv") -> Case:
    """A case in which the right answer has these ranks, of 50."""
    others = [f"{other}.{number}" for number in range(49)]
    ranks = {UNIFORM: uniform, SOFT_IDF: soft, MIX: mix}
    rankings = {name: [*others[: rank - 1], answer, *others[rank - 1 :]] for name, rank in ranks.items()}
    return Case("Read a file.", answer, rankings)


EVERY = [
    case(*ranks) for ranks in ((a, b, c) for a in (1, 2, 3, 4, 9, 30) for b in (1, 2, 3, 9) for c in (1, 2, 6, 30))
]


def test_what_weights_moved_up_they_moved_alone_and_far() -> None:
    chosen = raised_by_weights(EVERY)
    assert len(chosen) == RISES
    for one in EVERY:
        for found in raised_by_weights([one]):
            assert found.rank(UNIFORM) >= FAR_UP * found.rank(SOFT_IDF)
            assert found.rank(SOFT_IDF) <= SHOWN
            assert found.rank(MIX) < found.rank(UNIFORM)
    assert [one.rank(UNIFORM) for one in chosen] == [30, 30], "the largest rises come first"
    first, second = raised_by_weights([case(30, 2, 2), case(9, 3, 3), case(4, 1, 1)])
    assert (first.rank(SOFT_IDF), second.rank(UNIFORM)) == (1, 30), "and those to the top before them"


def test_what_the_mix_moved_up_weights_alone_did_not() -> None:
    for one in EVERY:
        for found in raised_by_mix([one]):
            assert found.rank(UNIFORM) >= FAR_UP * found.rank(MIX)
            assert found.rank(SOFT_IDF) >= 2 * found.rank(MIX)
    assert raised_by_mix([case(9, 1, 1)]) == []
    assert raised_by_mix([case(9, 9, 1)])


def test_what_the_mix_moved_down_was_at_the_top() -> None:
    for one in EVERY:
        for found in lowered_by_mix([one]):
            assert found.rank(UNIFORM) <= SHOWN
            assert found.rank(MIX) >= FAR_DOWN * found.rank(UNIFORM)
    [worst] = lowered_by_mix(EVERY)
    assert (worst.rank(UNIFORM), worst.rank(MIX), FALLS) == (1, 30, 1)


@pytest.mark.parametrize("choose", [raised_by_weights, raised_by_mix, lowered_by_mix])
def test_a_right_answer_that_stayed_where_it_was_is_not_shown(choose: Callable[[list[Case]], list[Case]]) -> None:
    assert choose([case(1, 1, 1), case(2, 2, 2), case(9, 9, 9), case(3, 2, 2)]) == []
    assert choose([]) == []


def test_ranks_are_said_for_each_weighting() -> None:
    assert case(9, 3, 1).ranks == "rank 9 with uniform weights, 3 with idf-soft, 1 with mix"


def test_questions_are_plain_and_in_whole_words() -> None:
    words = ["return", "the", "list", "of", "keys", "."]
    assert is_plain("Return the list of keys.", words)
    assert not is_plain("Return the list of keys.", [*words, "##s"])
    assert not is_plain("Return the `list` of keys.", words)
    assert not is_plain("Return keys.", words)
