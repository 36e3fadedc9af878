"""Fields with counts: those of plain counting, whatever was added, deleted and merged, and never more than is known."""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chamfer import Document, Encoder, Index, InputError, TokenBatch, build_index
from chamfer.index import field_writing, tallies
from chamfer.index.field_counts import MOST_LISTED, Field, FieldValue
from chamfer.index.fields import fields_of, kind_of
from chamfer.index.manifest import SEGMENTS
from chamfer.index.segment import Segment
from chamfer.index.shards import current_version, open_shard
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.index.tallies import Counts, Tally, added
from chamfer.index.texts import Texts
from chamfer.index.verify import verify
from chamfer.index.writing import Writer, writing
from chamfer.support.progress import Advance, Progress
from tests.index_model import DIMENSIONS, settings_of
from tests.test_passages import LENGTH, OVERLAP, corpus

Metadata = Mapping[str, Any]


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def add(writer: Writer, documents: Mapping[str, Metadata], *, replacing: bool = False) -> None:
    """Add documents whose texts do not matter."""
    made = [Document(name, "cat", metadata=metadata) for name, metadata in documents.items()]
    vectors = np.zeros((len(made), DIMENSIONS), np.float16)
    vectors[:, 0] = 1
    tokens = TokenBatch(vectors, np.ones(len(made), np.int32), np.arange(len(made) + 1))
    writer.add(made, tokens, replacing=replacing)


def built(folder: Path, *each: Sequence[Metadata]) -> Index:
    """An index with a segment for each list of metadata."""
    with writing(folder, settings_of("float16")) as writer:
        for number, some in enumerate(each):
            add(writer, {f"d{number}-{place:04d}": metadata for place, metadata in enumerate(some)})
    return Index.open(folder)


def counted(every: Sequence[Metadata], values: int = 20) -> list[Field]:
    """The fields of documents, counted in plain Python."""
    documents: dict[str, int] = Counter(name for one in every for name in {name for name, *_ in fields_of(one)})
    found = []
    for name in sorted(documents, key=lambda name: (-documents[name], name)):
        each = [{(kind_of(kind, value), value) for own, kind, value in fields_of(one) if own == name} for one in every]
        counts = Counter(pair for pairs in each for pair in pairs)
        kinds = {kind for kind, _ in counts}
        kind = kinds.pop() if len(kinds) == 1 else "text" if kinds == {"date", "text"} else "mixed"
        order = ["number", "boolean", "date", "text"]
        best = sorted(counts, key=lambda pair: (-counts[pair], order.index(pair[0]), pair[1]))[:values]
        own = [value for _, value in counts]
        ranged = kind in ("number", "date")
        found.append(
            Field(
                name,
                kind,  # type: ignore[arg-type]
                documents[name],
                any(len(pairs) > 1 for pairs in each),
                len(counts),
                True,
                tuple(FieldValue(bool(v) if of == "boolean" else v, counts[of, v]) for of, v in best),
                min(own) if ranged else None,
                max(own) if ranged else None,
            )
        )
    return found


EXAMPLES: list[Metadata] = [
    {"year": 2021, "lang": "en", "open": True, "day": "2024-01-02", "author": {"name": "Ada"}},
    {"year": 2021, "lang": "de", "open": False, "day": "2024-01-02T08:30:00", "tags": ["a", "b", "a"]},
    {"year": 2023.5, "lang": "en", "zip": 10115, "tags": ["b"]},
    {"year": 10**30, "lang": "en", "zip": "10115", "day": None, "mixed": [1, "1", True, "2024-01-02"]},
    {},
]


def test_fields_say_kind_counts_frequent_values_and_range(tmp_path: Path) -> None:
    fields = {field.name: field for field in built(tmp_path, EXAMPLES).fields()}
    assert fields["lang"] == Field(
        "lang", "text", 4, False, 2, True, (FieldValue("en", 3), FieldValue("de", 1)), None, None
    )
    assert fields["year"].values == ((2021, 2), (2023.5, 1), (1e30, 1))
    assert (fields["year"].lowest, fields["year"].highest) == (2021, 1e30)
    assert fields["open"].values == ((False, 1), (True, 1))
    assert all(type(one.value) is bool for one in fields["open"].values)
    day = fields["day"]
    assert (day.kind, day.lowest, day.highest) == ("date", "2024-01-02", "2024-01-02T08:30:00")
    assert (fields["tags"].several, fields["tags"].values) == (True, (("b", 2), ("a", 1)))
    assert (fields["zip"].kind, fields["zip"].values) == ("mixed", ((10115, 1), ("10115", 1)))
    assert fields["mixed"].values == ((1, 1), (True, 1), ("2024-01-02", 1), ("1", 1))
    assert fields["author.name"].documents == 1
    assert list(fields.values()) == counted(EXAMPLES)


