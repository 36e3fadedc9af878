"""Weights by the name a user gives them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chamfer.encode import Encoder
from chamfer.errors import InputError
from chamfer.exchange import import_weights
from chamfer.frequencies import DocumentFrequencies
from chamfer.weights import Special, TokenWeights, Validate

NAMES = ("uniform", "idf", "idf-soft")


def weights_by_name(
    name: str,
    encoder: Encoder,
    frequencies: Callable[[], DocumentFrequencies],
    *,
    special: Special = 1.0,
    validate: Validate | None = None,
    made_from: Mapping[str, Any] | None = None,
) -> TokenWeights:
    """Make or load weights: ``uniform``, ``idf``, ``idf-soft``, or a file.

    Args:
        name: one of :data:`NAMES`, or a path ending in ``.safetensors``, ``.json`` or ``.txt``.
        encoder: whose tokens are weighted; a file made for another tokenizer is refused.
        frequencies: called only where they are needed, for counting takes time.
        special: see :meth:`TokenWeights.idf`.
        validate: see :meth:`TokenWeights.idf`.
        made_from: kept in the metadata of weights that are made here.
    """
    vocabulary = encoder.vocabulary
    if name == "uniform":
        return TokenWeights.uniform(vocabulary)
    if name == "idf":
        return TokenWeights.idf(frequencies(), vocabulary, special=special, validate=validate, made_from=made_from)
    if name == "idf-soft":
        return TokenWeights.soft_idf(frequencies(), vocabulary, made_from=made_from)
    path = Path(name)
    if path.suffix == ".safetensors":
        return TokenWeights.load(path, vocabulary)
    if path.suffix in (".json", ".txt"):
        return import_weights(path, vocabulary)
    raise InputError(f"weights are {', '.join(NAMES)} or a .safetensors, .json or .txt file, not {name!r}")
