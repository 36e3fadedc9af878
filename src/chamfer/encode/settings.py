"""The settings that determine the vectors of an encoder."""

from typing import Literal

MINILM = "minilm"
"""The default model, all-MiniLM-L6-v2, which the extra ``chamfer[minilm]`` installs."""

Role = Literal["query", "document"]
Arithmetic = Literal["float32", "bfloat16"]
Engine = Literal["torch", "openvino"]
