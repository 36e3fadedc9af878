"""Weights files that others made: what is accepted can be used, and what cannot is refused in one sentence."""

import json
import struct
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from chamfer import InputError, TokenWeights
from chamfer.kernels.limits import LARGEST
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.files import read_weights
from chamfer.weights.metadata import LONGEST_NAME, MOST_BYTES
from chamfer.weights.token_weights import LARGEST_CHANGE

WORDS = Vocabulary(("[CLS]", "the", "cat", "caf\u00e9"), special_ids=frozenset({0}))
TOKENS = json.dumps(WORDS.tokens, ensure_ascii=False).encode()


def file_of(tensors: dict[str, Any] | None = None, **metadata: str) -> bytes:
    """A weights file with some tensors and metadata in the place of good ones."""
    good: dict[str, Any] = {"table": np.ones(4, np.float32), "tokens": np.frombuffer(TOKENS, np.uint8)}
    made = {
        "format": "chamfer-weights-1",
        "tokenizer": WORDS.fingerprint,
        "special_ids": "[0]",
        "made": '{"recipe": "mine"}',
    }
    return save({**good, **(tensors or {})}, {**made, **metadata})


def with_header(content: bytes, **changes: Any) -> bytes:
    """The same file, with some entries of its header changed."""
    (length,) = struct.unpack("<Q", content[:8])
    header = {**json.loads(content[8 : 8 + length]), **changes}
    encoded = json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + content[8 + length :]


def refused(content: bytes, folder: Path) -> str:
    """The error about a file, which is the same whether or not a vocabulary is given."""
    (folder / "w.safetensors").write_bytes(content)
    told = []
    for vocabulary in (None, WORDS):
        with pytest.raises(InputError) as caught:
            TokenWeights.load(folder / "w.safetensors", vocabulary)
        told.append(str(caught.value))
        assert "\n" not in told[-1]
        assert len(told[-1]) < 500
    assert told[0] == told[1]
    return told[0]


def test_what_the_others_are_made_of_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(file_of())
    for vocabulary in (None, WORDS):
        weights = TokenWeights.load(tmp_path / "w.safetensors", vocabulary)
        assert (weights.table.tolist(), weights.vocabulary) == ([1] * 4, WORDS)
        assert weights.table.flags.writeable


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ('{"recipe": "\\ud800"}', "is damaged or not a chamfer weights file"),
        ('{"\\udfff": 1}', "is damaged or not a chamfer weights file"),
        ('{"loss": NaN}', "is damaged or not a chamfer weights file"),
        ('{"loss": 1e999}', "is damaged or not a chamfer weights file"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "is damaged or not a chamfer weights file"),
        ("[" * 30_000, "is damaged or not a chamfer weights file"),
        ('{"seen": 1' + "0" * 5000 + "}", "is damaged or not a chamfer weights file"),
        ("[]", "is damaged or not a chamfer weights file"),
        ('"mine"', "is damaged or not a chamfer weights file"),
        ('{"recipe": 5}', "'recipe' in the metadata of weights must be a string"),
        ('{"form": ["l2"]}', "'form' in the metadata of weights must be a string"),
        (json.dumps({"recipe": "a" * (LONGEST_NAME + 1)}), f"a string of at most {LONGEST_NAME} characters"),
        (
            json.dumps({"note": "a" * MOST_BYTES}),
            "the metadata of weights may have at most 65,536 bytes, not 65,548; shorten it",
        ),
        (json.dumps({"note": "a" * (2 << 20)}), "is damaged or not a chamfer weights file"),
    ],
)
def test_metadata_that_no_answer_could_hold_are_refused(tmp_path: Path, made: str, told: str) -> None:
    assert told in refused(file_of(made=made), tmp_path)


@pytest.mark.parametrize("special", ["[4]", "[-1]", "[true]", "[0.0]", '["0"]', "{}", "0", "[[0]]", "[" * 2000, ""])
def test_special_tokens_must_be_tokens(tmp_path: Path, special: str) -> None:
    assert "is damaged or not a chamfer weights file" in refused(file_of(special_ids=special), tmp_path)


