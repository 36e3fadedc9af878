"""The result of learning: weights, how they were chosen, and what they are worth on held-out queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import Comparison, compare
from chamfer.learn.judged import JudgedQuery, LeftOut
from chamfer.learn.quality import quality
from chamfer.learn.report import LearningReport
from chamfer.learn.start import Start
from chamfer.weights.token_weights import TokenWeights


class HeldOut(NamedTuple):
    """Learnt against uniform weights on queries that were neither learnt from nor chosen on."""

    queries: int
    """Number of queries."""
    uniform: Mapping[str, float]
    """Mean of each measure with uniform weights."""
    learnt: Mapping[str, float]
    """Mean of each measure with the learnt weights."""
    against_uniform: Mapping[str, Comparison]
    """Paired test of each measure."""

    def as_json(self) -> dict[str, Any]:
        """Everything, ready for ``json.dumps``."""
        found = {name: one._asdict() for name, one in self.against_uniform.items()}
        return {**self._asdict(), "against_uniform": found}


@dataclass(frozen=True, repr=False)
class Learnt:
    """Learnt weights and everything there is to know about them.

    Args:
        weights: the weights, ready to search with or to save.
        report: what was tried, what was chosen and why.
        held_out: quality on queries that took no part in learning; None if none were held out.
        left_out: judged queries that could not be learnt from.
        unknown: number of judgements of documents that are not in the corpus.
        truncated: numbers of queries and documents that exceed the encoder's lengths.
        queries: the judged queries with their minima.
        start: weights that need no judgements, from which learning started.

    >>> from chamfer import build_index, learn
    >>> folder = getfixture("tmp_path")
    >>> report = build_index(folder, {"a": "Cats sleep all day.", "b": "Dogs bark at night.", "c": "Birds sing."})
    >>> learnt = learn(folder, judgements={"why do cats sleep": ["a"], "what do dogs do": ["b"]})
    >>> learnt
    Learnt(chosen='uniform', queries=2)
    >>> print(learnt.why)  # doctest: +ELLIPSIS
    the blend does not beat uniform weights significantly...
    """

    weights: TokenWeights
    report: LearningReport
    held_out: HeldOut | None
    left_out: LeftOut
    unknown: int
    truncated: Mapping[str, int]
    queries: Sequence[JudgedQuery]
    start: Start

    @property
    def chosen(self) -> str:
        """What was chosen: ``uniform``, ``idf-soft``, ``blend``, or a recipe with its hyper-parameters."""
        return self.report.choice.name

    @property
    def why(self) -> str:
        """Why it was chosen, in one sentence."""
        return self.report.choice.why

    def __repr__(self) -> str:
        return f"Learnt(chosen={self.chosen!r}, queries={self.report.queries})"


def measure_held_out(queries: Sequence[JudgedQuery], weights: TokenWeights, uniform: TokenWeights) -> HeldOut:
    """Measure weights on held-out queries, and compare them with uniform weights query by query."""
    learnt, plain = quality(queries, weights), quality(queries, uniform)
    return HeldOut(
        queries=len(queries),
        uniform=dict(zip(MAIN_MEASURES, plain.mean(axis=0).tolist(), strict=True)),
        learnt=dict(zip(MAIN_MEASURES, learnt.mean(axis=0).tolist(), strict=True)),
        against_uniform={name: compare(learnt[:, at], plain[:, at]) for at, name in enumerate(MAIN_MEASURES)},
    )
