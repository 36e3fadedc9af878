"""Learning from documents that were marked in an index."""

from pathlib import Path

import numpy as np
import pytest

from chamfer import Encoder, InputError, Searcher, build_index
from chamfer.kernels import reference
from chamfer.learn.marked import Marks, learn_marked
from tests.conftest import DOCUMENTS

MARKS = [Marks("why do cats sleep", ["d4"], ["d2"]), Marks("blue sky", ["d3"]), Marks("the dog", ["d2", "d5"])]


@pytest.fixture
def searcher(encoder: Encoder, tmp_path: Path) -> Searcher:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    return Searcher.open(tmp_path / "index", encoder=encoder)


def test_what_is_learnt_from_are_the_distances_of_the_index(searcher: Searcher, encoder: Encoder) -> None:
    learnt = learn_marked(searcher, MARKS)
    assert learnt.report.queries == 3
    judged, ids = learnt.judged[0]
    assert list(ids) == sorted(DOCUMENTS)
    assert judged.grades.tolist() == [0, 0, 0, 1, 0], "what is not marked counts as not relevant"
    query = encoder.encode_queries(["why do cats sleep"])
    for place, identifier in enumerate(ids):
        document = searcher.index.tokens(int(searcher.index.places([identifier])[0]))
        wanted = reference.minima(query.vectors, document)[0]
        np.testing.assert_allclose(judged.distances[place], wanted, atol=1e-3)


def test_marks_of_one_query_are_joined(searcher: Searcher) -> None:
    twice = [Marks("the dog", ["d2"]), Marks("the dog", ["d5"]), *MARKS[:2]]
    assert learn_marked(searcher, twice).report.queries == 3


def test_weights_can_be_searched_with_and_say_where_they_come_from(searcher: Searcher) -> None:
    weights = learn_marked(searcher, MARKS).weights
    assert weights.metadata["learnt_from"] == 3
    assert weights.metadata["form"] == "l2"
    assert searcher.search("blue sky", k=1, weights=weights)


@pytest.mark.parametrize(
    ("marks", "told"),
    [
        (MARKS[:1], "at least 2 queries"),
        ([Marks("a", ["d1"], ["d1"]), *MARKS], "relevant and not relevant"),
        ([Marks("a", ["nowhere"]), *MARKS], "no document 'nowhere'"),
    ],
)
def test_marks_that_cannot_be_used_are_told(searcher: Searcher, marks: list[Marks], told: str) -> None:
    with pytest.raises(InputError, match=told):
        learn_marked(searcher, marks)
