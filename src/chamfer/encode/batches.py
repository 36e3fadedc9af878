"""Batches of texts of similar length, which need little padding."""

from collections.abc import Iterable, Iterator, Sequence

# Tokens in a batch, padding included. On a CPU, the states between two layers should fit in its caches. A GPU needs
# enough work to stay busy.
CPU_BATCH, GPU_BATCH = 1024, 32768
GOLDEN = (5**0.5 - 1) / 2


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


def mixed(of_all: Iterable[list[int]]) -> list[list[int]]:
    """Batches in an order in which lengths are mixed.

    All batches take about as long, but those of short texts have more of them. In order of length, progress would
    begin fast and end slowly, in every chunk that is encoded.

    >>> mixed([[0, 1, 2], [3, 4], [5, 6], [7], [8]])
    [[0, 1, 2], [5, 6], [8], [3, 4], [7]]
    """
    given = list(of_all)
    # Multiples of the golden ratio, without their integer parts, spread evenly however many there are.
    return [given[place] for place in sorted(range(len(given)), key=lambda place: place * GOLDEN % 1)]
