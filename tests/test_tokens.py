import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chamfer import InputError, TokenBatch
from chamfer.tokens.batch import offsets_of


def batch_of(*lengths: int, dimensions: int = 4) -> TokenBatch:
    total = sum(lengths)
    vectors = np.arange(total * dimensions, dtype=np.float32).reshape(total, dimensions)
    return TokenBatch(vectors, np.arange(total, dtype=np.int32), offsets_of(lengths))


def test_slicing_gives_a_view_of_whole_texts() -> None:
    batch = batch_of(2, 0, 3, 1)
    part = batch[1:3]
    assert part.lengths.tolist() == [0, 3]
    assert part.token_ids.tolist() == [2, 3, 4]
    assert np.shares_memory(part.vectors, batch.vectors)
    assert batch[-1].token_ids.tolist() == batch[np.int64(3)].token_ids.tolist() == [5]
    assert len(batch[3:1]) == 0


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_take_gives_the_chosen_texts_in_their_order(lengths: list[int], data: st.DataObject) -> None:
    batch = batch_of(*lengths)
    chosen = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=8))
    taken = batch.take(chosen)
    assert len(taken) == len(chosen)
    for place, text in enumerate(chosen):
        assert taken[place].token_ids.tolist() == batch[text].token_ids.tolist()
        np.testing.assert_array_equal(taken[place].vectors, batch[text].vectors)


def test_an_index_beyond_the_texts_is_an_error() -> None:
    with pytest.raises(IndexError):
        batch_of(1, 1)[2]
    with pytest.raises(InputError, match="with step 1"):
        batch_of(1, 1)[::2]


VECTORS, IDS = np.ones((3, 2), np.float32), np.zeros(3, np.int32)


@pytest.mark.parametrize(
    ("vectors", "token_ids", "offsets", "message"),
    [
        (VECTORS.astype(np.float64), IDS, [0, 3], "float16 or float32, not float64"),
        (VECTORS[0], IDS, [0, 3], r"shape \(2,\)"),
        (VECTORS, IDS[:2], [0, 3], "expected 3 int32 token ids, one per token vector, got int32"),
        (VECTORS, IDS, [0, 2], "run from 0 to 3"),
        (VECTORS, IDS, [1, 3], "run from 0 to 3"),
        (VECTORS, IDS, [0, 4, 3], "ascending order"),
        (np.full((3, 2), np.nan, np.float32), IDS, [0, 3], "NaN or infinity"),
        (np.full((3, 2), np.inf, np.float32), IDS, [0, 3], "NaN or infinity"),
    ],
)
def test_an_inconsistent_batch_is_refused(
    vectors: np.ndarray, token_ids: np.ndarray, offsets: list[int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        TokenBatch(vectors, token_ids, np.asarray(offsets, np.int64))


def test_texts_of_different_dimensions_are_refused() -> None:
    with pytest.raises(InputError, match=r"\[2, 3\] dimensions; encode all of them with one model"):
        TokenBatch.pack([np.ones((1, 2), np.float32), np.ones((1, 3), np.float32)], [[1], [2]])
    with pytest.raises(InputError, match="every text needs one token id per vector"):
        TokenBatch.pack([np.ones((2, 2), np.float32), np.ones((1, 2), np.float32)], [[7], [8, 9]])
