"""The tensors of a safetensors file, header first: the size of everything is known before it is read."""

from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.support.plain_json import parse_json

# Metadata of 64 KB, each character escaped twice, fits.
MOST_HEADER_BYTES = 1 << 20

FLOAT32, BYTES = "F32", "U8"
_KINDS: dict[str, np.dtype[Any]] = {FLOAT32: np.dtype("<f4"), BYTES: np.dtype("u1")}


class Tensor(NamedTuple):
    """A tensor of one dimension: its type, its length, and the position of its first byte in the file."""

    kind: str
    length: int
    start: int

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.length * _KINDS[self.kind].itemsize


class Header(NamedTuple):
    """What a file contains."""

    metadata: dict[str, str]
    tensors: dict[str, Any]
    """As in the file; see :meth:`tensor`."""
    start: int
    """Position of the first byte after the header."""
    end: int
    """Size of the file."""

    def tensor(self, name: str, kind: str) -> Tensor:
        """The place of a tensor; raises a ``ValueError`` if it is missing, of another type, or beyond the file."""
        match self.tensors.get(name):
            case {"dtype": str(found), "shape": [int(length)], "data_offsets": [int(first), int(last)]}:
                tensor = Tensor(kind, length, self.start + first)
                if found == kind and 0 <= first <= last <= self.end - self.start and tensor.size == last - first:
                    return tensor
        raise ValueError(f"it has no tensor {name!r} of one dimension and type {kind}")


def read_header(file: BinaryIO) -> Header:
    """Read the header of a file; raises a ``ValueError`` if it is damaged."""
    end = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if length > min(MOST_HEADER_BYTES, end - 8):
        raise ValueError("its header is too large")
    header = parse_json(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its metadata has values other than strings")
    return Header(metadata, header, 8 + length, end)


def read_tensor(file: BinaryIO, tensor: Tensor) -> npt.NDArray[Any]:
    """Read a tensor; raises a ``ValueError`` if the file is shorter than it was."""
    file.seek(tensor.start)
    return np.frombuffer(file.read(tensor.size), _KINDS[tensor.kind], tensor.length).copy()
