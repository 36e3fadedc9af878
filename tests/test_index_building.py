"""From texts to an index, also in several goes."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import Encoder, InputError, Searcher, TokenBatch, build_index
from chamfer.cache import encoding
from chamfer.cache.text_encoder import TextEncoder
from chamfer.data.corpus import documents_from
from chamfer.data.documents import Document
from chamfer.data.fingerprint import fingerprint
from chamfer.encode.tokenizing import Tokenized
from chamfer.errors import WorkerError
from chamfer.index import building, encoded
from chamfer.index.adding import add_documents
from chamfer.index.building import build, settings_for
from chamfer.index.description import describe
from chamfer.index.encoded import build_encoded
from chamfer.index.encoder import described, load_encoder
from chamfer.index.encoding import MakeRows, columns_of_rows, texts_and_known
from chamfer.index.manifest import SAMPLE, read_manifest
from chamfer.index.settings import Settings
from chamfer.index.snapshot import Snapshot
from chamfer.index.verify import verify
from chamfer.index.writing import Writer, writing
from chamfer.support.progress import Advance, Progress, ignore
from chamfer.workers.jobs import Job, Table
from tests import checkpoints
from tests.checkpoints import WORDS
from tests.conftest import write_lines
from tests.vectors import unit


def texts(count: int) -> dict[str, str]:
    """Texts that all differ."""
    words = np.random.default_rng(0).choice(WORDS, (count, 3))
    return {f"d{place:02d}": " ".join([*row, *["cat"] * place]) for place, row in enumerate(words)}


class Spy:
    """What documents an encoder encoded, and an end after some calls."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.known: dict[object, TokenBatch] = {}  # what the model answered: asking it takes most of the time
        self.calls = 0
        self.stop_at: int | None = None


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    seen = Spy()
    encode = Encoder.encode

    def spied(self: Encoder, tokenized: Tokenized, advance: Advance = ignore) -> TokenBatch:
        chunk, role = tokenized.texts, tokenized.role
        if role == "document" and chunk:
            seen.calls += 1
            if seen.calls == seen.stop_at:
                raise KeyboardInterrupt
            seen.encoded += chunk
        key = (self, role, tuple(chunk))
        if key not in seen.known:
            seen.known[key] = encode(self, tokenized)
        advance(len(chunk))
        return seen.known[key]

    monkeypatch.setattr(Encoder, "encode", spied)
    return seen


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six documents in a commit, and a sample of some eight, encoded four at a time."""
    monkeypatch.setattr(building, "CHUNK", 6)
    monkeypatch.setattr(building, "sample_size", lambda tokens: tokens // 3)
    monkeypatch.setattr(encoding, "COMMIT_EVERY", 4)


@contextmanager
def stopping_at(documents: int) -> Iterator[Callable[[str, int], Any]]:
    """Progress that interrupts once so many documents are in the index."""

    @contextmanager
    def progress(what: str, _total: int) -> Iterator[Advance]:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            if what == "encoding documents" and done > documents:
                raise KeyboardInterrupt

        yield advance

    yield progress


class Lost:
    """Workers that finish a number of tables, and are then lost for good."""

    at_once = 1

    def __init__(self, finished: int) -> None:
        self.left = finished

    def map(
        self, job: Job, tables: Iterable[Table], *, advance: Advance = ignore, gpu: bool = False
    ) -> Iterator[Table]:
        for table in tables:
            if self.left == 0:
                raise WorkerError("the cluster is gone")
            self.left -= 1
            yield job(table, advance)


def interrupted_build(folder: Path, encoder: Encoder, progress: Progress) -> None:
    build(folder, documents_from(texts(25)), encoder, settings_for(encoder), progress=progress)


def contents(folder: Path) -> list[tuple[Document, list[int]]]:
    index = Snapshot.open(folder)
    places = np.arange(len(index))
    ids = [segment.take(slice(n, n + 1)).token_ids.tolist() for segment in index.segments for n in range(len(segment))]
    return sorted(zip(index.documents(places), ids, strict=True), key=lambda pair: pair[0].id)


class TestResuming:
    def test_a_build_encodes_every_document_once(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, small_steps: None
    ) -> None:
        build_index(tmp_path, texts(25), encoder)
        assert sorted(spy.encoded) == sorted(texts(25).values())
        assert not (tmp_path / SAMPLE).exists()
        assert verify(tmp_path) == []

    def test_after_an_interruption_anywhere_nothing_is_encoded_twice_and_nothing_is_lost(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, small_steps: None
    ) -> None:
        corpus = texts(25)
        build_index(tmp_path / "whole", corpus, encoder)
        whole, steps = contents(tmp_path / "whole"), spy.calls
        assert steps > 5
        for stop in range(1, steps + 1):
            folder = tmp_path / str(stop)
            spy.encoded, spy.calls, spy.stop_at = [], 0, stop
            with pytest.raises(KeyboardInterrupt):
                build_index(folder, corpus, encoder)
            spy.stop_at = None
            build_index(folder, corpus, encoder)
            assert sorted(spy.encoded) == sorted(corpus.values())
            assert contents(folder) == whole
            assert describe(folder)["documents"] == 25
            assert "building" not in describe(folder)
            assert not (folder / SAMPLE).exists()

    @pytest.mark.parametrize("finished", range(6))
    def test_a_lost_worker_leaves_what_was_finished(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, small_steps: None, finished: int
    ) -> None:
        corpus, folder = texts(25), tmp_path / "index"
        with pytest.raises(WorkerError, match="the cluster is gone"):
            build(folder, documents_from(corpus), encoder, settings_for(encoder), workers=Lost(finished))
        build_index(folder, corpus, encoder)
        assert sorted(spy.encoded) == sorted(corpus.values()), "every text is encoded once"
        build_index(tmp_path / "whole", corpus, encoder)
        assert contents(folder) == contents(tmp_path / "whole")

    def test_an_interruption_costs_at_most_one_commit(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, small_steps: None
    ) -> None:
        with stopping_at(15) as progress, pytest.raises(KeyboardInterrupt):
            interrupted_build(tmp_path, encoder, progress)
        assert describe(tmp_path)["building"] == "12 of 25 documents"
        assert describe(tmp_path)["documents"] == 12
        before = len(spy.encoded)
        build_index(tmp_path, texts(25), encoder)
        assert len(spy.encoded) <= before + 25 - 12
        assert Snapshot.open(tmp_path).manifest.documents == 25

    def test_an_unfinished_index_is_not_searched_nor_added_to(
        self, encoder: Encoder, tmp_path: Path, small_steps: None
    ) -> None:
        with stopping_at(15) as progress, pytest.raises(KeyboardInterrupt):
            interrupted_build(tmp_path, encoder, progress)
        sentence = "is unfinished: 12 of 25 documents are indexed; run the same build again to finish it"
        with pytest.raises(InputError, match=sentence):
            Searcher.open(tmp_path, encoder=encoder)
        with pytest.raises(InputError, match=sentence), writing(tmp_path) as writer:
            add_documents(writer, [Document("new", "the cat")], encoder)
        build_index(tmp_path, texts(25), encoder)
        assert len(Searcher.open(tmp_path, encoder=encoder)) == 25

    def test_one_without_a_document_yet_says_the_same(
        self, encoder: Encoder, tmp_path: Path, small_steps: None
    ) -> None:
        with stopping_at(2) as progress, pytest.raises(KeyboardInterrupt):
            interrupted_build(tmp_path, encoder, progress)
        with pytest.raises(
            InputError, match="0 of 25 documents are indexed, and 9 are encoded already; run the same b"
        ):
            Searcher.open(tmp_path, encoder=encoder)

    @pytest.mark.parametrize(
        ("corpus", "settings"),
        [
            (texts(24), {}),
            ({**texts(25), "d03": "another text"}, {}),
            (dict(reversed(texts(25).items())), {}),
            ([Document(name, text, metadata={"year": 1}) for name, text in texts(25).items()], {}),
            (texts(25), {"precision": "int8"}),
            (texts(25), {"pool": 2}),
            (texts(25), {"dimensions": 8}),
        ],
    )
    def test_another_corpus_or_setting_cannot_go_on_with_it(
        self, encoder: Encoder, tmp_path: Path, small_steps: None, corpus: Any, settings: dict[str, Any]
    ) -> None:
        with stopping_at(9) as progress, pytest.raises(KeyboardInterrupt):
            interrupted_build(tmp_path, encoder, progress)
        with pytest.raises(InputError, match=r"another corpus|other settings") as error:
            build_index(tmp_path, corpus, encoder, **settings)
        assert "choose another folder or delete it" in str(error.value)
        assert "\n" not in str(error.value)

    def test_another_encoder_cannot_go_on_with_it(self, encoder: Encoder, tmp_path: Path, small_steps: None) -> None:
        with stopping_at(9) as progress, pytest.raises(KeyboardInterrupt):
            interrupted_build(tmp_path / "index", encoder, progress)
        checkpoints.make_plain(tmp_path / "other", seed=9)
        with pytest.raises(InputError, match="other settings"):
            build_index(tmp_path / "index", texts(25), Encoder.load(str(tmp_path / "other")))

    def test_a_finished_index_is_not_built_again(self, encoder: Encoder, tmp_path: Path, spy: Spy) -> None:
        build_index(tmp_path, texts(3), encoder)
        before = list(spy.encoded)
        with pytest.raises(InputError, match=r"a finished index; update it .* --replace .*Index.open.folder..add., or"):
            build_index(tmp_path, texts(3), encoder)
        assert spy.encoded == before

    def test_files_that_belong_to_no_index_are_left_alone(self, encoder: Encoder, tmp_path: Path) -> None:
        (tmp_path / ".lock").touch()  # as a build leaves it that is killed at once
        (tmp_path / "letter.txt").write_text("dear")
        with pytest.raises(InputError, match="is not empty, but holds no index; choose a new or an empty folder"):
            build_index(tmp_path, texts(3), encoder)
        (tmp_path / "letter.txt").unlink()
        assert build_index(tmp_path, texts(3), encoder).documents == 3


def test_a_text_is_tokenised_once_beside_those_whose_length_is_looked_at(
    plain_checkpoint: Path, tmp_path: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample is encoded before there are centroids, and its rows are made together with the others."""
    monkeypatch.setattr(building, "GLANCE", 2)
    encoder = Encoder.load(str(plain_checkpoint), document_length=8)
    seen, corpus = checkpoints.count_tokenized(monkeypatch), texts(25)
    report = build_index(tmp_path, corpus, encoder)
    glance, times = seen[:2], Counter(seen[2:])
    assert times == Counter(corpus.values())
    assert set(glance) <= set(corpus.values())
    assert report.truncated == sum(len(text.split()) > 6 for text in corpus.values()), "the sample counts too"


