"""What learning was worth, in one sentence, and what to do about it."""

from typing import Literal, NamedTuple

from chamfer.evaluate.measures import MAIN
from chamfer.evaluate.significance import SIGNIFICANCE, TIE, Comparison
from chamfer.learn.report import LearningReport
from chamfer.learn.selection import BLEND, FALLBACK

USUALLY_NEEDED = 100
"""Judged queries below which gains are small; see docs/results/learning.md."""

BETTER, WORSE, NO_BETTER = "better", "worse", "no better"

Found = Literal["better", "not better", "worse", "not compared"]
"""Learnt weights against those in use, as far as the evidence goes."""


class Verdict(NamedTuple):
    """Whether learnt weights should replace those in use."""

    found: Found
    sentence: str
    """The same in a sentence or two, with what to do."""


def verdict(report: LearningReport, held_out: Comparison | None = None, before: float = 0.0) -> str:
    """Say whether learnt weights are better than the zero-shot mix, as far as the evidence goes.

    Args:
        report: what was chosen, and its gain on queries that it was not fitted to.
        held_out: comparison with the zero-shot mix on queries that took no part in learning, if there are any.
        before: the measure of the zero-shot mix on them.
    """
    if held_out is not None:
        after = before + held_out.difference
        evidence = f"{MAIN} {after:.4f} against {before:.4f}, p = {held_out.p_value:.4f}"
        found = _judged(held_out.difference, certain=held_out.p_value < SIGNIFICANCE)
        where = f"on {_queries(held_out.queries, 'held-out ')} ({evidence})"
        return f"{found} than the {FALLBACK.name} {where}{_advice(report, found)}"
    gain = report.gain
    if gain is None:
        return f"not compared with the {FALLBACK.name}, for lack of queries to hold out{_advice(report, NO_BETTER)}"
    found = _judged(gain.difference, certain=gain.p_value < SIGNIFICANCE)
    return (
        f"{found} than the {FALLBACK.name} on {_queries(gain.queries)} that it was not fitted to "
        f"({_evidence(report, gain)}){_advice(report, found)}"
    )


def verdict_on_use(comparison: Comparison | None, queries: int, *, known: int = 0) -> Verdict:
    """Say whether learnt weights are better than those in use, to a person who judges search results.

    Args:
        comparison: with the weights in use, on queries that neither was fitted to; None if there are none.
        queries: number of queries that were learnt from.
        known: number of them that the weights in use were learnt from, too.

    >>> verdict_on_use(Comparison(0.0, 1.0, wins=1, ties=4, losses=1), 6).sentence
    'No better than the weights in use: keep marking. About 90 more judged queries are usually needed.'
    """
    if comparison is None:
        why = "those were learnt from the same queries" if known else "no judged query could be held out"
        return Verdict("not compared", f"Not compared with the weights in use: {why}. Mark results of other queries.")
    needed = usually_more(queries)
    more = f" About {needed} more judged queries are usually needed." if needed else ""
    found = _judged(comparison.difference, certain=comparison.p_value < SIGNIFICANCE)
    if found == BETTER:
        wins, losses = comparison.wins, comparison.losses
        on = f"{wins} of {_queries(comparison.queries)}, and lower on {losses or 'none'}"
        return Verdict("better", f"Better than the weights in use: relevant documents rank higher on {on}.")
    if found == WORSE:
        return Verdict("worse", f"Worse than the weights in use: keep those.{more}")
    not_better = f"{'No' if found == NO_BETTER else 'Not clearly'} better than the weights in use"
    if not needed:
        return Verdict("not better", f"{not_better}, as far as {_queries(queries)} can tell: keep those.")
    return Verdict("not better", f"{not_better}: keep marking.{more}")


def usually_more(queries: int) -> int:
    """How many more judged queries are usually needed, to the nearest ten; none once there are enough.

    >>> [usually_more(queries) for queries in (0, 7, 58, 99, 100)]
    [100, 90, 40, 10, 0]
    """
    missing = USUALLY_NEEDED - queries
    return max(10, 10 * round(missing / 10)) if missing > 0 else 0


def _queries(count: int, kind: str = "") -> str:
    return f"{count} {kind}{'query' if count == 1 else 'queries'}"


def _judged(difference: float, *, certain: bool) -> str:
    if difference > TIE:
        return BETTER if certain else f"not measurably {BETTER}"
    return WORSE if certain and difference < -TIE else NO_BETTER


def _evidence(report: LearningReport, gain: Comparison) -> str:
    measured = f"mean of nDCG@10 and Recall@10 {gain.difference:+.4f}, p = {gain.p_value:.4f}"
    return measured if report.choice.contender == BLEND else f"{measured}, for the best of several, so optimistic"


def _advice(report: LearningReport, found: str) -> str:
    if found == BETTER:
        return ""
    if found == WORSE:
        return "; search with --weights mix instead (weights='mix' in Python)"
    share = report.shares.get(FALLBACK.name)
    close = "" if share is None else f"; {share:.0%} of the blend is that mix"
    if report.queries >= USUALLY_NEEDED:
        return f"{close}; --weights mix (weights='mix' in Python) is as good, as far as could be measured"
    return (
        f"{close}; search with --weights mix (weights='mix' in Python) until you have more judged queries: a "
        f"hundred or more are usually needed, and {report.queries} were learnt from"
    )
