"""The result of learning: weights, how they were chosen, and what they are worth on held-out queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple, Self

from chamfer.evaluate.groups import Grouping, are_apart, group
from chamfer.evaluate.measures import MAIN, MAIN_MEASURES
from chamfer.evaluate.significance import Comparison, compare
from chamfer.learn.judged import JudgedQuery, LeftOut
from chamfer.learn.quality import Quality, quality
from chamfer.learn.report import LearningReport
from chamfer.learn.start import Start
from chamfer.learn.verdict import verdict
from chamfer.weights.token_weights import TokenWeights


class HeldOut(NamedTuple):
    """Learnt weights against those that need no labels, on queries that were neither learnt from nor chosen on."""

    queries: int
    """Number of queries."""
    uniform: Mapping[str, float]
    """Mean of each measure with uniform weights."""
    zero_shot: Mapping[str, float]
    """Mean of each measure with the zero-shot mix."""
    learnt: Mapping[str, float]
    """Mean of each measure with the learnt weights."""
    against_uniform: Mapping[str, Comparison]
    """Paired test of learnt against uniform weights in each measure; queries that belong together are one unit."""
    against_zero_shot: Mapping[str, Comparison]
    """The same against the zero-shot mix."""
    kept_apart: str = ""
    """What these queries and those learnt from do not share, and why it is not more; empty for a given split."""

    def as_json(self) -> dict[str, Any]:
        """Everything, ready for ``json.dumps``."""
        tests = ("against_uniform", "against_zero_shot")
        found = {name: {measure: one._asdict() for measure, one in getattr(self, name).items()} for name in tests}
        return {**self._asdict(), **found}


@dataclass(frozen=True, repr=False)
class Learnt:
    """Learnt weights and everything there is to know about them.

    Args:
        weights: the weights, ready to search with or to save.
        report: what was tried, what was chosen and why.
        held_out: quality on queries that took no part in learning; None if none were held out.
        apart: the same on those of them that share no text, no relevant document and no group with any query that was
            learnt from; None if there are none.
        repeated: number of queries that were not learnt from, because they are held out in the same words.
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
    Learnt(chosen='blend', queries=2)
    >>> print(learnt.why)  # doctest: +ELLIPSIS
    50% of the blend goes beyond the zero-shot mix; on 2 held-out queries its mean of nDCG@10 and Recall@10 differs...
    """

    weights: TokenWeights
    report: LearningReport
    held_out: HeldOut | None
    apart: HeldOut | None
    repeated: int
    left_out: LeftOut
    unknown: int
    truncated: Mapping[str, int]
    queries: Sequence[JudgedQuery]
    start: Start

    @property
    def chosen(self) -> str:
        """What was chosen: ``blend``, or a recipe with its hyper-parameters."""
        return self.report.choice.name

    @property
    def why(self) -> str:
        """Why it was chosen, in one sentence."""
        return self.report.choice.why

    @property
    def verdict(self) -> str:
        """Whether the weights are better than the zero-shot mix, as far as the evidence goes, in one sentence."""
        if self.held_out is None:
            return verdict(self.report)
        comparison = self.held_out.against_zero_shot[MAIN]
        return verdict(self.report, comparison, self.held_out.zero_shot[MAIN])

    def __repr__(self) -> str:
        return f"Learnt(chosen={self.chosen!r}, queries={self.report.queries})"


class MeasuredQueries(NamedTuple):
    """Held-out queries with the candidates that each weighting ranks; in an index of passages, these differ."""

    learnt: Sequence[JudgedQuery]
    zero_shot: Sequence[JudgedQuery]
    uniform: Sequence[JudgedQuery]

    @classmethod
    def same(cls, queries: Sequence[JudgedQuery]) -> Self:
        """Every weighting ranks the same candidates."""
        return cls(queries, queries, queries)

    def apart(self, learnt_from: Sequence[JudgedQuery]) -> Self:
        """Those that share nothing with the queries learnt from; see :func:`chamfer.evaluate.groups.are_apart`."""
        kept = are_apart(self.learnt, learnt_from)
        return type(self)(*(list(compress(queries, kept)) for queries in self))


def measure_held_out(
    queries: MeasuredQueries,
    weights: TokenWeights,
    start: Start,
    *,
    group_by: str,
    kept_apart: Grouping | None = None,
) -> HeldOut | None:
    """Measure weights on held-out queries, and compare them; None if there are no queries.

    Args:
        queries: held-out queries with their minima, for each of the weights.
        weights: learnt weights.
        start: weights that need no labels.
        group_by: what makes several queries one unit of the paired tests; see :func:`chamfer.evaluate.groups.group`.
        kept_apart: the groups that kept queries on one side, if the queries were divided.
    """
    if not queries.learnt:
        return None
    groups = group(queries.learnt, group_by).labels
    learnt = quality(queries.learnt, weights)
    uniform, zero_shot = quality(queries.uniform, start.uniform), quality(queries.zero_shot, start.mix)

    def means(values: Quality) -> dict[str, float]:
        return dict(zip(MAIN_MEASURES, values.mean(axis=0).tolist(), strict=True))

    def against(values: Quality) -> dict[str, Comparison]:
        return {name: compare(learnt[:, at], values[:, at], groups=groups) for at, name in enumerate(MAIN_MEASURES)}

    return HeldOut(
        len(queries.learnt),
        means(uniform),
        means(zero_shot),
        means(learnt),
        against(uniform),
        against(zero_shot),
        "" if kept_apart is None else kept_apart.sentence,
    )
