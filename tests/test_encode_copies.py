"""A compiled copy of a model gives the vectors of the checkpoint, without importing torch."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from chamfer import Encoder, InputError, build_index
from chamfer.encode import copies
from chamfer.encode.checkpoint_files import checkpoint_digest
from chamfer.encode.copies import FILES
from chamfer.encode.lengths import Lengths
from chamfer.encode.library_model import LibraryModel
from chamfer.encode.openvino import TELEMETRY, Runner, without_telemetry
from chamfer.encode.settings import Arithmetic, Role
from chamfer.encode.tokenizing import Tokenized
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


def loads_checkpoint(checkpoint: Path, monkeypatch: pytest.MonkeyPatch, *, length: int = 8) -> bool:
    """Whether a new process would have to load the checkpoint."""
    with monkeypatch.context() as patch:
        patch.setattr("chamfer.encode.library_model.load_checkpoint", lambda *_: 1 / 0)
        try:
            load(checkpoint, length=length)
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
    assert (len(after), before < after) == (3, True), "another environment uses the copy that it made"


def both(checkpoint: Path, length: int) -> Encoder:
    return Encoder.load(str(checkpoint), engine="openvino", query_length=length, document_length=length)


def test_texts_longer_than_those_that_a_copy_was_checked_with_need_the_checkpoint(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both(plain_checkpoint, 8)
    with monkeypatch.context() as patch:
        patch.setattr("chamfer.encode.library_model.load_checkpoint", lambda *_: 1 / 0)
        assert both(plain_checkpoint, 8).document_length == both(plain_checkpoint, 6).document_length + 2 == 8
        with pytest.raises(ZeroDivisionError):
            both(plain_checkpoint, 16)
    both(plain_checkpoint, 16)
    monkeypatch.setattr("chamfer.encode.library_model.load_checkpoint", lambda *_: 1 / 0)
    assert both(plain_checkpoint, 8).document_length + 8 == both(plain_checkpoint, 16).document_length == 16
    assert len(list(cache.iterdir())) == 1


def test_a_model_that_fails_on_longer_texts_is_refused_whoever_loaded_it_first(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a window of attention that short texts never fill: OpenVINO gives NaN where torch does not."""

    class Short(Runner):
        def __call__(self, arrays: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
            states = super().__call__(arrays)
            return states if arrays[0].shape[1] <= 8 else states * np.float32(np.nan)

    monkeypatch.setattr("chamfer.encode.tracing.Runner", Short)
    assert both(plain_checkpoint, 8).engine == "openvino"
    with pytest.raises(InputError, match="OpenVINO and torch disagree"):
        both(plain_checkpoint, 16)
    with pytest.raises(InputError, match="OpenVINO and torch disagree"):
        Encoder.load(str(plain_checkpoint), engine="openvino", query_length=16, document_length=8)
    assert both(plain_checkpoint, 8).engine == "openvino"


@pytest.mark.parametrize("limit", [8, 2**31])
def test_a_model_without_a_limit_of_tokens_is_compared_on_texts_of_limited_length(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    read = list[int]()
    real = LibraryModel.tokenize

    def tokenize(model: LibraryModel, texts: Sequence[str], role: Role) -> Tokenized:
        read.append(max(map(len, texts)))
        return real(model, texts, role)

    monkeypatch.setattr(LibraryModel, "tokenize", tokenize)
    monkeypatch.setattr("chamfer.encode.lengths.LONG", 8)
    monkeypatch.setattr(Lengths, "changed", lambda *_: Lengths(limit, limit, 2**31))
    load(plain_checkpoint)
    assert 0 < max(read) < 100
    assert not loads_checkpoint(plain_checkpoint, monkeypatch)


def test_where_nothing_can_be_written_the_model_is_loaded_every_time(
    tmp_path: Path, plain_checkpoint: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the cache should be")
    assert len(load(plain_checkpoint).encode_queries(["cat"]).vectors)
    assert loads_checkpoint(plain_checkpoint, monkeypatch)
    assert not cache.exists()


@pytest.mark.parametrize("error", [Exception("No space left on device"), OSError(28, "full"), RuntimeError("full")])
def test_a_copy_that_cannot_be_written_is_done_without(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(copies, "save_graph", fail)
    assert len(load(plain_checkpoint).encode_queries(["cat"]).vectors)
    assert list(cache.iterdir()) == []


def test_a_library_under_another_name_means_no_copy(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MADE_BY", ("openvino-nightly-of-somebody",))
    assert load(plain_checkpoint).engine == "openvino"
    assert not cache.exists()


@pytest.mark.parametrize("name", [copies.GRAPH, copies.TOKENIZER])
def test_a_copy_that_is_replaced_while_it_is_read_is_none(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    load(plain_checkpoint)
    [copy] = cache.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(copies, "check_openvino", (copy / name).unlink)  # after the checksums
        assert loads_checkpoint(plain_checkpoint, monkeypatch)


def test_a_copy_that_another_process_has_just_finished_stays(
    cache: Path, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(plain_checkpoint)
    [copy] = cache.iterdir()
    number = copy.stat().st_ino
    monkeypatch.setattr("chamfer.encode.tracing._last", {})
    monkeypatch.setattr(copies, "read_copy", lambda *_, **__: None)  # as if both had begun at once
    load(plain_checkpoint)
    assert [path.stat().st_ino for path in cache.iterdir()] == [number]


def test_the_copies_used_last_are_kept_and_what_killed_processes_left_is_removed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "KEPT", 2)
    old, young = cache / ".0-1.17-0123abcd", cache / ".0-1.18-0123abcd"
    for folder in (old, young):
        (folder / "part").mkdir(parents=True)
    os.utime(old, (0, 0))
    folders, made = [tmp_path / name for name in "abc"], list[set[Path]]()
    for seed, folder in enumerate(folders):
        checkpoints.make_plain(folder, seed=seed)
        load(folder)
        made.append({path for path in cache.iterdir() if not path.name.startswith(".")})
        if seed == 1:
            for path in made[-1]:
                os.utime(path, (seed, seed))
            assert not loads_checkpoint(folders[0], monkeypatch)  # used last
    assert made[2] >= made[0]
    assert len(made[2]) == 2
    assert (old.exists(), young.exists()) == (False, True)


def test_what_a_link_to_a_folder_holds_is_part_of_a_checkpoint(tmp_path: Path) -> None:
    checkpoint, elsewhere = tmp_path / "model", tmp_path / "elsewhere"
    checkpoints.make_plain(checkpoint)
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / "model.safetensors").write_bytes(b"one")
    (checkpoint / "linked").symlink_to(elsewhere)
    (elsewhere / "deep" / "round").symlink_to(checkpoint)
    before = checkpoint_digest(checkpoint)
    assert checkpoint_digest(checkpoint) == before
    (elsewhere / "deep" / "model.safetensors").write_bytes(b"two")
    assert checkpoint_digest(checkpoint) != before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("adapter_config.json", {"base_model_name_or_path": "../base"}),
        ("1_Pooling/config.json", {"auto_map": {"AutoModel": "somebody/code--modeling.Model"}}),
        ("modules.json", [{"idx": 0, "name": "0", "path": "../other", "type": "Transformer"}]),
        ("modules.json", [{"idx": 0, "name": "0", "path": "/models/other", "type": "Transformer"}]),
    ],
)
def test_a_checkpoint_with_parts_elsewhere_has_no_copy(cache: Path, tmp_path: Path, name: str, content: object) -> None:
    checkpoints.make_plain(tmp_path)
    checkpoints.write_json(tmp_path / "data_config.json", [{"name": "as in minilm"}])
    assert copies.copy_folder(tmp_path) is not None
    checkpoints.write_json(tmp_path / name, content)
    assert copies.copy_folder(tmp_path) is None


def test_openvino_is_imported_in_several_threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, both_in = list[bool](), threading.Barrier(2)

    def hide() -> None:
        both_in.wait(10)
        for _ in range(200):
            with without_telemetry():
                time.sleep(0)
                hidden.append(sys.modules[TELEMETRY] is None)

    monkeypatch.setitem(sys.modules, TELEMETRY, sys)
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(hide) for _ in range(2)]:
            done.result()
    assert all(hidden)
    assert sys.modules[TELEMETRY] is sys


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
        "import json\n"
        "from typer.testing import CliRunner\n"
        "from chamfer.cli.app import app\n"
        f"for arguments in ({search}, {explain}, {rerank}):\n"
        f"    requests = open({str(tmp_path / 'requests.jsonl')!r}).read()\n"
        "    ran = CliRunner().invoke(app, arguments, input=requests)\n"
        "    assert ran.exit_code == 0, ran.output\n"
        "    if arguments[0] == 'rerank':\n"
        "        assert sorted(one['id'] for one in json.loads(ran.stdout)['ranking']) == ['0', '1'], ran.output\n"
        "    else:\n"
        "        assert 'cat' in ran.stdout, ran.output\n" + HEAVY
    )
    subprocess.run([sys.executable, "-c", code], check=True)
