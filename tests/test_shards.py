"""An index cut into shards: what is written, and that merged answers are those of the index, to the last bit."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from chamfer import Encoder, InputError, Searcher, build_index
from chamfer.cli.app import app
from chamfer.data.documents import Document
from chamfer.index import splitting
from chamfer.index.adding import add_documents
from chamfer.index.merging import merged_rows
from chamfer.index.settings import Precision
from chamfer.index.shards import (
    ShardVersion,
    current_version,
    open_head,
    open_shard,
    owner_of,
    read_set,
    version_folder,
)
from chamfer.index.snapshot import Snapshot
from chamfer.index.splitting import split_index
from chamfer.index.verify import verify
from chamfer.index.writing import writing
from chamfer.serve.sharded.shard import Shard
from tests.checkpoints import WORDS


def many_documents(count: int = 60) -> list[Document]:
    """Short texts, many of them equal, so that many scores are."""
    generator = np.random.default_rng(7)
    texts = [" ".join(generator.choice(WORDS, generator.integers(2, 9))) for _ in range(count // 2)]
    return [
        Document(f"d{number:03d}", texts[number % len(texts)], metadata={"number": number}) for number in range(count)
    ]


def build_changed(folder: Path, encoder: Encoder, **settings: Any) -> Path:
    """An index of several segments, of which documents were deleted and replaced; one has no tokens."""
    documents = many_documents()
    build_index(folder, [*documents[:30], Document("empty", "")], encoder, allow_empty=True, **settings)
    with writing(folder) as writer:
        add_documents(writer, documents[30:], encoder)
        writer.delete(["d003", "d017", "d041"])
        add_documents(writer, [Document("d005", "a blue cat", metadata={"number": 5})], encoder, replacing=True)
    return folder


@pytest.fixture
def folder(encoder: Encoder, tmp_path: Path) -> Path:
    return build_changed(tmp_path / "index", encoder)


class TestSplitting:
    @pytest.mark.parametrize("precision", ["float16", "int8", "4bit"])
    def test_every_live_document_is_in_one_shard_with_the_vectors_it_had(
        self, encoder: Encoder, tmp_path: Path, precision: Precision
    ) -> None:
        index = Snapshot.open(build_changed(tmp_path / "index", encoder, precision=precision))
        made = split_index(index.folder, tmp_path / "shards", shards=3)
        assert made.documents == index.manifest.documents == 58 == sum(part.documents for part in made.shards)
        seen: set[str] = set()
        for number, part in enumerate(made.shards):
            shard = open_shard(tmp_path / "shards", current_version(tmp_path / "shards"), number)
            assert verify(shard.folder) == []
            ids = shard.ids(np.arange(len(shard)))
            assert len(ids) == part.documents
            assert {owner_of(name, 3) for name in ids} == {number}
            for name, document in zip(ids, shard.documents(shard.places(ids)), strict=True):
                [place], [there] = index.places([name]), shard.places([name])
                assert index.documents(np.array([place])) == [document]
                np.testing.assert_array_equal(index.tokens(int(place)).vectors, shard.tokens(int(there)).vectors)
            seen.update(ids)
        assert len(seen) == 58

    def test_frequencies_are_those_of_the_whole_corpus(self, folder: Path, encoder: Encoder, tmp_path: Path) -> None:
        split_index(folder, tmp_path / "shards", shards=2)
        head, index = open_head(tmp_path / "shards", current_version(tmp_path / "shards")), Snapshot.open(folder)
        np.testing.assert_array_equal(head.frequencies.counts, index.frequencies.counts)
        assert head.frequencies.documents == index.frequencies.documents
        parts = [
            open_shard(tmp_path / "shards", current_version(tmp_path / "shards"), number).frequencies
            for number in range(2)
        ]
        assert (parts[0] + parts[1]).counts.tolist() == index.frequencies.counts.tolist()
        for name in ("idf", "idf-soft"):
            of_set = Searcher(head, encoder, first_stage="exhaustive").queries.resolve(name).table
            np.testing.assert_array_equal(of_set, Searcher(index, encoder).queries.resolve(name).table)

    def test_a_new_version_takes_the_place_of_the_last_but_one(
        self, folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        out = tmp_path / "shards"
        made: list[ShardVersion] = []
        for version in (1, 2, 3):
            with writing(folder) as writer:
                writer.delete([f"d{version + 20:03d}"])
            assert split_index(folder, out, shards=2).version == version == current_version(out).number
            made.append(current_version(out))
        assert [path.name for path in sorted(out.glob("0*"))] == ["00000002", "00000003"]
        assert read_set(out, made[1]).documents == read_set(out, made[2]).documents + 1

    def test_a_split_that_fails_leaves_the_set_as_it_was(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "shards"
        split_index(folder, out, shards=2)

        def fail(*_: object) -> None:
            raise OSError("the disk is full")

        monkeypatch.setattr("chamfer.index.splitting.write_set", fail)
        with pytest.raises(OSError, match="full"):
            split_index(folder, out, shards=2)
        monkeypatch.undo()
        assert (current_version(out).number, [path.name for path in out.glob("*0*")]) == (1, ["00000001"])
        monkeypatch.setattr("chamfer.index.splitting.use_version", fail)  # all is there, but it does not count yet
        with pytest.raises(OSError, match="full"):
            split_index(folder, out, shards=2)
        monkeypatch.undo()
        assert current_version(out).number == 1
        assert split_index(folder, out, shards=2).version == 2

    def test_what_a_killed_first_split_left_is_removed_by_the_next(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "shards" / ".00000001").mkdir(parents=True)
        (tmp_path / "shards" / ".shards.json.123-0123abcd").touch()
        split_index(folder, tmp_path / "shards", shards=2)
        names = sorted(path.name for path in (tmp_path / "shards").iterdir())
        assert names == [".lock", "00000001", "shards.json"]

    def test_a_shard_may_be_empty(self, folder: Path, encoder: Encoder, tmp_path: Path) -> None:
        out = tmp_path / "shards"
        made = split_index(folder, out, shards=200)
        assert sum(part.documents for part in made.shards) == 58
        empty = next(number for number, part in enumerate(made.shards) if not part.documents)
        shard = Shard(out, empty)
        queries = Searcher.open(folder, encoder=encoder).queries.weigh(encoder.encode_queries(["cats"]), ["cats"])
        for first_stage in ("auto", "centroids", "bm25"):
            [found] = Shard(out, empty, first_stage=first_stage).rank(current_version(out), [queries], 5)
            assert found.documents == []
        assert shard.documents(current_version(out), ["d001"]) == []

    def test_a_commit_meanwhile_is_split_instead(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        merged, commits = merged_rows, iter([True])

        def compacted(*arguments: Any) -> Any:
            if next(commits, False):
                with writing(folder) as writer:
                    writer.delete(["d001"])
                    writer.compact()
                for segment in arguments[0]:  # what a commit removes is not on disk any more
                    assert not (folder / "segments" / segment.name).exists()
                raise FileNotFoundError("segments/00000001/lengths.i32")
            return merged(*arguments)

        monkeypatch.setattr(splitting, "merged_rows", compacted)
        made = split_index(folder, tmp_path / "shards", shards=2)
        assert (made.documents, made.index[1]) == (57, Snapshot.open(folder).manifest.version)

    def test_what_cannot_be_split_is_told(self, folder: Path, encoder: Encoder, tmp_path: Path) -> None:
        out = tmp_path / "shards"
        split_index(folder, out, shards=2)
        for problem, arguments in (
            ("holds 2 shards, and a server relies", (folder, out, 3)),
            ("holds no index", (tmp_path, tmp_path / "other", 2)),
            ("must be at least 1, not 0", (folder, tmp_path / "other", 0)),
            ("holds an index", (folder, folder, 2)),
            ("holds something else", (folder, tmp_path, 2)),
        ):
            with pytest.raises(InputError, match=problem):
                split_index(arguments[0], arguments[1], shards=arguments[2])

    def test_a_shard_that_was_changed_by_itself_is_refused(
        self, folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        out = tmp_path / "shards"
        made = split_index(folder, out, shards=2)
        with writing(version_folder(out, 1) / made.shards[0].name) as writer:
            add_documents(writer, [Document("new", "a cat")], encoder)
        version = current_version(out)
        with pytest.raises(InputError, match="was changed after the index was split"):
            open_shard(out, version, 0)
        assert open_shard(out, version, 1)
        with pytest.raises(InputError, match="no version 7"):
            read_set(out, ShardVersion(7, ""))
        with pytest.raises(InputError, match=r"version 1 in .* has been overwritten; reopen the shards"):
            read_set(out, ShardVersion(1, ""))
        (version_folder(out, 1) / "set.json").write_text("{")
        with pytest.raises(InputError, match="damaged"):
            read_set(out, version)

    def test_by_the_command_line(self, folder: Path, tmp_path: Path) -> None:
        runner = CliRunner()
        command = ["index", "shard", str(folder), "--out", str(tmp_path / "shards"), "--json"]
        answer = runner.invoke(app, command)
        assert answer.exit_code == 0, answer.output
        assert json.loads(answer.stdout)["documents"] == 58
        served = runner.invoke(app, ["serve", str(tmp_path / "shards")])
        assert "serve them with --ray" in str(served.exception)
        shutil.rmtree(tmp_path / "shards")
        served = runner.invoke(app, ["serve", str(folder), "--ray", "local"])
        assert "holds no shards" in str(served.exception)
