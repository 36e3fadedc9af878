"""Weights by name: ``uniform``, ``idf``, ``idf-soft``, ``mix``, or a file."""

import reprlib
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.weights.files import check_exists
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.mix import NOTHING, Mix, default_mix
from chamfer.weights.special import DEFAULT, Special
from chamfer.weights.token_weights import SUFFIXES, TokenWeights, Validate
from chamfer.weights.zero_shot import IDF, MIX, NAMES, SOFT_IDF, UNIFORM

if TYPE_CHECKING:  # the encoder imports torch, which takes seconds
    from chamfer.encode.encoder import Encoder

COUNTED = (IDF, SOFT_IDF, MIX)
"""Weights that are computed from document frequencies."""

DEFAULT_WEIGHTS = MIX
"""Weights of a search unless others are given."""


def weights_by_name(
    name: str,
    encoder: "Encoder",
    frequencies: Callable[[], DocumentFrequencies],
    *,
    special: Special = DEFAULT,
    validate: Validate | None = None,
    made_from: Mapping[str, Any] | None = None,
    form: Form = DEFAULT_FORM,
) -> TokenWeights:
    """Make or load weights.

    Args:
        name: ``uniform``, ``idf``, ``idf-soft``, ``mix``, or the path of a weights file.
        encoder: encoder whose tokens are weighted; a file made for another tokenizer is refused.
        frequencies: returns the document frequencies; called only for weights that need them.
        special: weight of special tokens under ``idf``, see :meth:`TokenWeights.idf`.
        validate: measures several weightings; required for ``special="auto"``.
        made_from: provenance to record in the metadata of counted weights.
        form: form of the score; a file learnt for the other form is refused.
    """
    check_name(name)
    vocabulary = encoder.vocabulary
    if name == UNIFORM:
        return TokenWeights.uniform(vocabulary)
    if name == IDF:
        return TokenWeights.idf(frequencies(), vocabulary, special=special, validate=validate, made_from=made_from)
    if name == SOFT_IDF:
        return TokenWeights.soft_idf(frequencies(), vocabulary, made_from=made_from)
    if name == MIX:
        return TokenWeights.zero_shot(frequencies(), encoder, made_from=made_from)
    weights = TokenWeights.load(name, vocabulary)
    check_weights(weights, encoder, form)
    return weights


def mix_of(weights: str | TokenWeights, encoder: "Encoder") -> Mix:
    """The mix of weights, or of one of :data:`chamfer.weights.zero_shot.NAMES`, without counting anything."""
    if isinstance(weights, TokenWeights):
        return weights.mix
    return default_mix(late_interaction=encoder.late_interaction) if weights == MIX else NOTHING


def check_name(name: str) -> None:
    """Raise an error if a name is unknown or its file is missing; cheap enough to call before a model is loaded."""
    if name in NAMES:
        return
    if Path(name).suffix not in SUFFIXES:
        raise InputError(f"weights are {', '.join(NAMES)} or a file ending in {', '.join(SUFFIXES)}, not {name!r}")
    check_exists(Path(name))


def check_file(name: str, form: Form) -> None:
    """Like :func:`check_name`, and raise an error if a weights file is damaged or was learnt for another form.

    The other formats can only be read with the vocabulary of a model.
    """
    check_name(name)
    if Path(name).suffix == SUFFIXES[0]:
        TokenWeights.load(name).check_form(form)


def cache_key(name: str) -> Hashable:
    """A key that changes when the weights behind a name do, for caches of loaded weights.

    A file is identified by its path, inode, size and modification time, so a file that was written again has a new key.

    >>> cache_key("idf")
    ('idf',)
    """
    if name in NAMES:
        return (name,)
    try:
        status = Path(name).stat()
    except OSError:  # loading the file raises an error that explains it
        return (name,)
    return name, status.st_ino, status.st_size, status.st_mtime_ns


def check_weights(weights: TokenWeights, encoder: "Encoder", form: Form) -> None:
    """Raise an error if weights were made for another tokenizer, model or form of the score."""
    weights.check_tokenizer(encoder.vocabulary)
    weights.check_form(form)
    if weights.context is not None and weights.context.shape != (encoder.dimensions,):
        raise InputError(
            f"the context of these weights has shape {weights.context.shape}, but vectors have {encoder.dimensions} "
            "dimensions; learn the weights with this encoder"
        )
    if weights.adapter is not None and weights.adapter.dimensions != encoder.dimensions:
        raise InputError(
            f"the adapter of these weights is for vectors of {weights.adapter.dimensions} dimensions, not "
            f"{encoder.dimensions}; learn the weights with this encoder"
        )
    model = weights.metadata.get("model")
    bound_to_model = weights.context is not None or weights.adapter is not None
    if bound_to_model and model not in (None, encoder.model_fingerprint):
        learnt_with = reprlib.repr(weights.metadata.get("encoder"))
        raise InputError(
            f"these weights were learnt with another model ({learnt_with}), and their context or adapter belongs to "
            "that model's embedding space; learn them again with this model"
        )
