"""Values of DataFrames, Parquet and datasets become JSON, or one sentence says why not."""

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from chamfer import InputError
from chamfer.data.corpus import documents_from
from chamfer.data.plain import plain
from chamfer.errors import InputWarning
from tests.test_document_files import dataset

AHEAD = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (pd.Timestamp("2024-01-02"), "2024-01-02"),
        (np.datetime64("2024-01-02"), "2024-01-02"),
        (datetime(2024, 1, 2), "2024-01-02"),
        (datetime(2024, 1, 2, 8, 30), "2024-01-02T08:30:00"),
        (datetime(2024, 1, 2, 1, tzinfo=AHEAD), "2024-01-01T23:00:00+00:00"),
        (datetime(1, 1, 1, tzinfo=AHEAD), "0001-01-01T00:00:00+02:00"),
        (pd.Timestamp("2024-01-02T01:00", tz="Europe/Berlin"), "2024-01-02T00:00:00+00:00"),
        (date(2024, 1, 2), "2024-01-02"),
        (time(12, 30), "12:30:00"),
        (timedelta(minutes=1), 60.0),
        (Decimal("NaN"), None),
        (Decimal("1.5"), 1.5),
        ({"day": [pd.NaT, pd.NA]}, {"day": [None, None]}),
    ],
)
def test_values_become_plain(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_moments_of_several_zones_compare_in_order() -> None:
    moments = [datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=hours))) for hours in (5, -3, 0, 11)]
    assert sorted(map(plain, moments)) == [plain(moment) for moment in sorted(moments)]
    days = [datetime(2024, 1, 2), datetime(2024, 1, 2, 0, 0, 1), datetime(2024, 1, 3), datetime(2024, 1, 1, 23)]
    assert sorted(map(plain, days)) == [plain(day) for day in sorted(days)]


class Picture:
    """Looks like an image of PIL."""


@pytest.mark.parametrize("kind", ["frame", "dataset"])
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (pd.Period("2024-01"), "Period"),
        (Picture(), "Picture"),
        ({"of": [Picture()]}, "Picture"),
        (Decimal("-Infinity"), r"Decimal \(-Infinity\)"),
        (float("inf"), r"float \(inf\)"),
    ],
)
def test_a_value_that_json_cannot_hold_is_named_with_its_column_and_type(kind: str, value: Any, named: str) -> None:
    rows = [{"id": "a", "text": "x", "m": value}]
    source: Any = dataset(rows) if kind == "dataset" else pd.DataFrame(rows)
    with pytest.raises(
        InputError, match=rf"row [01]: column 'm' holds a value of type {named}, which metadata cannot h"
    ):
        documents_from(source)


@pytest.mark.parametrize("kind", ["frame", "dataset", "parquet"])
def test_columns_of_bytes_are_left_out_and_said_once(tmp_path: Path, kind: str) -> None:
    rows = [{"id": name, "text": "x", "image": b"\x89", "n": 1} for name in "ab"]
    source: Any = dataset(rows) if kind == "dataset" else pd.DataFrame(rows)
    if kind == "parquet":
        source.to_parquet(tmp_path / "c.parquet")
        source = tmp_path / "c.parquet"
    with pytest.warns(InputWarning, match="column 'image' holds bytes, which are neither text nor metadata") as told:
        assert [document.metadata for document in documents_from(source).read()] == [{"n": 1}, {"n": 1}]
    assert len(told) == 1
