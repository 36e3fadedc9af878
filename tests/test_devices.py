"""Choosing a device."""

from pathlib import Path

import pytest
import torch

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.support import devices
from chamfer.support.devices import VARIABLE, chosen_device, scoring_device


@pytest.fixture(autouse=True)
def accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has the device files of an accelerator."""
    monkeypatch.setattr(devices, "may_have_gpu", lambda: True)


def test_auto_is_the_cpu_if_there_is_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert chosen_device() == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert chosen_device() == "cuda"


def test_the_accelerator_that_torch_was_built_for_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_check: torch.device("cuda"))
    assert chosen_device() == "cpu", "a CUDA build of torch on a machine without a GPU"
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_check: torch.device("mps"))
    monkeypatch.setattr(torch.mps, "is_available", lambda: True)
    assert chosen_device() == "mps"


def test_without_the_files_of_an_accelerator_torch_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: 1 / 0)
    monkeypatch.setattr(devices, "ACCELERATORS", (str(tmp_path / "none"),))
    assert chosen_device() == "cpu"
    monkeypatch.setattr(devices, "ACCELERATORS", (str(tmp_path / "none"), str(tmp_path)))
    with pytest.raises(ZeroDivisionError):
        chosen_device()


def test_a_device_that_fails_is_named_with_the_way_to_the_cpu(plain_checkpoint: object) -> None:
    with pytest.raises(InputError, match=r"cannot use the device 'xpu' \(.+\); use device='cpu' or .*--device cpu"):
        Encoder.load(str(plain_checkpoint), device="xpu")


def test_the_environment_says_what_auto_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv(VARIABLE, "cpu")
    assert chosen_device() == "cpu"
    monkeypatch.setenv(VARIABLE, "")
    assert chosen_device() == "cuda"


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="'cuda' is not available: torch finds 0 GPUs; use auto or cpu"):
        chosen_device("cuda")
    with pytest.raises(InputError, match="unknown device 'gpu'; use auto, cpu or cuda"):
        chosen_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert chosen_device("cuda:1") == "cuda:1"
    with pytest.raises(InputError, match="'cuda:2' is not available: torch finds 2 GPUs"):
        chosen_device("cuda:2")


def test_scores_are_computed_on_gpus_that_the_kernels_support(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    assert scoring_device("cpu") == scoring_device("mps") == "cpu"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (9, 0))
    assert scoring_device("cuda:1") == "cuda:1"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (7, 5))
    assert scoring_device("cuda:1") == "cpu"


def test_an_encoder_without_a_device_takes_the_one_that_is_there(plain_checkpoint: object) -> None:
    for device in (None, "auto", "cpu"):
        encoder = Encoder.load(str(plain_checkpoint), device=device)
        assert encoder.device == ("cuda:0" if torch.cuda.is_available() and device != "cpu" else "cpu")
