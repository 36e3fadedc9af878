"""The settings that determine the vectors of an encoder."""

from dataclasses import dataclass
from typing import Literal

MINILM = "minilm"
"""The default model, all-MiniLM-L6-v2, which the extra ``chamfer[minilm]`` installs."""

Role = Literal["query", "document"]
Arithmetic = Literal["float32", "bfloat16"]
Engine = Literal["torch", "openvino"]


@dataclass(frozen=True)
class Setup:
    """How a model was loaded and converted.

    The defaults describe a model that the caller made in memory and left as it is.

    Args:
        late_interaction: whether the model was trained for token vectors; otherwise its token states are used.
        arithmetic: number format of the transformer.
        engine: library that runs the transformer.
        may_use_gpu: whether a worker may encode on its GPU; not if the caller asked for the CPU.
        is_loaded: whether the model came from a checkpoint, so that another process can load it by name.
        parameters: digest of the parameters as trained, if the model no longer holds them.
        most_tokens: number of positions of the model, if it can no longer be read from the model.
    """

    late_interaction: bool = True
    arithmetic: Arithmetic = "float32"
    engine: Engine = "torch"
    may_use_gpu: bool = True
    is_loaded: bool = False
    parameters: str | None = None
    most_tokens: int | None = None
