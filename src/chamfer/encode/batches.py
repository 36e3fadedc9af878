"""Batches of texts of similar length, which need little padding."""

from collections.abc import Iterator, Sequence

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
