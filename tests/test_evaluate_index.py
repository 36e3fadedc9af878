"""Evaluations on an index: what it is called, and ids that it does not have."""

from pathlib import Path

import pytest

from chamfer import Encoder, Index, Searcher, build_index, evaluate, learn
from chamfer.errors import UnknownNameError
from tests.conftest import DOCUMENTS

JUDGED = {"why do cats sleep": {"d4": 2, "d1": 1}, "blue sky": {"d3": 1}, "the dog": {"d2": 1, "d5": 1}}


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index in the working directory."""
    build_index(tmp_path / "pets", DOCUMENTS, encoder)
    monkeypatch.chdir(tmp_path / "pets")
    return Path()


def test_an_index_that_is_opened_as_a_dot_has_the_name_of_its_folder(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    assert evaluate(searcher, ["uniform"], judgements=JUDGED).title == "pets, judgements: 3 queries, 5 documents"
    with pytest.raises(UnknownNameError, match=r"judged documents is in pets: .* by the ids that pets has"):
        evaluate(searcher, ["uniform"], judgements={"cats": ["x"]})
    assert learn(Index.open(folder), judgements=JUDGED, encoder=encoder).weights.metadata["corpus"] == "pets"


def test_long_ids_are_shortened_in_messages(folder: Path, encoder: Encoder) -> None:
    searcher = Searcher.open(folder, encoder=encoder)
    with pytest.raises(UnknownNameError) as refused:
        evaluate(searcher, ["uniform"], judgements={"cats": ["x" * 100_000]})
    assert len(str(refused.value)) < 300
    with pytest.warns(UserWarning, match="such as 'xxx") as told:
        evaluate(searcher, ["uniform"], judgements={**JUDGED, "cats": ["x" * 100_000]})
    assert max(len(str(one.message)) for one in told) < 300
