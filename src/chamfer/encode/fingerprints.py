"""Fingerprints: equal exactly if two encoders give the same vectors. Caches and indexes are identified by them."""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from chamfer.encode.settings import Arithmetic, Engine, Role

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

# In the names of parameters that contribute to no token vector, and are random if a checkpoint lacks them.
UNUSED = ".pooler."


def parameters_digest(model: "MultiVectorEncoder") -> str:
    """SHA-256 of a model's parameters and their names."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        if UNUSED in name:
            continue
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def vectors_fingerprint(
    settings: Mapping[str, Any], *, parameters: str, length: int, prompt: str, arithmetic: Arithmetic, engine: Engine
) -> str:
    """Fingerprint of the vectors that a model gives to queries, or to documents.

    Args:
        settings: what :func:`settings_of` reads from the model for the role.
        parameters: digest of the parameters as trained.
        length: token limit for the role.
        prompt: text that the model reads before each text of the role.
        arithmetic: number format of the transformer.
        engine: library that runs the transformer.
    """
    whole = {**settings, "parameters": parameters, "length": length, "prompt": prompt}
    # Defaults are left out, so that fingerprints from before these settings existed stay valid.
    if arithmetic != "float32":
        whole["arithmetic"] = arithmetic
    if engine != "torch":
        whole["engine"] = engine
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]


def settings_of(model: "MultiVectorEncoder", role: Role) -> dict[str, Any]:
    """What determines the vectors of a role, but for parameters, length, prompt, arithmetic and engine."""
    transformer: Any = model[0]
    modules: list[Any] = list(model)[1:]
    return {
        "tokenizer": tokenizer_settings(model.tokenizer.backend_tokenizer),
        "expansion": transformer.query_expansion if role == "query" else None,
        "architecture": _architecture(transformer),
        # Without the first module: it is the transformer, which the lines above describe.
        "modules": [(type(module).__name__, module.get_config_dict()) for module in modules],
    }


def tokenizer_settings(tokenizer: Tokenizer) -> dict[str, Any]:
    """Everything that determines tokens. Truncation and padding are left out, because each call sets them."""
    settings: dict[str, Any] = json.loads(tokenizer.to_str())
    return {key: value for key, value in settings.items() if key not in ("truncation", "padding")}


def _architecture(transformer: Any) -> dict[str, Any]:  # noqa: ANN401 -- the library's module
    """Settings of the computation, such as heads and activations, but not the file or version they came from."""
    settings: dict[str, Any] = transformer.config.to_dict()
    return {key: value for key, value in settings.items() if not key.startswith("_") and "version" not in key}