class TestCorpora:
    def test_texts_documents_and_a_file_give_the_same(self, encoder: Encoder, tmp_path: Path) -> None:
        corpus = texts(5)
        write_lines(tmp_path / "c" / "corpus.jsonl", [{"_id": name, "text": text} for name, text in corpus.items()])
        sources: dict[str, Any] = {
            "mapping": corpus,
            "documents": [Document(name, text) for name, text in corpus.items()],
            "folder": tmp_path / "c",
            "file": tmp_path / "c" / "corpus.jsonl",
            "name": str(tmp_path / "c" / "corpus.jsonl"),
        }
        for name, source in sources.items():
            build_index(tmp_path / name, source, encoder)
        expected = contents(tmp_path / "mapping")
        assert [document.id for document, _ in expected] == list(corpus)
        assert all(contents(tmp_path / name) == expected for name in sources)

    def test_metadata_comes_back_as_given(self, encoder: Encoder, tmp_path: Path) -> None:
        metadata = {"year": 2021, "who": {"name": "Ada ✓", "born": None}, "tags": ["a", 1.5, True, []], "": 2**80}
        write_lines(tmp_path / "c.jsonl", [{"_id": "1", "text": "the cat", "metadata": metadata, "lang": "en"}])
        build_index(tmp_path / "index", tmp_path / "c.jsonl", encoder)
        [hit] = Searcher.open(tmp_path / "index", encoder=encoder).search("cat")
        assert hit.metadata == {**metadata, "lang": "en"}

    def test_documents_without_text_are_kept_only_on_request(self, encoder: Encoder, tmp_path: Path) -> None:
        corpus = {"a": "the cat", "b": " "}
        with pytest.raises(InputError, match=r"document 'b' has no text; .* allow_empty=True"):
            build_index(tmp_path, corpus, encoder)
        build_index(tmp_path, corpus, encoder, allow_empty=True)
        assert describe(tmp_path)["documents"] == 2

    @pytest.mark.parametrize(
        ("corpus", "message"),
        [
            ({}, "an index needs at least one document"),
            ([], "an index needs at least one document"),
            (
                [Document("a", "x"), Document("a", "y")],
                r"documents\[1\]: the id 'a' was used before; ids must be unique",
            ),
            ({"a": None}, "'text' of document 'a' must be a string, not NoneType"),
            ({"": "x"}, "a document id must not be empty"),
            ({"a": "x\0y"}, "holds a NUL"),
            (Path("not there.jsonl"), "there is no file not there.jsonl"),
            ("not there.jsonl", "there is no file not there.jsonl"),
        ],
    )
    def test_what_cannot_be_indexed_is_told_before_anything_is_encoded(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, corpus: Any, message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            build_index(tmp_path / "index", corpus, encoder)
        assert spy.encoded == []
        assert not (tmp_path / "index").exists()

    def test_the_last_line_of_a_file_is_checked_before_anything_is_encoded(
        self, encoder: Encoder, tmp_path: Path, spy: Spy
    ) -> None:
        write_lines(tmp_path / "c.jsonl", [{"_id": "1", "text": "a"}, {"_id": "1", "text": "b"}])
        with pytest.raises(InputError, match="line 2: the id '1' was used before"):
            build_index(tmp_path / "index", tmp_path / "c.jsonl", encoder)
        assert spy.encoded == []

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"precision": "3bit"}, "one of float16, int8, 4bit, 2bit, not '3bit'"),
            ({"dimensions": 16}, "16 dimensions can be projected to 1 to 15, not 16"),
            ({"precision": "2bit", "dimensions": 7}, "2bit needs a multiple of 8 dimensions, not 7"),
            ({"pool": 0}, "pool must be from 1 to 64 tokens per vector, not 0"),
        ],
    )
    def test_settings_that_make_no_sense_are_refused(
        self, encoder: Encoder, tmp_path: Path, settings: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            build_index(tmp_path / "index", texts(3), encoder, **settings)
        assert not (tmp_path / "index").exists()


class TestRows:
    @pytest.mark.parametrize("settings", [{}, {"precision": "2bit", "pool": 2}])
    def test_vectors_that_are_known_are_not_made_again(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, settings: dict[str, Any]
    ) -> None:
        corpus = texts(6)
        some = dict(list(corpus.items())[1:4])
        known = encoding.encode_corpus(
            tmp_path / "known", list(some), list(some.values()), encode=TextEncoder(encoder, "document"), made_from={}
        )
        build_index(tmp_path / "index", corpus, encoder, **settings)
        index = Snapshot.open(tmp_path / "index")
        documents = [Document(*pair) for pair in corpus.items()]
        spy.encoded = []
        job = MakeRows(encoder, index.settings, index.trained)
        made = columns_of_rows(job(texts_and_known(documents, known), ignore), index.settings)
        assert spy.encoded == [corpus[name] for name in corpus if name not in some]
        for name, values in index.segments[0].columns.items():
            np.testing.assert_array_equal(made[name], values)


class TestAdding:
    def test_another_length_or_model_is_refused(self, encoder: Encoder, plain_checkpoint: Path, tmp_path: Path) -> None:
        build_index(tmp_path, texts(3), encoder)
        shorter = Encoder.load(str(plain_checkpoint), document_length=8)
        with (
            pytest.raises(InputError, match=r"built with .*, 64 tokens, float32 by torch; use the same encoder"),
            writing(tmp_path) as writer,
        ):
            add_documents(writer, [Document("x", "the cat")], shorter)

    def test_an_id_that_is_there_is_replaced_only_on_request(self, encoder: Encoder, tmp_path: Path) -> None:
        build_index(tmp_path, texts(3), encoder)
        with writing(tmp_path) as writer:
            with pytest.raises(InputError, match=r"'d01' is in the index already, .* replace=True \(--replace "):
                add_documents(writer, [Document("d01", "night")], encoder)
            add_documents(writer, [Document("d01", "night")], encoder, replacing=True)
        assert [document.text for document, _ in contents(tmp_path) if document.id == "d01"][-1:] == ["night"]


class TestDescriptions:
    def test_an_encoder_is_loaded_again_as_it_was(self, plain_checkpoint: Path, tmp_path: Path) -> None:
        encoder = Encoder.load(str(plain_checkpoint), query_length=7, document_length=9)
        build_index(tmp_path, texts(2), encoder)
        manifest = read_manifest(tmp_path)
        assert manifest is not None
        again = load_encoder(manifest.settings, "document")
        assert (again.query_length, again.document_length) == (7, 9)
        assert described(again) == described(encoder) == manifest.settings.encoder

    def test_more_documents_need_the_engine_of_the_others_and_queries_use_it_where_it_is_installed(
        self, plain_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        encoder = Encoder.load(str(plain_checkpoint), engine="openvino")
        build_index(tmp_path, texts(2), encoder)
        manifest = read_manifest(tmp_path)
        assert manifest is not None
        again = load_encoder(manifest.settings, "document")
        assert again.engine == load_encoder(manifest.settings, "query", "cpu").engine == "openvino"
        with writing(tmp_path) as writer:
            add_documents(writer, [Document("new", "night")], again)
        for module in ("openvino", "loading"):
            monkeypatch.setattr(f"chamfer.encode.{module}.has_openvino", lambda: False)
        assert load_encoder(manifest.settings, "query", "cpu").engine == "torch"
        with pytest.raises(InputError, match="not installed"):
            load_encoder(manifest.settings, "document")

    def test_an_index_that_does_not_name_its_encoder_asks_for_it(self) -> None:
        with pytest.raises(InputError, match="does not record which model made its vectors; pass the encoder"):
            load_encoder(Settings(8, 10), "query")

    def test_an_index_is_described_in_words_and_numbers(self, encoder: Encoder, tmp_path: Path) -> None:
        build_index(tmp_path, texts(4), encoder, precision="int8", dimensions=8)
        with writing(tmp_path) as writer:
            writer.delete(["d01"])
        told = describe(tmp_path)
        assert json.loads(json.dumps(told)) == told
        assert (told["documents"], told["deleted"], told["precision"], told["dimensions"]) == (3, 1, "int8", 8)
        assert told["bytes"] > 0 == told["bytes_of_first_stages"]
        Searcher.open(tmp_path, encoder=encoder, first_stage="centroids")
        assert describe(tmp_path)["bytes_of_first_stages"] > 0

    def test_a_folder_without_an_index_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds no index; make one with: chamfer index build"):
            describe(tmp_path)


def test_a_large_corpus_is_learnt_from_a_sample_of_all_of_it(encoder: Encoder, tmp_path: Path, spy: Spy) -> None:
    corpus = list(texts(40).values())
    with patch.object(building, "sample_size", lambda _tokens: 200):
        build_index(tmp_path, texts(40), encoder)
    sample = next(iter(spy.known.values()))
    assert 0 < len(sample) < 20
    assert set(spy.encoded[: len(sample)]) & set(corpus[20:])
    assert sorted(spy.encoded) == sorted(corpus)


class TestPasses:
    def test_a_file_is_read_twice_and_its_sample_by_seeking(
        self, encoder: Encoder, tmp_path: Path, small_steps: None
    ) -> None:
        records = [{"_id": name, "text": text} for name, text in texts(25).items()]
        write_lines(tmp_path / "c.jsonl", records)
        size = (tmp_path / "c.jsonl").stat().st_size
        read: list[int] = []
        opened = Path.open

        def counting(path: Path, *arguments: Any, **named: Any) -> Any:
            file = opened(path, *arguments, **named)
            if path.name == "c.jsonl":
                read.append(0)
                number = len(read) - 1
                file = CountingLines(file, lambda count: read.__setitem__(number, read[number] + count))
            return file

        with patch.object(Path, "open", counting):
            build_index(tmp_path / "index", tmp_path / "c.jsonl", encoder)
        assert read.pop(0) == 0, "the beginning alone says which format it is"
        assert read[0] == read[-1] == size, "one pass that checks, one pass that builds"
        assert all(count < size for count in read[1:-1]), "and parts of samples in between"
        assert [document.id for document, _ in contents(tmp_path / "index")] == list(texts(25))

    def test_an_addition_tokenises_only_what_is_new(
        self, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokenized: list[str] = []
        tokenize = Encoder.tokenize

        def counting(self: Encoder, some: list[str], role: Any) -> Any:
            tokenized.extend(some)
            return tokenize(self, some, role)

        build_index(tmp_path, texts(25), encoder)
        monkeypatch.setattr(Encoder, "tokenize", counting)
        with writing(tmp_path) as writer:
            add_documents(writer, [Document("new", "night"), Document("d00", texts(25)["d00"])], encoder)
        assert tokenized == ["night"]

    def test_an_interrupted_build_is_resumed_without_reading_what_is_done(
        self, encoder: Encoder, tmp_path: Path, small_steps: None
    ) -> None:
        write_lines(tmp_path / "c.jsonl", [{"_id": name, "text": text} for name, text in texts(25).items()])
        corpus = documents_from(tmp_path / "c.jsonl")
        with stopping_at(15) as progress, pytest.raises(KeyboardInterrupt):
            build(tmp_path / "index", corpus, encoder, settings_for(encoder), progress=progress)
        with patch.object(type(corpus), "read", autospec=True, side_effect=type(corpus).read) as read:
            report = build(tmp_path / "index", corpus, encoder, settings_for(encoder))
        assert [call.args[1] for call in read.call_args_list] == [12]
        assert (report.documents, report.resumed) == (25, 12)
        assert report.tokens == describe(tmp_path / "index")["tokens"]

    def test_what_an_earlier_version_recorded_of_a_corpus_is_recognised(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "c.jsonl", [{"_id": "a", "text": "the cat"}])
        content = (tmp_path / "c.jsonl").read_bytes()
        assert documents_from(tmp_path / "c.jsonl").digest == hashlib.sha256(content).hexdigest()[:16]
        given = [Document("a", "x", metadata={"n": 1}), Document("b", "y")]
        assert documents_from(given).digest == fingerprint(["a", "b"], ['x{"n": 1}', "y{}"])


class TestRefusals:
    @pytest.mark.parametrize(("documents", "pool", "tokens"), [(1, 1, 3), (15, 64, 15)])
    def test_a_corpus_that_is_too_small_for_a_projection_is_refused_before_anything_is_encoded(
        self, encoder: Encoder, tmp_path: Path, spy: Spy, documents: int, pool: int, tokens: int
    ) -> None:
        corpus = {str(place): "cat" for place in range(documents)}
        with pytest.raises(InputError, match=f"a projection is learnt from at least 16 tokens, not {tokens};"):
            build_index(tmp_path / "index", corpus, encoder, dimensions=8, pool=pool)
        assert spy.encoded == []
        assert not (tmp_path / "index").exists()

    def test_a_sample_that_cannot_be_trained_on_is_kept(
        self, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A tokenizer may count more tokens than the model has vectors for, so training may still be refused."""
        monkeypatch.setattr("chamfer.index.building.check_projection", lambda *_: None)
        with pytest.raises(InputError, match="a projection is learnt from at least 16 tokens"):
            build_index(tmp_path / "index", {"a": "the cat"}, encoder, dimensions=8)
        assert (tmp_path / "index" / SAMPLE).is_dir()

    def test_an_error_after_encoding_began_keeps_what_was_encoded(
        self, encoder: Encoder, tmp_path: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_arguments: Any, **_named: Any) -> None:
            raise InputError("the vectors are broken")

        monkeypatch.setattr(MakeRows, "__call__", fail)
        with pytest.raises(InputError, match="broken"):
            build_index(tmp_path / "index", texts(25), encoder)
        assert (tmp_path / "index" / SAMPLE).is_dir()

    def test_vectors_of_another_corpus_do_not_continue_a_build(self, tmp_path: Path) -> None:
        generator = np.random.default_rng(0)
        vectors = [unit(generator, 3, 8).astype(np.float32) for _ in range(20)]
        tokens = TokenBatch.pack(vectors, [[1, 2, 3]] * 20)
        documents = [Document(f"d{place:02d}", "x") for place in range(20)]
        settings = Settings(8, 10)
        with patch.object(encoded, "CHUNK", 12):
            with patch.object(Writer, "set_building", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
                build_encoded(tmp_path, documents, tokens, settings)
            other = [Document(document.id, "y") for document in documents]
            for changed in ((other, tokens), (documents, TokenBatch.pack(vectors, [[1, 2, 4]] * 20))):
                with pytest.raises(InputError, match="unfinished index of another corpus"):
                    build_encoded(tmp_path, *changed, settings)
            build_encoded(tmp_path, documents, tokens, settings)
        assert describe(tmp_path)["documents"] == 20


class CountingLines:
    """A file that reports how many bytes were read line by line."""

    def __init__(self, file: Any, count: Callable[[int], None]) -> None:
        self._file, self._count = file, count

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            self._count(len(line))
            yield line

    def readline(self, most: int = -1) -> bytes:
        line: bytes = self._file.readline(most)
        self._count(len(line))
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
