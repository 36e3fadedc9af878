"""To be part of a Ray cluster for a while: one that runs, or one that is started here for it."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from chamfer.errors import InputError

LOCAL, AUTO = "local", "auto"
# How long a cluster may take to accept a connection. Ray itself would try for minutes.
SECONDS = 5.0


@contextmanager
def joined(address: str, *, cores: int, object_store: int | None = None) -> Iterator[bool]:
    """Join a cluster, and leave it at the end; gives whether it is our own.

    Where the caller has joined one already, nothing is done, and the caller leaves it.

    Args:
        address: ``host:port`` of a cluster that this machine is a node of; ``auto`` for the one that runs here; or
            ``local``, which starts Ray on this machine and ends it again.
        cores: as many as ``local`` may give away.
        object_store: bytes that ``local`` keeps in shared memory; Ray's own choice if not given.
    """
    ray = imported("ray")
    if ray.is_initialized():
        yield False
        return
    settings: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        settings |= {"num_cpus": cores, "include_dashboard": False, "object_store_memory": object_store}
    check_address(address)
    with _printing_nothing():
        try:
            ray.init(**settings)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise InputError(f"cannot {_purpose(address, error)}") from error
        try:
            yield address == LOCAL
        finally:
            ray.shutdown()  # of this process's own connection, and of what it started


def _purpose(address: str, error: Exception) -> str:
    if address == AUTO:  # what Ray says names an option of its own
        return "find a Ray cluster that runs on this machine; start one with: ray start --head"
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    if address == LOCAL:
        return f"start Ray on this machine ({said})"
    return (
        f"join the Ray cluster at {address!r} ({said}); is this machine one of its nodes, and if it wants a token, are "
        "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN set here as there?"
    )


@contextmanager
def _printing_nothing() -> Iterator[None]:
    """Keep Ray from writing to our standard output, which may be a file of results, that a worker died.

    There is no setting for it; what it would print goes to its logger, which shows errors only.
    """
    worker = import_module("ray._private.worker")
    before = getattr(worker, "print_to_stdstream", None)
    if before is not None:
        vars(worker)["print_to_stdstream"] = lambda data, **_: logging.getLogger("ray").info("%s", data.get("lines"))
    try:
        yield
    finally:
        if before is not None:
            vars(worker)["print_to_stdstream"] = before


def imported(name: str) -> Any:  # noqa: ANN401 -- a module of Ray, which may be missing
    """A module that an extra brings."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is missing; install it with: pip install 'chamfer[ray]'") from error


def check_address(address: str) -> None:
    """Say at once what is wrong with an address, which Ray would say after minutes."""
    imported("ray")
    if address in {LOCAL, AUTO}:
        return
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or "/" in host:
        raise InputError(f"a Ray cluster is given as host:port, auto or local, not {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(
            f"nothing answers at the Ray address {address!r} ({said}); "
            "start a cluster there with: ray start --head, or give local"
        ) from error