def test_counting_shows_its_progress_segment_by_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = built(tmp_path / "index", [{"n": place} for place in range(30)], [{"n": 1}] * 7)
    seen = list[object]()

    @contextmanager
    def progress(what: str, total: int) -> Iterator[Advance]:
        seen.extend([what, total])
        yield seen.append

    asked = list[bool | None]()

    def shown(chosen: bool | None) -> Progress:
        asked.append(chosen)
        return progress

    monkeypatch.setattr("chamfer.index.index.shown", shown)
    assert index.fields(progress=True)[0].documents == 37
    assert (asked, seen[0], seen[1]) == ([True], "counting metadata fields of documents", 37)
    assert sum(done for done in seen[2:] if isinstance(done, int)) == 37
    index.fields()
    assert asked == [True, None], "the usual choice: a bar where a person is watching"


def test_documents_without_metadata_have_no_fields(tmp_path: Path) -> None:
    fields = built(tmp_path, [{}, {"none": None, "empty": []}]).fields()
    assert (fields, fields.complete) == ([], True)


def test_an_index_without_documents_has_no_fields(tmp_path: Path) -> None:
    index = built(tmp_path, EXAMPLES)
    index.delete(list(index))
    assert index.fields() == []


@pytest.mark.parametrize("values", [-1, 1001, True, "all"])
def test_an_impossible_number_of_values_is_refused(tmp_path: Path, values: Any) -> None:
    with pytest.raises(InputError, match="values must be from 0 to 1,000, not"):
        built(tmp_path, EXAMPLES).fields(values)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -0.0, 1e300, 2**53 + 1, float(2**53), 2**70]),
    st.sampled_from(["a", "B", "", "1", "2024-01-02", "2024-01-03 10:00", "ü", "\U0001f600", "a\0b"]),
)
metadata = st.dictionaries(
    st.sampled_from(["year", "tags", "a.b", "ü"]), st.one_of(scalars, st.lists(scalars, max_size=4)), max_size=4
)


@settings(deadline=None)
@given(st.lists(st.lists(metadata, min_size=1, max_size=5), min_size=1, max_size=4), st.sets(st.integers(0, 20)))
def test_counts_are_those_of_the_live_documents(
    tmp_path_factory: pytest.TempPathFactory, every: list[list[Metadata]], deleted: set[int]
) -> None:
    index = built(tmp_path_factory.mktemp("fields") / "index", *every)
    ids = [f"d{number}-{place:04d}" for number, some in enumerate(every) for place in range(len(some))]
    live = dict(zip(ids, (one for some in every for one in some), strict=True))
    gone = [name for place, name in enumerate(ids) if place in deleted]
    index.delete(gone)
    left = [one for name, one in live.items() if name not in gone]
    assert index.fields(1000) == counted(left, 1000)
    index.compact()
    assert index.fields(1000) == counted(left, 1000)
    assert index.fields().complete


def test_replaced_and_new_documents_are_counted_and_others_are_not_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = built(tmp_path, [{"lang": "en"}] * 9)
    assert index.fields()[0].values == (("en", 9),)
    written: list[int] = []
    real = field_writing.write_places

    def counting(folder: Path, texts: Texts) -> None:
        written.append(len(texts))
        real(folder, texts)

    monkeypatch.setattr("chamfer.index.field_places.write_places", counting)
    with writing(tmp_path) as writer:
        add(writer, {"d0-0003": {"lang": "de"}, "new": {"lang": "en", "year": 5}}, replacing=True)
    index = Index.open(tmp_path)
    assert [(field.name, field.values) for field in index.fields()] == [
        ("lang", (("en", 9), ("de", 1))),
        ("year", ((5, 1),)),
    ]
    assert written == [2], "only the new segment"
    assert verify(tmp_path) == []


def test_a_document_in_passages_counts_once(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path, corpus(), encoder, passages=LENGTH, overlap=OVERLAP)
    index = Index.open(tmp_path)
    assert index.snapshot.manifest.rows > 12
    expected = counted([document.metadata for document in corpus()])
    assert index.fields() == expected
    index.delete(["d00", "d04"])
    assert index.fields() == counted([document.metadata for document in corpus() if document.id not in ("d00", "d04")])


