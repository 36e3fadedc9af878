"""The two published text formats for token weights: ``idf.json`` and ``query_token_weights.txt``."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.support.files import atomic_write
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.files import check_exists

SUFFIXES = (".json", ".txt")


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
    table = np.full(len(vocabulary), missing, np.float32)
    pairs = _read_json(path) if path.suffix == ".json" else _read_lines(path)
    seen: set[str] = set()
    for token, weight in pairs:
        if token in seen:
            raise InputError(f"{path} has two weights for {token!r}; remove one of them")
        seen.add(token)
        if token not in vocabulary.ids:
            raise InputError(f"{path} has a weight for {token!r}, which is not in this tokenizer's vocabulary")
        if not 0 <= weight <= float(np.finfo(np.float32).max):
            raise InputError(f"{path} gives {token!r} the weight {weight}; weights must be finite and not negative")
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
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold one JSON object that maps tokens to weights")
    for token, weight in content.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InputError(f"{path} gives {token!r} the weight {weight!r}, which is not a number")
        yield token, float(weight) if abs(weight) < 1e300 else math.inf


def _read_lines(path: Path) -> Iterator[tuple[str, float]]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            token, weight = line.decode().rstrip("\r").split("\t")
            yield token, float(weight)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: expected a token, a tab and a number") from error
