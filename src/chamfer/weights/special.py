"""The weight of special tokens such as ``[CLS]`` and ``[MASK]``, which carry structure instead of text."""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from chamfer.tokens.vocabulary import Vocabulary

DEFAULT = 1.0
"""Weight of a special token by default: that of an average token."""

CHOICES = (DEFAULT, 0.0)
"""The weights that :data:`AUTO` chooses between; the first wins a tie."""

AUTO: Final = "auto"
"""Choose the weight on validation queries."""

MASKS = ("[MASK]", "<mask>")
"""Tokens that late-interaction models fill queries with."""

FILLING = 0.5
"""Weight of each of :data:`MASKS` in the zero-shot mix; see docs/explanation/evidence.md."""

SEPARATORS = ("[SEP]", "</s>")
"""Tokens that end a text. They are special here; to the paper they are words."""

Special = float | Literal["auto"]

Weights = TypeVar("Weights")


def with_special(
    table: npt.NDArray[np.float64], vocabulary: Vocabulary, special: float = DEFAULT
) -> npt.NDArray[np.float32]:
    """``(vocabulary,)`` weights in which every special token weighs ``special``.

    >>> words = Vocabulary(("[CLS]", "cat"), special_ids=frozenset({0}))
    >>> with_special(np.array([0.2, 3.0]), words).tolist()
    [1.0, 3.0]
    """
    return np.where(vocabulary.is_special, special, table).astype(np.float32)


def with_filling(table: npt.NDArray[np.float32], vocabulary: Vocabulary) -> npt.NDArray[np.float32]:
    """``(vocabulary,)`` weights in which every token that fills queries weighs :data:`FILLING`.

    >>> with_filling(np.ones(2, np.float32), Vocabulary(("cat", "[MASK]"), special_ids=frozenset({1}))).tolist()
    [1.0, 0.5]
    """
    fills = np.isin(np.arange(len(table)), [vocabulary.ids[mask] for mask in MASKS if mask in vocabulary.ids])
    return np.where(fills, np.float32(FILLING), table)


def separators(vocabulary: Vocabulary) -> list[int]:
    """Return the ids of the special tokens that end a text.

    >>> separators(Vocabulary(("[CLS]", "cat", "[SEP]"), special_ids=frozenset({0, 2})))
    [2]
    """
    return [place for place in sorted(vocabulary.special_ids) if vocabulary.tokens[place] in SEPARATORS]


def choose_special(
    options: Sequence[Weights], validate: Callable[[Sequence[Weights]], Sequence[float]]
) -> tuple[float, Weights]:
    """Choose the better of two weightings that differ only in their special tokens.

    Args:
        options: the weighting for each of :data:`CHOICES`, in that order.
        validate: measures all of them on validation queries; higher is better.

    Returns:
        The chosen weight of special tokens, and the weighting that has it.

    >>> choose_special(["special 1", "special 0"], lambda options: [0.5, 0.5])
    (1.0, 'special 1')
    """
    quality = validate(options)
    best = max(range(len(options)), key=lambda place: (quality[place], -place))
    return CHOICES[best], options[best]
