"""The pairs that the late-interaction model of the benchmarks is trained on: none stands in a judged collection."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return import_module("late_interaction.pairs")


def test_a_docstring_is_found_inside_of_a_function(pairs: ModuleType, tmp_path: Path) -> None:
    inside = pairs.Pair("Sort the given words.", "Short words come first, then long ones, in turn.", "p", "docstring")
    elsewhere = pairs.Pair(
        "Count the given words.", "Short words come first, then long ones, in turn.", "p", "docstring"
    )
    code = f'def sort(words):\n    """{inside.query}\n\n    {inside.document}\n    """\n    return sorted(words)'
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"_id": "1", "title": "", "text": code}) + "\n")
    openings = {pairs.opening(one) for one in (inside, elsewhere)}
    assert len(openings) == 2
    assert pairs.openings_in(corpus, openings) == {pairs.opening(inside)}
