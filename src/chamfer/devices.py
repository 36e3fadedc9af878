"""Where to compute: on a GPU if there is one."""

import os
from importlib.util import find_spec

from chamfer.errors import InputError

VARIABLE = "CHAMFER_DEVICE"
AUTO, PROCESSOR = "auto", "cpu"


def chosen_device(device: str = AUTO) -> str:
    """``auto`` is what the environment says in ``CHAMFER_DEVICE``, else the GPU if there is one, else the processor.

    >>> chosen_device("cpu")
    'cpu'
    """
    import torch  # here, so that a command that computes nothing starts quickly

    asked = device if device != AUTO else os.environ.get(VARIABLE) or AUTO
    if asked == AUTO:
        return "cuda" if torch.cuda.is_available() else PROCESSOR
    try:
        kind = torch.device(asked).type
    except RuntimeError:
        raise InputError(f"there is no device {asked!r}; give auto, cpu or cuda") from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f"the device {asked!r} was asked for, but torch finds no GPU here; give cpu, or auto")
    return asked


def scoring_device(device: str) -> str:
    """Where scores are computed for a model on that device: chamfer's own programs are for CUDA, compiled by Triton."""
    return device if device.startswith("cuda") and find_spec("triton") is not None else PROCESSOR
