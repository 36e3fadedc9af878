"""The benchmarks that take the paper's recipe apart, on tiny collections."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from chamfer import Encoder, InputError
from chamfer.learn.splits import Splits
from tests import checkpoints
from tests.problems import random_problem, start
from tests.test_reproduce import write_tiny


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")


class TestStudy:
    def test_every_variant_is_measured_on_queries_that_it_was_not_fitted_to(self) -> None:
        study = import_module("paper_study")
        splits = Splits(random_problem(0), random_problem(1), random_problem(2))
        run = study.measure_splits(splits, start(), 0)
        assert run["seen"] == 12
        assert run["longest_path"] == pytest.approx(12 * 5.05e-3, rel=1e-3)
        systems = run["systems"]
        assert {"uniform", "IDF", "whole recipe", "published, judgements shuffled", *study.variants(12)} == set(systems)
        assert systems["published"]["path"] <= run["longest_path"]
        assert systems["optimum"]["gap"] is not None
        assert set(systems["uniform"]) == {"validation", "test", "apart"}
        assert set(systems["whole recipe"]) == {"test", "apart", "chosen"}, "it learns from validation queries"
        # These queries have weights to find, and the optimum finds them.
        found = systems["optimum, free sum"]
        assert found["test"]["nDCG@10"] > systems["uniform"]["test"]["nDCG@10"] + 0.1
        assert found["zeros"] > 0

    @pytest.mark.parametrize(("splits", "runs"), [(("test",), 2), (("train", "dev", "test"), 1)])
    def test_seeds_that_draw_the_same_queries_are_measured_once(
        self, splits: tuple[str, ...], runs: int, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study = import_module("paper_study")
        monkeypatch.setattr(import_module("judged_splits"), "encoder_for", lambda folder, name: encoder)
        monkeypatch.setattr(study, "measure_splits", lambda splits, start, seed: seed)
        folder = write_tiny(tmp_path / "tiny", splits=splits)
        assert study.measure_collection(folder, "tiny", tmp_path / "cache", 2)["runs"] == list(range(runs))

    def test_uniform_weights_are_right_for_synthetic_queries(self) -> None:
        queries = import_module("paper_controls").uniform_queries(0, queries=50)
        ranks = [int((q.distances.mean(axis=1) < q.distances[q.grades > 0].mean()).sum()) for q in queries]
        assert np.median(ranks) < 50


class TestMaskWeights:
    @pytest.fixture
    def mask_weights(self, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        """The benchmark, with lengths that a tiny model has positions for."""
        monkeypatch.setattr(import_module("judged_splits"), "encoder_for", lambda folder, name: Encoder.load(name))
        return import_module("mask_weights")

    def test_mask_weighs_nothing_one_or_as_much_as_the_query(self, mask_weights: ModuleType, tmp_path: Path) -> None:
        checkpoints.make_stanford(tmp_path / "model", query_length=32)
        folder = write_tiny(tmp_path / "tiny", splits=("train", "dev", "test"))
        record = mask_weights.measure_collection(folder, str(tmp_path / "model"), tmp_path / "cache", 0)
        weights = {name: system["mask"] for name, system in record["systems"].items()}
        assert record["masks_per_query"] > 20
        assert weights["uniform"] == weights["IDF, [MASK] 1"] == weights["softened IDF, [MASK] 1"] == 1
        assert weights["uniform, [MASK] 0"] == weights["IDF, [MASK] 0"] == weights["softened IDF, [MASK] 0"] == 0
        assert 0 < weights["IDF, [MASK] like the query's tokens"] != 1
        learnt = pytest.approx(record["learnt_weight"])
        assert learnt != 1
        assert weights["softened IDF, [MASK] learnt"] == learnt
        assert weights["all tokens learnt"] == learnt

    def test_a_model_that_does_not_fill_queries_is_refused(
        self, mask_weights: ModuleType, plain_checkpoint: Path, tmp_path: Path
    ) -> None:
        with pytest.raises(InputError, match="does not fill queries"):
            mask_weights.measure_collection(write_tiny(tmp_path / "a"), str(plain_checkpoint), tmp_path / "cache", 0)


class TestTables:
    @staticmethod
    def system(value: float, **more: Any) -> dict[str, Any]:
        figures = {"nDCG@10": value, "R@10": value}
        return {"test": figures, "apart": figures, **more}

    def write(self, folder: Path, name: str, *, queries: int, published: float, zeros: float = 0.25) -> None:
        systems = {
            "uniform": self.system(0.5),
            "published": self.system(published, zeros=zeros, largest=0.001),
            "optimum": self.system(0.4, zeros=0.5, largest=0.6, gap=1.0, lowered=99.0),
        }
        run = {
            "queries": {"test": queries, "apart": queries - 1},
            "seen": 3000,
            "longest_path": 15.15,
            "systems": systems,
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps({"dataset": name, "runs": [run, run]}))

    def test_without_results_they_are_empty(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tables = import_module("paper_study_tables")
        monkeypatch.setattr(import_module("table_means"), "RESULTS", tmp_path)
        assert len(tables.study().splitlines()) == 4
        assert "Not measured yet" in tables.study()
        assert len(tables.mask_weights().splitlines()) == 2

    def test_gains_are_means_over_collections_with_enough_queries(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tables = import_module("paper_study_tables")
        monkeypatch.setattr(import_module("table_means"), "RESULTS", tmp_path)
        self.write(tmp_path / "paper-study", "a", queries=50, published=0.55)
        self.write(tmp_path / "paper-study", "b", queries=90, published=0.49)
        self.write(tmp_path / "paper-study", "few", queries=49, published=0.9)
        self.write(tmp_path / "paper-study", "synthetic", queries=90, published=0.9, zeros=0.12)
        lines = tables.study().splitlines()
        assert lines[2].startswith("| published | +4.00% (")
        assert lines[2].endswith("| 1 / 1 |" + 2 * " -2.00% (-inf to +inf) |" + " 25% | 12% |"), "apart, a has too few"
        assert lines[3].endswith("| 50% | 50% |")
        assert "2 collections" in lines[-1]
        assert "miss at most 1% (median)" in lines[-1]
        assert "0.1% of all weight in `published` and 60% in `optimum`" in lines[-1]

    def test_the_weights_of_mask(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tables = import_module("paper_study_tables")
        monkeypatch.setattr(import_module("table_means"), "RESULTS", tmp_path)
        systems = {"uniform": self.system(0.5, mask=1.0), "IDF, [MASK] 0": self.system(0.6, mask=0.0)}
        folder = tmp_path / "mask-weights"
        folder.mkdir()
        for name in ("a", "b"):
            (folder / f"{name}.json").write_text(json.dumps({"queries": {"test": 60}, "systems": systems}))
        assert tables.mask_weights().splitlines()[2].startswith("| IDF, [MASK] 0 | 0.00 | +20.00% (")
