"""What learning was worth, in one sentence, and what to do about it."""

from chamfer.evaluate.measures import MAIN
from chamfer.evaluate.significance import SIGNIFICANCE, Comparison
from chamfer.learn.report import TIE, LearningReport
from chamfer.learn.selection import BLEND, FALLBACK

USUALLY_NEEDED = 100
"""Judged queries below which gains are small; see docs/results/few-shot.md."""


BETTER, WORSE, NO_BETTER = "better", "worse", "no better"


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
