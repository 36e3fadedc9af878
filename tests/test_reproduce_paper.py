"""The paper's tables as data."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from chamfer.learn.presets import PRESETS
from chamfer.reproduce.datasets import DATASETS, dataset_named
from chamfer.reproduce.doubts import COLUMNS, doubts, is_doubtful
from chamfer.reproduce.paper import (
    PAPER_MEASURES,
    SETTINGS,
    disagreements,
    is_capped,
    printed,
    printed_averages,
    printed_for,
)
from chamfer.reproduce.report import report
from chamfer.reproduce.run import read_results
from chamfer.reproduce.systems import CHAMFER, FEW_SHOT

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "reproduce"
TEX = ROOT.parent / "shared" / "paper" / "weighted_chamfer.tex"


def test_every_dataset_has_every_measure_in_both_settings() -> None:
    assert len(printed()) == 13 * 2 * 6
    assert Counter(row.dataset for row in printed()) == dict.fromkeys([dataset.name for dataset in DATASETS], 12)
    assert {(row.setting, row.measure) for row in printed()} == {(s, m) for s in SETTINGS for m in PAPER_MEASURES}
    assert all(0 < figure <= 1 for row in printed() for figure in (row.chamfer, row.zero_shot, row.few_shot))


def test_groups_are_the_same_everywhere_and_each_has_a_mean() -> None:
    groups = {dataset.name: dataset.group for dataset in DATASETS}
    assert all(row.group == groups[row.dataset] for row in printed())
    expected = {
        (setting, measure, group) for setting in SETTINGS for measure in PAPER_MEASURES for group in groups.values()
    }
    everything = {(setting, measure, "") for setting in SETTINGS for measure in PAPER_MEASURES}
    assert {average[:3] for average in printed_averages()} == expected | everything


def test_percentages_that_their_own_figures_do_not_give_are_named() -> None:
    found = [one.sentence for one in disagreements()]
    rows = [sentence for sentence in found if "mean of" not in sentence]
    assert len(rows) == 5
    assert len(found) == 14
    assert any(
        sentence.startswith("rerank, nDCG@10, webis-touche2020: printed +0.39%, but 0.3591 and 0.3577 give -0.39%")
        for sentence in rows
    )
    assert sum("(the gain of zero-shot)" in sentence for sentence in rows) == 4
    assert "end-to-end, R@10, mean of all datasets: printed +3.04%, but its rows give +2.76%" in found, (
        "the abstract's figures rest on such means"
    )


def test_the_guide_quotes_the_papers_arguana_and_ours_is_higher_as_it_says() -> None:
    guide = (ROOT / "docs" / "guides" / "reproduce.md").read_text()
    for setting in SETTINGS:
        paper = {row.measure: row.chamfer for row in printed() if (row.setting, row.dataset) == (setting, "arguana")}
        reciprocal, gain = (paper[name] / paper["R@10"] for name in ("RR@10", "nDCG@10"))
        assert f"an RR@10 of {reciprocal:.2f} times and an nDCG@10 of {gain:.2f} times its Recall@10" in guide
        (result,) = (one for one in read_results(RESULTS) if (one["dataset"], one["setting"]) == ("arguana", setting))
        ours = result["systems"][CHAMFER]["measures"]
        assert ours["RR@10"] / ours["R@10"] > reciprocal
        assert ours["nDCG@10"] / ours["R@10"] > gain


def test_figures_that_cannot_be_right_are_found() -> None:
    found = {(one.setting, one.dataset, one.columns): one.measures for one in doubts()}
    for dataset in ("scidocs", "dbpedia-entity", "msmarco"):
        assert found["end-to-end", dataset, COLUMNS] == PAPER_MEASURES
    assert len([columns for _, _, columns in found if columns == COLUMNS]) == 3
    assert {dataset for setting, dataset, columns in found if (setting, columns) == ("rerank", ("zero_shot",))} == {
        *("arguana", "scidocs", "fever"),  # recall at 10
        *("nq", "fiqa", "webis-touche2020", "msmarco"),  # at 100
    }
    few_shot = {key[:2]: measures for key, measures in found.items() if key[2] == ("few_shot",)}
    assert few_shot["end-to-end", "nq"] == few_shot["end-to-end", "fever"] == PAPER_MEASURES
    assert few_shot["end-to-end", "climate-fever"] == ("RR@10", "nDCG@10", "RR@100", "nDCG@100")
    sentences = [one.sentence for one in doubts()]
    assert (
        "rerank, RR@100, webis-touche2020: zero-shot has 0.6228, but with 0.5407 at 10 it can have at most 0.5825"
        in sentences
    )
    assert any(
        sentence.startswith("rerank, RR@100, msmarco: zero-shot has 0.8992, less than") for sentence in sentences
    )


def test_few_shot_that_is_zero_shot_is_what_the_paper_describes() -> None:
    row = printed_for("rerank", "nDCG@10", "quora")
    assert row is not None
    assert row.few_shot == row.zero_shot
    assert not any(one.dataset == "quora" for one in doubts())


def test_a_reciprocal_rank_that_stands_in_two_tables_fits_the_one_at_10() -> None:
    copies = [one for one in doubts() if "as at 10" in one.why]
    assert {one.dataset for one in copies} == {"arguana", "climate-fever"}
    for one in copies:
        misfit = []
        for k in (10, 100):
            ratios = []
            for setting in SETTINGS:
                rank, gain = (printed_for(setting, f"{name}@{k}", one.dataset) for name in ("RR", "nDCG"))
                assert rank is not None
                assert gain is not None
                ratios.append(rank.chamfer / gain.chamfer)
            misfit.append(abs(ratios[0] / ratios[1] - 1))
        assert misfit[0] < 0.012 < 0.03 < misfit[1], "beside nDCG, and compared with the other setting"


def test_a_doubt_about_one_column_leaves_the_other_alone() -> None:
    row = printed_for("rerank", "R@10", "fever")
    assert row is not None
    assert [is_doubtful(row, column) for column in COLUMNS] == [False, True, False]
    row = printed_for("rerank", "RR@100", "arguana")
    assert row is not None
    assert is_doubtful(row, "few_shot"), "its gain is over Chamfer"


def test_what_is_left_out_of_a_mean_changes_it_as_the_guide_says() -> None:
    rows = [row for row in printed() if row[:2] == ("end-to-end", "nDCG@10")]
    left = [row for row in rows if not is_doubtful(row, "few_shot")]
    means = [sum(row.gain for row in some) / len(some) for some in (rows, left)]
    guide = (ROOT / "docs" / "guides" / "reproduce.md").read_text()
    assert len(left) == 6
    reported = next(one.percent for one in printed_averages() if one[:3] == ("end-to-end", "nDCG@10", ""))
    assert f"reports a mean few-shot gain of {reported:+.2f}% in nDCG@10; its thirteen rows" in guide
    assert f"give {means[0]:+.2f}%, and the six that are left {means[1]:+.2f}%" in guide


def test_recall_that_falls_with_k_is_capped_and_stands_in_that_table() -> None:
    capped = {dataset.name for dataset in DATASETS if is_capped(dataset.name)}
    assert capped == {"msmarco", "dbpedia-entity", "webis-touche2020", "trec-covid"}
    assert printed_for("rerank", "R@10", "trec-covid") is None
    row = printed_for("rerank", "Rcap@10", "trec-covid")
    assert row is not None
    assert row.chamfer == 0.944
    assert printed_for("rerank", "Rcap@10", "scifact") is None


def test_the_headline_of_the_abstract_is_there() -> None:
    (mean,) = (one for one in printed_averages() if one[:3] == ("rerank", "R@10", ""))
    assert mean.percent == 3.66
    row = printed_for("rerank", "R@10", "climate-fever")
    assert row is not None
    assert round(row.gain, 2) == row.percent == 14.27
    assert printed_for("rerank", "R@10", "nfcorpus") is None


@pytest.mark.skipif(not TEX.is_file(), reason="the paper's source is not beside the project")
def test_every_figure_is_the_one_in_the_source() -> None:
    tables = re.findall(r"\\begin\{table\*\}.*?\\end\{table\*\}", TEX.read_text(), re.DOTALL)
    own_names = {"MS MARCODOCS": "msmarco"}
    seen = 0
    for table in tables:
        setting = "end-to-end" if "end-to-end retrieval using" in table else "rerank"
        cutoff = 100 if "Recall@100" in table else 10
        for line in table.splitlines():
            if not line.startswith("& ") or "\\%" not in line or "multi" in line:
                continue
            name, *figures = (cell.strip(" \\") for cell in line.removeprefix("& ").split("&"))
            for place, measure in enumerate(("R", "RR", "nDCG")):
                row = next(
                    one
                    for one in printed()
                    if one[:2] == (setting, f"{measure}@{cutoff}") and one.dataset == own_names.get(name, name.lower())
                )
                given = [float(cell.rstrip("\\%")) for cell in figures[4 * place : 4 * place + 4]]
                assert [row.chamfer, row.zero_shot, row.few_shot, row.percent] == given, (setting, name, measure)
                seen += 1
    assert seen == len(printed())


def test_datasets_have_the_published_hyper_parameters() -> None:
    assert {dataset.preset for dataset in DATASETS} == set(PRESETS.values())
    assert dataset_named("scifact").preset == PRESETS["scifact"]
    assert dataset_named("climate-fever").query_length == 64
    assert dataset_named("arguana").url.endswith("/arguana.zip")
    other = dataset_named("mine")
    assert (other.group, other.url, other.preset) == ("", "", None), "all published ones are searched"


class TestCommittedResults:
    """What `make bench-reproduce` recorded, on the collections whose whole is published."""

    @pytest.mark.parametrize(
        ("name", "ndcg", "recall"), [("scifact", 0.686, 0.819), ("nfcorpus", 0.321, 0.147), ("arguana", 0.493, 0.780)]
    )
    def test_bm25_agrees_with_what_is_published(self, name: str, ndcg: float, recall: float) -> None:
        result = json.loads((RESULTS / name / "rerank" / "result.json").read_text())
        found = result["bm25_on_all_test_queries"]
        assert (found["nDCG@10"], found["R@10"]) == pytest.approx((ndcg, recall), abs=0.005)

    def test_few_shot_is_nowhere_below_chamfer_beyond_noise(self) -> None:
        found = read_results(RESULTS)
        for setting in SETTINGS:
            for measure in PAPER_MEASURES:
                lines = report(found, setting, measure).lines
                assert {"scifact", "nfcorpus", "arguana"} <= {line.dataset for line in lines}
                for line in lines:
                    cell = line.cells[FEW_SHOT]
                    assert cell.gain >= 0 or not cell.beyond_noise, (setting, measure, line.dataset)
