"""The key that a server asks its clients for."""

from chamfer.errors import InputError

VARIABLE = "CHAMFER_API_KEY"
"""The environment variable from which commands take the key."""


def check_key(key: str) -> None:
    """Refuse a key that cannot be sent in a header."""
    if not (key.isascii() and key.isprintable()):
        raise InputError("an API key may contain only printable ASCII characters; choose another key")
