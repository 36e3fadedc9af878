"""The public handle of an index."""

import hashlib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import Encoder, InputError, Searcher, build_index
from chamfer.data.documents import Document
from chamfer.errors import InputWarning
from chamfer.index import memory, text_writer
from chamfer.index.fields import fields_of
from chamfer.index.index import Index
from chamfer.index.manifest import MANIFEST
from chamfer.index.report import BuildReport
from chamfer.index.writing import writing
from chamfer.support.files import InUseError

DOCUMENTS = [
    {"id": "a", "title": "The cat", "text": "sat on a mat", "year": 2019},
    {"id": "b", "text": "a dog barks at night", "year": 2021},
    {"id": "c", "text": "why is the sky blue", "year": 2023, "tags": ["sky"]},
]


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    return tmp_path / "index"


class TestReading:
    def test_it_is_like_a_mapping_of_documents(self, folder: Path) -> None:
        index = Index.open(folder)
        assert (len(index), list(index), "a" in index, "x" in index, 7 in index) == (
            3,
            ["a", "b", "c"],
            True,
            False,
            False,
        )
        assert index["a"] == Document("a", "sat on a mat", "The cat", {"year": 2019})
        with pytest.raises(InputError, match="there is no document 'x' in the index"):
            index["x"]
        assert repr(index) == f"Index({str(folder)!r}, documents=3)"

    def test_one_that_cannot_be_read_can_be_printed(self, folder: Path) -> None:
        (folder / MANIFEST).write_text("{}")
        assert repr(Index.open(folder)) == f"Index({str(folder)!r})"

    def test_frequencies_info_and_verify_are_those_of_the_folder(self, folder: Path) -> None:
        index = Index.open(str(folder))
        assert index.frequencies.documents == index.info()["documents"] == 3
        assert index.verify(progress=False) == []

    def test_a_searcher_takes_one(self, folder: Path, encoder: Encoder) -> None:
        assert [
            hit.id for hit in Searcher.open(Index.open(folder), encoder=encoder).search("why is the sky blue", k=1)
        ] == ["c"]

    def test_a_searcher_of_one_shares_its_encoder(self, folder: Path, encoder: Encoder) -> None:
        assert Searcher.open(Index.open(folder, encoder=encoder)).encoder is encoder
        index = Index.open(folder)
        assert index.encoder is None
        index.add({"d": "a dog"})
        assert Searcher.open(index).encoder is index.encoder

    def test_one_that_is_damaged_or_unfinished_can_be_described_and_verified(
        self, folder: Path, encoder: Encoder
    ) -> None:
        with writing(folder) as writer:
            writer.set_building({"documents": 9, "corpus": "x", "done": 3})
        index = Index.open(folder)
        assert index.info()["building"] == "3 of 9 documents"
        with pytest.raises(InputError, match="is unfinished: 3 of 9"):
            len(index)
        with pytest.raises(InputError, match="is unfinished: 3 of 9"):
            index.add({"d": "a dog"})
        (folder / MANIFEST).write_text("{")
        assert [MANIFEST in problem for problem in Index.open(folder).verify()] == [True]

    def test_a_folder_without_an_index_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds no index"):
            Index.open(tmp_path)


class TestChanging:
    def test_a_report_says_what_was_added(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder, encoder=encoder)
        report = index.add([*DOCUMENTS[:2], {"id": "d", "text": "cat " * 99}, Document("e", "night")], progress=False)
        assert isinstance(report, BuildReport)
        assert (report.documents, report.skipped, report.truncated, report.resumed) == (2, 2, 1, 0)
        assert report.tokens == index.info()["tokens"] - sum(
            len(index.snapshot.tokens(place).vectors) for place in range(3)
        )
        assert report.seconds > 0
        assert "<table" in report._repr_html_()
        assert (len(index), index["e"].text) == (5, "night")
        assert report.replaced == 0
        report = index.add([{"id": "e", "text": "cats"}, {"id": "f", "text": "dog"}], replace=True, progress=False)
        assert (report.documents, report.replaced) == (2, 1)

    def test_nothing_is_loaded_to_add_nothing(self, folder: Path) -> None:
        index = Index.open(folder)
        assert index.add([]) == BuildReport(0, 0)
        assert index.encoder is None

    def test_a_document_is_checked_once_and_before_anything_is_encoded(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder, encoder=encoder)
        with patch("chamfer.index.texts.fields_of", side_effect=fields_of) as read:
            index.add({"d": "a dog", "e": "a cat"})
        assert read.call_count == 2 + 2, "once to check, once to write"
        with (
            patch.object(Encoder, "encode", side_effect=AssertionError("encoded")),
            pytest.raises(InputError, match="the text of document n holds a NUL"),
        ):
            index.add({"m": "a mat", "n": "half \0"})

    def test_a_document_is_replaced_only_on_request(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder, encoder=encoder)
        with pytest.raises(InputError, match="'a' is in the index already"):
            index.add({"a": "another text"})
        index.add({"a": "another text"}, replace=True)
        assert (len(index), index["a"].text) == (3, "another text")

    def test_documents_are_deleted_by_id_or_by_filter(self, folder: Path) -> None:
        index = Index.open(folder)
        assert index.delete(["b", "absent"]) == 1
        assert index.delete(where="year > 2020") == 1
        assert list(index) == ["a"]
        assert index.frequencies.documents == 1

    def test_a_filter_that_can_match_nothing_is_reported(self, folder: Path) -> None:
        with pytest.warns(InputWarning, match="no document has the field 'yaer'"):
            assert Index.open(folder).delete(where="yaer > 2020") == 0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "by ids or by where; give one"),
            ({"ids": ["a"], "where": "year > 1"}, "by ids or by where; give one"),
            ({"ids": "abc"}, r"ids must be a list of strings, not one string; write \['abc'\]"),
            ({"where": "year >"}, "a filter needs a value"),
        ],
    )
    def test_a_deletion_that_makes_no_sense_changes_nothing(
        self, folder: Path, arguments: dict[str, Any], message: str
    ) -> None:
        index = Index.open(folder)
        with pytest.raises(InputError, match=message):
            index.delete(**arguments)
        assert len(index) == 3

    def test_compacting_leaves_one_segment_and_every_document(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder, encoder=encoder)
        index.add({"d": "a dog"})
        index.delete(["a"])
        index.compact()
        assert (index.info()["segments"], index.info()["deleted"], list(index)) == (1, 0, ["b", "c", "d"])

    def test_a_with_block_holds_the_writer_lock(self, folder: Path, encoder: Encoder) -> None:
        other = Index.open(folder)
        with Index.open(folder, encoder=encoder) as index:
            index.add({"d": "a dog"})
            with pytest.raises(InUseError, match="another process is writing"):
                other.delete(["a"])
            assert index.delete(["b"]) == 1
            assert list(index) == ["a", "c", "d"]
        assert other.delete(["a"]) == 1
        assert list(other) == ["c", "d"]

    def test_a_with_block_reads_what_was_written_before_it(self, folder: Path) -> None:
        index = Index.open(folder)
        assert len(index) == 3
        Index.open(folder).delete(["a"])
        assert len(index) == 3
        with index:
            assert len(index) == 2

    def test_the_encoder_of_the_index_is_loaded_to_add(self, plain_checkpoint: Path, tmp_path: Path) -> None:
        build_index(tmp_path, DOCUMENTS, Encoder.load(str(plain_checkpoint), document_length=5))
        index = Index.open(tmp_path)
        assert index.add({"d": "cat " * 20}).truncated == 1

    def test_it_is_split_into_shards(self, folder: Path, tmp_path: Path) -> None:
        made = Index.open(folder).split(tmp_path / "shards", shards=2, progress=False)
        assert (made["version"], made["documents"], list(made["shards"])) == (1, 3, ["shard-00", "shard-01"])
        assert sum(made["shards"].values()) == 3


