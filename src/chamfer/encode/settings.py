"""The choices that decide which vectors an encoder gives."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["query", "document"]
Arithmetic = Literal["float32", "bfloat16"]
Engine = Literal["torch", "openvino"]


@dataclass(frozen=True)
class Setup:
    """How a model was loaded and what was done to it since.

    The defaults describe a model that the caller made in memory and left as it is.

    Args:
        late_interaction: whether the model was trained for token vectors; otherwise its token states are used.
        arithmetic: number format of the transformer.
        engine: library that runs the transformer.
        may_use_gpu: whether another machine should use its GPU: not if the caller asked for the CPU.
        is_loaded: whether the model came from a checkpoint, so that another process can load it by name.
        parameters: digest of the parameters as trained, where the model no longer holds these.
        most_tokens: number of positions of the model, where the model no longer tells.
    """

    late_interaction: bool = True
    arithmetic: Arithmetic = "float32"
    engine: Engine = "torch"
    may_use_gpu: bool = True
    is_loaded: bool = False
    parameters: str | None = None
    most_tokens: int | None = None
