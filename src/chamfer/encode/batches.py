"""Texts of like length are encoded together."""

from collections.abc import Iterator, Sequence

# Tokens in a batch, padding included. On a processor the states between two layers should stay in its caches. An
# accelerator wants enough to be busy with.
PROCESSOR_BATCH, ACCELERATOR_BATCH = 1024, 32768


def batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Places of texts that are encoded together: of like length, shortest first, ``most`` tokens with padding.

    A longer text is a batch of its own.

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
