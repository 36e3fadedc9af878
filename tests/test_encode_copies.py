"""A compiled copy of a model gives the vectors of the checkpoint, without importing torch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chamfer import Encoder, InputError, build_index
from chamfer.encode import copies
from chamfer.encode.copies import FILES
from chamfer.encode.settings import Arithmetic
from tests import checkpoints
from tests.conftest import DOCUMENTS, write_lines

TEXTS = ["the cat sat on a mat", "cat", "", "why do cats sleep all day and all night?", "日本 ½ café", "cat " * 9]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing compiled before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("chamfer.encode.tracing._last", {})
    return tmp_path / "cache" / "chamfer" / "models"


def load(checkpoint: Path, arithmetic: Arithmetic = "float32", *, length: int = 8) -> Encoder:
    return Encoder.load(str(checkpoint), engine="openvino", arithmetic=arithmetic, document_length=length)


def loads_checkpoint(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a new process would have to load the checkpoint."""
    with monkeypatch.context() as patch:
        patch.setattr("chamfer.encode.library_model.load_checkpoint", lambda *_: 1 / 0)
        try:
            load(checkpoint)
        except ZeroDivisionError:
            return True
    return False


@pytest.mark.parametrize("arithmetic", ["float32", "bfloat16"])
def test_a_copy_gives_the_same_to_the_last_bit(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, arithmetic: Arithmetic
) -> None:
    first = load(plain_checkpoint, arithmetic)
    monkeypatch.setattr("chamfer.encode.library_model.load_checkpoint", lambda *_: 1 / 0)
    again = load(plain_checkpoint, arithmetic)
    assert len(list(cache.iterdir())) == 1
    for one, other in (
        (first.encode_documents(TEXTS), again.encode_documents(TEXTS)),
        (first.encode_queries(["cat", "a dog barks"]), again.encode_queries(["cat", "a dog barks"])),
    ):
        np.testing.assert_array_equal(one.vectors, other.vectors)
        np.testing.assert_array_equal(one.token_ids, other.token_ids)
        np.testing.assert_array_equal(one.offsets, other.offsets)
    for role in ("query", "document"):
        assert first.fingerprint(role) == again.fingerprint(role)
    assert first.vocabulary == again.vocabulary
    assert (first.model_fingerprint, repr(first)) == (again.model_fingerprint, repr(again))


def test_a_model_without_torch_reads_texts_as_the_library_does(plain_checkpoint: Path) -> None:
    compiled = load(plain_checkpoint)
    library = Encoder.load(str(plain_checkpoint), document_length=8)
    for role in ("query", "document"):
        one, other = compiled.tokenize(TEXTS, role), library.tokenize(TEXTS, role)
        assert [ids.tolist() for ids in one.token_ids] == [ids.tolist() for ids in other.token_ids]
        assert one.was_truncated == other.was_truncated
    assert [compiled.spans(text) for text in TEXTS] == [library.spans(text) for text in TEXTS]
    with pytest.raises(InputError, match="has no tokens"):
        compiled.encode_queries([""])
    with pytest.raises(InputError, match="the document length must be between 4 and"):
        load(plain_checkpoint, length=2)


@pytest.mark.parametrize("name", [*FILES, copies.CHECKSUMS])
def test_a_damaged_copy_is_made_again(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expected = load(plain_checkpoint).encode_queries(["cat"]).vectors
    [copy] = cache.iterdir()
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    assert loads_checkpoint(plain_checkpoint, monkeypatch)
    monkeypatch.setattr("chamfer.encode.tracing._last", {})
    np.testing.assert_array_equal(load(plain_checkpoint).encode_queries(["cat"]).vectors, expected)
    assert not loads_checkpoint(plain_checkpoint, monkeypatch)
    (copy / name).unlink()
    assert loads_checkpoint(plain_checkpoint, monkeypatch)


def test_a_copy_is_of_one_checkpoint_and_one_set_of_libraries(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.make_plain(tmp_path / "model")
    load(tmp_path / "model")
    shutil.copytree(tmp_path / "model", tmp_path / "moved")
    assert not loads_checkpoint(tmp_path / "moved", monkeypatch)
    config = tmp_path / "moved" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_act": "relu"}))
    assert loads_checkpoint(tmp_path / "moved", monkeypatch)
    load(tmp_path / "moved")
    before = set(cache.iterdir())
    assert len(before) == 2, "another model is another copy"
    monkeypatch.setattr(copies, "FORMAT", -1)
    monkeypatch.setattr("chamfer.encode.tracing._last", {})
    assert loads_checkpoint(tmp_path / "model", monkeypatch)
    load(tmp_path / "model")
    after = set(cache.iterdir())
    assert (len(after), len(after & before)) == (2, 1), "the copy that other versions made is removed"


def test_where_nothing_can_be_written_the_model_is_loaded_every_time(
    tmp_path: Path, plain_checkpoint: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the cache should be")
    assert len(load(plain_checkpoint).encode_queries(["cat"]).vectors)
    assert loads_checkpoint(plain_checkpoint, monkeypatch)
    assert not cache.exists()


def test_late_interaction_models_have_no_copy(cache: Path, tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path / "model")
    assert Encoder.load(str(tmp_path / "model"), engine="openvino").engine == "openvino"
    assert not cache.exists()


HEAVY = "import sys; assert not {'torch', 'transformers', 'sentence_transformers', 'pandas'} & sys.modules.keys()"


def test_commands_that_answer_one_query_import_no_model_library(tmp_path: Path, plain_checkpoint: Path) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder=str(plain_checkpoint))
    write_lines(tmp_path / "requests.jsonl", [{"query": "cats", "documents": ["the cat", "a dog"]}])
    search, explain, rerank = (
        ["search", str(tmp_path / "index"), "why do cats sleep"],
        ["explain", str(tmp_path / "index"), "why do cats sleep"],
        ["rerank", "--encoder", str(plain_checkpoint)],
    )
    load(plain_checkpoint, "bfloat16")
    code = (
        "from typer.testing import CliRunner\n"
        "from chamfer.cli.app import app\n"
        f"for arguments in ({search}, {explain}, {rerank}):\n"
        f"    requests = open({str(tmp_path / 'requests.jsonl')!r}).read()\n"
        "    ran = CliRunner().invoke(app, arguments, input=requests)\n"
        "    assert ran.exit_code == 0 and 'cat' in ran.stdout + requests, ran.output\n" + HEAVY
    )
    subprocess.run([sys.executable, "-c", code], check=True)
