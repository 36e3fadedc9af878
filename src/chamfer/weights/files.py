"""The safetensors file of token weights: table, vocabulary, provenance, and what else they have: context, mix, ..."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from chamfer.errors import InputError
from chamfer.support.files import atomic_write
from chamfer.support.plain_json import parse_json
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.adapter import MOST_RANK, Adapter
from chamfer.weights.changes import Changes
from chamfer.weights.metadata import metadata_json
from chamfer.weights.mix import EVIDENCE, NOTHING, Mix
from chamfer.weights.tensors import BYTES, FLOAT32, MOST_HEADER_BYTES, Header, Tensor, read_header, read_tensor

FORMAT = "chamfer-weights-1"

WITH_MORE = "chamfer-weights-2"
"""Format of files with an adapter or a mix: earlier versions would ignore both in silence, so they refuse the name."""


class Content(NamedTuple):
    """Content of a weights file; see :class:`chamfer.weights.token_weights.TokenWeights`."""

    table: npt.NDArray[np.float32]
    vocabulary: Vocabulary
    metadata: Mapping[str, Any]
    context: npt.NDArray[np.float32] | None = None
    adapter: Adapter | None = None
    mix: Mix = NOTHING
    changes: Changes | None = None


def write_weights(path: Path, content: Content) -> None:
    """Write a weights file atomically."""
    with atomic_write(path) as file:
        file.write(weights_bytes(content))


def weights_bytes(content: Content) -> bytes:
    """The bytes of a weights file."""
    vocabulary = content.vocabulary
    metadata = {
        "format": WITH_MORE if content.adapter is not None or content.mix else FORMAT,
        "tokenizer": vocabulary.fingerprint,
        "special_ids": json.dumps(sorted(vocabulary.special_ids)),
        "made": metadata_json(content.metadata),
    }
    tensors: dict[str, npt.NDArray[Any]] = {
        "table": content.table,
        "tokens": np.frombuffer(_tokens_json(vocabulary), np.uint8),
    }
    if content.context is not None:
        tensors["context"] = content.context
    if content.adapter is not None:
        metadata["rank"] = str(content.adapter.rank)
        tensors |= {"down": content.adapter.down.ravel(), "up": content.adapter.up.ravel()}
    if content.changes is not None:  # earlier versions ignore them, and score alike
        tensors |= {"changed": content.changes.kinds, "before": content.changes.before}
    if content.mix:
        metadata["mix"] = json.dumps(asdict(content.mix))
    return save(tensors, metadata)


def largest_size(vocabulary: Vocabulary, dimensions: int) -> int:
    """Bytes that no weights file for a vocabulary exceeds.

    Args:
        vocabulary: vocabulary of the encoder.
        dimensions: dimensions of its vectors, and so of a context and an adapter.
    """
    numbers = 2 * len(vocabulary) + dimensions + 2 * dimensions * MOST_RANK
    return 4 * numbers + len(vocabulary) + len(_tokens_json(vocabulary)) + MOST_HEADER_BYTES


def check_exists(path: Path) -> None:
    """Raise an error if there is no weights file at a path."""
    if not path.is_file():
        raise InputError(f"there is no weights file {path}; make one with: chamfer weights idf, or chamfer learn")


def read_weights(file: BinaryIO, name: str, vocabulary: Vocabulary | None = None) -> Content:
    """Read a weights file; raise an error if it is damaged.

    Args:
        file: the file, opened for reading.
        name: its name, for error messages.
        vocabulary: vocabulary that the file must have. Its tokens are then compared and not parsed, so that reading
            costs no more than the size of this vocabulary, whatever the file contains.
    """
    try:
        header = read_header(file)
        if header.metadata.get("format") not in (FORMAT, WITH_MORE):
            raise InputError(f"{name} is not a chamfer weights file; convert it with: chamfer weights convert")
        table, tokens = header.tensor("table", FLOAT32), header.tensor("tokens", BYTES)
        context = header.tensor("context", FLOAT32) if "context" in header.tensors else None
        fingerprint = header.metadata["tokenizer"]
        special = parse_json(header.metadata["special_ids"].encode())
        if not re.fullmatch("[0-9a-f]{16}", fingerprint) or not _are_places(special, table.length):
            raise ValueError("its tokenizer or its special tokens are damaged")
        made = parse_json(header.metadata["made"].encode())
        if not isinstance(made, dict):
            raise ValueError("its metadata is not an object")
        if vocabulary is None:
            vocabulary = Vocabulary(_parse_tokens(file, tokens), frozenset(special))
            is_same = vocabulary.fingerprint == fingerprint
        else:
            if fingerprint != vocabulary.fingerprint:
                raise other_tokenizer(table.length, fingerprint, vocabulary)
            text = _tokens_json(vocabulary)
            is_same = tokens.length == len(text) and read_tensor(file, tokens).tobytes() == text
        if not is_same or table.length != len(vocabulary):
            raise InputError(f"{name} is damaged: its vocabulary is not that of tokenizer {fingerprint}; make it again")
        return Content(
            read_tensor(file, table),
            vocabulary,
            made,
            None if context is None else read_tensor(file, context),
            _read_adapter(file, header),
            _parse_mix(header.metadata),
            _read_changes(file, header, table.length),
        )
    except InputError:
        raise
    except (KeyError, ValueError) as error:
        raise InputError(
            f"{name} is damaged or not a chamfer weights file; convert other formats with: chamfer weights convert"
        ) from error


def _read_adapter(file: BinaryIO, header: Header) -> Adapter | None:
    if "rank" not in header.metadata:
        return None
    rank = parse_json(header.metadata["rank"].encode())
    if type(rank) is not int or not 1 <= rank <= MOST_RANK:
        raise ValueError("the rank of its adapter is damaged")
    down, up = header.tensor("down", FLOAT32), header.tensor("up", FLOAT32)
    if down.length % rank or down.length != up.length:
        raise ValueError("its adapter is damaged")
    shape = (down.length // rank, rank)
    return Adapter(read_tensor(file, down).reshape(shape), read_tensor(file, up).reshape(shape[::-1]))


def _read_changes(file: BinaryIO, header: Header, length: int) -> Changes | None:
    if "changed" not in header.tensors:
        return None
    kinds, before = header.tensor("changed", BYTES), header.tensor("before", FLOAT32)
    if kinds.length != length or before.length != length:
        raise ValueError("its changes are damaged")
    return Changes(read_tensor(file, kinds), read_tensor(file, before))


def _parse_mix(metadata: Mapping[str, str]) -> Mix:
    mix = parse_json(metadata.get("mix", "{}").encode())
    if not isinstance(mix, dict) or not mix.keys() <= set(EVIDENCE):
        raise ValueError("its mix is damaged")
    return Mix(**mix)


def other_tokenizer(tokens: int, fingerprint: str, vocabulary: Vocabulary) -> InputError:
    """An error about weights that were made for another tokenizer, where ids stand for other tokens.

    Args:
        tokens: number of tokens that have weights.
        fingerprint: fingerprint of their vocabulary.
        vocabulary: vocabulary of the encoder.
    """
    return InputError(
        f"these weights belong to another tokenizer ({tokens} tokens, fingerprint {fingerprint}) than the encoder's "
        f"({len(vocabulary)} tokens, fingerprint {vocabulary.fingerprint}); make weights with this encoder"
    )


def _tokens_json(vocabulary: Vocabulary) -> bytes:
    return json.dumps(vocabulary.tokens, ensure_ascii=False).encode()


def _parse_tokens(file: BinaryIO, tensor: Tensor) -> tuple[str, ...]:
    tokens = parse_json(read_tensor(file, tensor).tobytes())
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise ValueError("its tokens are not strings")
    return tuple(tokens)


def _are_places(ids: object, length: int) -> bool:
    return isinstance(ids, list) and all(type(one) is int and 0 <= one < length for one in ids)
