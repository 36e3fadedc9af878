"""Vectors on disk: atomic, resumable, locked."""

import fcntl
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from chamfer import InputError, TokenBatch
from chamfer.cache import encoding
from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoding import encode_corpus
from chamfer.cache.manifest import EMPTY_MANIFEST, file_sizes
from chamfer.cache.text_encoder import EncodedTexts
from chamfer.support.files import atomic_write, write_json
from chamfer.support.progress import Advance
from chamfer.tokens.batch import Vectors

TEXTS = [f"{'x' * (i % 4)}" for i in range(10)]
IDS = [f"doc é{i}" for i in range(10)]
MADE_FROM = {"encoder": "tiny", "texts": "t"}


def encode(texts: Sequence[str], advance: Advance) -> EncodedTexts:
    """One vector per character; texts of three are too long, and the tokenizer reads one token more."""
    advance(len(texts))
    tokens = TokenBatch.pack(
        [np.full((len(text), 3), 0.5, np.float32) for text in texts], [list(range(len(text))) for text in texts]
    )
    return EncodedTexts(
        tokens, [np.arange(len(text) + 1, dtype=np.int32) for text in texts], [len(text) == 3 for text in texts]
    )


def only_vectors(vectors: Sequence[Vectors]) -> EncodedTexts:
    tokens = TokenBatch.pack(vectors, [[0] for _ in vectors])
    return EncodedTexts(tokens, [np.zeros(1, np.int32)] * len(vectors), [False] * len(vectors))


FILES = list(file_sizes(EMPTY_MANIFEST))


@pytest.fixture(autouse=True)
def small_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "COMMIT_EVERY", 3)


def test_a_corpus_comes_back_as_it_was_encoded(tmp_path: Path) -> None:
    done: list[int] = []
    corpus = encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from=MADE_FROM, advance=done.append)
    assert corpus.ids == tuple(IDS)
    assert corpus.place["doc é4"] == 4
    assert isinstance(corpus.tokens.vectors, np.memmap)
    assert corpus.tokens.vectors.dtype == np.float16
    assert corpus.tokens.lengths.tolist() == [len(text) for text in TEXTS]
    assert corpus.tokens[3].token_ids.tolist() == [0, 1, 2]
    assert corpus.distinct is not None
    assert [ids.tolist() for ids in corpus.distinct[:4]] == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert corpus.was_truncated is not None
    assert (np.flatnonzero(corpus.was_truncated).tolist(), corpus.truncated) == ([3, 7], 2)
    assert sum(done) == len(TEXTS)


def test_a_finished_corpus_is_not_encoded_again(tmp_path: Path) -> None:
    encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from=MADE_FROM)

    def never(_: Sequence[str], __: Advance) -> EncodedTexts:
        raise AssertionError("encoded twice")

    with (tmp_path / ".lock").open() as file:  # and a writer elsewhere does not keep readers out
        fcntl.flock(file, fcntl.LOCK_EX)
        assert len(encode_corpus(tmp_path, IDS, TEXTS, encode=never, made_from=MADE_FROM)) == 10


@pytest.mark.parametrize("survives", range(4))
def test_interrupted_work_resumes_where_it_stopped(tmp_path: Path, survives: int) -> None:
    calls: list[int] = []

    def fails_later(texts: Sequence[str], advance: Advance) -> EncodedTexts:
        if len(calls) == survives:
            raise KeyboardInterrupt
        calls.append(len(texts))
        return encode(texts, advance)

    with pytest.raises(KeyboardInterrupt):
        encode_corpus(tmp_path, IDS, TEXTS, encode=fails_later, made_from=MADE_FROM)
    # what a crash between writing and committing leaves behind
    for name in FILES:
        with (tmp_path / name).open("ab") as file:
            file.write(b"half a rec")
    if survives:
        with pytest.raises(InputError, match=f"only up to document {3 * survives};"):
            EncodedCorpus.open(tmp_path)

    encoded: list[str] = []

    def counts(texts: Sequence[str], advance: Advance) -> EncodedTexts:
        encoded.extend(texts)
        return encode(texts, advance)

    corpus = encode_corpus(tmp_path, IDS, TEXTS, encode=counts, made_from=MADE_FROM)
    assert encoded == TEXTS[3 * survives :]
    whole = encode_corpus(tmp_path / "whole", IDS, TEXTS, encode=encode, made_from=MADE_FROM)
    assert corpus.ids == whole.ids
    np.testing.assert_array_equal(corpus.tokens.vectors, whole.tokens.vectors)
    np.testing.assert_array_equal(corpus.tokens.offsets, whole.tokens.offsets)
    assert all((corpus.folder / name).read_bytes() == (whole.folder / name).read_bytes() for name in FILES)


