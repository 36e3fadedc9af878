"""Documents on a GPU: as much of them as fits."""

import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch

from chamfer.errors import InputError
from chamfer.kernels.cuda.arrays import LARGEST, Packed, Precision, to_device
from chamfer.support.threads import map_in_threads
from chamfer.tokens.batch import Offsets, TokenBatch, Vectors, offsets_of, parts

Take = Callable[[npt.NDArray[np.int64] | slice], TokenBatch]
Places = npt.NDArray[np.int64]

# The share of a GPU's free memory that documents may fill; queries, scores and other processes need the rest.
SHARE = 0.8
# Tokens copied to a GPU at a time: 64 MB for 128 dimensions in 16 bits.
SENT = 1 << 18
# Tokens that one thread copies to pinned memory at a time.
COPIED = 1 << 14
NO_MEMORY = "the GPU is out of memory; stop other processes that use it, or choose the device cpu"
# How far the squared norm of a unit vector may be from 1.
SQUARE_TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class DeviceDocuments:
    """Documents on a GPU: 16-bit vectors, 8-bit vectors to screen with, or neither, depending on what fits.

    Vectors that do not fit are copied to the GPU for every search.

    Args:
        device: the GPU.
        offsets: ``(documents + 1,)`` where the tokens of each document start.
        dimensions: number of dimensions of a token vector.
        take: returns the vectors of some documents, from host memory or disk.
        device_offsets: the offsets on the GPU.
        copies: the vectors on the GPU by precision; the first precision screens.
    """

    device: torch.device
    offsets: Offsets
    dimensions: int
    take: Take
    device_offsets: torch.Tensor
    copies: Mapping[Precision, Packed]

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
        """Copy documents to a GPU.

        Args:
            offsets: where the tokens of each document start.
            dimensions: number of dimensions of a token vector.
            take: returns the vectors of some documents.
            device: the GPU.
            room: bytes that may be filled; by default a share of the free memory.
            precisions: what to copy, the precision to screen with first; by default what fits.
        """
        there = torch.device(device)
        tokens, left = int(offsets[-1]), free_bytes(there) if room is None else room
        while True:
            kinds = fitting(tokens, dimensions, left) if precisions is None else tuple(precisions)
            try:
                with on(there):
                    copies = _packed(offsets, dimensions, take, kinds, there)
                    [device_offsets] = to_device([offsets], there)
                return cls(there, offsets, dimensions, take, device_offsets, copies)
            except torch.OutOfMemoryError as error:
                if precisions is not None or not kinds:
                    raise InputError(NO_MEMORY) from error
                left //= 2  # another process took what was free

    @classmethod
    def of_tokens(
        cls,
        tokens: TokenBatch,
        *,
        device: str = "cuda",
        room: int | None = None,
        precisions: Sequence[Precision] | None = None,
    ) -> Self:
        """Copy a batch to a GPU."""
        offsets, dimensions = tokens.offsets, tokens.dimensions
        return cls.of(offsets, dimensions, take_from(tokens), device=device, room=room, precisions=precisions)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def on_device(self) -> Self:
        """These documents."""
        return self

    @property
    def tokens(self) -> None:
        """Not in host memory."""

    @property
    def coded(self) -> None:
        """The native kernel does not run on a GPU."""

    @property
    def exact(self) -> torch.Tensor | None:
        """The vectors that final scores are computed from; None if they must be copied for every search."""
        held = self.copies.get("float16") or self.copies.get("float32")
        return None if held is None else held.vectors

    @property
    def screen(self) -> Packed | None:
        """The vectors to screen with; None if nothing fits."""
        return next(iter(self.copies.values()), None)


def take_from(tokens: TokenBatch) -> Take:
    """A function that takes documents from a batch."""
    return lambda places: tokens[places] if isinstance(places, slice) else tokens.take(places)


def _packed(
    offsets: Offsets, dimensions: int, take: Take, kinds: Sequence[Precision], device: torch.device
) -> dict[Precision, Packed]:
    """Copy all documents, in each of some precisions."""
    packed = {kind: Packed.empty(int(offsets[-1]), dimensions, kind, device) for kind in kinds}
    unit, sender = True, _Sender(device)
    for part in parts(offsets, SENT) if packed else ():
        vectors = sender.send(take(part).vectors)
        for one in packed.values():
            one.fill(int(offsets[part.start]), vectors)
        unit = unit and are_units(vectors)
    half = packed.get("float16")
    if half is not None and not bool(half.factors.isfinite().all()):
        raise InputError("token vectors are too large for 16-bit floats; normalise them first")
    if not unit:  # 8-bit vectors store a scale in place of the squared norm
        packed = {kind: one for kind, one in packed.items() if kind not in LARGEST}
    return {kind: one._replace(unit=unit) for kind, one in packed.items()}


