"""Loading a checkpoint from a model hub or a folder."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense
from sentence_transformers.util import load_file_path
from transformers.utils import logging as transformers_logging

from chamfer.encode.checkpoint_files import checkpoint_folder
from chamfer.errors import InputError, first_line
from chamfer.support.devices import CPU, VARIABLE
from chamfer.support.progress import quiet_loggers


class Loaded(NamedTuple):
    """A model that gives token vectors, and whether it was trained to do so."""

    model: MultiVectorEncoder
    late_interaction: bool


def load_checkpoint(name_or_path: str, device: str) -> Loaded:
    """Load a late-interaction model as it was trained, or a plain encoder for its token states.

    Args:
        name_or_path: a model hub name, a folder, or ``"minilm"``.
        device: device to load it on.
    """
    source = str(checkpoint_folder(name_or_path) or name_or_path)
    with quiet_libraries():
        try:
            late_interaction = _is_late_interaction(source)
            model = MultiVectorEncoder(source, device=CPU)
        # A damaged checkpoint makes the libraries fail in too many ways to list their exceptions.
        except Exception as error:
            raise InputError(
                f"cannot load a model from {name_or_path!r} ({first_line(error)}); "
                "give a model hub name, a folder with a checkpoint, or 'minilm'"
            ) from error
        if not late_interaction:
            # The library gives a plain encoder a random 128-dimensional projection, meant to be trained, or applies its
            # sentence head to tokens. We want the token states themselves.
            prompts = {role: prompt or "" for role, prompt in model.prompts.items()}
            modules = [module for module in model if not isinstance(module, Dense)]
            model = MultiVectorEncoder(modules=modules, prompts=prompts, device=CPU)
    try:
        model.to(device)
    except (RuntimeError, AssertionError) as error:  # torch without support for a device raises the latter
        raise InputError(
            f"cannot use the device {device!r} ({first_line(error)}); "
            f"use device='cpu' or {VARIABLE}=cpu (chamfer --device cpu on the command line)"
        ) from error
    model.requires_grad_(False).eval()
    return Loaded(model, late_interaction)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence progress bars and log lines of the model libraries, and restore their settings afterwards."""
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with quiet_loggers("transformers", "sentence_transformers", "huggingface_hub"):
            yield
    finally:
        if bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _is_late_interaction(source: str) -> bool:
    """Whether a checkpoint was trained for token vectors: Stanford's, PyLate's, or a saved multi-vector model."""
    config = _read_json(source, "config.json")
    if config is None:  # looking for the other files would only run into the hub client's timeout again
        raise FileNotFoundError("no folder of that name and no reachable model hub has a config.json")
    architectures = config.get("architectures") or []
    if any(name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in architectures):
        return True
    model_type = (_read_json(source, "config_sentence_transformers.json") or {}).get("model_type")
    modules = _read_json(source, "modules.json") or []
    return model_type in ("ColBERT", "MultiVectorEncoder") or any("pylate" in module["type"] for module in modules)


def _read_json(source: str, filename: str) -> Any:  # noqa: ANN401 -- JSON
    path = load_file_path(source, filename)
    return None if path is None else json.loads(Path(path).read_text(encoding="utf-8"))
