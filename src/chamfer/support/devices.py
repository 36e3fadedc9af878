"""The device to compute on: a GPU if there is one."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from chamfer.errors import InputError

VARIABLE = "CHAMFER_DEVICE"
AUTO, CPU = "auto", "cpu"

# What drivers of accelerators create on Linux: NVIDIA's, that of WSL, AMD's, Intel's, and those of the kernel's own
# framework.
ACCELERATORS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd", "/dev/dri", "/dev/accel")

# Compute capability of Ampere, the oldest GPU generation that chamfer's kernels support.
MIN_CAPABILITY = (8, 0)


def chosen_device(device: str = AUTO) -> str:
    """The device to use: as given, or for ``auto`` the one in ``CHAMFER_DEVICE``, else the accelerator torch finds.

    Args:
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...

    >>> chosen_device("cpu")
    'cpu'
    """
    asked = device if device != AUTO else os.environ.get(VARIABLE) or AUTO
    if asked == CPU or (asked == AUTO and not may_have_gpu()):
        return CPU
    import torch  # takes seconds

    if asked == AUTO:
        if torch.cuda.is_available():
            return "cuda"
        # The current accelerator is the one that torch was built for, which this machine need not have.
        if not hasattr(torch, "accelerator") or not torch.accelerator.is_available():
            return CPU
        found = torch.accelerator.current_accelerator()
        return CPU if found is None else found.type
    try:
        chosen = torch.device(asked)
    except RuntimeError:
        raise InputError(f"unknown device {asked!r}; use auto, cpu or cuda") from None
    if chosen.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (chosen.index or 0) >= count:
            raise InputError(f"device {asked!r} is not available: torch finds {count} GPUs; use auto or cpu")
    return asked


def may_have_gpu() -> bool:
    """Whether this machine has the device files of an accelerator; only with them is it worth asking torch."""
    return sys.platform != "linux" or any(Path(place).exists() for place in ACCELERATORS)


def only_cpu(device: str = AUTO) -> bool:
    """Whether the caller or the environment asked for the CPU, although there may be a GPU."""
    return (device if device != AUTO else os.environ.get(VARIABLE)) == CPU


def scoring_device(device: str) -> str:
    """The device that scores for a model on ``device``: chamfer's own kernels need CUDA and Triton."""
    if not device.startswith("cuda") or find_spec("triton") is None:
        return CPU
    import torch

    return device if torch.cuda.get_device_capability(device) >= MIN_CAPABILITY else CPU


def torch_threads() -> int:
    """Number of threads that torch uses in this process."""
    import torch

    return torch.get_num_threads()


def set_torch_threads(threads: int) -> None:
    """Set the number of threads that torch uses in this process."""
    import torch

    torch.set_num_threads(threads)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch use one thread within, for work so small that several gain little.

    Torch's threads wait for each other after every operation, so on a busy machine the work takes many times as long.
    """
    before = torch_threads()
    set_torch_threads(1)
    try:
        yield
    finally:
        set_torch_threads(before)
