"""What a report of learning adds: the curve and the picture."""

import sys
from pathlib import Path

import pytest

from chamfer import InputError
from chamfer.learn.curve import learning_curve
from chamfer.learn.fit import fit_weights
from chamfer.learn.plot import plot_learning
from chamfer.learn.registry import configurations_of
from chamfer.learn.solver import PenaltyConfiguration
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
