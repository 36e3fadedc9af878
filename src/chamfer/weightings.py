"""Weights by the name a user gives them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from chamfer.encode import Encoder
from chamfer.errors import InputError
from chamfer.exchange import import_weights
from chamfer.frequencies import DocumentFrequencies
from chamfer.progress import Progress, quiet
from chamfer.weights import Special, TokenWeights

NAMES = ("uniform", "idf", "idf-soft")


def count_frequencies(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    sample: float = 1.0,
    seed: int = 0,
    progress: Progress = quiet,
) -> DocumentFrequencies:
    """Count in how many of the texts each token appears; nothing is encoded."""
    chunk = 1024
    counted = DocumentFrequencies.count([], vocabulary_size=len(encoder.vocabulary))
    with progress("counting tokens", len(texts)) as advance:
        for start in range(0, len(texts), chunk):
            part = texts[start : start + chunk]
            counted += DocumentFrequencies.count(
                encoder.tokenize(part, "document").token_ids,
                vocabulary_size=len(encoder.vocabulary),
                sample=sample,
                seed=seed,
            )
            advance(len(part))
    return counted


def weights_by_name(
    name: str,
    encoder: Encoder,
    frequencies: Callable[[], DocumentFrequencies],
    *,
    special: Special = 1.0,
    validate: Callable[[TokenWeights], float] | None = None,
) -> TokenWeights:
    """Make or load weights: ``uniform``, ``idf``, ``idf-soft``, or a file.

    Args:
        name: one of :data:`NAMES`, or a path ending in ``.safetensors``, ``.json`` or ``.txt``.
        encoder: whose tokens are weighted; a file made for another tokenizer is refused.
        frequencies: called only where they are needed, for counting takes time.
        special: see :meth:`TokenWeights.idf`.
        validate: see :meth:`TokenWeights.idf`.
    """
    if name == "uniform":
        return TokenWeights.uniform(encoder.vocabulary)
    if name == "idf":
        return TokenWeights.idf(frequencies(), encoder.vocabulary, special=special, validate=validate)
    if name == "idf-soft":
        return TokenWeights.soft_idf(frequencies(), encoder.vocabulary)
    path = Path(name)
    if path.suffix == ".safetensors":
        weights = TokenWeights.load(path)
        weights.check_tokenizer(encoder.vocabulary)
        return weights
    if path.suffix in (".json", ".txt"):
        return import_weights(path, encoder.vocabulary)
    raise InputError(f"weights are {', '.join(NAMES)} or a .safetensors, .json or .txt file, not {name!r}")
