"""Weights files of all formats with forged headers, types, shapes, metadata and sizes: loaded, and uploaded."""

import copy
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from starlette.testclient import TestClient
from tests.checkpoints import make_plain

from chamfer import Encoder, Searcher, TokenBatch, TokenWeights, build_index
from chamfer.errors import InputError
from chamfer.kernels.limits import LARGEST
from chamfer.serve.app import create_app
from chamfer.weights.files import FORMAT
from chamfer.weights.names import check_weights
from torture.tally import Attack, Tally

ATTACK = Attack("Forged weights files", "forgeries", count=10_000, quick=60, seconds=240)

QUERY = "why do cats sleep"
DEEP = "[" * 300 + "]" * 300
BINARY = {"content-type": "application/octet-stream"}

# Of the wrong type, out of range, too long, or not encodable.
VALUES: list[Any] = [None, True, 0, -1, 1, 4, 2**31, 2**63, 10**400, 1e308, 0.5, math.nan, math.inf, [], {}, [[]]]
VALUES += [[4], [-1], [True], ["a"], [0, 16], [16, 0], [0, 2**62], [2**40], [2, 2], {"a": 1}, "", "x", "l2", "cosine"]
VALUES += ["\ud800", "\0", "a" * 300, "a" * 70_000, "F8_E4M3", "BF16", "F64", "F16", "I32", "U8", "F32", "[0]", "[99]"]
VALUES += ["[]", "{", "[true]", "[-1]", "[0.0]", DEEP]

# The metadata of weights, good and bad.
MADE = ['{"recipe": "\\ud800"}', '{"recipe": 5}', '{"recipe": null}', '{"form": "cosine"}', '{"loss": NaN}', "[]", "{}"]
MADE += [
    '{"loss": 1e999}',
    '{"a": ' + DEEP + "}",
    '{"": "é"}',
    '{"a": "' + "é" * 11_000 + '"}',
    '{"a": "' + "b" * 70_000 + '"}',
]

# Weights in the published formats.
NUMBERS = ["0", "-0.0", "1", "1e9", "1.1e9", "1e38", "1e39", "1e999", "-1", "-1e-50", "1e-50", "NaN", "Infinity", "1_0"]
NUMBERS += ["1" + "0" * 400, "1" + "0" * 5000, "true", "null", '"1"', "[1]", '{"a": 1}', DEEP, "", "0x10", "\u0663"]
TOKENS = ["", "\\ud800", "\ufeff", "a\tb", "\\u0000", "a" * 5000, "zebra"]


class Target(NamedTuple):
    """What the files are for."""

    encoder: Encoder
    client: TestClient
    query: TokenBatch
    folder: Path


def run(count: int, *, seed: int, folder: Path, seconds: float) -> Tally:
    """Forge files, load each with and without a vocabulary, and upload it to a server."""
    chance, tally, stop = random.Random(seed), Tally(), time.monotonic() + seconds
    (folder / "model").mkdir()
    make_plain(folder / "model")
    encoder = Encoder.load(str(folder / "model"), device="cpu")
    build_index(folder / "index", {"a": "the cat sat on a mat", "b": "a dog barks at night"}, encoder, progress=False)
    app = create_app(Searcher.open(folder / "index", encoder=encoder))
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as client:
        query = encoder.encode(encoder.tokenize([QUERY], "query"))
        target = Target(encoder, client, query, folder)
        for number in range(count):
            if time.monotonic() > stop:
                break
            suffix, content = forged(chance, encoder)
            tally.attempts += 1
            _try_all(target, suffix, content, tally, f"seed {seed}, forgery {number} ({suffix})")
    return tally


def forged(chance: random.Random, encoder: Encoder) -> tuple[str, bytes]:
    """The suffix and content of a file that is mostly as it should be."""
    suffix = chance.choices([".safetensors", ".json", ".txt"], [6, 3, 1])[0]
    content = _safetensors(chance, encoder) if suffix == ".safetensors" else _table(chance, encoder, suffix)
    mutated = bytearray(content)
    match chance.randrange(30 if suffix == ".safetensors" else 29):
        case 0:
            del mutated[chance.randrange(len(mutated) + 1) :]
        case 1:
            for _ in range(chance.choice([1, 1, 4])):
                mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        case 2:
            at = chance.randrange(len(mutated))
            mutated[at:at] = chance.choice(
                [b"\0", b"[", b'"', b"\xff", b"\xed\xa0\x80", b" " * 2_000_000, b"[]," * 99_999]
            )
        case 29:
            mutated[:8] = chance.choice([0, 1, 2**20, 2**32, 2**63, 2**64 - 1]).to_bytes(8, "little")
    return suffix, bytes(mutated)


