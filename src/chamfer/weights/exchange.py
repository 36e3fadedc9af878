"""The two published text formats for token weights: ``idf.json`` and ``query_token_weights.txt``."""

import json
import reprlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels.limits import LARGEST
from chamfer.support.files import atomic_write
from chamfer.support.plain_json import parse_json
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.files import check_exists

SUFFIXES = (".json", ".txt")

WEIGHT_BYTES = 256
"""Most bytes that a weight and its separators may take on average; about 20 are usual."""


def read_table(path: Path, vocabulary: Vocabulary, *, missing: float = 0.0) -> npt.NDArray[np.float32]:
    """Read ``{token: weight}`` from JSON, or ``token<TAB>weight`` lines from any other file.

    Args:
        path: file to read.
        vocabulary: vocabulary that must contain every token of the file.
        missing: weight of tokens that are not in the file.

    Returns:
        ``(vocabulary,)`` float32.
    """
    check_exists(path)
    # Every token, escaped, with more digits in its weight than anybody writes.
    most = len(json.dumps(vocabulary.tokens)) + WEIGHT_BYTES * (len(vocabulary) + 1)
    if path.stat().st_size > most:
        raise InputError(
            f"{path} is larger than {most:,} bytes, more than weights of {len(vocabulary)} tokens can need; give one "
            "weight per token"
        )
    table = np.full(len(vocabulary), missing, np.float32)
    pairs = _read_json(path) if path.suffix == ".json" else _read_lines(path)
    seen: set[str] = set()
    for token, weight in pairs:
        if token in seen:
            raise InputError(f"{path} has two weights for {reprlib.repr(token)}; remove one of them")
        seen.add(token)
        if token not in vocabulary.ids:
            raise InputError(
                f"{path} has a weight for {reprlib.repr(token)}, which is not in this tokenizer's vocabulary; "
                "give the model that the file was made for, or remove the token"
            )
        if not 0 <= weight <= LARGEST:
            raise InputError(
                f"{path} gives {reprlib.repr(token)} the weight {reprlib.repr(weight)}; weights are numbers from 0 to "
                f"{LARGEST:g}"
            )
        table[vocabulary.ids[token]] = weight
    return table


def write_table(path: Path, vocabulary: Vocabulary, table: npt.NDArray[np.float32]) -> None:
    """Write the weight of every token: as one JSON object, or as tab-separated lines, by the suffix of the path."""
    # str() of a float32 is the shortest decimal that parses to the same number.
    pairs = {token: float(str(weight)) for token, weight in zip(vocabulary.tokens, table, strict=True) if token}
    if path.suffix == ".json":
        content = json.dumps(pairs, ensure_ascii=False, indent=0)
    else:
        broken = next((token for token in pairs if "\t" in token or "\n" in token), None)
        if broken is not None:
            raise InputError(f"the token {broken!r} contains a tab or a newline; save the weights as .json instead")
        content = "".join(f"{token}\t{weight!r}\n" for token, weight in pairs.items())
    with atomic_write(path) as file:
        file.write(content.encode())


def _read_json(path: Path) -> Iterator[tuple[str, float]]:
    try:
        content = parse_json(path.read_bytes(), pairs=tuple)  # a dict would keep the last of two equal names
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error})") from error
    if not isinstance(content, tuple):
        raise InputError(f"{path} must hold one JSON object that maps tokens to weights")
    for token, weight in content:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InputError(
                f"{path} gives {reprlib.repr(token)} the weight {reprlib.repr(weight)}, which is not a number"
            )
        yield token, weight


def _read_lines(path: Path) -> Iterator[tuple[str, float]]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            token, weight = line.decode().rstrip("\r").split("\t")
            if "_" in weight or not weight.isascii():  # a number to Python only
                raise ValueError(weight)
            yield token, float(weight)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: expected a token, a tab and a number") from error
