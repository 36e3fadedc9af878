"""The tables of zero-shot weights, and the variants they show."""

import json
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from chamfer import Collection, Encoder, evaluate
from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.setup import Setup
from chamfer.reproduce.environment import environment

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def means() -> ModuleType:
    return import_module("table_means")


@pytest.fixture
def tables() -> ModuleType:
    return import_module("zero_shot_variant_tables")


@pytest.fixture
def setup(encoder: Encoder, tmp_path: Path) -> Setup:
    """Fifty-six documents, four queries."""
    things = ["cat", "dog", "sky", "night", "day", "mat", "blue", "sleep"]
    documents = {f"{one}-{other}": f"the {one} and a {other}" for one in things for other in things if one != other}
    queries = {f"{one}?{other}": f"why {one} {other}" for one, other in pairwise(things[:5])}
    judged = {query: {query.replace("?", "-"): 1} for query in queries}
    return Setup(Collection("things", documents, queries, {"test": judged}), encoder, tmp_path)


def record(name: str, *, queries: int, **systems: tuple[float, float]) -> dict[str, Any]:
    """A collection on which uniform weights reach 0.5; systems with their quality and p-value."""
    measured: dict[str, Any] = {"uniform": {"measures": {"nDCG@10": 0.5}}}
    for system, (value, p_value) in systems.items():
        measured[system] = {"measures": {"nDCG@10": value}, "against_uniform": {"nDCG@10": {"p_value": p_value}}}
    return {"dataset": name, "queries": queries, "systems": measured}


def test_p_values_are_corrected_over_everything_that_a_table_compares(means: ModuleType) -> None:
    records = [record("one", queries=80, a=(0.6, 0.02), b=(0.4, 0.5)), record("two", queries=80, a=(0.6, 0.001))]
    alone = means.changes_in(records, ["a"], ["nDCG@10"])
    assert means.counts(alone["a", "nDCG@10"]) == "2 (2) / 0 (0)"
    records[1]["systems"]["b"] = records[0]["systems"]["b"]
    changes = means.changes_in(records, ["a", "b"], ["nDCG@10"])
    assert [change.p_value for change in changes["a", "nDCG@10"]] == pytest.approx([0.06, 0.004])
    assert means.counts(changes["a", "nDCG@10"]) == "2 (1) / 0 (0)"
    assert means.counts(changes["b", "nDCG@10"]) == "0 (0) / 2 (0)"


def test_collections_with_few_queries_are_shown_apart_and_left_out_of_means(means: ModuleType) -> None:
    records = [record("small", queries=49, a=(0.1, 0.001)), record("large", queries=50, a=(0.6, 0.5))]
    shown = means.in_two_blocks(records, ["| collection |", "| --- |"], lambda one: [f"| {one['dataset']} |"])
    assert shown.index("| large |") < shown.index("Fewer than 50 test queries:") < shown.index("| small |")
    own = means.large(means.changes_in(records, ["a"], ["nDCG@10"])["a", "nDCG@10"])
    assert [change.percent for change in own] == pytest.approx([20.0])


def test_a_mean_has_an_interval_and_a_single_value_says_nothing_about_others() -> None:
    assert mean_percent([1.0, 2.0, 3.0]) == "+2.00% (-0.48 to +4.48)"
    assert mean_percent([1.0]) == "+1.00% (-inf to +inf)"
    assert mean_percent([]) == ""


def test_a_collection_has_no_say_in_the_power_that_it_is_measured_with(means: ModuleType, tables: ModuleType) -> None:
    def peaked(name: str, best: float, height: float) -> dict[str, Any]:
        values = {tables.power_name(power): (0.5 + height * (power == best), 1.0) for power in tables.POWERS}
        return record(name, queries=80, **values)

    records = [peaked("loud", 1.0, 0.3), peaked("one", 0.25, 0.1), peaked("two", 0.25, 0.1)]
    changes = means.changes_in(records, [tables.power_name(power) for power in tables.POWERS], ["nDCG@10"])
    assert tables.powers_chosen_elsewhere(changes) == [0.25, 1.0, 1.0]