def _safetensors(chance: random.Random, encoder: Encoder) -> bytes:
    vocabulary = encoder.vocabulary
    table = np.full(len(vocabulary), chance.choice([1, 1, 1, 1e9, 1.8e7, 1.9e7, 2e9]), np.float32)
    if chance.random() < 0.2:
        table[chance.randrange(len(table))] = chance.choice([math.nan, math.inf, -1, -0.0, 0, 1e-45, 3e38])
    tokens = json.dumps(vocabulary.tokens, ensure_ascii=False).encode()
    if chance.random() < 0.15:
        other = [
            b"[" + b"[]," * len(table) + b"[]]",
            tokens.replace(b", ", b","),
            tokens[:-1],
            b'["\\ud800"]',
            b"",
            b"5",
        ]
        tokens = chance.choice(other)
    tensors = {"table": ("F32", [len(table)], table.tobytes()), "tokens": ("U8", [len(tokens)], tokens)}
    if chance.random() < 0.3:
        context = np.full(encoder.dimensions, chance.choice([0.1, 0.1, 50, 1e9, 3e38, math.nan]), np.float32)
        context = chance.choice([context, context, context[1:], context[:0]])
        tensors["context"] = ("F32", [len(context)], context.tobytes())
    header: dict[str, Any] = {
        "__metadata__": {
            "format": FORMAT,
            "tokenizer": vocabulary.fingerprint,
            "special_ids": json.dumps(sorted(vocabulary.special_ids)),
            "made": chance.choice([json.dumps({"recipe": "mine", "form": "l2"})] * 20 + MADE),
        }
    }
    content = b""
    for name, (kind, shape, raw) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(content), len(content) + len(raw)]}
        content += raw
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        _change(chance, header)
    encoded = json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + content


def _change(chance: random.Random, header: dict[str, Any]) -> None:
    """Replace, remove or add a value anywhere in a header."""
    holder: Any = chance.choice([header, *(value for value in header.values() if isinstance(value, dict))])
    if not holder:
        return
    key = chance.choice(list(holder))
    if isinstance(holder[key], list) and holder[key] and chance.random() < 0.5:
        holder, key = holder[key], chance.randrange(len(holder[key]))
    action = chance.random()
    if action < 0.75:
        holder[key] = copy.deepcopy(chance.choice(VALUES))
    elif action < 0.9 or isinstance(holder, list):
        del holder[key]
    else:
        holder[chance.choice(["surplus", "\ud800", "__metadata__", "context"])] = copy.deepcopy(holder[key])


def _table(chance: random.Random, encoder: Encoder, suffix: str) -> bytes:
    escaped = suffix == ".json"
    pairs = [(json.dumps(token)[1:-1] if escaped else token, "1") for token in encoder.vocabulary.tokens]
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        at = chance.randrange(len(pairs))
        token = chance.choice([pairs[at][0], pairs[at][0], chance.choice(TOKENS)])
        pairs[at] = token, chance.choice(NUMBERS)
        if chance.random() < 0.2:
            pairs.append(pairs[at])
    if not escaped:
        text = "".join(f"{token}{chance.choice(TABS)}{weight}\n" for token, weight in pairs)
    else:
        text = chance.choice(["{%s}"] * 9 + ["[{%s}]", "%s", '{"a": {%s}}']) % ", ".join(
            f'"{a}": {b}' for a, b in pairs
        )
    return text.encode("utf-8", "surrogatepass")


TABS = ["\t"] * 500 + [" ", "\t\t", ""]


def _try_all(target: Target, suffix: str, content: bytes, tally: Tally, where: str) -> None:
    path = target.folder / f"forged{suffix}"
    path.write_bytes(content)
    vocabulary = target.encoder.vocabulary

    def attempt(call: Callable[[], Any]) -> Any:  # noqa: ANN401 -- what the call returns; None if it was refused
        try:
            return call()
        except InputError as error:
            if "\n" in str(error) or len(str(error)) > 1000:
                tally.fail("broken", f"{where}: an error of {len(str(error))} characters")
        except Exception as error:
            tally.fail("raw", f"{where}: {type(error).__name__}: {error}"[:300])
        return None

    if suffix == ".safetensors":
        shown = attempt(lambda: TokenWeights.load(path))
        if shown is not None:
            attempt(lambda: shown.extremes(3))
    weights = attempt(lambda: TokenWeights.load(path, vocabulary))
    fits = weights is not None and attempt(lambda: _fits(weights, target.encoder)) is True
    if fits:
        problem = attempt(lambda: _problem(target, weights))
        if problem:
            tally.fail("wrong", f"{where}: accepted, but {problem}")
    status = target.client.put("/weights/file", content=content, headers=BINARY).status_code
    if status >= 500:
        tally.fail("raw", f"{where}: the upload was answered with {status}")
    elif (status == 200) != (fits and suffix == ".safetensors"):
        tally.fail(
            "wrong", f"{where}: the upload was answered with {status}, but loading it {'worked' if fits else 'failed'}"
        )
    if status == 200:
        answers = [target.client.post("/search", json={"query": QUERY}), target.client.get("/weights")]
        if answers[-1].status_code == 200:
            oldest = min(one["version"] for one in answers[-1].json()["versions"])  # a hundred are kept
            answers.append(target.client.post("/weights/use", json={"version": oldest}))
        if any(answer.status_code != 200 for answer in answers):
            tally.fail("wrong", f"{where}: uploaded, and then {answers[0].text[:100]} {answers[1].text[:100]}")
    tally.count("accepted and usable" if fits else "refused")


def _fits(weights: TokenWeights, encoder: Encoder) -> bool:
    check_weights(weights, encoder, "l2")
    return True


def _problem(target: Target, weights: TokenWeights) -> str:
    """What is wrong with weights that were accepted; empty if nothing is."""
    of_query = weights.of(target.query)
    if not (np.isfinite(of_query).all() and (of_query >= 0).all() and (of_query <= LARGEST).all()):
        return "a query has weights that cannot be used"
    copied = target.folder / "copied.safetensors"
    weights.save(copied)
    again = TokenWeights.load(copied)
    if again.table.tobytes() != weights.table.tobytes() or again.metadata != weights.metadata:
        return "another file comes back than was saved"
    if again.vocabulary.tokens != target.encoder.vocabulary.tokens:
        return "its tokens are not those of the encoder"
    return ""
