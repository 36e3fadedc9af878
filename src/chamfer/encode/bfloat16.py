"""Computing in 16 bits, where the hardware supports it."""

import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# Instructions for 16-bit products as Linux names them, those of ARM last.
INSTRUCTIONS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


def has_bfloat16(device: str) -> bool:
    """Whether a device has instructions for 16-bit products, rather than emulating them."""
    if device.startswith("cuda"):
        import torch

        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device == "cpu" and not INSTRUCTIONS.isdisjoint(cpu_features())


@cache
def cpu_features() -> frozenset[str]:
    """Features of the CPU by Linux's names; none where they cannot be read."""
    key = "Features" if platform.machine() == "aarch64" else "flags"
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return next((frozenset(line.partition(":")[2].split()) for line in lines if line.startswith(key)), frozenset())


def to_bfloat16(transformer: "torch.nn.Module") -> None:
    """Convert a transformer to 16 bits, and its output back to 32 for the modules after it."""
    transformer.bfloat16()
    transformer.register_forward_hook(_to_float32)


def _to_float32(_module: "torch.nn.Module", _inputs: object, outputs: dict[str, Any]) -> dict[str, Any]:
    return outputs | {"token_embeddings": outputs["token_embeddings"].float()}
