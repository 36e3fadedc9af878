"""Our vectors and ids against a forward pass written from the published recipes."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from chamfer import InputError
from chamfer.encode.batches import batches
from chamfer.encode.bfloat16 import INSTRUCTIONS, has_bfloat16
from chamfer.encode.checkpoint_files import MINILM_SHA256, minilm_folder
from chamfer.encode.encoder import Encoder
from chamfer.encode.library_model import module_of
from chamfer.encode.settings import Arithmetic, Role
from chamfer.tokens.batch import TokenBatch
from tests import checkpoints
from tests.checkpoints import ID, PUNCTUATION, TOKENS, count_tokenized, forward, unit

Checkpoint = tuple[Path, dict[str, Any]]

QUERY, QUERY_TOKENS = "Why do cats sleep?", ["why", "do", "cats", "sleep", "?"]
ARITHMETICS: tuple[Arithmetic, Arithmetic] = ("float32", "bfloat16")
DOCUMENT, DOCUMENT_TOKENS = "The cat, on a mat.", ["the", "cat", ",", "on", "a", "mat", "."]


def ids(tokens: list[str]) -> list[int]:
    return [ID[token] for token in tokens]


def assert_equal(batch: TokenBatch, expected_ids: list[int], expected: np.ndarray) -> None:
    assert batch.token_ids.tolist() == expected_ids
    np.testing.assert_allclose(batch.vectors, expected, atol=2e-6)


@pytest.fixture(scope="module")
def stanford(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    folder = tmp_path_factory.mktemp("stanford")
    return folder, checkpoints.make_stanford(folder)


@pytest.fixture(scope="module")
def pylate(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    folder = tmp_path_factory.mktemp("pylate")
    return folder, checkpoints.make_pylate(folder)


class TestStanfordCheckpoints:
    def test_a_query_is_filled_with_masks_that_nobody_attends_to(self, stanford: Checkpoint) -> None:
        folder, model = stanford
        row = ids(["[CLS]", "[unused0]", *QUERY_TOKENS, "[SEP]"])
        masks = 12 - len(row)
        row, attended = row + [ID["[MASK]"]] * masks, [True] * len(row) + [False] * masks
        expected = unit(forward(model["bert"], row, attended) @ model["projection"].T)
        assert_equal(Encoder.load(str(folder)).encode_queries([QUERY]), row, expected)

    def test_a_document_keeps_its_marker_and_loses_its_punctuation(self, stanford: Checkpoint) -> None:
        folder, model = stanford
        row = ids(["[CLS]", "[unused1]", *DOCUMENT_TOKENS, "[SEP]"])
        vectors = unit(forward(model["bert"], row, [True] * len(row)) @ model["projection"].T)
        kept = [place for place, token in enumerate(row) if TOKENS[token] not in PUNCTUATION]
        # together with a longer text, so that there is padding to ignore
        batch = Encoder.load(str(folder)).encode_documents([DOCUMENT, DOCUMENT + " it is a dog"])
        assert_equal(batch[0], [row[place] for place in kept], vectors[kept])

    def test_lengths_are_arguments(self, stanford: Checkpoint) -> None:
        encoder = Encoder.load(str(stanford[0]), query_length=20, document_length=6)
        assert len(encoder.encode_queries([QUERY]).vectors) == 20
        assert encoder.encode_documents([DOCUMENT]).token_ids.tolist() == ids(
            ["[CLS]", "[unused1]", "the", "cat", "[SEP]"]
        )

    def test_markers_and_masks_are_special(self, stanford: Checkpoint) -> None:
        special = Encoder.load(str(stanford[0])).vocabulary.special_ids
        assert {ID[t] for t in ("[CLS]", "[SEP]", "[MASK]", "[PAD]", "[unused0]", "[unused1]")} == special


class TestPyLateCheckpoints:
    def test_a_query_is_marked_filled_and_projected(self, pylate: Checkpoint) -> None:
        folder, model = pylate
        row = [ID["[CLS]"], len(TOKENS), *ids([*QUERY_TOKENS, "[SEP]"])]
        masks = 10 - len(row)
        row, attended = row + [ID["[MASK]"]] * masks, [True] * len(row) + [False] * masks
        expected = unit(forward(model["bert"], row, attended) @ model["projection"].T)
        assert_equal(Encoder.load(str(folder)).encode_queries([QUERY]), row, expected)

    def test_a_document_is_marked_and_loses_its_punctuation(self, pylate: Checkpoint) -> None:
        folder, model = pylate
        row = [ID["[CLS]"], len(TOKENS) + 1, *ids([*DOCUMENT_TOKENS, "[SEP]"])]
        vectors = unit(forward(model["bert"], row, [True] * len(row)) @ model["projection"].T)
        kept = [p for p, token in enumerate(row) if token >= len(TOKENS) or TOKENS[token] not in PUNCTUATION]
        batch = Encoder.load(str(folder)).encode_documents([DOCUMENT])
        assert_equal(batch, [row[place] for place in kept], vectors[kept])

    def test_added_markers_are_special(self, pylate: Checkpoint) -> None:
        special = Encoder.load(str(pylate[0])).vocabulary.special_ids
        assert {len(TOKENS), len(TOKENS) + 1, ID["[MASK]"]} <= special


class TestPlainEncoders:
    def test_token_states_are_normalised_and_not_projected(self, tmp_path: Path) -> None:
        model = checkpoints.make_plain(tmp_path)
        row = ids(["[CLS]", *QUERY_TOKENS, "[SEP]"])
        expected = unit(forward(model["bert"], row, [True] * len(row)))
        assert_equal(Encoder.load(str(tmp_path)).encode_queries([QUERY]), row, expected)

    def test_a_folder_without_a_module_list_works_too(self, tmp_path: Path) -> None:
        model = checkpoints.make_plain(tmp_path)
        (tmp_path / "modules.json").unlink()
        row = ids(["[CLS]", *DOCUMENT_TOKENS, "[SEP]"])
        expected = unit(forward(model["bert"], row, [True] * len(row)))
        assert_equal(Encoder.load(str(tmp_path)).encode_documents([DOCUMENT]), row, expected)

    def test_a_sentence_head_is_left_out(self, tmp_path: Path) -> None:
        model = checkpoints.make_plain(tmp_path)
        checkpoints.add_sentence_head(tmp_path)
        row = ids(["[CLS]", *QUERY_TOKENS, "[SEP]"])
        expected = unit(forward(model["bert"], row, [True] * len(row)))
        assert_equal(Encoder.load(str(tmp_path)).encode_queries([QUERY]), row, expected)

    def test_loading_twice_gives_the_same_vectors(self, plain_checkpoint: Path) -> None:
        first, second = (Encoder.load(str(plain_checkpoint)).encode_queries([QUERY]).vectors for _ in range(2))
        np.testing.assert_array_equal(first, second)


def test_texts_come_back_in_their_order_whatever_their_length(encoder: Encoder) -> None:
    texts = ["the cat sat on a mat", "", "dog", "it is a dog and it barks at night", "sky"]
    batch = encoder.encode_documents(texts)
    for place, text in enumerate(texts):
        np.testing.assert_allclose(batch[place].vectors, encoder.encode_documents([text]).vectors, atol=1e-6)


@given(some.lists(some.integers(1, 50)), some.integers(1, 200))
def test_batches_hold_every_text_once_and_no_more_tokens_than_allowed(lengths: list[int], most: int) -> None:
    made = list(batches(lengths, most))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= most for batch in made)
    inside = [lengths[place] for batch in made for place in batch]
    assert inside == sorted(inside), "texts of similar length are encoded together"


def test_texts_of_several_batches_come_back_in_their_order(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sat on a mat", "dog", "", "it is a dog and it barks at night", "dog", "sky", "why do cats sleep"]
    together = encoder.encode_documents(texts)
    done: list[int] = []
    monkeypatch.setattr("chamfer.encode.batches.CPU_BATCH", 12)
    apart = encoder.encode_documents(texts, done.append)
    assert apart.token_ids.tolist() == together.token_ids.tolist()
    np.testing.assert_allclose(apart.vectors, together.vectors, atol=1e-6)
    assert sum(done) == len(texts)
    assert len(done) > 2, "progress is reported batch by batch"


def test_filled_queries_of_any_length_share_a_batch(stanford: Checkpoint) -> None:
    encoder = Encoder.load(str(stanford[0]))
    texts = ["cat", QUERY, "the cat sat on a mat and the dog barks at night"]
    batch = encoder.encode_queries(texts)
    for place, text in enumerate(texts):
        np.testing.assert_allclose(batch[place].vectors, encoder.encode_queries([text]).vectors, atol=1e-6)


class TestArithmetic:
    @pytest.mark.parametrize("make", [checkpoints.make_stanford, checkpoints.make_pylate, checkpoints.make_plain])
    def test_16_bits_give_nearly_the_same_unit_vectors(self, tmp_path: Path, make: Callable[[Path], object]) -> None:
        make(tmp_path)
        exact, short = (Encoder.load(str(tmp_path), arithmetic=arithmetic) for arithmetic in ARITHMETICS)
        for one, other in (
            (exact.encode_documents([DOCUMENT, "cat"]), short.encode_documents([DOCUMENT, "cat"])),
            (exact.encode_queries([QUERY]), short.encode_queries([QUERY])),
        ):
            assert other.token_ids.tolist() == one.token_ids.tolist()
            np.testing.assert_allclose(np.linalg.norm(other.vectors, axis=1), 1, atol=1e-6)
            assert (one.vectors * other.vectors).sum(axis=1).min() > 0.999

    def test_it_is_part_of_the_fingerprint_but_not_of_the_model(self, plain_checkpoint: Path) -> None:
        exact, short = (Encoder.load(str(plain_checkpoint), arithmetic=arithmetic) for arithmetic in ARITHMETICS)
        assert (exact.arithmetic, short.arithmetic) == ARITHMETICS
        assert exact.fingerprint("document") != short.fingerprint("document")
        assert exact.fingerprint("query") != short.fingerprint("query")
        assert exact.model_fingerprint == short.model_fingerprint

    @pytest.mark.parametrize(
        ("settings", "query", "document"),
        [
            ({}, "cc44ce9a0274f32c", "cc44ce9a0274f32c"),
            ({"arithmetic": "bfloat16"}, "e5de6e07fcdb95e6", "e5de6e07fcdb95e6"),
            ({"engine": "openvino"}, "087f181327274f66", "087f181327274f66"),
            ({"query_length": 9, "document_length": 11}, "c9e2d1d64f807432", "7da76ae2802afdc4"),
        ],
    )
    def test_vectors_and_indexes_from_earlier_versions_are_still_found(
        self, settings: dict[str, Any], query: str, document: str
    ) -> None:
        encoder = Encoder.load("minilm", **settings)
        assert (encoder.fingerprint("query"), encoder.fingerprint("document")) == (query, document)
        assert encoder.model_fingerprint == "0a681c02e92fd998"

    def test_the_hardware_decides_what_auto_means(
        self, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for able, expected in ((False, "float32"), (True, "bfloat16")):
            monkeypatch.setattr("chamfer.encode.encoder.has_bfloat16", lambda _place, able=able: able)
            assert Encoder.load(str(plain_checkpoint), device="cpu", arithmetic="auto").arithmetic == expected

    def test_only_native_16_bit_instructions_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for able, expected in (("avx512_bf16", True), ("amx_bf16", True), ("bf16", True), ("avx512f", False)):
            monkeypatch.setattr("chamfer.encode.bfloat16.cpu_features", lambda able=able: frozenset({able, "fma"}))
            assert has_bfloat16("cpu") is expected
            assert not has_bfloat16("meta")

    @pytest.mark.skipif(not hasattr(torch.cpu, "get_capabilities"), reason="this torch cannot tell")
    def test_torch_finds_the_same_instructions(self) -> None:
        found = torch.cpu.get_capabilities()
        assert has_bfloat16("cpu") == any(found.get(name) for name in INSTRUCTIONS)

    def test_another_one_is_refused(self) -> None:
        with pytest.raises(InputError, match="'float32', 'bfloat16' or 'auto', not 'int8'"):
            Encoder.load("minilm", arithmetic="int8")  # type: ignore[arg-type]


class TestEngine:
    @pytest.mark.parametrize("make", [checkpoints.make_stanford, checkpoints.make_pylate, checkpoints.make_plain])
    @pytest.mark.parametrize(("arithmetic", "least"), [("float32", 0.999999), ("bfloat16", 0.999)])
    def test_openvino_gives_nearly_the_same_unit_vectors(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        make: Callable[[Path], object],
        arithmetic: Arithmetic,
        least: float,
    ) -> None:
        make(tmp_path)
        monkeypatch.setattr("chamfer.encode.batches.CPU_BATCH", 24)
        exact = Encoder.load(str(tmp_path))
        compiled = Encoder.load(str(tmp_path), arithmetic=arithmetic, engine="openvino")
        texts = [DOCUMENT, "cat", "", "the dog barks at night", "cat", "why do cats sleep all day"]
        done: list[int] = []
        for one, other in (
            (exact.encode_documents(texts), compiled.encode_documents(texts, done.append)),
            (exact.encode_queries([QUERY, "cat"]), compiled.encode_queries([QUERY, "cat"])),
        ):
            assert other.token_ids.tolist() == one.token_ids.tolist()
            np.testing.assert_allclose(np.linalg.norm(other.vectors, axis=1), 1, atol=1e-6)
            assert (one.vectors * other.vectors).sum(axis=1).min() > least
        assert sum(done) == len(texts)

    def test_it_is_part_of_the_fingerprint_but_not_of_the_model(self, plain_checkpoint: Path) -> None:
        usual = Encoder.load(str(plain_checkpoint))
        compiled = Encoder.load(str(plain_checkpoint), engine="openvino")
        assert (usual.engine, compiled.engine) == ("torch", "openvino")
        assert usual.fingerprint("document") != compiled.fingerprint("document")
        assert usual.model_fingerprint == compiled.model_fingerprint
        assert (usual.dimensions, usual.document_length) == (compiled.dimensions, compiled.document_length)

    def test_auto_is_openvino_where_it_is_installed_and_can_run_the_model(
        self, plain_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert Encoder.load(str(plain_checkpoint), device="cpu", engine="auto").engine == "openvino"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where no copy is
        monkeypatch.setattr("chamfer.encode.tracing._last", {})
        monkeypatch.setattr("chamfer.encode.tracing.MIN_COSINE", 2)
        assert Encoder.load(str(plain_checkpoint), device="cpu", engine="auto").engine == "torch"
        with pytest.raises(InputError, match="disagree on the token states of this model; use the engine 'torch'"):
            Encoder.load(str(plain_checkpoint), engine="openvino")
        monkeypatch.setattr("chamfer.encode.tracing.trace", lambda *_args: 1 / 0)
        with pytest.raises(InputError, match=r"cannot run this model \(division by zero\); use the engine 'torch'"):
            Encoder.load(str(plain_checkpoint), engine="openvino")

    def test_a_model_is_compiled_once(self, stanford: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        name = str(stanford[0])
        first = Encoder.load(name, engine="openvino").encode_queries(["bread"])
        monkeypatch.setattr("chamfer.encode.tracing.trace", lambda *_args: 1 / 0)
        again = Encoder.load(name, engine="openvino").encode_queries(["bread"])
        np.testing.assert_array_equal(first.vectors, again.vectors)
        with pytest.raises(InputError, match="cannot run this model"):
            Encoder.load(name, engine="openvino", arithmetic="bfloat16")

    def test_where_it_is_not_installed_it_is_named(
        self, plain_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("openvino", "loading"):
            monkeypatch.setattr(f"chamfer.encode.{module}.has_openvino", lambda: False)
        assert Encoder.load(str(plain_checkpoint), device="cpu", engine="auto").engine == "torch"
        with pytest.raises(InputError, match=r"not installed; run: pip install 'chamfer\[openvino\]'"):
            Encoder.load(str(plain_checkpoint), engine="openvino")

    @pytest.mark.long
    def test_openvino_sends_no_telemetry(self, plain_checkpoint: Path, tmp_path: Path) -> None:
        code = (
            "import sys; from chamfer import Encoder; "
            f"assert Encoder.load({str(plain_checkpoint)!r}, engine='openvino').engine == 'openvino'; "
            "assert not any(name.startswith('openvino_telemetry') for name in sys.modules)"
        )
        unset = ("CI", "TF_BUILD", "JENKINS_URL")  # where these are set, it sends nothing anyway
        home = {**{name: value for name, value in os.environ.items() if name not in unset}, "HOME": str(tmp_path)}
        subprocess.run([sys.executable, "-c", code], check=True, env=home)
        assert not (tmp_path / "intel").exists()

    def test_it_runs_only_on_the_cpu(self, plain_checkpoint: Path) -> None:
        with pytest.raises(InputError, match="needs device='cpu', not 'meta'"):
            Encoder.load(str(plain_checkpoint), engine="openvino", device="meta")

    def test_another_one_is_refused(self) -> None:
        with pytest.raises(InputError, match="'torch', 'openvino' or 'auto', not 'onnx'"):
            Encoder.load("minilm", engine="onnx")  # type: ignore[arg-type]


def test_a_document_without_text_has_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode_documents(["", "  ", "\u200b"]).lengths.tolist() == [0, 0, 0]
    assert [len(ids) for ids in encoder.tokenize(["", "cat", "\u200b"], "document").token_ids] == [0, 3, 0]
    assert encoder.encode_documents([]).lengths.tolist() == []


def test_a_query_without_text_is_refused(encoder: Encoder) -> None:
    for nothing in ("", " ", "\u200b"):
        with pytest.raises(InputError, match="has no tokens"):
            encoder.encode_queries(["cat", nothing])


def test_tokenize_gives_what_the_model_sees_and_counts_what_was_cut(plain_checkpoint: Path) -> None:
    encoder = Encoder.load(str(plain_checkpoint), document_length=6)
    texts = [DOCUMENT, "cat", ""]
    tokenized = encoder.tokenize(texts, "document")
    assert tokenized.truncated == 1
    seen = encoder.encode_documents(texts)
    assert [row.tolist() for row in tokenized.token_ids] == [seen[i].token_ids.tolist() for i in range(3)]


def test_tokenize_keeps_the_punctuation_that_the_skip_list_drops(stanford: Checkpoint) -> None:
    encoder = Encoder.load(str(stanford[0]))
    assert ID[","] in encoder.tokenize([DOCUMENT], "document").token_ids[0]
    assert ID[","] not in encoder.encode_documents([DOCUMENT]).token_ids


def test_the_fingerprint_follows_whatever_changes_the_vectors(plain_checkpoint: Path, tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    same, again, longer, other = (
        Encoder.load(str(path), document_length=length)
        for path, length in ((plain_checkpoint, 8), (plain_checkpoint, 8), (plain_checkpoint, 9), (tmp_path, 8))
    )
    assert same.fingerprint("document") == again.fingerprint("document")
    assert len({encoder.fingerprint("document") for encoder in (same, longer, other)}) == 3
    cased = tmp_path / "cased"
    checkpoints.make_plain(cased, lowercase=False)
    assert Encoder.load(str(cased), document_length=8).fingerprint("document") != same.fingerprint("document")
    assert same.fingerprint("query") == longer.fingerprint("query"), "queries do not change with document length"


def test_punctuation_alone_is_a_query_and_space_alone_is_not(encoder: Encoder) -> None:
    assert len(encoder.encode_queries(["???"]).vectors) > 2
    with pytest.raises(InputError, match="the query ' ' has no tokens; give some text to search for"):
        encoder.encode_queries([" "])


def test_an_encoder_prints_in_one_line(plain_checkpoint: Path) -> None:
    loaded = Encoder.load(str(plain_checkpoint), device="cpu")
    assert repr(loaded) == f"Encoder({str(plain_checkpoint)!r}, dimensions={loaded.dimensions}, device='cpu')"


def test_a_model_that_is_not_there_is_named_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"no folder '\./nowhere'"):
        Encoder.load("./nowhere")
    with pytest.raises(InputError, match="cannot load a model from 'nobody/nothing'") as caught:
        Encoder.load("nobody/nothing")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [("model.safetensors", b"short"), ("config.json", b"[]"), ("modules.json", b'["a"]'), ("config.json", b"{")],
)
def test_a_damaged_checkpoint_is_named_in_one_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    checkpoints.make_plain(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot load a model from") as caught:
        Encoder.load(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_queries_that_are_filled_up_to_a_minimum_are_still_cut(tmp_path: Path) -> None:
    checkpoints.make_pylate(tmp_path)
    path = tmp_path / "config_sentence_transformers.json"
    settings = json.loads(path.read_text())
    settings.update(query_length=12, query_expansion={"strategy": "min", "attend": False, "length": 6})
    path.write_text(json.dumps(settings))
    long = "the cat sat on a mat and the dog barks at night"
    assert [len(Encoder.load(str(tmp_path)).encode_queries([text]).vectors) for text in ("cat", long)] == [6, 12]
    shorter = Encoder.load(str(tmp_path), query_length=5)
    assert [len(shorter.encode_queries([text]).vectors) for text in ("cat", long)] == [5, 5]


@pytest.mark.parametrize("length", [0, 3, 65])
def test_a_length_that_the_model_cannot_take_is_refused(plain_checkpoint: Path, length: int) -> None:
    with pytest.raises(InputError, match="between 4 and 64"):
        Encoder.load(str(plain_checkpoint), query_length=length)


def test_loading_leaves_the_loggers_as_they_were(plain_checkpoint: Path) -> None:
    before = logging.getLogger("sentence_transformers").level
    Encoder.load(str(plain_checkpoint))
    assert logging.getLogger("sentence_transformers").level == before


def test_the_offline_model_has_the_published_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (minilm_folder() / "model.safetensors").stat().st_size == 90868376
    assert MINILM_SHA256.startswith("53aa5117")
    monkeypatch.setattr("chamfer.encode.checkpoint_files.MINILM_SHA256", "0" * 64)
    with pytest.raises(InputError, match=f"SHA-256 {MINILM_SHA256}, not 0000"):
        minilm_folder()


def test_a_missing_offline_model_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chamfer.encode.checkpoint_files.MINILM_PACKAGE", "not_installed_anywhere")
    with pytest.raises(InputError, match=r"chamfer\[minilm\]"):
        Encoder.load("minilm")


def test_several_threads_may_share_an_encoder(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    encoder = Encoder.load(str(tmp_path))
    texts = ["the cat sat on a mat and a dog barks at night and it is blue all day", "why", "a dog and the cat"]
    roles: tuple[Role, Role] = ("query", "document")

    def vectors(asked: tuple[Role, str]) -> npt.NDArray[np.floating]:
        role, text = asked
        return (encoder.encode_queries if role == "query" else encoder.encode_documents)([text]).vectors

    wanted = {(role, text): vectors((role, text)) for role in roles for text in texts}
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(vectors, list(wanted) * 40))
    assert all(np.array_equal(one, two) for one, two in zip(found, list(wanted.values()) * 40, strict=True))


class TestTokenizing:
    @pytest.fixture
    def seen(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Every text that is tokenised."""
        return count_tokenized(monkeypatch)

    def test_a_text_is_tokenised_once_whatever_is_asked_of_it(self, plain_checkpoint: Path, seen: list[str]) -> None:
        encoder = Encoder.load(str(plain_checkpoint), document_length=6)
        seen.clear()
        tokenized = encoder.tokenize([DOCUMENT, "cat", DOCUMENT], "document")
        assert (tokenized.was_truncated, tokenized.truncated) == ([True, False, True], 2)
        assert encoder.encode(tokenized).lengths.tolist() == [6, 3, 6]
        encoder.encode_queries([QUERY])
        assert seen == [DOCUMENT, "cat", QUERY]

    @pytest.mark.parametrize("make", [checkpoints.make_stanford, checkpoints.make_pylate, checkpoints.make_plain])
    def test_some_of_the_texts_have_the_vectors_they_have_alone(
        self, tmp_path: Path, make: Callable[[Path], object]
    ) -> None:
        make(tmp_path)
        encoder = Encoder.load(str(tmp_path))
        tokenized = encoder.tokenize(["the dog barks at night", "cat", "", DOCUMENT, "cat"], "document")
        some, alone = encoder.encode(tokenized.take([4, 1, 3])), encoder.encode_documents(["cat", "cat", DOCUMENT])
        assert some.token_ids.tolist() == alone.token_ids.tolist()
        np.testing.assert_array_equal(some.vectors, alone.vectors)

    @pytest.mark.parametrize("make", [checkpoints.make_stanford, checkpoints.make_pylate, checkpoints.make_plain])
    @pytest.mark.parametrize("role", ["query", "document"])
    def test_a_processor_that_hides_its_tokenizer_gives_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], object], role: Role
    ) -> None:
        make(tmp_path)
        encoder = Encoder.load(str(tmp_path), query_length=8, document_length=8)
        texts = ["cat", QUERY, "", "the cat sat on a mat and the dog barks at night"]
        one = encoder.tokenize(texts, role)
        module = module_of(encoder._model)
        preprocess = module.preprocess
        monkeypatch.setattr(module, "preprocess", lambda *given, **more: dict(preprocess(*given, **more)))
        other = encoder.tokenize(texts, role)
        assert [ids.tolist() for ids in one.token_ids] == [ids.tolist() for ids in other.token_ids]
        assert one.was_truncated == other.was_truncated == [False, False, False, True]

    def test_a_query_that_is_a_prompt_alone_is_refused(self, tmp_path: Path) -> None:
        checkpoints.make_plain(tmp_path)
        path = tmp_path / "config_sentence_transformers.json"
        path.write_text(json.dumps({"prompts": {"query": "the cat: ", "document": ""}}))
        with pytest.raises(InputError, match="the query ' ' has no tokens"):
            Encoder.load(str(tmp_path)).encode_queries([" "])
