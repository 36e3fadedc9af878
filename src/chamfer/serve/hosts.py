"""Host names that a server answers to, against DNS rebinding.

A web page can have its own name resolve to the address of a server on the visitor's network, and then read the
server's answers as if they were its own. The Host header still has the name of that page. IP addresses cannot be
rebound.
"""

import ipaddress
import re
from collections.abc import Collection, Iterable

from chamfer.errors import InputError
from chamfer.serve.asgi import Refused, Scope

LOCALHOST = "localhost"
LOOPBACK = (LOCALHOST, "127.0.0.1", "::1")

NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
HOST = re.compile(r"(?:\[(?P<inside>[^\[\]]+)\]|(?P<plain>[^\[\]:]+))(?::\d+)?")


def checked_hosts(names: Iterable[str]) -> frozenset[str]:
    """Host names in lower case."""
    lowered = frozenset(name.lower() for name in names)
    for name in lowered:
        if not NAME.fullmatch(name) and not is_address(name):
            raise InputError(f"{name!r} is not a host name; give one without scheme and port, such as search.example")
    return lowered


def hosts_of(listening: str, allowed: Iterable[str], *, has_key: bool) -> frozenset[str] | None:
    """The host names that a server answers to; None for any.

    A page whose name was rebound has no key, so with a key any name is answered, as reverse proxies send them; unless
    some are given, or the server listens on loopback, where no other names are expected.

    Args:
        listening: host that the server listens on.
        allowed: further names.
        has_key: whether clients need an API key.
    """
    names = checked_hosts(allowed)
    if has_key and not names and listening not in LOOPBACK:
        return None
    return names | checked_hosts([listening])


def check_host(scope: Scope, allowed: Collection[str]) -> None:
    """Refuse a request for another host than an IP address, localhost or one of the allowed names."""
    sent = [value.decode("latin-1").lower() for name, value in scope["headers"] if name == b"host"]
    parts = HOST.fullmatch(sent[0]) if len(sent) == 1 else None
    if parts is None:
        raise Refused(421, "the request needs one Host header with the name or address of this server")
    name = parts["plain"] or parts["inside"]
    if parts["plain"] not in (LOCALHOST, *allowed) and not is_address(name):
        raise Refused(
            421, f"this server does not answer to {name[:100]}; use its IP address, or start it with --allow-host NAME"
        )


def is_address(name: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
