"""Test queries that share nothing with those learnt from: their figures, and their column in the summary."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from chamfer import Collection
from chamfer.cli.app import app
from chamfer.data.collection import load_collection
from chamfer.data.runs import read_run
from chamfer.evaluate.groups import are_apart
from chamfer.reproduce import run as running
from chamfer.reproduce.capped_recall import measure_all
from chamfer.reproduce.debates import with_debates
from chamfer.reproduce.report import results_apart
from chamfer.reproduce.saved_splits import QuerySplits
from chamfer.reproduce.systems import APART, CHAMFER, FEW_SHOT, SYSTEMS
from tests import checkpoints
from tests.test_reproduce import command, write_tiny

pytestmark = pytest.mark.usefixtures("few_steps")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

DEBATED = Collection(
    name="arguana",
    documents={},
    queries={
        "test-law-guns-pro01a": "Guns kill.",
        "test-law-guns-con02a": "Guns protect.",
        "test-art-museums-con01a": "Museums are dull.",
        "unnamed": "Nothing is known.",
    },
    judgements={"test": {"test-law-guns-pro01a": {"d1": 1}, "test-law-guns-con02a": {"d2": 1}, "unnamed": {"d3": 1}}},
    query_fields={"unnamed": {"asked": "today"}},
)


def test_the_debate_of_a_query_is_in_its_id() -> None:
    assert with_debates(DEBATED).query_fields == {
        "test-law-guns-pro01a": {"debate": "test-law-guns"},
        "test-law-guns-con02a": {"debate": "test-law-guns"},
        "test-art-museums-con01a": {"debate": "test-art-museums"},
        "unnamed": {"asked": "today"},
    }
    other = Collection("other", DEBATED.documents, DEBATED.queries, DEBATED.judgements)
    assert with_debates(other) is other


@pytest.mark.parametrize(("name", "apart"), [("arguana", [False, True]), ("other", [True, True])])
def test_queries_of_one_debate_are_not_apart(name: str, apart: list[bool]) -> None:
    collection = Collection(name, DEBATED.documents, DEBATED.queries, DEBATED.judgements)
    queries = {"train": ["test-law-guns-pro01a"], "validation": [], "test": ["test-law-guns-con02a", "unnamed"]}
    splits = QuerySplits(queries, dict.fromkeys(queries, "test"))
    found = are_apart(splits.tied(collection, "test"), splits.tied(collection, "train"))
    assert found.tolist() == apart


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two collections: one with several queries for each document, and one whose queries are all about one document."""
    folder = tmp_path_factory.mktemp("apart")
    checkpoints.make_stanford(folder / "model", query_length=12, document_length=14)
    write_tiny(folder / "data" / "several", queries=20)
    one = write_tiny(folder / "data" / "one", queries=8)
    rows = [f"q{place:02}\tone00\t1" for place in range(8)]
    (one / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    arguments = command(folder / "data", folder / "model", folder / "run", "--setting", "rerank")
    arguments[1:3] = ["several", "one"]
    assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    return folder


def test_queries_apart_have_the_figures_of_their_rankings(finished: Path) -> None:
    result = next(one for one in running.read_results(finished / "run") if one["dataset"] == "several")
    roles = json.loads((finished / "run" / "several" / "splits.json").read_text())["queries"]
    judged = load_collection(finished / "data" / "several").judgements["test"]
    learnt = {document for role in ("train", "validation") for query in roles[role] for document in judged[query]}
    apart = [query for query in roles["test"] if learnt.isdisjoint(judged[query])]
    assert 0 < len(apart) < len(roles["test"])
    assert result[APART]["queries"] == len(apart)
    assert set(result[APART]["systems"]) == set(result["systems"])
    for system in SYSTEMS:
        rankings = read_run(finished / "run" / "several" / "rerank" / f"{system}.trec")
        measured = measure_all(rankings, {query: judged[query] for query in apart})
        figures = result[APART]["systems"][system]
        assert figures["measures"] == pytest.approx({name: one.mean() for name, one in measured.items()}, abs=1e-6)
        assert set(figures["against_chamfer"]) == set(figures["measures"])


def test_where_no_query_is_apart_there_are_no_figures(finished: Path) -> None:
    result = next(one for one in running.read_results(finished / "run") if one["dataset"] == "one")
    assert result[APART] == {"queries": 0, "systems": {}}
    assert result["resampled"] == {"by": "text", "groups": 4}, "their document connects them all"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("reproduce_tables")


def systems(value: float, p_value: float = 1.0) -> dict[str, Any]:
    """Systems of which all but Chamfer have this value."""
    return {
        name: {
            "measures": dict.fromkeys(("R@10", "nDCG@10"), 0.5 if name == CHAMFER else value),
            "against_chamfer": {key: {"p_value": p_value, "interval": [0.0, 0.0]} for key in ("R@10", "nDCG@10")},
        }
        for name in SYSTEMS
    }


def result(name: str, *, apart: tuple[int, float] | None = None, p_value: float = 1.0) -> dict[str, Any]:
    """A result with a gain of 20%, and one on some queries apart."""
    found = {"dataset": name, "group": "", "setting": "rerank", "queries": {"test": 90}}
    own = {} if apart is None else {APART: {"queries": apart[0], "systems": systems(apart[1])}}
    return {**found, "systems": systems(0.6, p_value), **own}


@pytest.fixture
def row(tables: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[dict[str, Any]]], list[str]]:
    """The cells that the summary of some results has for one system, after its name."""

    def found(results: list[dict[str, Any]]) -> list[str]:
        monkeypatch.setattr(tables, "read_results", lambda _: results)
        lines = tables.summary().splitlines()
        assert {len(line.split(" | ")) for line in lines} == {11}
        (own,) = (line for line in lines if line.startswith(f"| rerank | {FEW_SHOT} | nDCG@10 |"))
        return [cell.strip() for cell in own.strip("|").split(" |")][3:]

    return found


def test_the_summary_has_the_collections_with_enough_queries_apart(
    row: Callable[[list[dict[str, Any]]], list[str]],
) -> None:
    results = [
        result("one", apart=(50, 0.55)),
        result("two", apart=(70, 0.575)),
        result("few", apart=(49, 0.9)),
        {**result("none"), APART: {"queries": 0, "systems": {}}},
        result("old"),
    ]
    cells = row(results)
    assert cells[0] == "5"
    assert cells[-3:] == ["+20.00% (+20.00 to +20.00)", "2", "+12.50% (-19.27 to +44.27)"]
    assert [one["queries"]["test"] for one in results_apart(results)] == [50, 70]
    assert row([result("old")])[-2:] == ["0", ""]


def test_the_summary_is_one_family_of_comparisons(row: Callable[[list[dict[str, Any]]], list[str]]) -> None:
    assert row([result("one", p_value=0.006)])[1] == "0", "0.006 does not survive ten comparisons"
    assert row([result("one", p_value=0.004)])[1] == "1"
