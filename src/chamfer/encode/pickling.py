"""Pickling an encoder: the other process gets a load spec and loads the model itself."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol, TypeVar

from chamfer.encode.settings import Arithmetic, Engine, Role
from chamfer.errors import InputError


class LoadSpec(NamedTuple):
    """Everything that determines vectors, to the last bit, on machines of the same kind.

    The fields are the arguments of :meth:`chamfer.Encoder.load`, and the fingerprints that the loaded model must have.
    """

    name: str
    query_length: int
    document_length: int
    device: str
    arithmetic: Arithmetic
    engine: Engine
    fingerprints: tuple[str, str]


class Fingerprinted(Protocol):
    """Anything with one fingerprint for queries and one for documents."""

    def fingerprint(self, role: Role) -> str:
        """Equal for equal vectors."""
        ...


Loaded = TypeVar("Loaded", bound=Fingerprinted)


def fingerprints_of(encoder: Fingerprinted) -> tuple[str, str]:
    """The fingerprints for queries and for documents."""
    return encoder.fingerprint("query"), encoder.fingerprint("document")


@cache  # a worker is sent several jobs with the same encoder
def load_once(load: Callable[..., Loaded], spec: LoadSpec) -> Loaded:
    """Load the encoder that another process described, once in this process.

    Args:
        load: :meth:`chamfer.Encoder.load`.
        spec: how the other process loaded it.
    """
    encoder = load(
        spec.name,
        query_length=spec.query_length,
        document_length=spec.document_length,
        device=spec.device,
        arithmetic=spec.arithmetic,
        engine=spec.engine,
    )
    if fingerprints_of(encoder) != spec.fingerprints:
        raise InputError(
            f"the model {spec.name!r} on this worker differs from the model in the process that sent the job; "
            "install the same checkpoint on all machines"
        )
    return encoder