class TestBounds:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (tallies, field_writing):
            monkeypatch.setattr(module, "MOST_VALUES", 10)

    def test_a_field_of_unique_values_lists_none_and_counts_them(self, tmp_path: Path) -> None:
        [field] = built(tmp_path, [{"url": f"https://example.org/{place}"} for place in range(50)]).fields()
        assert (field.distinct, field.exact, field.values, field.documents) == (50, True, (), 50)

    def test_over_several_segments_at_least_as_many_values_are_known(self, tmp_path: Path) -> None:
        [field] = built(tmp_path, *([{"url": f"{part}-{n}"} for n in range(20 + part)] for part in range(3))).fields()
        assert (field.distinct, field.exact, field.values, field.documents) == (30, False, (), 63)

    def test_a_small_bounded_list_is_a_true_beginning_of_the_whole_one(self, tmp_path: Path) -> None:
        generator = np.random.default_rng(0)
        parts = [
            [{"by": f"author {min(int(one), 60):02d}"} for one in generator.pareto(0.8, size) * 3]
            for size in (400, 300, 5)
        ]
        [field] = built(tmp_path, *parts).fields()
        [expected] = counted([one for part in parts for one in part])
        assert field.values == expected.values[:10], "segments are asked for what they do not list"
        assert expected.distinct > 10
        assert not field.exact
        assert field.distinct <= expected.distinct

    def test_deleted_documents_leave_a_bounded_list_true(self, tmp_path: Path) -> None:
        every = [{"by": f"author {place % 30:02d}"} for place in range(300)] + [{"by": "author 29"}] * 5
        index = built(tmp_path, every)
        assert index.fields()[0].values[0] == ("author 29", 15)
        index.delete([f"d0-{place:04d}" for place in (*range(29, 300, 30), *range(300, 305))])
        [field] = index.fields()
        assert (field.values, field.distinct) == ((), 29), "another author may have as many documents as those listed"

    def test_one_document_with_very_many_values_hides_no_others(self, tmp_path: Path) -> None:
        every: list[Metadata] = [{"lang": "en" if place % 3 else "de", "by": f"a{place}"} for place in range(30)]
        odd: Metadata = {"lang": ["en", *(f"aa{n}" for n in range(50))], "by": "x" * 5000}
        fields = {field.name: field for field in built(tmp_path, every, [odd]).fields()}
        assert fields["lang"].values == (("en", 21), ("de", 10))
        assert (fields["lang"].distinct, fields["lang"].exact) == (51, False)
        assert fields["by"].values == ()

    def test_one_document_with_very_many_fields_hides_no_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (tallies, field_writing):
            monkeypatch.setattr(module, "MOST_FIELDS", 5)
        every: list[Metadata] = [{"lang": "en", "year": 2000 + place % 2} for place in range(30)]
        odd: Metadata = {**{f"a{n}": n for n in range(50)}, "year": [1999, 2001, 2001]}
        index = built(tmp_path, every, [odd], [{"lang": "de"}])
        fields = index.fields()
        assert fields == counted([*every, {"year": [1999, 2001]}, {"lang": "de"}])
        assert not fields.complete
        index.delete(["d1-0000"])
        assert index.fields() == counted([*every, {"lang": "de"}])

    def test_prose_is_not_listed(self, tmp_path: Path) -> None:
        [field] = built(tmp_path, [{"abstract": f"{place} {'word ' * 60}"} for place in range(5)]).fields()
        assert (field.distinct, field.values) == (5, ())

    def test_few_of_very_many_fields_are_listed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        every: list[Metadata] = [{f"only-{place}": 1, "all": place % 2} for place in range(MOST_LISTED + 20)]
        fields = built(tmp_path / "whole", every).fields()
        assert (len(fields), fields.complete, fields[0].name) == (MOST_LISTED, False, "all")
        for module in (tallies, field_writing):
            monkeypatch.setattr(module, "MOST_FIELDS", 3)
        fields = built(tmp_path / "bounded", every[:10], every[10:]).fields()
        assert ([field.name for field in fields], fields.complete) == (["all"], False)
        assert fields[0].documents == len(every)


counts = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9), max_size=8)