def test_the_spread_over_seeds_is_that_of_the_mean_over_collections(tables: ModuleType) -> None:
    def sampled(*values: float) -> dict[str, Any]:
        one = record("one", queries=80)
        one["systems"]["sample-0.1"] = {"seeds": [{"measures": {"nDCG@10": value}} for value in values]}
        return one

    opposite = [sampled(0.5, 0.6, 0.5, 0.6, 0.5), sampled(0.6, 0.5, 0.6, 0.5, 0.6)]
    assert tables.seed_spread(opposite, 0.1, "nDCG@10") == pytest.approx(0.0)
    assert tables.seed_spread(opposite[:1], 0.1, "nDCG@10") == pytest.approx(np.std([0, 20, 0, 20, 0], ddof=1))


def test_tables_can_be_rendered_before_anything_is_measured(
    means: ModuleType, tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(means, "RESULTS", tmp_path)
    weights = import_module("zero_shot_tables")
    for table in (weights.summary, weights.every_collection):
        assert table().startswith("| ")
    for table in (tables.differences, tables.powers, tables.others, tables.counted):
        assert table() == tables.NOT_MEASURED


def test_the_paper_gains_recall_but_not_reciprocal_rank_with_its_own_idf() -> None:
    rows = import_module("zero_shot_tables").paper().splitlines()
    gains = {row.split(" | ")[0]: row.split(" | ")[3] for row in rows}
    assert gains["| nDCG@10"].startswith("+0.28%")
    assert gains["| R@10"].startswith("+1.28%")
    assert gains["| RR@10"].startswith("-0.65%")


def test_variants_agree_with_the_weights_that_users_can_name(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    variants = import_module("zero_shot_variants")
    monkeypatch.setattr(variants, "FRACTIONS", (0.5,))  # a hundredth of the documents would be none
    systems = variants.measure_variants(setup)["systems"]
    evaluation = evaluate(setup.collection, encoder=setup.encoder, cache=setup.cache)
    for name, variant in (("uniform", "uniform"), ("uniform", "power-0"), ("idf-soft", "power-0.5")):
        for measure, value in systems[variant]["measures"].items():
            assert value == pytest.approx(evaluation[name].measures[measure], abs=1e-6)
    assert {len(one["interval"]) for one in systems["first-half"]["against_uniform"].values()} == {2}
    assert len({one["documents"] for one in systems["sample-0.5"]["seeds"]}) > 1


def test_parts_of_the_corpus_are_counted_as_parts(setup: Setup) -> None:
    variants = import_module("zero_shot_variants")
    half, whole = variants.first_half(setup), setup.frequencies
    assert half.documents == whole.documents / 2
    assert half.counts[setup.encoder.vocabulary.ids["cat"]] >= 7  # whose documents come first
    assert (variants.sampled(setup, 1.0, 0).counts == whole.counts).all()
    assert (variants.sampled(setup, 0.5, 0).counts != variants.sampled(setup, 0.5, 1).counts).any()


def test_norms_belong_to_the_tokens_of_their_query(encoder: Encoder) -> None:
    queries = ["why is the sky blue", "the dog", "why is the sky blue"]
    norms = import_module("token_norms").token_norms(encoder, queries)
    assert [len(one) for one in norms] == encoder.encode_queries(queries).lengths.tolist()
    np.testing.assert_array_equal(norms[0], norms[2])
    assert not np.allclose(np.concatenate(norms), 1)
    np.testing.assert_allclose(np.linalg.norm(encoder.encode_queries(queries).vectors, axis=1), 1, rtol=1e-5)


def test_a_cold_start_is_shown_with_its_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = import_module("serving_tables")
    sides = {
        "before": {"median_seconds": 12.0, "seconds": [9.0, 12.0, 27.04]},
        "now": {"median_seconds": 1.5, "seconds": [1.5, 1.25, 2.0]},
    }
    measured: dict[str, Any] = {"environment": environment(), "documents": 1033, "commands": {"search": sides}}
    (tmp_path / "cold.json").write_text(json.dumps(measured))
    monkeypatch.setattr(tables, "COLD", tmp_path / "cold.json")
    said = tables.cold()
    assert "an index of 1,033 documents: medians of 3 rounds" in said
    assert "| `chamfer search` | 12.0 (9.0 to 27.0) | 1.5 (1.2 to 2.0) | 8.0x |" in said
    assert {"openvino", "tokenizers"} <= measured["environment"].keys()
