"""Indexes of residuals are searched without decoding most of them, and find what decoding everything finds."""

import logging
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import InputError, TokenBatch
from chamfer.data.documents import Document
from chamfer.index.columns import CENTROIDS_FILE
from chamfer.index.manifest import SEGMENTS
from chamfer.index.measured import FACTORS, MEASURED, OF_DOCUMENTS
from chamfer.index.segment import Segment
from chamfer.index.settings import Precision, Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.kernels import native
from chamfer.kernels.form import Form
from chamfer.retrieve.ranker import Ranker
from chamfer.retrieve.stage import Candidates, Queries
from tests.test_native import compiled, in_clusters
from tests.vectors import batch_of, unit

DOCUMENTS, DIMENSIONS = 300, 32


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def tokens() -> TokenBatch:
    generator = np.random.default_rng(0)
    lengths = generator.integers(0, 20, DOCUMENTS)
    return batch_of(in_clusters(generator, lengths.sum(), DIMENSIONS).astype(np.float16), lengths.tolist())


def build(folder: Path, precision: Precision = "4bit") -> Snapshot:
    """Two segments, some documents deleted."""
    batch, ids = tokens(), [f"d{place:03}" for place in range(DOCUMENTS)]
    with writing(folder, Settings(DIMENSIONS, 10, precision)) as writer:
        writer.train(batch, tokens=len(batch.vectors))
        for part in (slice(0, 200), slice(200, DOCUMENTS)):
            writer.add([Document(one, "") for one in ids[part]], batch[part])
        writer.delete(ids[::17])
    return Snapshot.open(folder)


def asked(form: Form = "l2") -> Queries:
    generator = np.random.default_rng(1)
    vectors = np.concatenate([tokens().vectors[100:140], unit(generator, 13, DIMENSIONS)]).astype(np.float32)
    lengths = [40, 1, 12]
    weights = generator.uniform(0, 2, len(vectors)).astype(np.float32)
    return Queries([""] * len(lengths), batch_of(vectors, lengths), weights, form=form)


def measured_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"derived/*/{MEASURED}/*.npy"))


@compiled
@pytest.mark.parametrize("precision", ["4bit", "2bit"])
@pytest.mark.parametrize("form", ["l2", "cosine"])
@pytest.mark.parametrize("stage", ["exhaustive", "centroids"])
def test_what_is_found_is_what_decoding_everything_finds(
    tmp_path: Path, precision: Precision, form: Form, stage: str
) -> None:
    build(tmp_path, precision)
    taken: list[int] = []
    take = Segment.take

    def counted(segment: Segment, places: np.ndarray) -> TokenBatch:
        taken.append(len(places))
        return take(segment, places)

    def answers() -> list[Candidates]:
        taken.clear()
        ranker = Ranker(Snapshot.open(tmp_path), first_stage=stage)
        with patch.object(Segment, "take", counted):
            return ranker.rank(asked(form), 7, depth=100)

    found, decoded = answers(), sum(taken)
    with patch.multiple(Segment, coded=None, prepare=lambda _: None):
        everything, all_decoded = answers(), sum(taken)
    assert decoded < all_decoded / 2
    for one, other in zip(found, everything, strict=True):
        assert one.places.tolist() == other.places.tolist()
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6)


@compiled
def test_residuals_are_measured_when_an_index_is_opened_for_searching(tmp_path: Path) -> None:
    index = build(tmp_path)
    assert measured_files(tmp_path) == []
    Ranker(index)
    assert [path.name for path in measured_files(tmp_path)] == [OF_DOCUMENTS, FACTORS] * 2


def test_without_the_native_kernel_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.VARIABLE, native.NUMPY)
    Ranker(build(tmp_path)).rank(asked(), 5)
    assert measured_files(tmp_path) == []


@compiled
@pytest.mark.parametrize("name", [FACTORS, OF_DOCUMENTS])
def test_damaged_measurements_are_made_again(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    expected = [one.places.tolist() for one in Ranker(build(tmp_path)).rank(asked(), 5)]
    for path in measured_files(tmp_path):
        if path.name == name:
            content = bytearray(path.read_bytes())
            content[-3:] = b"\xff\xff\xff"
            path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        found = Ranker(Snapshot.open(tmp_path)).rank(asked(), 5)
    assert [one.places.tolist() for one in found] == expected
    assert [record.message.count("is computed again") for record in caplog.records] == [1, 1]


@compiled
def test_a_centroid_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    build(tmp_path)
    with (  # as if its checksum had been forged too
        patch("chamfer.index.manifest.File.check", lambda *_: None),
        patch("chamfer.index.snapshot.is_small", return_value=False),
    ):
        for path in (tmp_path / SEGMENTS).glob(f"*/{CENTROIDS_FILE}"):
            path.write_bytes(b"\xff" * path.stat().st_size)
        segment = Snapshot.open(tmp_path).segments[0]
        with pytest.raises(InputError, match="every token must name one of the centroids"):
            segment.prepare()