# Documents on GPUs by content: a newer snapshot of an index finds what an older one copied.
_shared: "weakref.WeakValueDictionary[Hashable, DeviceDocuments]" = weakref.WeakValueDictionary()
_copying = threading.Lock()


def shared_documents(key: Hashable, offsets: Offsets, dimensions: int, take: Take, device: str) -> DeviceDocuments:
    """Documents on a GPU, copied once for all callers with the same key, for as long as one of them lives.

    Args:
        key: identifies the vectors.
        offsets: see :meth:`DeviceDocuments.of`.
        dimensions: see there.
        take: see there; must not refer to the caller, or the memory is never freed.
        device: the GPU.
    """
    with _copying:
        held = _shared.get((key, device))
        if held is None:
            held = _shared[key, device] = DeviceDocuments.of(offsets, dimensions, take, device=device)
        return held


def is_shared(key: Hashable, device: str) -> bool:
    """Whether :func:`shared_documents` would find these documents on the GPU."""
    return (key, device) in _shared


def fitting(tokens: int, dimensions: int, room: int) -> tuple[Precision, ...]:
    """The precisions in which vectors fit into ``room`` bytes: 8 and 16 bits, one of the two, or none."""
    in_8, in_16 = tokens * (dimensions + 4), tokens * (2 * dimensions + 4)
    if in_8 + in_16 <= room:
        return ("int8", "float16")
    if in_16 <= room:
        return ("float16",)
    return ("int8",) if in_8 <= room else ()


def fits(tokens: int, dimensions: int, device: str) -> bool:
    """Whether 16-bit vectors fit on a GPU."""
    return "float16" in fitting(tokens, dimensions, free_bytes(torch.device(device)))


def free_bytes(device: torch.device) -> int:
    """Number of bytes that documents may fill on a GPU at this moment."""
    if device.type != "cuda":
        return 1 << 62
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(SHARE * (torch.cuda.mem_get_info(device)[0] + cached))


def on(device: torch.device) -> AbstractContextManager[object]:
    """Make a GPU the current one, on which kernels are launched."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def vectors_of(
    documents: DeviceDocuments, chosen: Places | None
) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """The vectors of the chosen documents on the GPU: all at once if they are there, or copied part by part.

    Yields which of the chosen documents these are, the vectors, their offsets, and the places of the chosen documents
    among the offsets.
    """
    if documents.exact is not None:
        count = len(documents) if chosen is None else len(chosen)
        [places] = to_device([np.arange(count) if chosen is None else chosen], documents.device)
        yield slice(count), documents.exact, documents.device_offsets, places
        return
    sender = _Sender(documents.device)
    lengths = np.diff(documents.offsets)
    for some in parts(documents.offsets if chosen is None else offsets_of(lengths[chosen]), SENT):
        batch = documents.take(some if chosen is None else chosen[some])
        offsets, places = to_device([batch.offsets, np.arange(len(batch))], documents.device)
        yield some, sender.send(batch.vectors), offsets, places


class _Sender:
    """Copies vectors to a GPU through pinned memory, and reads the next ones meanwhile."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._buffers: list[tuple[torch.Tensor, torch.cuda.Event | None]] = [(torch.empty(0), None)] * 2

    def send(self, vectors: Vectors) -> torch.Tensor:
        """Copy vectors to the GPU."""
        if self._device.type != "cuda":
            return torch.from_numpy(np.array(vectors))
        buffer, arrived = self._buffers.pop(0)
        if arrived is not None:
            arrived.synchronize()
        if buffer.numel() < vectors.nbytes:
            buffer = torch.empty(vectors.nbytes, dtype=torch.uint8, pin_memory=True)
        kind = torch.float16 if vectors.dtype == np.float16 else torch.float32
        packed = buffer[: vectors.nbytes].view(kind).view(vectors.shape)
        into = packed.numpy()
        map_in_threads(
            lambda start: np.copyto(into[start : start + COPIED], vectors[start : start + COPIED]),
            range(0, len(into), COPIED),
        )
        sent = packed.to(self._device, non_blocking=True)
        arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
        arrived.record()
        self._buffers.append((buffer, arrived))
        return sent


def are_units(vectors: torch.Tensor) -> bool:
    """Whether all vectors have norm 1 up to rounding."""
    squares = vectors.float().square().sum(dim=1)
    return bool(((squares - 1).abs() <= SQUARE_TOLERANCE).all())
