import numpy as np
import pytest

from chamfer import InputError, Ranking


def test_best_first_and_ties_by_id() -> None:
    ranking = Ranking.of("q", ["b", "a", "c", "d"], [1.0, 1.0, 2.0, -np.inf])
    assert ranking.document_ids == ("c", "a", "b", "d")
    assert ranking.scores == (2, 1, 1, -np.inf)
    assert Ranking.of("q", ["b", "a", "c"], [1.0, 1.0, 2.0], k=2).document_ids == ("c", "a")
    assert len(Ranking.of("q", [], [])) == 0


def test_scores_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        Ranking.of("q", ["a"], [np.nan])
    with pytest.raises(InputError, match="got 2 scores for 1 documents"):
        Ranking.of("q", ["a"], [1.0, 2.0])
    with pytest.raises(InputError, match="got 1 scores for 2 documents"):
        Ranking("q", ("a", "b"), (1.0,))
