"""Connecting to a Ray cluster, or starting one on this machine."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from chamfer.errors import InputError, first_line

LOCAL, AUTO = "local", "auto"
# Timeout for connecting to a cluster.
SECONDS = 5.0


@contextmanager
def connected(address: str, *, cores: int, object_store: int | None = None) -> Iterator[bool]:
    """Connect to a cluster, and disconnect at the end; yield whether the cluster was started here.

    If this process is already connected, that connection is used and left open.

    Args:
        address: ``host:port`` of a cluster that this machine is a node of; ``auto`` for the cluster that runs here; or
            ``local``, which starts Ray on this machine and stops it at the end.
        cores: number of cores that ``local`` may use.
        object_store: bytes of shared memory for ``local``; Ray's own choice by default.
    """
    ray = import_extra("ray")
    if ray.is_initialized():
        yield False
        return
    settings: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        settings |= {"num_cpus": cores, "include_dashboard": False, "object_store_memory": object_store}
    check_address(address)
    with _nothing_on_stdout():
        try:
            ray.init(**settings)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise InputError(f"cannot {_failure(address, error)}") from error
        try:
            yield address == LOCAL
        finally:
            ray.shutdown()  # closes the connection, and stops a cluster that was started here


def _failure(address: str, error: Exception) -> str:
    if address == AUTO:  # Ray's message names an option of its own
        return "find a running Ray cluster on this machine; start one with: ray start --head"
    said = first_line(error)
    if address == LOCAL:
        return f"start Ray on this machine ({said})"
    return (
        f"connect to the Ray cluster at {address!r} ({said}); check that this machine is one of its nodes, and that "
        "RAY_AUTH_MODE and RAY_AUTH_TOKEN are the same here if the cluster uses tokens"
    )


@contextmanager
def _nothing_on_stdout() -> Iterator[None]:
    """Keep Ray from reporting dead workers on standard output, where results go.

    Ray has no setting for this. The messages go to its logger instead, which shows only errors.
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


def import_extra(name: str) -> Any:  # noqa: ANN401 -- a module of Ray
    """Import a module of the extra ``chamfer[ray]``, which may not be installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is missing; install it with: pip install 'chamfer[ray]'") from error


def check_address(address: str) -> None:
    """Raise an error at once for an address that cannot be used; Ray itself would try for minutes."""
    import_extra("ray")
    if address in {LOCAL, AUTO}:
        return
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or "/" in host:
        raise InputError(f"the address of a Ray cluster must be host:port, auto or local, not {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise InputError(
            f"nothing answers at the Ray address {address!r} ({said}); "
            "start a cluster there with: ray start --head, or use local"
        ) from error
