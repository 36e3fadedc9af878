"""Computing in 16 bits, where the hardware supports it."""

from typing import Any

import torch


def has_bfloat16(device: torch.device) -> bool:
    """Whether a device has instructions for 16-bit products, rather than emulating them."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or not hasattr(torch.cpu, "get_capabilities"):  # older versions of torch cannot tell
        return False
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))  # the last is ARM's


def to_bfloat16(transformer: torch.nn.Module) -> None:
    """Convert a transformer to 16 bits, and its output back to 32 for the modules after it."""
    transformer.bfloat16()
    transformer.register_forward_hook(_to_float32)


def _to_float32(_module: torch.nn.Module, _inputs: object, outputs: dict[str, Any]) -> dict[str, Any]:
    return outputs | {"token_embeddings": outputs["token_embeddings"].float()}
