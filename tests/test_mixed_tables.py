"""The tables of evidence and learnt weights, rendered from made-up results."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
# Mean quality of each system, in both measures.
LEVELS = {
    "uniform": 0.50,
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
}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, which reads results of this test only."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    for name in ("table_means", "mixed_tables"):
        monkeypatch.setattr(import_module(name), "RESULTS", tmp_path)
    return import_module("mixed_tables")


def write_record(folder: Path, name: str, *, queries: int, judged: int) -> None:
    seeds = import_module("seeds")
    generator = np.random.default_rng(len(name))
    of_queries = generator.normal(0, 0.05, (queries, 2))
    found = seeds.SeedResult(
        query_ids=[f"q{at}" for at in range(queries)],
        groups=np.arange(queries),
        apart=np.ones(queries, np.bool_),
        values={system: level + of_queries - of_queries.mean(axis=0) for system, level in LEVELS.items()},
    )
    record: dict[str, Any] = {
        "dataset": name,
        "splits": {"train": judged - 10, "validation": 10, "test": queries},
        **seeds.pooled([found]),
    }
    (folder / "mixed" / "minilm").mkdir(parents=True, exist_ok=True)
    (folder / "mixed" / "minilm" / f"{name}.json").write_text(json.dumps(record))


def test_tables_without_results_say_what_to_run(tables: ModuleType) -> None:
    for table in (tables.short, tables.cost):
        assert "Not measured yet on this version; run `make bench-mixed" in table()
    for table in (tables.without_labels, tables.pieces, tables.with_labels, tables.summary, tables.over_mix):
        assert table(tables.LATE) == "Not measured yet on this version; run `make bench-late-interaction`."


def test_collections_with_few_test_queries_give_no_mean(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "small", queries=30, judged=600)
    for table in (tables.pieces, tables.summary):
        assert table(tables.MINILM).startswith("Not measured yet")
    assert tables.short().startswith("Not measured yet")
    assert "| small | 30 |" in tables.without_labels(tables.MINILM)


def test_means_are_those_of_the_collections(tables: ModuleType, tmp_path: Path) -> None:
    write_record(tmp_path, "scifact", queries=60, judged=600)
    write_record(tmp_path, "cranfield", queries=60, judged=100)
    pieces = tables.pieces(tables.MINILM)
    assert "| mix | +4.00%" in pieces
    assert "mix with pooled" not in pieces, "it is the mix itself"
    before, many = tables.summary(tables.MINILM).split("Collections with at least 400 judged queries")
    assert "| auto | uniform | all test queries | 2 | 2 / 0 | +20.00%" in before
    assert "| auto without adapter | uniform | test queries apart | 2 | 2 / 0 | +10.00%" in before
    assert "| auto | uniform | all test queries | 1 | 1 / 0 |" in many
    assert "shuffled" not in before, "controls are shown where they were measured"
    assert "| mean | 0.500 | 0.520 | 0.600 |" in tables.short()
    assert "| scifact | 0.500 | 0.520 | 0.600 |" in tables.short()


def test_costs_are_shown_relative_to_the_older_version(tables: ModuleType, tmp_path: Path) -> None:
    sides = {"before, idf-soft": (4.0, 200), "mix": (4.2, 206)}
    index = {
        "documents": 1000,
        "sides": {name: {"milliseconds": time, "memory_mb": memory} for name, (time, memory) in sides.items()},
    }
    learning = {"queries": 800, "dataset": "scifact", "seconds": 100.0, "allocated_mb": {"before": 5, "highest": 1500}}
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "cost.json").write_text(json.dumps({"indexes": {"scifact": index}, "learning": learning}))
    assert "| scifact | 1,000 | mix | 4.20 | 1.05 | 206 | 1.03 |" in tables.cost()
    assert "never holds more than 1,500 MB" in tables.cost()
