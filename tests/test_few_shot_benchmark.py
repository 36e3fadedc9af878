"""How learnt weights are measured: what is tested, how seeds are pooled, and labels that are false on purpose."""

import json
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

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
THINGS = ("cat", "dog", "sky", "night", "day", "mat")


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def seeds() -> ModuleType:
    return import_module("seeds")


@pytest.fixture
def few_shot() -> ModuleType:
    return import_module("few_shot")


@pytest.fixture
def setup(encoder: Encoder, tmp_path: Path) -> Setup:
    """Thirty queries of two words, asked in both orders, so that each relevant document belongs to two of them."""
    pairs = list(permutations(THINGS, 2))
    documents = {f"{one}-{other}": f"the {one} and a {other}" for one, other in pairs if one < other}
    queries = {f"{one}?{other}": f"why {one} {other}" for one, other in pairs}
    judged = {f"{one}?{other}": {"-".join(sorted((one, other))): 1} for one, other in pairs}
    fields = {query: {"thing": min(query.split("?"))} for query in queries}
    return Setup(Collection("things", documents, queries, {"test": judged}, fields), encoder, tmp_path)


def test_every_seed_tests_the_same_queries_and_learns_from_none_of_them(few_shot: ModuleType, setup: Setup) -> None:
    tested, trained = set(), set()
    for seed in range(3):
        splits, repeated = few_shot.read_splits(setup, "document", seed)
        test, *learnt = (tuple(query.query_id for query in part) for part in reversed(splits))
        tested.add(test)
        trained.add(tuple(learnt))
        words = {words_of(setup.collection.queries[query]) for query in test}
        assert not any(words_of(setup.collection.queries[query]) in words for part in learnt for query in part)
        assert repeated == 0
    assert len(tested) == 1
    assert len(trained) > 1, "validation queries are drawn"


def test_a_collection_whose_queries_have_groups_is_divided_by_them(few_shot: ModuleType, setup: Setup) -> None:
    splits, _ = few_shot.read_splits(setup, "thing", 0)
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


class TestTables:
    @pytest.fixture
    def tables(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
        monkeypatch.setattr(import_module("table_means"), "RESULTS", tmp_path)
        return import_module("few_shot_tables")

    @staticmethod
    def write(folder: Path, name: str, *, queries: int, seeds: list[float], groups: int = 30) -> None:
        def system(values: list[float]) -> dict[str, Any]:
            mean = sum(values) / len(values)
            against = {"difference": mean - 0.5, "p_value": 0.5, "relative_interval": [-0.1, 0.3]}
            measures = {"nDCG@10": values, "R@10": values}
            return {
                "measures": dict.fromkeys(measures, mean),
                "by_seed": measures,
                **{baseline: dict.fromkeys(measures, against) for baseline in ("against_uniform", "against_zero_shot")},
            }

        names = ("uniform", "idf", "idf-soft", "paper", "prior", "context")
        systems = {name: system([0.5] * len(seeds)) for name in names}
        learnt = ("auto", "auto on shuffled labels", "auto on labels drawn by idf-soft")
        systems |= {name: system(seeds) for name in learnt}
        part = {"queries": queries, "groups": groups, "systems": systems}
        record = {
            "dataset": name,
            "environment": {"commit": "abc"},
            "encoder": {},
            "splits": {"train": 8, "validation": 2, "test": queries},
            **dict.fromkeys(("all", "apart", "sharing"), part),
        }
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(record))

    def test_runs_that_lose_are_counted_on_small_collections_too(self, tables: ModuleType, tmp_path: Path) -> None:
        self.write(tmp_path / "few-shot", "large", queries=50, seeds=[0.6, 0.4, 0.7])
        self.write(tmp_path / "few-shot", "small", queries=10, seeds=[0.4, 0.4, 0.5])
        first = tables.summary("few-shot").splitlines()[2]
        assert first.startswith("| labels | softened IDF | all test queries | 1 | 1 / 0 | +13.33% (-inf to +inf) |")
        assert first.endswith("| 3 of 6 |")

    def test_few_groups_have_no_interval(self, tables: ModuleType, tmp_path: Path) -> None:
        self.write(tmp_path / "few-shot", "a", queries=60, seeds=[0.55], groups=19)
        self.write(tmp_path / "few-shot", "b", queries=60, seeds=[0.55], groups=20)
        few, enough = tables.apart_and_sharing().splitlines()[2:4]
        assert few.count("+10.0% (too few)") == 4
        assert enough.count("+10.0% (-10.0 to +30.0)") == 4


def test_false_labels_are_as_many_as_true_ones_and_drawn_ones_are_close(few_shot: ModuleType) -> None:
    queries = random_problem(1, queries=60)
    ranks = {}
    for name, found in (("shuffled", few_shot.shuffled(queries, 0)), ("drawn", few_shot.drawn(queries, uniform(), 0))):
        assert [query.grades.sum() for query in found] == [1] * 60
        ranks[name] = np.mean([np.argsort(np.argsort(one.distances.sum(axis=1)))[one.grades.argmax()] for one in found])
    assert ranks["drawn"] < 6 < 10 < ranks["shuffled"]