@given(st.lists(counts, min_size=1, max_size=4), st.integers(0, 4))
def test_a_sum_of_bounded_counts_is_a_true_beginning(parts: list[dict[str, int]], most: int) -> None:
    whole = Counter[str]()
    for part in parts:
        whole.update(part)
    ranked = sorted(whole, key=lambda key: (-whole[key], key))
    found = added([Counts(part).first(most) for part in parts]).first(most)
    assert all(whole[key] == count for key, count in found.listed.items())
    assert all(whole[key] <= found.unlisted for key in whole if key not in found.listed)
    certain = [key for key in ranked if found.listed.get(key, 0) > found.unlisted]
    assert certain == ranked[: len(certain)]


def test_shards_add_up_to_the_index(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    every = [
        {"n": int(n), "lang": "en" if n % 3 else "de", "tags": [f"t{n}", "t"]} for n in generator.integers(9, size=70)
    ]
    index = built(tmp_path / "index", every[:40], every[40:])
    index.delete(["d0-0001", "d1-0001"])
    split_index(tmp_path / "index", tmp_path / "shards", shards=3)
    version = current_version(tmp_path / "shards")
    parts = [open_shard(tmp_path / "shards", version, number).tally for number in range(3)]
    assert Tally.sum(parts) == index.snapshot.tally


class TestDerivedFiles:
    def test_they_are_made_once_and_checked(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        expected = built(tmp_path, EXAMPLES).fields()
        [folder] = tmp_path.glob("derived/*/fields-1")
        inode = folder.stat().st_ino
        assert Index.open(tmp_path).fields() == expected
        assert folder.stat().st_ino == inode
        for path in folder.iterdir():
            whole = path.read_bytes()
            for damaged in (whole[:-1], whole[: len(whole) // 2] + b"?" + whole[len(whole) // 2 + 1 :], b""):
                path.write_bytes(damaged)
                assert Index.open(tmp_path).fields() == expected, path
        assert "is computed again" in caplog.text
        assert verify(tmp_path) == []

    def test_an_index_that_cannot_be_written_keeps_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        index = built(tmp_path, EXAMPLES)

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("chamfer.index.derived._make_folder", refuse)
        assert index.fields() == counted(EXAMPLES)
        assert not list(tmp_path.glob("derived/*/fields-1"))

    def test_a_damaged_segment_is_refused(self, tmp_path: Path) -> None:
        built(tmp_path, EXAMPLES)
        snapshot = Snapshot.open(tmp_path)
        [texts] = (tmp_path / SEGMENTS).glob("*/documents.sqlite")
        content = texts.read_bytes()
        at = content.rindex(b"lang")
        texts.write_bytes(content[:at] + b"long" + content[at + 4 :])
        with pytest.raises(InputError, match=r"documents\.sqlite is damaged: checksum mismatch"):
            _ = snapshot.tally

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE fields SET kind = 'blob'",
            "UPDATE fields SET value = x'00ff' WHERE kind = 'text'",
            "UPDATE fields SET value = 'many' WHERE kind = 'number'",
            "UPDATE fields SET place = 'here'",
            "UPDATE fields SET place = 99",
            "UPDATE fields SET place = -1",
        ],
    )
    def test_fields_that_no_writer_writes_are_refused(self, tmp_path: Path, change: str) -> None:
        built(tmp_path / "index", EXAMPLES)
        [path] = (tmp_path / "index").glob("segments/*/documents.sqlite")
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.commit()
        connection.close()
        with pytest.raises(InputError, match=r"documents\.sqlite is damaged: a field"):
            field_writing.write_places(tmp_path, Texts(path, len(EXAMPLES)))

    @pytest.mark.parametrize(
        "forged",
        [
            {"fields": [{"name": "a", "kinds": [{"kind": "text", "values": 9, "kept": [], "unkept": 0}]}], "unkept": 0},
            {"fields": [{"name": 5, "kinds": []}], "unkept": 0},
            {"fields": [], "unkept": 0},
            [],
        ],
    )
    def test_files_that_contradict_each_other_are_made_again(self, tmp_path: Path, forged: Any) -> None:
        from chamfer.index.field_places import FieldPlaces

        expected = built(tmp_path, EXAMPLES).fields()
        [folder] = tmp_path.glob("derived/*/fields-1")
        (folder / "fields.json").write_text(json.dumps(forged))
        with pytest.raises(InputError, match="fields-1 is damaged"):
            FieldPlaces.open(folder, len(EXAMPLES))
        assert Index.open(tmp_path).fields() == expected


def test_counting_reads_no_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = built(tmp_path, [{"lang": "en"}] * 30)
    index.fields()
    monkeypatch.setattr(Segment, "texts", None)
    monkeypatch.setattr("chamfer.index.texts.Texts.documents", None)
    assert Index.open(tmp_path).fields()[0].documents == 30
