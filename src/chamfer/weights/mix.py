"""The mix: how much each piece of evidence beside the tokens counts.

    score = (total weight / query tokens) * (Chamfer per weight + lexical * BM25 + pooled * cosine)

Chamfer per weight is ``-sum_i(w_i * min_j ||q_i - d_j||) / sum_i(w_i)``. So the mix means the same for short and long
queries and for any scale of the weights, and it depends on the query and the document alone, not on other candidates.
"""

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Final, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError, InputWarning
from chamfer.kernels.limits import LARGEST

Evidence = Literal["lexical", "pooled"]

LEXICAL: Final = "lexical"
POOLED: Final = "pooled"

EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
"""The names of the evidence beside the tokens."""

LARGEST_FACTOR = 100.0
"""Largest factor of a piece of evidence."""


@dataclass(frozen=True)
class Mix:
    """How much evidence beside the tokens counts.

    Args:
        lexical: factor of BM25's score of the document, which adds up to about 10 to 30 for a good match.
        pooled: factor of the cosine of the mean query vector and the mean document vector.

    >>> Mix(lexical=0.012, pooled=0.4).without("pooled")
    Mix(lexical=0.012, pooled=0.0)
    >>> bool(Mix()), bool(Mix(pooled=0.4))
    (False, True)
    """

    lexical: float = 0.0
    pooled: float = 0.0

    def __post_init__(self) -> None:
        for name in EVIDENCE:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= LARGEST_FACTOR:
                raise InputError(f"the {name} factor of a mix must be from 0 to {LARGEST_FACTOR:g}, not {value!r}")
            object.__setattr__(self, name, float(value))

    def __bool__(self) -> bool:
        """Whether anything counts beside the tokens."""
        return any(getattr(self, name) for name in EVIDENCE)

    def without(self, name: Evidence) -> Self:
        """The mix with one piece of evidence switched off."""
        return replace(self, **{name: 0.0})

    def added(
        self,
        weights: npt.NDArray[np.floating],
        *,
        lexical: npt.NDArray[np.floating],
        pooled: npt.NDArray[np.floating],
    ) -> npt.NDArray[np.float32]:
        """What the evidence adds to the score of each document.

        Args:
            weights: ``(query tokens,)`` weights of the query.
            lexical: ``(documents,)`` BM25's scores.
            pooled: ``(documents,)`` cosines of mean vectors.

        >>> Mix(pooled=0.5).added(np.array([1.0, 3.0]), lexical=np.zeros(2), pooled=np.array([0.0, 1.0])).tolist()
        [0.0, 1.0]
        """
        scale = scale_of(weights)
        total = self.lexical * np.asarray(lexical, np.float64) + self.pooled * np.asarray(pooled, np.float64)
        added = scale * total
        if (np.abs(added) > LARGEST).any():
            raise InputError(f"these weights and their mix add more than {LARGEST:g} to a score; use smaller ones")
        return np.asarray(added, np.float32)


def scale_of(weights: npt.NDArray[np.floating]) -> float:
    """What turns a score per weight into a score: the total weight by the number of query tokens."""
    return float(weights.sum()) / max(len(weights), 1)


def without_corpus(mix: Mix, instead: str, *, stacklevel: int = 2) -> Mix:
    """The mix for texts that belong to no index: lexical evidence is left out, with a warning.

    Args:
        mix: the mix of the weights.
        instead: what to do for lexical evidence, for the end of a sentence.
        stacklevel: as in :func:`warnings.warn`, counted from the caller.
    """
    if mix.lexical:
        told = f"lexical evidence needs the word counts of a corpus, so it is left out here; {instead}"
        warnings.warn(told, InputWarning, stacklevel=stacklevel + 1)
    return mix.without(LEXICAL)


def warn_of_tokens_alone(mix: Mix, what: str, *, stacklevel: int = 2) -> None:
    """Warn that something scores by tokens alone, if a mix counts more.

    Args:
        mix: the mix of the weights.
        what: what scores by tokens alone, for the start of a sentence.
        stacklevel: as in :func:`warnings.warn`, counted from the caller.
    """
    if mix:
        told = f"{what} by tokens alone and ignores the mix of these weights; use Searcher to include it"
        warnings.warn(told, InputWarning, stacklevel=stacklevel + 1)


NOTHING = Mix()
"""No evidence: tokens alone decide."""

FOR_POOLED_ENCODERS = Mix(lexical=0.012, pooled=0.4)
"""The default mix for encoders that were trained by pooling token vectors into one."""

FOR_LATE_INTERACTION = Mix(lexical=0.02)
"""The default mix for models that were trained for late interaction."""


def default_mix(*, late_interaction: bool) -> Mix:
    """The mix without labels, by what the encoder was trained for; see docs/results/learning.md."""
    return FOR_LATE_INTERACTION if late_interaction else FOR_POOLED_ENCODERS
