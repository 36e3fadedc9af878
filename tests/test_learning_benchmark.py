"""How learnt weights are measured: what is tested, how seeds are pooled, and labels that are false on purpose."""

import json
import os
from collections.abc import Sequence
from importlib import import_module
from itertools import permutations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from chamfer import Collection, Encoder
from chamfer.data.queries import words_of
from chamfer.evaluate.setup import Setup
from tests.problems import random_problem, uniform
from tests.test_reproduce import write_tiny

pytestmark = pytest.mark.usefixtures("few_steps")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
THINGS = ("cat", "dog", "sky", "night", "day", "mat")


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def seeds() -> ModuleType:
    return import_module("seeds")


@pytest.fixture
def judged_splits() -> ModuleType:
    return import_module("judged_splits")


@pytest.fixture
def setup(encoder: Encoder, tmp_path: Path) -> Setup:
    """Thirty queries of two words, asked in both orders, so that each relevant document belongs to two of them."""
    pairs = list(permutations(THINGS, 2))
    documents = {f"{one}-{other}": f"the {one} and a {other}" for one, other in pairs if one < other}
    queries = {f"{one}?{other}": f"why {one} {other}" for one, other in pairs}
    judged = {f"{one}?{other}": {"-".join(sorted((one, other))): 1} for one, other in pairs}
    fields = {query: {"thing": min(query.split("?"))} for query in queries}
    return Setup(Collection("things", documents, queries, {"test": judged}, fields), encoder, tmp_path)


def test_every_seed_tests_the_same_queries_and_learns_from_none_of_them(
    judged_splits: ModuleType, setup: Setup
) -> None:
    tested, trained = set(), set()
    for seed in range(3):
        splits, repeated = judged_splits.read_splits(setup, "document", seed)
        test, *learnt = (tuple(query.query_id for query in part) for part in reversed(splits))
        tested.add(test)
        trained.add(tuple(learnt))
        words = {words_of(setup.collection.queries[query]) for query in test}
        assert not any(words_of(setup.collection.queries[query]) in words for part in learnt for query in part)
        assert repeated == 0
    assert len(tested) == 1
    assert len(trained) > 1, "validation queries are drawn"


def test_a_collection_whose_queries_have_groups_is_divided_by_them(judged_splits: ModuleType, setup: Setup) -> None:
    splits, _ = judged_splits.read_splits(setup, "thing", 0)
    test, learnt = ({query.ties.group for query in part} for part in (splits.test, [*splits.train, *splits.validation]))
    assert test
    assert test.isdisjoint(learnt)


class TestPooledSeeds:
    @pytest.fixture
    def result(self, seeds: ModuleType) -> Any:
        def make(gains: Any, groups: Any, apart: Any = True) -> Any:
            count = len(gains)
            base = np.full((count, 2), 0.5)
            values = {"uniform": base, "idf-soft": base, "mix": base, "auto": base + np.asarray(gains, float)[:, None]}
            shared = np.broadcast_to(np.asarray(apart), count)
            return seeds.SeedResult([f"q{at}" for at in range(count)], np.asarray(groups), shared, values)

        return make

    def test_a_query_counts_once_with_its_mean(self, seeds: ModuleType, result: Any) -> None:
        found = seeds.pooled([result([0.1, 0.0], [0, 1]), result([0.3, 0.0], [0, 1])])["all"]["systems"]["auto"]
        assert found["measures"]["nDCG@10"] == pytest.approx(0.6)
        assert found["by_seed"]["nDCG@10"] == pytest.approx([0.55, 0.65])
        assert found["against_zero_shot"]["nDCG@10"]["difference"] == pytest.approx(0.1)

    def test_queries_of_one_group_are_one_piece_of_evidence(self, seeds: ModuleType, result: Any) -> None:
        gains = np.repeat(np.random.default_rng(0).normal(0.02, 0.05, 12), 10)
        alone, together = (
            seeds.pooled([result(gains, groups)])["all"]["systems"]["auto"]["against_zero_shot"]["nDCG@10"]
            for groups in (np.arange(120), np.repeat(np.arange(12), 10))
        )
        assert together["difference"] == pytest.approx(alone["difference"])
        widths = [high - low for low, high in (alone["interval"], together["interval"])]
        assert widths[1] > 2 * widths[0]
        assert together["p_value"] > alone["p_value"]
        assert together["interval"][0] < together["difference"] < together["interval"][1]

    def test_apart_is_apart_with_every_seed(self, seeds: ModuleType, result: Any) -> None:
        first, second = (
            result([0.1, 0.2, 0.3], [0, 1, 2], apart) for apart in ([True, True, False], [True, False, True])
        )
        found = seeds.pooled([first, second])
        assert [found[part]["queries"] for part in ("all", "apart", "sharing")] == [3, 1, 2]
        assert found["apart"]["systems"]["auto"]["measures"]["nDCG@10"] == pytest.approx(0.6)
        assert found["sharing"]["systems"]["auto"]["measures"]["nDCG@10"] == pytest.approx(0.75)
        assert seeds.pooled([result([0.1], [0], apart=False)])["apart"]["systems"] == {}


