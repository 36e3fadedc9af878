"""The scale of scores: 1 is a perfect match, 0 is none. The one place that converts what kernels compute.

    score = (z - D + lexical * BM25(q, d) + pooled * cosine(q, d)) / (z - p + lexical * BM25(q, q) + pooled)

``D`` is the weighted mean distance of the query's tokens to their matches, ``z`` the distance of vectors that have
nothing in common, and ``p`` that of equal ones: the square root of 2 and 0 in the form ``l2``, 0 and -1 in the form
``cosine``. So 1 is what the query's own text would score as a document.

For one query this is the kernel's score times a positive number, plus another, so it ranks in the same order. Documents
are ranked, and their rankings merged, by the kernel's scores; these are converted where somebody sees them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.weights.mix import EVIDENCE, LEXICAL, NOTHING, POOLED, Evidence, Mix

Floats = npt.NDArray[np.float64]

UNRELATED: Final[Mapping[Form, float]] = {"l2": 2**0.5, "cosine": 0.0}
"""Distance of unit vectors that have nothing in common, which are orthogonal."""

EQUAL: Final[Mapping[Form, float]] = {"l2": 0.0, "cosine": -1.0}
"""Distance of equal unit vectors."""


class Parts(NamedTuple):
    """What each part of a score contributes; all contributions add up to the score."""

    tokens: Floats
    evidence: dict[Evidence, float]


@dataclass(frozen=True, eq=False)
class Scale:
    """Converts the scores of one query.

    Args:
        weights: ``(tokens,)`` weights of the query.
        mix: how much evidence beside the tokens counts.
        form: form of the kernel's scores.
        own: BM25's score of the query's own text; needed if the mix is lexical.

    >>> scale = Scale(np.array([1.0, 3.0]), Mix(pooled=0.5))
    >>> scale.scores(np.array([2 * 0.5, 0.0, -float("inf")])).round(3).tolist()
    [1.0, 0.739, 0.0]
    """

    weights: npt.NDArray[np.floating]
    mix: Mix = NOTHING
    form: Form = DEFAULT_FORM
    own: float = 0.0

    def scores(self, kernel: npt.NDArray[np.floating]) -> Floats:
        """Scores from 0 to 1, in the order of the kernel's.

        A document without tokens scores 0, and so does every document if no token of the query has any weight. What
        lies beyond the ends is cut off: a document of which most tokens point away from the query's, or one that
        repeats the query's words so often that BM25 prefers it to the query itself.

        Args:
            kernel: ``(documents,)`` from :func:`chamfer.kernels.dispatch.best` or ``score``, plus what the mix adds.
        """
        weight = self._total / max(len(self.weights), 1)
        if not weight:
            return np.zeros(len(kernel))
        return np.clip((kernel.astype(np.float64) / weight + UNRELATED[self.form]) / self._whole, 0.0, 1.0)

    def parts(self, distances: npt.NDArray[np.floating], evidence: Mapping[Evidence, float]) -> Parts:
        """What each query token, and each piece of evidence, contributes to the score of one document.

        Args:
            distances: ``(tokens,)`` of the query's tokens to their matches.
            evidence: the value of each piece of evidence that the mix counts.
        """
        if not self._total:
            return Parts(np.zeros(len(distances)), {name: 0.0 for name in EVIDENCE if getattr(self.mix, name)})
        tokens = self.weights.astype(np.float64) * (UNRELATED[self.form] - distances) / self._total / self._whole
        found = {
            name: factor * evidence[name] / self._whole for name in EVIDENCE if (factor := getattr(self.mix, name))
        }
        whole = float(tokens.sum()) + sum(found.values())
        if 0 <= whole <= 1:
            return Parts(tokens, found)
        kept = 1 / whole if whole > 1 else 0.0  # what `scores` cuts off
        return Parts(tokens * kept, {name: value * kept for name, value in found.items()})

    def perfect(self, name: Evidence) -> float:
        """The value of a piece of evidence for the query's own text."""
        return self.own if name == LEXICAL else 1.0

    @property
    def _total(self) -> float:
        return float(self.weights.sum(dtype=np.float64))

    @property
    def _whole(self) -> float:
        evidence = self.mix.lexical * self.perfect(LEXICAL) + self.mix.pooled * self.perfect(POOLED)
        return UNRELATED[self.form] - EQUAL[self.form] + evidence
