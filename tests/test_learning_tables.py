"""The tables of evidence and learnt weights, rendered from made-up results."""

import json
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# Mean quality of each system, in both measures.
LEVELS = {
    "uniform": 0.50,
    "idf": 0.49,
    "idf-soft": 0.51,
    "mix": 0.52,
    "mix without lexical": 0.51,
    "mix without pooled": 0.51,
    "mix with pooled": 0.52,
    "uniform + evidence": 0.51,
    "auto": 0.60,
    "auto without lexical": 0.58,
    "auto without pooled": 0.58,
    "auto without adapter": 0.55,
    "auto, tokens only": 0.57,
    "paper": 0.50,
    "prior": 0.53,
    "context": 0.54,
    "auto on shuffled labels": 0.52,
    "auto on labels drawn by idf-soft": 0.52,
}
BY_FOLDER = ("provenance", "without_labels", "with_labels", "over_mix", "pieces", "summary", "recipe_means")


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, which reads results of this test only."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    for name in ("table_means", "learning_tables", "evidence_cost_tables"):
        monkeypatch.setattr(import_module(name), "RESULTS", tmp_path)
    seeds = import_module("seeds")
    # Few samples: intervals are not what is tested.
    monkeypatch.setattr(seeds, "compare", partial(seeds.compare, permutations=500))
    for name in ("bootstrap_interval", "relative_interval"):
        monkeypatch.setattr(seeds, name, partial(getattr(seeds, name), samples=100))
    return import_module("learning_tables")


def write(path: Path, found: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))


def write_record(
    folder: Path,
    name: str,
    *,
    queries: int = 60,
    judged: int = 600,
    groups: int | None = None,
    apart: int | None = None,
    auto: Sequence[float] = (0.60,),
) -> None:
    """Results of one collection, with the level that ``auto`` reaches with each seed."""
    seeds = import_module("seeds")
    of_queries = np.random.default_rng(len(name)).normal(0, 0.05, (queries, 2))
    of_queries -= of_queries.mean(axis=0)
    found = [
        seeds.SeedResult(
            query_ids=[f"q{at}" for at in range(queries)],
            groups=np.arange(queries) % (groups or queries),
            apart=np.arange(queries) < (queries if apart is None else apart),
            values={system: level + of_queries for system, level in {**LEVELS, "auto": value}.items()},
        )
        for value in auto
    ]
    record = {
        "dataset": name,
        "environment": {"commit": "abc"},
        "encoder": {"arithmetic": "bfloat16", "device": "cuda"},
        "seeds": len(auto),
        "splits": {"train": judged - 10, "validation": 10, "test": queries},
        **seeds.pooled(found),
    }
    write(folder / "learning" / "minilm" / f"{name}.json", record)


def test_tables_without_results_say_what_to_run(tables: ModuleType) -> None:
    for name in (*BY_FOLDER, "every_recipe"):
        told = getattr(tables, name)(tables.LATE)
        assert told == "Not measured yet on this version; run `make bench-late-interaction`."
    for table in (tables.short, tables.new_questions):
        assert table() == "Not measured yet on this version; run `make bench-learning`."
    assert "make bench-evidence-cost" in import_module("evidence_cost_tables").cost()
    assert "make bench-learning-curve" in import_module("learning_curve_tables").curves()
    assert "make bench-fresh" in tables.similar_queries()


def test_every_table_has_every_collection(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "scifact")
    write_record(tmp_path, "cranfield", queries=20, apart=0)
    for name in ("without_labels", "with_labels", "over_mix", "every_recipe"):
        table = getattr(tables, name)(tables.MINILM)
        large, few = table.split("Fewer than 50 test queries:")
        assert "| scifact |" in large
        assert "| cranfield |" in few
        assert len({row.count("|") for row in table.splitlines() if row.startswith("|")}) == 1
    assert "| none | none | 20 | +15.4%" in tables.over_mix(tables.MINILM)


def test_collections_with_few_test_queries_give_no_mean(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "small", queries=30)
    for table in (tables.pieces, tables.summary, tables.recipe_means):
        assert table(tables.MINILM).startswith("Not measured yet")
    assert tables.short().startswith("Not measured yet")
    assert tables.new_questions().startswith("Not measured yet")
    assert "| small | 30 |" in tables.without_labels(tables.MINILM)


def test_means_are_those_of_the_collections(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "scifact")
    write_record(tmp_path, "cranfield", judged=100)
    pieces = tables.pieces(tables.MINILM)
    assert "| mix | +4.00%" in pieces
    assert "mix with pooled" not in pieces, "it is the mix itself"
    before, many = tables.summary(tables.MINILM).split("Collections with at least 400 judged queries")
    assert "| auto | uniform | all test queries | 2 | 2 / 0 | +20.00%" in before
    assert "| auto without adapter | uniform | test queries apart | 2 | 2 / 0 | +10.00%" in before
    assert "| auto on shuffled labels | mix | all test queries | 2 |" in before
    assert "| auto | uniform | all test queries | 1 | 1 / 0 |" in many
    assert "| mean | 0.500 | 0.520 | 0.600 |" in tables.short()
    assert "| scifact | 0.500 | 0.520 | 0.600 |" in tables.short()
    recipes = tables.recipe_means(tables.MINILM)
    assert "| context | nDCG@10 | +8.00%" in recipes
    assert "| mix | nDCG@10 | +4.00% (+4.00 to +4.00) | +1.96% (+1.96 to +1.96) |  |" in recipes
    assert "changes nDCG@10 by -2.0% (-2.0 to -2.0)" in tables.new_questions()


