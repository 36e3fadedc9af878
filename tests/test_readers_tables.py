"""CSV: values have the types that their columns support, and padding is no part of them."""

from pathlib import Path
from typing import Any

import pytest

from chamfer.data.cell_types import CellTypes
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.errors import InputWarning


def column(*values: str, grouped: bool = False) -> tuple[list[Any], list[str]]:
    """The values of a column in its type, None if left out; and what is said of it."""
    types = CellTypes(grouped=grouped)
    for value in values:
        types.look({"n": value})
    return [types.typed({"n": value}).get("n") for value in values], types.notes


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1.50", "2.75", "3"], [1.5, 2.75, 3]),
        (["1.0", "2.25", "3.5"], [1.0, 2.25, 3.5]),
        (["1e-05", "1E+05", "2", "1.5e3"], [1e-05, 1e5, 2, 1500.0]),
        (["1E5", "2"], ["1E5", "2"]),
        (["1", "NA", "2"], [1, None, 2]),
        (["NA", "1.5", "nan"], [None, 1.5, None]),
        (["true", "NaN", "FALSE", "NA"], [True, None, False, None]),
        (["Ghana", "NA", "NaN"], ["Ghana", "NA", None]),
        (["NaN", "nan"], [None, None]),
        (["1.234", "5.678"], [1.234, 5.678]),
    ],
)
def test_a_column_has_the_type_that_fits_all_of_its_values(values: list[str], expected: list[Any]) -> None:
    assert column(*values) == (expected, [])


def test_versions_stay_text() -> None:
    found, [said] = column("1.9", "1.10", "1.1")
    assert found == ["1.9", "1.10", "1.1"]
    assert said == "column 'n' stays text, because its numbers may be versions: '1.10' is not the same as 1.1"


@pytest.mark.parametrize(
    ("values", "stays"),
    [
        (["1.234", "12.500", "999"], True),
        (["-1.234"], True),
        (["1.234", "0.500"], False),
        (["1.234", "1.5"], False),
        (["1234.567", "1.234"], False),
    ],
)
def test_points_that_may_separate_thousands_stay(values: list[str], stays: bool) -> None:
    found, said = column(*values, grouped=True)
    assert found == (values if stays else [float(value) for value in values])
    assert len(said) == stays


def test_thousands_are_expected_in_files_with_semicolons(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("id;text;n\na;x;1.234\nb;y;2.345\n")
    with pytest.warns(InputWarning) as told:
        documents = list(documents_from(tmp_path / "c.csv").read())
    assert [document.metadata["n"] for document in documents] == ["1.234", "2.345"]
    assert f"{tmp_path}/c.csv: column 'n' stays text, because a point with three digits" in str(told[-1].message)
    (tmp_path / "c.csv").write_text("id,text,n\na,x,1.234\nb,y,2.345\n")
    assert [one.metadata["n"] for one in documents_from(tmp_path / "c.csv").read()] == [1.234, 2.345]


@pytest.mark.parametrize(
    "content",
    [
        'id, text, topic, year\n1, "cats, big and small", life, 2021\n',
        'id , text , topic , year\n1 ,"cats, big and small", life , 2021 \n',
    ],
)
def test_cells_are_stripped_where_the_header_is_padded(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.csv").write_text(content)
    expected = [Document("1", "cats, big and small", metadata={"topic": "life", "year": 2021})]
    assert list(documents_from(tmp_path / "c.csv").read()) == expected


def test_spaces_stay_where_the_header_has_none(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text('id,text,code\n1,cats," A "\n')
    assert next(iter(documents_from(tmp_path / "c.csv").read())).metadata == {"code": " A "}