@pytest.mark.parametrize(
    "table",
    [
        {"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]},
        {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]},
        {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [-4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": ["4"], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]},
        {"dtype": "F32", "shape": [4], "data_offsets": [-16, 0]},
        {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]},
        {"dtype": "F32", "shape": [10**4000], "data_offsets": [0, 4 * 10**4000]},
        {"dtype": "F32", "shape": [4]},
        {"dtype": ["F32"], "shape": [4], "data_offsets": [0, 16]},
        [4],
        None,
    ],
)
def test_tensors_of_other_types_and_shapes_are_refused(tmp_path: Path, table: Any) -> None:
    assert "is damaged or not a chamfer weights file" in refused(with_header(file_of(), table=table), tmp_path)


def test_a_header_without_end_is_not_read(tmp_path: Path) -> None:
    for length in (2**20 + 1, 2**63, 2**64 - 1):
        content = struct.pack("<Q", length) + file_of()[8:] + b" " * (2 << 20)
        assert "is damaged or not a chamfer weights file" in refused(content, tmp_path)


@pytest.mark.parametrize("tokens", [b"[" * 100_000, b"[" + b"[]," * 9999 + b"[]]", b'["a", 5]', b"5", b'["\\ud800"]'])
def test_tokens_are_compared_before_they_are_parsed(
    tmp_path: Path, tokens: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = file_of({"tokens": np.frombuffer(tokens, np.uint8)})
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        TokenWeights.load(tmp_path / "w.safetensors")
    monkeypatch.setattr("chamfer.weights.files._parse_tokens", None)
    with pytest.raises(InputError, match=r"is damaged: its vocabulary is not that of tokenizer [0-9a-f]{16}; make it"):
        TokenWeights.load(tmp_path / "w.safetensors", WORDS)


def test_a_large_file_is_not_read_before_its_sizes_are_known() -> None:
    class Counted(BytesIO):
        taken = 0

        def read(self, size: int | None = -1) -> bytes:
            got = super().read(size)
            self.taken += len(got)
            return got

    file = Counted(file_of({"tokens": np.zeros(10_000_000, np.uint8), "table": np.ones(1_000_000, np.float32)}))
    with pytest.raises(InputError, match="damaged"):
        read_weights(file, "w", WORDS)
    assert file.taken < 1000


def test_tokens_of_another_tokenizer_are_told_by_their_number(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(file_of(tokenizer="0123456789abcdef"))
    with pytest.raises(InputError, match=r"another tokenizer \(4 tokens, fingerprint 0123456789abcdef\)"):
        TokenWeights.load(tmp_path / "w.safetensors", WORDS)
    (tmp_path / "w.safetensors").write_bytes(file_of(tokenizer="a" * 100_000))
    with pytest.raises(InputError, match="is damaged or not") as caught:
        TokenWeights.load(tmp_path / "w.safetensors", WORDS)
    assert len(str(caught.value)) < 500


def test_weights_that_a_context_could_multiply_beyond_the_limit_are_refused() -> None:
    context = np.full(2, 1000.0, np.float32)
    most = np.float32(LARGEST / LARGEST_CHANGE)
    weights = TokenWeights(np.full(4, most, np.float32), WORDS, {}, context)
    assert weights.of_tokens(np.arange(4, dtype=np.int32), np.ones((4, 2), np.float32)).max() <= LARGEST
    with pytest.raises(
        InputError, match=r"with a context must not be above 1\.82e\+07, because it can multiply them by 55"
    ):
        TokenWeights(np.full(4, 1e9, np.float32), WORDS, {}, context)
    TokenWeights(np.full(4, 1e9, np.float32), WORDS)
    with pytest.raises(InputError, match=r"must not be above 1e\+09"):
        TokenWeights(np.full(4, 2e9, np.float32), WORDS)


@pytest.mark.parametrize("context", [np.full(2, 3e38), np.ones((2, 1)), np.array([np.nan, 0])])
def test_a_context_that_would_overflow_is_refused(context: Any) -> None:
    with pytest.raises(InputError, match=r"the context of token weights must be a float32 vector of numbers up to 1e"):
        TokenWeights(np.ones(4, np.float32), WORDS, {}, context.astype(np.float32))


@pytest.mark.parametrize("metadata", [{"recipe": "\ud800"}, {"a": {1, 2}}, {"a": float("inf")}, {"a": "b" * 70_000}])
def test_metadata_made_in_python_follow_the_same_rule(metadata: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="the metadata of weights"):
        TokenWeights(np.ones(4, np.float32), WORDS, metadata)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("w.json", b'{"cat": 1, "cat": 2}', "two weights for 'cat'"),
        ("w.json", b'{"cat": NaN}', "is not valid JSON (it contains NaN)"),
        ("w.json", b'{"cat": ' + b"[" * 1200, "is not valid JSON (it is nested more than 100 levels deep)"),
        ("w.json", b'{"\\ud800": 1}', "is not valid JSON (it contains a lone surrogate)"),
        ("w.json", b'{"\xed\xa0\x80": 1}', "is not valid JSON (it is not UTF-8)"),
        ("w.json", b'{"cat": true}', "the weight True, which is not a number"),
        ("w.json", b'{"cat": {"a": 1}}', "which is not a number"),
        ("w.json", b'{"cat": 1' + b"0" * 300 + b"}", "weights are numbers from 0 to 1e+09"),
        ("w.json", b'{"' + b"a" * 900 + b'": 1}', "which is not in this tokenizer's vocabulary"),
        ("w.json", b"[[], []" + b", []" * 9999 + b"]", "more than weights of 4 tokens can need"),
        ("w.txt", b"cat\t1\n" * 9999, "more than weights of 4 tokens can need"),
        ("w.txt", b"cat\xff\t1\n", "line 1: expected a token"),
        ("w.txt", b"cat\t1_0\n", "line 1: expected a token"),
        ("w.txt", "cat\t\u0663\n".encode(), "line 1: expected a token"),
        ("w.txt", b"cat\t2e9\n", "weights are numbers from 0 to 1e+09"),
    ],
)
def test_published_formats_are_bounded_and_plain(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        TokenWeights.load(tmp_path / name, WORDS)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_file_whose_name_is_not_utf_8_can_be_imported_and_saved(tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.json"
    path.write_text('{"cat": 2}')
    weights = TokenWeights.load(path, WORDS)
    assert weights.metadata["file"] == "caf?.json"
    weights.save(tmp_path / "w.safetensors")
    assert TokenWeights.load(tmp_path / "w.safetensors").metadata == weights.metadata


def test_forged_files_are_refused_or_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short version of the campaign; ``make torture`` runs all of it."""
    pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    tally = import_module("torture.forged").run(40, seed=0, folder=tmp_path, seconds=60)
    assert (tally.attempts, tally.failures) == (40, [])
    assert tally.facts["accepted and usable"] > 0
