"""The encoder of an index: what the manifest records about it, and how it is loaded again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chamfer.encode.checkpoint_files import lasting_name
from chamfer.encode.encoder import Encoder
from chamfer.encode.settings import Role
from chamfer.errors import InputError
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Settings
from chamfer.support.devices import AUTO


def described(encoder: Encoder) -> dict[str, Any]:
    """What the manifest records: enough to load the encoder again, and to refuse a different one."""
    return {
        "name": lasting_name(encoder.name),
        "query_length": encoder.query_length,
        "document_length": encoder.document_length,
        "arithmetic": encoder.arithmetic,
        "engine": encoder.engine,
        "model": encoder.model_fingerprint,
        "documents": encoder.fingerprint("document"),
        "tokenizer": encoder.vocabulary.fingerprint,
    }


def load_encoder(settings: Settings, role: Role, device: str = AUTO) -> Encoder:
    """Load the encoder that an index was built with.

    Args:
        settings: settings of the index.
        role: what it will encode. The engine is that of the index, so that equal texts get equal vectors whether they
            are searched or re-ranked. Documents to add need it; for queries torch takes the place of an OpenVINO that
            is not installed here, or not on this device.
        device: device to load it on.
    """
    made_with = settings.encoder
    if "name" not in made_with:
        raise InputError("the index does not record which model made its vectors; pass the encoder")
    engine = made_with.get("engine", "torch")
    return Encoder.load(
        made_with["name"],
        query_length=made_with["query_length"],
        document_length=made_with["document_length"],
        arithmetic=made_with["arithmetic"],
        engine="auto" if engine == "openvino" and role == "query" else engine,
        device=device,
    )


def load_for_building(
    folder: Path, name: str, *, query_length: int | None = None, document_length: int | None = None
) -> Encoder:
    """Load the encoder for a new index; an interrupted build keeps its arithmetic and engine.

    Args:
        folder: folder of the index, which need not exist.
        name: name or path of the model.
        query_length: maximum length of a query in tokens; the model's own by default.
        document_length: maximum length of a document in tokens; the model's own by default.
    """
    manifest = read_manifest(folder)
    begun: Mapping[str, Any] = {} if manifest is None else manifest.settings.encoder
    return Encoder.load(
        name,
        query_length=query_length,
        document_length=document_length,
        arithmetic=begun.get("arithmetic", "auto"),
        engine=begun.get("engine", "auto"),
    )


def check_encoder(settings: Settings, encoder: Encoder) -> None:
    """Refuse an encoder whose document vectors would differ from those of the index."""
    made_with = settings.encoder
    if made_with and made_with["documents"] != encoder.fingerprint("document"):
        raise InputError(
            f"the index was built with {made_with['name']}, {made_with['document_length']} tokens, "
            f"{made_with['arithmetic']} by {made_with.get('engine', 'torch')}; use the same encoder"
        )