def test_runs_that_lose_are_counted_on_small_collections_too(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "large", auto=(0.6, 0.4, 0.7))
    write_record(tmp_path, "small", queries=10, auto=(0.4, 0.4, 0.51))
    first = tables.summary(tables.MINILM).splitlines()[2]
    assert first.startswith("| auto | uniform | all test queries | 1 | 1 / 0 | +13.33% (-inf to +inf) |")
    assert first.endswith("| 3 of 6 |")
    assert "0.567 (0.400-0.700) |" in tables.every_recipe(tables.MINILM)


def test_few_groups_have_no_interval(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "a", groups=19)
    write_record(tmp_path, "b", groups=20)
    few, enough = tables.with_labels(tables.MINILM).splitlines()[2:4]
    assert few.count("(too few)") == 4
    assert "(too few)" not in enough
    assert enough.count("+20.0%") == 4


def test_what_is_not_measured_yet_is_named(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "scifact")
    for name in ("scifact", "arguana"):
        write(tmp_path / "zero-shot" / f"{name}.json", {})
    said = tables.provenance(tables.MINILM)
    assert said.startswith("1 collection, encoded in bfloat16 on a GPU; 1 seed; commit abc.")
    assert said.endswith("Not measured with this version yet: arguana.")
    (tmp_path / "zero-shot" / "arguana.json").unlink()
    assert tables.provenance(tables.MINILM).endswith("commit abc.")


def test_a_commit_that_was_not_kept_is_named_as_such(tables: ModuleType) -> None:
    said = import_module("table_means").commits_in(
        {"environment": {"commit": commit}} for commit in ("fff", "e0a86d1", "fff")
    )
    assert said == "commits e0a86d1, which was not kept (its work is part of 027fb00) and fff"


def test_readme_says_how_many_seeds_there_are(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "scifact", auto=(0.6, 0.6))
    assert tables.short().endswith("\n\nMeasured with 2 seeds.")


def test_curves_that_the_method_was_designed_on_come_last(tables: ModuleType, tmp_path: Path) -> None:
    known = {"gain_lowest": -0.1, "gain_highest": 0.2, "below": 0.1, "ndcg": 0.5, "recall": 0.6, "gain": 0.1}
    points = [{"queries": number, **known} for number in (0, 10)]
    for name in ("cosqa", "scifact"):
        record = {"dataset": name, "baseline": "zero-shot mix", "points": points}
        write(tmp_path / "learning-curve" / f"{name}.json", record)
    table = import_module("learning_curve_tables").curves()
    assert table.index("| scifact | 0 | 0.500") < table.index("| cosqa † | 0 |")
    assert table.splitlines()[0].endswith("draws below zero-shot mix |")
    assert "| | 10 | 0.500 | 0.600 | +0.100 | -0.100 to +0.200 | 10% |" in table


def test_costs_are_shown_relative_to_the_older_version(tables: ModuleType, tmp_path: Path) -> None:
    sides = {"before, idf-soft": (4.0, 200), "mix": (4.2, 206)}
    index = {
        "documents": 1000,
        "sides": {name: {"milliseconds": time, "memory_mb": memory} for name, (time, memory) in sides.items()},
    }
    learning = {"queries": 800, "dataset": "scifact", "seconds": 100.0, "allocated_mb": {"before": 5, "highest": 1500}}
    found = {"environment": {"cores": 3}, "indexes": {"scifact": index}, "learning": learning}
    write(tmp_path / "evidence-cost.json", found)
    cost = import_module("evidence_cost_tables").cost()
    assert "| scifact | 1,000 | mix | 4.20 | 1.05 | 206 | 1.03 |" in cost
    assert "on 3 cores, and the process never holds more than 1,500 MB" in cost


def test_overlaps_of_queries_are_shares(tables: ModuleType, tmp_path: Path) -> None:
    write(tmp_path / "similar-queries.json", {"collections": {"nl2bash": {"shares": {"0.6": 0.25, "0.8": 0.05}}}})
    assert "| nl2bash | 25.0% | 5.0% |" in tables.similar_queries()


@pytest.mark.parametrize(("folder", "default"), [("minilm", (0.25, 0.012, 0.4)), ("late-interaction", (0.5, 0.02, 0))])
def test_factors_are_compared_at_the_power_of_the_default_mix(
    tables: ModuleType, tmp_path: Path, folder: str, default: tuple[float, float, float]
) -> None:
    mix_choice, mix_choice_tables = import_module("mix_choice"), import_module("mix_choice_tables")
    grid = product(mix_choice.POWERS, mix_choice.LEXICAL, mix_choice.POOLED)
    values = {mix_choice.grid_name(*one): 0.55 if one == default else 0.5 for one in grid}
    values |= dict.fromkeys(mix_choice.names()[:-1], 0.5)
    systems = {name: dict.fromkeys(("nDCG@10", "R@10"), value) for name, value in values.items()}
    write(tmp_path / "mix-choice" / folder / "a.json", {"systems": systems})
    power, lexical, pooled = default
    table = mix_choice_tables.factors(f"mix-choice/{folder}")
    assert table.count("+10.0 / +10.0") == 2, "in the grid, and among the powers"
    assert f"beside the factors {lexical:g} and {pooled:g}: " in table
    assert f"{power:g}: +10.0 / +10.0" in table
    left_out = mix_choice_tables.left_out(f"mix-choice/{folder}")
    assert "| two nearest | +0.00%" in left_out
    assert left_out.endswith("\n\nNot measured yet: standardised over candidates, 0.8.")
