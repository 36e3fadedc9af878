"""Weights by the name a user gives them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.dispatch import LARGEST
from chamfer.kernels.form import Form
from chamfer.weights.exchange import import_weights
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.token_weights import Special, TokenWeights, Validate

NAMES = ("uniform", "idf", "idf-soft")


def weights_by_name(
    name: str,
    encoder: Encoder,
    frequencies: Callable[[], DocumentFrequencies],
    *,
    special: Special = 1.0,
    validate: Validate | None = None,
    made_from: Mapping[str, Any] | None = None,
    form: Form = "l2",
) -> TokenWeights:
    """Make or load weights: ``uniform``, ``idf``, ``idf-soft``, or a file.

    Args:
        name: one of :data:`NAMES`, or a path ending in ``.safetensors``, ``.json`` or ``.txt``.
        encoder: whose tokens are weighted; a file made for another tokenizer is refused.
        frequencies: called only where they are needed, for counting takes time.
        special: see :meth:`TokenWeights.idf`.
        validate: see :meth:`TokenWeights.idf`.
        made_from: kept in the metadata of weights that are made here.
        form: of the score that the weights are for; a file that was learnt for the other one is refused.
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
        weights = TokenWeights.load(path)
        check_weights(weights, encoder, form)
        return weights
    if path.suffix in (".json", ".txt"):
        return import_weights(path, vocabulary)
    raise InputError(f"weights are {', '.join(NAMES)} or a .safetensors, .json or .txt file, not {name!r}")


def check_weights(weights: TokenWeights, encoder: Encoder, form: Form) -> None:
    """Refuse weights that mean something else here: made for another tokenizer, model or form of the score."""
    weights.check_tokenizer(encoder.vocabulary)
    learnt_for = weights.metadata.get("form", form)
    if learnt_for != form:
        raise InputError(
            f"these weights were learnt for the form {learnt_for!r}, not {form!r}; learn them for this one"
        )
    if weights.context is not None and weights.context.shape != (encoder.dimensions,):
        raise InputError(
            f"the context of these weights has {weights.context.shape} numbers, but vectors have {encoder.dimensions} "
            "dimensions; learn them with this encoder"
        )
    if (weights.table > LARGEST).any():
        raise InputError(f"token weights must not be above {LARGEST:g}; divide them all by one number")
    model = weights.metadata.get("model")
    if weights.context is not None and model not in (None, encoder.model_fingerprint):
        raise InputError(
            f"these weights were learnt with another model ({weights.metadata.get('encoder')}), in whose space their "
            "context lies; learn them with this one"
        )