class TestVectorsOnly:
    """Corpora of the first format, without what the tokenizer read."""

    @pytest.fixture
    def earlier(self, tmp_path: Path) -> Path:
        encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from=MADE_FROM)
        for name in FILES[4:]:
            (tmp_path / name).unlink()
        manifest = json.loads((tmp_path / "manifest.json").read_text())
        del manifest["distinct"]
        write_json(tmp_path / "manifest.json", {**manifest, "format": 1})
        return tmp_path

    def test_a_finished_one_is_opened(self, earlier: Path) -> None:
        corpus = encode_corpus(earlier, IDS, TEXTS, encode=encode, made_from=MADE_FROM)
        assert (len(corpus), corpus.distinct, corpus.was_truncated, corpus.truncated) == (10, None, None, None)

    def test_an_unfinished_one_is_encoded_again(self, earlier: Path) -> None:
        manifest = json.loads((earlier / "manifest.json").read_text())
        write_json(earlier / "manifest.json", {**manifest, "complete": False})
        corpus = encode_corpus(earlier, IDS, TEXTS, encode=encode, made_from=MADE_FROM)
        assert (len(corpus), corpus.truncated) == (10, 2)


def test_a_folder_made_from_something_else_is_refused(tmp_path: Path) -> None:
    encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from=MADE_FROM)
    with pytest.raises(InputError, match="a different model, corpus or length"):
        encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from={"encoder": "other"})


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing"):
            encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from=MADE_FROM)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    encode_corpus(tmp_path, IDS, TEXTS, encode=encode, made_from=MADE_FROM)
    (tmp_path / name).write_bytes(b"short")
    with pytest.raises(InputError, match=name):
        EncodedCorpus.open(tmp_path)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", "not a chamfer manifest"),
        ("[]", "not a chamfer manifest"),
        ('{"format": 1}', "not a chamfer manifest"),
        ('{"format": 9}', "has format 9"),
    ],
)
def test_a_broken_manifest_is_refused(tmp_path: Path, manifest: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(InputError, match=message):
        EncodedCorpus.open(tmp_path)
    with pytest.raises(InputError, match="no encoded corpus"):
        EncodedCorpus.open(tmp_path / "elsewhere")


def test_vectors_that_16_bits_cannot_hold_are_refused_and_nothing_is_committed(tmp_path: Path) -> None:
    def huge(texts: Sequence[str], _: Advance) -> EncodedTexts:
        return only_vectors([np.full((1, 3), 1e6, np.float32) for _ in texts])

    with pytest.raises(InputError, match="too large for 16-bit"):
        encode_corpus(tmp_path, IDS, TEXTS, encode=huge, made_from=MADE_FROM)
    assert not (tmp_path / "manifest.json").exists()


def test_ids_must_be_unique(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 documents have only 1 distinct ids; ids must be unique"):
        encode_corpus(tmp_path, ["a", "a"], ["x", "y"], encode=encode, made_from=MADE_FROM)
    with pytest.raises(InputError, match="got 3 ids for 2 documents"):
        encode_corpus(tmp_path, ["a", "b", "c"], ["x", "y"], encode=encode, made_from=MADE_FROM)


def test_dimensions_that_change_on_the_way_are_refused(tmp_path: Path) -> None:
    widths = iter((3, 4))

    def changing(texts: Sequence[str], _: Advance) -> EncodedTexts:
        width = next(widths)
        return only_vectors([np.ones((1, width), np.float32) for _ in texts])

    with pytest.raises(InputError, match="3 dimensions, but the new ones have 4"):
        encode_corpus(tmp_path, IDS, TEXTS, encode=changing, made_from=MADE_FROM)


def test_a_corpus_may_consist_of_documents_without_tokens(tmp_path: Path) -> None:
    corpus = encode_corpus(tmp_path, ["a"], [""], encode=encode, made_from=MADE_FROM)
    assert corpus.tokens.lengths.tolist() == [0]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "value.json"
    write_json(path, {"a": 1})

    def fail_halfway() -> None:
        with atomic_write(path) as file:
            file.write(b'{"a"')
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    assert json.loads(path.read_text()) == {"a": 1}
    assert [entry.name for entry in path.parent.iterdir()] == ["value.json"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_link_keeps_pointing_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_json(tmp_path / "link", 1)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "1\n"


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "null").symlink_to("/dev/null")
    write_json(tmp_path / "null", 1)
    assert Path("/dev/null").is_char_device()
