"""Loading the model of an :class:`chamfer.Encoder`: its compiled copy, or else the checkpoint."""

import logging
from typing import Literal

from chamfer.encode.checkpoint_files import checkpoint_folder
from chamfer.encode.model import Model
from chamfer.encode.openvino import can_run_openvino, has_openvino
from chamfer.encode.settings import Arithmetic, Engine
from chamfer.errors import InputError
from chamfer.support.devices import CPU

log = logging.getLogger(__name__)


def load_model(
    name_or_path: str,
    place: str,
    *,
    query_length: int | None,
    document_length: int | None,
    arithmetic: Arithmetic,
    engine: Engine | Literal["auto"],
) -> Model:
    """Load a model; arguments are those of :meth:`chamfer.Encoder.load`.

    A plain encoder from a folder, or ``"minilm"``, has a compiled copy on disk once OpenVINO has run it. Everything
    else, also what a model hub resolves, is loaded with sentence-transformers.
    """
    try_openvino = engine == "openvino" or (engine == "auto" and place == CPU and can_run_openvino())
    copy = None
    if try_openvino and has_openvino() and (folder := checkpoint_folder(name_or_path)):
        from chamfer.encode.copies import copy_folder, read_copy

        copy = copy_folder(folder)
        lengths = {"query_length": query_length, "document_length": document_length}
        if copy is not None and (copied := read_copy(copy, arithmetic, **lengths)) is not None:
            return copied

    log.info("loading the model %s ...", name_or_path)

    from chamfer.encode.library_model import load_library_model  # imports torch, which takes seconds

    model = load_library_model(name_or_path, place)
    model.limit_to(model.lengths.changed(query_length, document_length))
    if try_openvino:
        from chamfer.encode.tracing import run_with_openvino

        try:
            return run_with_openvino(model, arithmetic, copy)
        except InputError:
            if engine == "openvino":
                raise
    if arithmetic == "bfloat16":
        model.convert_to_bfloat16()
    return model
