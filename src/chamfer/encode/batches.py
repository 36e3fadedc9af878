"""Batches of texts of similar length, which need little padding."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

# Tokens in a batch, padding included. On a CPU, the states between two layers should fit in its caches. A GPU needs
# enough work to stay busy.
CPU_BATCH, GPU_BATCH = 1024, 32768


def batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Group texts into batches of similar length, shortest first, with at most ``most`` tokens including padding.

    A longer text gets a batch of its own.

    >>> list(batches([3, 9, 2, 4, 20], most=12))
    [[2, 0, 3], [1], [4]]
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > most:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def batched_inputs(
    inputs: Mapping[str, Any], rows: Sequence[int], device: torch.device
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Batches of model inputs on a device, each with the rows it holds and no more padding than it needs.

    Args:
        inputs: inputs of the model, for all texts.
        rows: rows to use.
        device: device of the model.
    """
    if not rows:
        return
    used = inputs["attention_mask"].bool()
    if "query_expansion_positions" in inputs:  # these are scored, although no token attends to them
        used = used | inputs["query_expansion_positions"].bool()
    lengths = used.sum(dim=1)[rows].tolist()
    for batch in batches(lengths, CPU_BATCH if device.type == "cpu" else GPU_BATCH):
        chosen = [rows[place] for place in batch]
        columns = used[chosen].any(dim=0)  # padding may be on either side
        yield (
            chosen,
            {
                name: value[chosen][:, columns].to(device)
                if isinstance(value, torch.Tensor) and value.shape == used.shape
                else value
                for name, value in inputs.items()
            },
        )
