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
from chamfer.kernels.cuda.arrays import LARGEST, Packed, Precision, send
from chamfer.support.threads import in_threads
from chamfer.tokens.batch import Offsets, TokenBatch, Vectors, offsets_of, parts

Take = Callable[[npt.NDArray[np.int64] | slice], TokenBatch]
Places = npt.NDArray[np.int64]

# The share of a GPU's free memory that documents may fill; queries, scores and other programs need some.
SHARE = 0.8
# Tokens that are brought to a GPU at a time: 64 MB of 128 numbers in 16 bits.
SENT = 1 << 18
# Tokens that one thread copies at a time.
COPIED = 1 << 14
NO_MEMORY = "the GPU has no memory left for this; end what else uses it, or compute on the processor with device cpu"
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
        tokens, left = int(offsets[-1]), free_bytes(there) if room is None else room
        while True:
            kinds = fitting(tokens, dimensions, left) if precisions is None else tuple(precisions)
            try:
                with on(there):
                    kept = _packed(offsets, dimensions, take, kinds, there)
                    [on_device] = send([offsets], there)
                return cls(there, offsets, dimensions, take, on_device, kept)
            except torch.OutOfMemoryError as error:
                if precisions is not None or not kinds:
                    raise InputError(NO_MEMORY) from error
                left //= 2  # another program took what was free

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
        offsets, dimensions = tokens.offsets, tokens.dimensions
        return cls.of(offsets, dimensions, taking(tokens), device=device, room=room, precisions=precisions)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def on_device(self) -> Self:
        """These documents."""
        return self

    @property
    def tokens(self) -> None:
        """Not in the memory of the CPU."""

    @property
    def coded(self) -> None:
        """The native kernel does not run on a GPU."""

    @property
    def exact(self) -> torch.Tensor | None:
        """The vectors that scores are computed from in the end; None if they must be brought."""
        held = self.kept.get("float16") or self.kept.get("float32")
        return None if held is None else held.vectors

    @property
    def screen(self) -> Packed | None:
        """What all documents are screened with; None if nothing fits."""
        return next(iter(self.kept.values()), None)


def taking(tokens: TokenBatch) -> Take:
    """Takes documents from a batch."""
    return lambda places: tokens[places] if isinstance(places, slice) else tokens.take(places)


def _packed(
    offsets: Offsets, dimensions: int, take: Take, kinds: Sequence[Precision], device: torch.device
) -> dict[Precision, Packed]:
    """All documents in some precisions."""
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
    if not unit:  # 8 bits keep a scale in the place of a length
        packed = {kind: one for kind, one in packed.items() if kind not in LARGEST}
    return {kind: one._replace(unit=unit) for kind, one in packed.items()}


# Documents on GPUs by what they are: a newer snapshot of an index finds there what an older one brought.
_shared: "weakref.WeakValueDictionary[Hashable, DeviceDocuments]" = weakref.WeakValueDictionary()
_bringing = threading.Lock()


def bring(key: Hashable, offsets: Offsets, dimensions: int, take: Take, device: str) -> DeviceDocuments:
    """Documents on a GPU, brought once for all who give the same key, as long as one of them is there.

    Args:
        key: what the vectors are.
        offsets: see :meth:`DeviceDocuments.of`.
        dimensions: likewise.
        take: must not hold on to who calls this, or memory is never given back.
        device: which GPU.
    """
    with _bringing:
        held = _shared.get((key, device))
        if held is None:
            held = _shared[key, device] = DeviceDocuments.of(offsets, dimensions, take, device=device)
        return held


def is_there(key: Hashable, device: str) -> bool:
    """Whether somebody has brought these documents."""
    return (key, device) in _shared


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
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(SHARE * (torch.cuda.mem_get_info(device)[0] + cached))


def on(device: torch.device) -> AbstractContextManager[object]:
    """Programs are started on the current GPU, which may be another one."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def vectors_of(
    documents: DeviceDocuments, chosen: Places | None
) -> Iterator[tuple[slice, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Vectors of the chosen documents on the GPU, as many as are there or are brought at a time.

    Yields which of the chosen they are, all vectors, their offsets, and the places of the chosen in these.
    """
    if documents.exact is not None:
        count = len(documents) if chosen is None else len(chosen)
        [places] = send([np.arange(count) if chosen is None else chosen], documents.device)
        yield slice(count), documents.exact, documents.device_offsets, places
        return
    sender = _Sender(documents.device)
    lengths = np.diff(documents.offsets)
    for some in parts(documents.offsets if chosen is None else offsets_of(lengths[chosen]), SENT):
        batch = documents.take(some if chosen is None else chosen[some])
        offsets, places = send([batch.offsets, np.arange(len(batch))], documents.device)
        yield some, sender.send(batch.vectors), offsets, places


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
