"""Weights from and for other tools: the two text formats that are already published."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from chamfer.errors import InputError
from chamfer.support.files import written_whole
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.token_weights import TokenWeights


def import_weights(path: Path, vocabulary: Vocabulary, *, missing: float = 0.0) -> TokenWeights:
    """Read ``idf.json`` (token -> weight) or ``query_token_weights.txt`` (``token<TAB>weight``).

    The ending decides which. Every token in the file must be in the vocabulary; tokens that the file
    leaves out weigh ``missing``.
    """
    if not path.is_file():
        raise InputError(f"there is no weights file {path}")
    table = np.full(len(vocabulary), missing, np.float32)
    pairs = _read_json(path) if path.suffix == ".json" else _read_lines(path)
    seen: set[str] = set()
    for token, weight in pairs:
        if token in seen:
            raise InputError(f"{path} has two weights for {token!r}; keep one of them")
        seen.add(token)
        if token not in vocabulary.ids:
            raise InputError(f"{path} has a weight for {token!r}, which this tokenizer does not know")
        if not 0 <= weight <= float(np.finfo(np.float32).max):
            raise InputError(f"{path} gives {token!r} the weight {weight}; weights are finite and not negative")
        table[vocabulary.ids[token]] = weight
    return TokenWeights(table, vocabulary, {"recipe": "imported", "file": path.name, "missing": missing})


def export_weights(weights: TokenWeights, path: Path) -> None:
    """Write ``idf.json`` or ``query_token_weights.txt``; the ending decides which."""
    if weights.context is not None:
        raise InputError(
            "weights that depend on a token's context cannot be written as one number per token; learn some that do "
            "not: --recipe prior"
        )
    # A float32 as text: the shortest digits that read back as the same number.
    pairs = {
        token: float(str(weight))
        for token, weight in zip(weights.vocabulary.tokens, weights.table, strict=True)
        if token
    }
    if path.suffix == ".json":
        content = json.dumps(pairs, ensure_ascii=False, indent=0)
    else:
        broken = next((token for token in pairs if "\t" in token or "\n" in token), None)
        if broken is not None:
            raise InputError(f"the token {broken!r} cannot stand in a tab-separated file; export to .json instead")
        content = "".join(f"{token}\t{weight!r}\n" for token, weight in pairs.items())
    with written_whole(path) as file:
        file.write(content.encode())


def _read_json(path: Path) -> Iterator[tuple[str, float]]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold one JSON object from token to weight")
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
