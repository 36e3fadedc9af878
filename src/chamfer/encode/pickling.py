"""An encoder for another process: how it was loaded travels, and it is loaded there again."""

from functools import cache
from typing import NamedTuple, get_args

from chamfer.encode.checkpoint import lasting_name
from chamfer.encode.encoder import Arithmetic, Encoder, Engine, Role
from chamfer.errors import InputError
from chamfer.support.devices import AUTO, PROCESSOR


class Luggage(NamedTuple):
    """All that decides vectors, to the last bit, on machines of one kind."""

    name: str
    query_length: int
    document_length: int
    device: str
    arithmetic: Arithmetic
    engine: Engine
    fingerprints: tuple[str, ...]


def luggage(encoder: Encoder) -> Luggage:
    """What an encoder of this process was loaded with."""
    return Luggage(
        name=lasting_name(encoder.name),
        query_length=encoder.query_length,
        document_length=encoder.document_length,
        device=AUTO if encoder.may_use_gpu else PROCESSOR,
        arithmetic=encoder.arithmetic,
        engine=encoder.engine,
        fingerprints=tuple(map(encoder.fingerprint, get_args(Role))),
    )


@cache  # a worker is sent several jobs with the same encoder
def load_again(*packed: object) -> Encoder:
    """Load the encoder that another process described, once in this process; refuse another model by that name."""
    given = Luggage(*packed)  # type: ignore[arg-type]
    encoder = Encoder.load(
        given.name,
        query_length=given.query_length,
        document_length=given.document_length,
        device=given.device,
        arithmetic=given.arithmetic,
        engine=given.engine,
    )
    if tuple(map(encoder.fingerprint, get_args(Role))) != given.fingerprints:
        raise InputError(f"{given.name!r} is another model on a worker than where it was sent from; install one on all")
    return encoder
