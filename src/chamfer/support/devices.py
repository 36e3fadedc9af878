"""Where to compute: on a GPU if there is one."""

import os
from importlib.util import find_spec

from chamfer.errors import InputError

VARIABLE = "CHAMFER_DEVICE"
AUTO, CPU = "auto", "cpu"

# The oldest generation of GPUs that chamfer's programs are written for: Ampere.
CAPABILITY = (8, 0)


def chosen_device(device: str = AUTO) -> str:
    """``auto`` is what the environment says in ``CHAMFER_DEVICE``, else the accelerator that torch finds, if any.

    >>> chosen_device("cpu")
    'cpu'
    """
    import torch  # here, so that a command that computes nothing starts quickly

    asked = device if device != AUTO else os.environ.get(VARIABLE) or AUTO
    if asked == AUTO:
        if torch.cuda.is_available():
            return "cuda"
        found = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") else None
        return CPU if found is None else found.type
    try:
        chosen = torch.device(asked)
    except RuntimeError:
        raise InputError(f"there is no device {asked!r}; give auto, cpu or cuda") from None
    if chosen.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (chosen.index or 0) >= count:
            raise InputError(f"the device {asked!r} was asked for, but torch finds {count} GPUs; give auto, or cpu")
    return asked


def only_cpu(device: str = AUTO) -> bool:
    """Whether the processor was asked for, here or by the environment, whatever else there is."""
    return (device if device != AUTO else os.environ.get(VARIABLE)) == CPU


def scoring_device(device: str) -> str:
    """Where scores are computed for a model on that device: chamfer's own programs are for CUDA, compiled by Triton."""
    if not device.startswith("cuda") or find_spec("triton") is None:
        return CPU
    import torch

    return device if torch.cuda.get_device_capability(device) >= CAPABILITY else CPU


def threads_of_torch() -> int:
    """How many threads torch shares a batch among."""
    import torch

    return torch.get_num_threads()


def limit_torch(threads: int) -> None:
    """Let torch use so many in this process."""
    import torch

    torch.set_num_threads(threads)