class TestOpening:
    def test_a_search_reads_the_manifest_once_and_hashes_every_file_once(self, folder: Path, encoder: Encoder) -> None:
        Searcher.open(folder, encoder=encoder)  # makes what is derived from the index
        hashed: list[str] = []
        digest = hashlib.file_digest

        def counted(file: Any, name: str) -> Any:
            hashed.append(file.name)
            return digest(file, name)

        with (
            patch("hashlib.file_digest", counted),
            patch.object(Path, "read_bytes", autospec=True, side_effect=Path.read_bytes) as read,
        ):
            searcher = Searcher.open(folder, encoder=encoder, first_stage="exhaustive")
            assert [call.args[0].name for call in read.call_args_list].count(MANIFEST) == 1
            assert len(hashed) == len(set(hashed)) > 2
            searcher.search("cat")
            assert len(hashed) == len(set(hashed))

    def test_without_linux_memory_is_not_relieved_and_nothing_else_changes(
        self, folder: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memory, "STATM", folder / "not there")
        assert memory.resident_file_bytes() is None
        assert memory.Growth().measure() == 0
        searcher = Searcher.open(folder, encoder=encoder)
        with patch.object(type(searcher.index.segments[0]), "forget") as forget:
            searcher.index.relieve()
            assert not forget.called
        assert [hit.id for hit in searcher.search("why is the sky blue", k=1)] == ["c"]

    def test_another_device_shares_what_was_opened(self, folder: Path) -> None:
        snapshot = Index.open(folder).snapshot
        other = snapshot.on("cuda")
        assert snapshot.on("cpu") is snapshot
        assert (other.device, snapshot.device) == ("cuda", "cpu")
        for one, two in zip(snapshot.segments, other.segments, strict=True):
            assert one.columns is two.columns
            np.testing.assert_array_equal(one.offsets, two.offsets)


TITLED = [Document("a", "sleep all day", "Cats"), Document("b", "", "Dogs"), Document("c", "Birds sing")]


def test_titles_come_back_apart_from_texts(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path, TITLED, encoder)
    index = Index.open(tmp_path)
    assert [index[name] for name in index] == TITLED
    assert index.add(TITLED).skipped == 3
    with pytest.raises(InputError, match="document 'a' is in the index already"):
        index.add([Document("a", "all day", "Cats sleep")])
    index.compact()
    hits = {hit.id: (hit.title, hit.text) for hit in Searcher.open(index).search("cats")}
    assert hits == {"a": ("Cats", "sleep all day"), "b": ("Dogs", ""), "c": ("", "Birds sing")}
    assert Searcher.open(index).explain("cats", ["a"])[0].title == "Cats"


def test_an_index_without_titles_is_read_and_added_to(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As versions before titles built them."""
    with monkeypatch.context() as patched:
        patched.setattr(text_writer, "SCHEMA", text_writer.SCHEMA.replace("title INTEGER NOT NULL", "other INTEGER"))
        build_index(tmp_path, TITLED, encoder)
    index = Index.open(tmp_path)
    assert index["a"] == Document("a", "Cats sleep all day")
    assert index.add(TITLED).skipped == 3, "what is unchanged is not encoded again"
    index.add([Document("d", "swim", "Fish")])
    index.compact()
    assert (index["a"].title, index["d"].title) == ("", "Fish")
    assert index.verify() == []
