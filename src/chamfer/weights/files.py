"""The safetensors file of token weights: table, vocabulary, provenance and, if there is one, the context."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from chamfer.errors import InputError
from chamfer.support.files import atomic_write
from chamfer.tokens.vocabulary import Vocabulary

FORMAT = "chamfer-weights-1"


class Content(NamedTuple):
    """Content of a weights file; see :class:`chamfer.weights.token_weights.TokenWeights`."""

    table: npt.NDArray[np.float32]
    vocabulary: Vocabulary
    metadata: Mapping[str, Any]
    context: npt.NDArray[np.float32] | None


def write_weights(path: Path, content: Content) -> None:
    """Write a weights file atomically."""
    vocabulary = content.vocabulary
    tokens = np.frombuffer(json.dumps(vocabulary.tokens, ensure_ascii=False).encode(), np.uint8)
    metadata = {
        "format": FORMAT,
        "tokenizer": vocabulary.fingerprint,
        "special_ids": json.dumps(sorted(vocabulary.special_ids)),
        "made": json.dumps(dict(content.metadata)),
    }
    tensors: dict[str, npt.NDArray[Any]] = {"table": content.table, "tokens": tokens}
    if content.context is not None:
        tensors["context"] = content.context
    with atomic_write(path) as file:
        file.write(save(tensors, metadata))


def check_exists(path: Path) -> None:
    """Raise an error if there is no weights file at a path."""
    if not path.is_file():
        raise InputError(f"there is no weights file {path}; make one with: chamfer weights idf, or chamfer learn")


def read_weights(path: Path) -> Content:
    """Read a weights file; raise an error if it is damaged."""
    check_exists(path)
    try:
        with safe_open(path, "numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise InputError(f"{path} is not a chamfer weights file; convert it with: chamfer weights convert")
            table = file.get_tensor("table")
            tokens = json.loads(file.get_tensor("tokens").tobytes())
            context = file.get_tensor("context") if "context" in file.keys() else None  # noqa: SIM118 -- no mapping
        vocabulary = Vocabulary(tuple(tokens), frozenset(json.loads(metadata["special_ids"])))
        made = dict(json.loads(metadata["made"]))
        fingerprint = metadata["tokenizer"]
    except InputError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is damaged or not a chamfer weights file; convert other formats with: chamfer weights convert"
        ) from error
    if vocabulary.fingerprint != fingerprint:
        raise InputError(
            f"{path} is damaged: the fingerprint of its vocabulary is {vocabulary.fingerprint}, not {fingerprint}; "
            "make it again"
        )
    return Content(table, vocabulary, made, context)
