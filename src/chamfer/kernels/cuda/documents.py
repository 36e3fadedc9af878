"""Documents on a GPU: as much of them as fits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch

from chamfer.kernels.cuda.arrays import LARGEST, Packed, Precision
from chamfer.threads import in_threads
from chamfer.tokens import Offsets, TokenBatch, Vectors, offsets_of, parts

Take = Callable[[npt.NDArray[np.int64] | slice], TokenBatch]
Places = npt.NDArray[np.int64]

# The share of a GPU's free memory that documents may fill; queries, scores and other programs need some.
SHARE = 0.8
# Tokens that are brought to a GPU at a time: 64 MB of 128 numbers in 16 bits.
SENT = 1 << 18
# Tokens that one thread copies at a time.
COPIED = 1 << 14
# How far squares of lengths may be from 1 for vectors that count as units.
UNIT = 0.01


@dataclass(frozen=True, eq=False)
class DeviceDocuments:
    """Documents of which a GPU holds as much as fits: in 16 bits, in 8 bits to screen them, or nothing.

    What it does not hold is brought there for every search.

    Args:
        device: the GPU.
        offsets: ``(documents + 1,)`` the tokens of each document.
        dimensions: of their vectors.
        take: gives the vectors of some documents, from the memory of the machine or a disk.
        device_offsets: the offsets on the GPU.
        kept: vectors by precision; the first screens.
    """

    device: torch.device
    offsets: Offsets
    dimensions: int
    take: Take
    device_offsets: torch.Tensor
    kept: Mapping[Precision, Packed]

    @classmethod
    def of(
        cls,
        offsets: Offsets,
        dimensions: int,
        take: Take,
        *,
        device: str = "cuda",
        room: int | None = None,
        precisions: Sequence[Precision] | None = None,
    ) -> Self:
        """Bring documents to a GPU.

        Args:
            offsets: the tokens of each document.
            dimensions: of their vectors.
            take: gives the vectors of some documents.
            device: which GPU.
            room: bytes that may be filled; a share of what is free if not given.
            precisions: what to hold, the one that screens first; what fits if not given.
        """
        there = torch.device(device)
        if precisions is None:
            precisions = fitting(int(offsets[-1]), dimensions, free_bytes(there) if room is None else room)
        with on(there):
            packed = {kind: Packed.empty(int(offsets[-1]), dimensions, kind, there) for kind in precisions}
            unit = True
            if packed:
                sent = _Sender(there)
                for part in parts(offsets, SENT):
                    vectors = sent.send(take(part).vectors)
                    for one in packed.values():
                        one.fill(int(offsets[part.start]), vectors)
                    unit = unit and are_units(vectors)
            if not unit:  # 8 bits keep a scale in the place of a length
                packed = {kind: one for kind, one in packed.items() if kind not in LARGEST}
            kept = {kind: one._replace(unit=unit) for kind, one in packed.items()}
            on_device = torch.from_numpy(np.array(offsets)).to(there)
        return cls(there, offsets, dimensions, take, on_device, kept)

    @classmethod
    def of_tokens(
        cls,
        tokens: TokenBatch,
        *,
        device: str = "cuda",
        room: int | None = None,
        precisions: Sequence[Precision] | None = None,
    ) -> Self:
        """Bring a batch to a GPU."""

        def take(places: npt.NDArray[np.int64] | slice) -> TokenBatch:
            return tokens[places] if isinstance(places, slice) else tokens.take(places)

        return cls.of(tokens.offsets, tokens.dimensions, take, device=device, room=room, precisions=precisions)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def screen(self) -> Packed | None:
        """What all documents are screened with; None if nothing fits."""
        return next(iter(self.kept.values()), None)


def fitting(tokens: int, dimensions: int, room: int) -> tuple[Precision, ...]:
    """The precisions in which so many vectors fit into some bytes: 8 bits to screen and 16, or one of them, or none."""
    in_8, in_16 = tokens * (dimensions + 4), tokens * (2 * dimensions + 4)
    if in_8 + in_16 <= room:
        return ("int8", "float16")
    if in_16 <= room:
        return ("float16",)
    return ("int8",) if in_8 <= room else ()


def fits(tokens: int, dimensions: int, device: str) -> bool:
    """Whether a GPU has room for so many vectors in 16 bits."""
    return "float16" in fitting(tokens, dimensions, free_bytes(torch.device(device)))


def free_bytes(device: torch.device) -> int:
    """How much of a GPU documents may fill now."""
    if device.type != "cuda":
        return 1 << 62
    return int(SHARE * torch.cuda.mem_get_info(device)[0])


def on(device: torch.device) -> AbstractContextManager[object]:
    """Programs are started on the current GPU, which may be another one."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def vectors_of(
    documents: DeviceDocuments, chosen: Places | None
) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Vectors of the chosen documents on the GPU, as many as are there or are brought at a time.

    Yields which of the chosen they are, all vectors, their offsets, and the places of the chosen in these.
    """
    kept = documents.kept.get("float16")
    if kept is not None:
        count = len(documents) if chosen is None else len(chosen)
        places = np.arange(count) if chosen is None else np.array(chosen)
        yield slice(count), kept.vectors, documents.device_offsets, torch.from_numpy(places).to(documents.device)
        return
    sender = _Sender(documents.device)
    lengths = np.diff(documents.offsets)
    for some in parts(documents.offsets if chosen is None else offsets_of(lengths[chosen]), SENT):
        batch = documents.take(some if chosen is None else chosen[some])
        offsets = torch.from_numpy(np.array(batch.offsets)).to(documents.device)
        yield some, sender.send(batch.vectors), offsets, torch.arange(len(batch), device=documents.device)


class _Sender:
    """Brings vectors to a GPU: while some are on their way, the next are read."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._turns: list[tuple[torch.Tensor, torch.cuda.Event | None]] = [(torch.empty(0), None)] * 2

    def send(self, vectors: Vectors) -> torch.Tensor:
        """The same vectors on the GPU."""
        if self._device.type != "cuda":
            return torch.from_numpy(np.array(vectors))
        buffer, arrived = self._turns.pop(0)
        if arrived is not None:
            arrived.synchronize()
        if buffer.numel() < vectors.nbytes:
            buffer = torch.empty(vectors.nbytes, dtype=torch.uint8, pin_memory=True)
        kind = torch.float16 if vectors.dtype == np.float16 else torch.float32
        packed = buffer[: vectors.nbytes].view(kind).view(vectors.shape)
        into = packed.numpy()
        in_threads(
            lambda start: np.copyto(into[start : start + COPIED], vectors[start : start + COPIED]),
            range(0, len(into), COPIED),
        )
        sent = packed.to(self._device, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        self._turns.append((buffer, arrived))
        return sent


def are_units(vectors: torch.Tensor) -> bool:
    """Whether all vectors have length 1, but for rounding."""
    squares = vectors.float().square().sum(dim=1)
    return bool(((squares - 1).abs() <= UNIT).all())