def test_false_labels_are_as_many_as_true_ones_and_drawn_ones_are_close() -> None:
    false_labels = import_module("false_labels")
    queries = random_problem(1, queries=60)
    ranks = {}
    for name, found in (
        ("shuffled", false_labels.shuffled(queries, 0)),
        ("drawn", false_labels.drawn(queries, uniform(), 0)),
    ):
        assert [query.grades.sum() for query in found] == [1] * 60
        ranks[name] = np.mean([np.argsort(np.argsort(one.distances.sum(axis=1)))[one.grades.argmax()] for one in found])
    assert ranks["drawn"] < 6 < 10 < ranks["shuffled"]


class TestLearning:
    @pytest.fixture
    def learning(self, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        """The benchmark with a tiny encoder, in this process."""
        monkeypatch.setattr(import_module("judged_splits"), "encoder_for", lambda folder, name: encoder)
        monkeypatch.setattr(import_module("campaign"), "_in_a_process", lambda job: job())
        monkeypatch.setattr(import_module("campaign"), "_limit_threads", lambda threads: None)
        monkeypatch.setattr(import_module("campaign"), "_model", lambda name: encoder.model_fingerprint)
        return import_module("learning")

    @staticmethod
    def run(learning: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
        where = {"data": folder, "out": folder / "out", "cache": folder / "cache"}
        given = [word for name, path in where.items() for word in (f"--{name}", str(path))]
        monkeypatch.setattr("sys.argv", ["learning.py", *given, "--encoder", "tiny", "--seeds", "2", *more])
        learning.main()

    def test_a_collection_is_written_once_all_of_its_seeds_are_measured(
        self, learning: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_tiny(tmp_path / "tiny", splits=("train", "dev", "test"))
        self.run(learning, tmp_path, monkeypatch)
        record = json.loads((tmp_path / "out" / "tiny.json").read_text())
        systems = record["all"]["systems"]
        assert {"uniform", "mix", "uniform + evidence", "paper", "context", "auto", "auto, tokens only"} < set(systems)
        assert {learning.SHUFFLED, learning.DRAWN} < set(systems)
        assert len(systems["mix"]["by_seed"]["nDCG@10"]) == 2, "measured with one seed, and the same with the other"
        assert record["encoder"]["name"] == "tiny"
        assert len(record["seconds_learning"]) == len(record["reports"]) == record["seeds"] == 2
        assert "whole collection: all idf-soft" in capsys.readouterr().out

    @pytest.fixture
    def measured(self, learning: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The seeds that are measured from now on, without learning anything."""
        campaign, found = import_module("campaign"), list[int]()

        def described() -> dict[str, Any]:
            return {"name": "tiny", "model": campaign._model("tiny")}

        def measure_seed(folder: Path, seed: int, **_: Any) -> dict[str, Any]:
            found.append(seed)
            return {"dataset": folder.name, "encoder": described(), "seed": seed}

        def pool(seeds: Sequence[dict[str, Any]]) -> dict[str, Any]:
            return {"encoder": described(), "pooled": [one["seed"] for one in seeds]}

        for name, stand_in in (("measure_seed", measure_seed), ("pool", pool), ("summary", str)):
            monkeypatch.setattr(learning, name, stand_in)
        return found

    def test_an_interrupted_run_keeps_its_finished_seeds(
        self, learning: ModuleType, measured: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_tiny(tmp_path / "tiny")
        whole = learning.measure_seed

        def interrupted(folder: Path, seed: int, **given: Any) -> Any:
            found = whole(folder, seed, **given)
            if len(measured) == 2:
                raise MemoryError
            return found

        monkeypatch.setattr(learning, "measure_seed", interrupted)
        with pytest.raises(SystemExit, match="tiny-1"):
            self.run(learning, tmp_path, monkeypatch)
        assert not (tmp_path / "out" / "tiny.json").exists()
        self.run(learning, tmp_path, monkeypatch)
        assert measured == [0, 1, 1]
        assert (tmp_path / "out" / "tiny.json").exists()
        self.run(learning, tmp_path, monkeypatch)
        assert measured == [0, 1, 1]
        self.run(learning, tmp_path, monkeypatch, "--again")
        assert measured == [0, 1, 1, 0, 1]

    def test_more_seeds_are_added_to_those_that_are_there(
        self, learning: ModuleType, measured: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_tiny(tmp_path / "tiny")
        for seeds, expected in (("1", [0]), ("3", [0, 1, 2]), ("2", [0, 1, 2])):
            self.run(learning, tmp_path, monkeypatch, "--seeds", seeds)
            assert measured == expected
        assert json.loads((tmp_path / "out" / "tiny.json").read_text())["pooled"] == [0, 1, 2]

    def test_seeds_of_other_code_are_measured_again_when_more_are_asked_for(
        self, learning: ModuleType, measured: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_tiny(tmp_path / "tiny")
        self.run(learning, tmp_path, monkeypatch)
        monkeypatch.setattr(import_module("campaign"), "code", lambda: "changed")
        self.run(learning, tmp_path, monkeypatch)
        assert measured == [0, 1], "a result stays until more is asked for"
        self.run(learning, tmp_path, monkeypatch, "--seeds", "3")
        assert measured == [0, 1, 0, 1, 2]

    def test_results_of_another_model_are_measured_again(
        self,
        learning: ModuleType,
        measured: list[int],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        write_tiny(tmp_path / "tiny")
        self.run(learning, tmp_path, monkeypatch)
        monkeypatch.setattr(import_module("campaign"), "_model", lambda name: "another")
        self.run(learning, tmp_path, monkeypatch)
        assert measured == [0, 1, 0, 1]
        assert "tiny: was measured with another model, so it is measured again" in capsys.readouterr().out
        assert json.loads((tmp_path / "out" / "tiny.json").read_text())["encoder"]["model"] == "another"


def test_a_curve_pools_its_draws(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = import_module("learning_curve")
    monkeypatch.setattr(import_module("judged_splits"), "encoder_for", lambda folder, name: encoder)
    folder = write_tiny(tmp_path / "scifact", queries=24, splits=("train", "test"))
    draws = [curve.measure_one_draw(folder, at, encoder="tiny", cache=tmp_path / "cache") for at in range(2)]
    pooled = curve.pool(draws)
    assert [point["queries"] for point in pooled["points"]] == draws[1]["sizes"]
    assert pooled["points"][-1]["ndcg"] == pytest.approx(np.mean([one["values"][-1][0] for one in draws]))
    assert len(pooled["seconds"]) == 2
    assert pooled["theory"]["pairs"] > 0
    assert pooled["baseline"] == "zero-shot mix"


class TestCampaign:
    @pytest.fixture
    def campaign(self, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        monkeypatch.setattr(import_module("campaign"), "_limit_threads", lambda threads: None)
        return import_module("campaign")

    def test_one_that_fails_does_not_stop_the_others(
        self, campaign: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(campaign, "_in_a_process", lambda job: job())
        arguments = campaign.options("", out=tmp_path).parse_args(["--data", str(tmp_path)])

        def few() -> Any:
            raise campaign.Skipped("fewer than 50 queries")

        jobs = {"bad": lambda: 1 / 0, "few": few, "good": lambda: {"value": 1}}
        with pytest.raises(SystemExit, match=r"failed.*: bad$"):
            campaign.run({tmp_path / f"{name}.json": job for name, job in jobs.items()}, arguments, str)
        assert [path.name for path in tmp_path.iterdir()] == ["good.json"]
        told = capsys.readouterr()
        assert "few: fewer than 50 queries" in told.out
        assert "ZeroDivisionError" in told.err

    def test_a_job_runs_in_a_process_of_its_own(self, campaign: ModuleType) -> None:
        assert campaign._in_a_process(os.getpid) != os.getpid()
