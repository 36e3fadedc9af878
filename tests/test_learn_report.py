"""What a report of learning adds: the curve and the picture."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chamfer import InputError
from chamfer.evaluate.significance import Comparison
from chamfer.learn.curve import learning_curve
from chamfer.learn.fit import fit_weights
from chamfer.learn.plot import plot_learning
from chamfer.learn.registry import configurations_of
from chamfer.learn.solver import PenaltyConfiguration
from chamfer.learn.verdict import USUALLY_NEEDED, verdict
from chamfer.support.plots import check_plot
from tests.problems import random_problem, start, uniform


def test_the_curve_rises_with_more_judged_queries() -> None:
    points = learning_curve(random_problem(24, queries=120), start(), [PenaltyConfiguration(penalty=1.0)], draws=2)
    assert [point.queries for point in points] == [0, 10, 20, 40, 80]
    assert points[0].ndcg < points[1].ndcg < points[-1].ndcg
    assert points[0].gain_lowest == points[0].gain == points[0].gain_highest == 0
    assert all(point.gain_lowest <= point.gain <= point.gain_highest for point in points)
    assert all(abs(point.ndcg - points[0].ndcg - point.gain) < 1e-9 for point in points)
    assert [point.below for point in points] == [0.0] * 5


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_report_is_drawn(tmp_path: Path, kind: str) -> None:
    queries = random_problem(25, queries=30)
    weights, report = fit_weights(queries, start(), recipe="prior")
    points = learning_curve(queries, start(), configurations_of(["prior"])[:2], draws=1)
    for curve in ((), points):
        plot_learning(tmp_path / f"report.{kind}", report, weights, uniform(), queries, curve)
        head = (tmp_path / f"report.{kind}").read_bytes()[:300]
        assert {"png": b"PNG", "svg": b"<svg", "pdf": b"%PDF"}[kind] in head or b"<!DOCTYPE svg" in head


def test_a_plot_that_cannot_be_drawn_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"saved as .png, .svg, .pdf, not 'report.gif'"):
        check_plot(tmp_path / "report.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'chamfer\[plot\]'"):
        check_plot(tmp_path / "report.png")


def test_the_verdict_says_no_more_than_the_evidence() -> None:
    _, report = fit_weights(random_problem(25, queries=30), start())
    share = f"{report.shares['zero-shot mix']:.0%} of the blend is that mix"
    assert report.gain is not None
    assert report.gain.queries == 30

    def of(gain: Comparison | None, queries: int = 30) -> str:
        return verdict(replace(report, gain=gain, queries=queries))

    def gained(difference: float, p_value: float, queries: int = 30) -> Comparison:
        return Comparison(difference, p_value, wins=0, ties=queries, losses=0)

    assert of(gained(0.05, 0.01)) == (
        "better than the zero-shot mix on 30 queries that it was not fitted to (mean of nDCG@10 and Recall@10 "
        "+0.0500, p = 0.0100)"
    )
    assert "on 1 query that it was not fitted to" in of(gained(0.0, 1.0, queries=1))
    assert of(gained(0.05, 0.25, queries=3)).startswith("not measurably better than")
    assert of(gained(0.0, 1.0)).startswith("no better than the zero-shot mix on 30 queries")
    assert of(gained(-0.01, 0.3)).endswith(
        f"; {share}; search with --weights mix (weights='mix' in Python) until you have more judged queries: a "
        "hundred or more are usually needed, and 30 were learnt from"
    )
    assert of(gained(-0.05, 0.01)).endswith("; search with --weights mix instead (weights='mix' in Python)")
    assert "more judged queries" not in of(gained(0.0, 1.0, queries=500), queries=USUALLY_NEEDED)
    assert of(None).startswith("not compared with the zero-shot mix, for lack of queries to hold out; ")
    held_out = Comparison(difference=0.02, p_value=0.01, wins=9, ties=0, losses=3)
    assert verdict(report, held_out, 0.5) == (
        "better than the zero-shot mix on 12 held-out queries (nDCG@10 0.5200 against 0.5000, p = 0.0100)"
    )
    assert "on 1 held-out query (" in verdict(report, held_out._replace(wins=1, losses=0), 0.5)
    assert verdict(report, held_out._replace(p_value=0.3), 0.5).startswith("not measurably better than")
    _, chosen = fit_weights(random_problem(25, queries=30), start(), recipe="prior")
    assert "for the best of several, so optimistic" in verdict(chosen)
