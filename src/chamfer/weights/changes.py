"""Which weights were changed after they were computed, by learning or by hand, and what they were before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels.checks import check_weight_values
from chamfer.tokens.batch import TokenIds

LEARNT: Final = 1
BY_HAND: Final = 2


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """Which weights were changed after they were computed, and what they were before.

    Args:
        kinds: ``(vocabulary,)`` uint8: 0 for a weight as it was computed, 1 for a learnt one, 2 for one set by hand.
        before: ``(vocabulary,)`` float32, each weight before its last change; 0 for those without any.
    """

    kinds: npt.NDArray[np.uint8]
    before: npt.NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.kinds.shape != self.before.shape or (self.kinds > BY_HAND).any():
            raise InputError("the changes of weights need a kind (0, 1 or 2) and a weight before for every token")
        check_weight_values(self.before)


def changed(
    changes: Changes | None, table: npt.NDArray[np.float32], tokens: TokenIds | Sequence[int], kind: int
) -> Changes:
    """Changes, and those of some more tokens.

    Args:
        changes: earlier changes, if any.
        table: ``(vocabulary,)`` weights before.
        tokens: ids of the tokens whose weights change.
        kind: :data:`LEARNT` or :data:`BY_HAND`.

    >>> learnt = changed(None, np.array([0.5, 1.0, 2.0], np.float32), [1, 2], LEARNT)
    >>> both = changed(learnt, np.array([0.5, 1.5, 2.5], np.float32), [2], BY_HAND)
    >>> both.kinds.tolist(), both.before.tolist()
    ([0, 1, 2], [0.0, 1.0, 2.5])
    """
    kinds = np.zeros(len(table), np.uint8) if changes is None else changes.kinds.copy()
    before = np.zeros(len(table), np.float32) if changes is None else changes.before.copy()
    kinds[tokens], before[tokens] = kind, table[tokens]
    return Changes(kinds, before)
