"""UTF-8, and what to do about every other encoding."""

import codecs
import shlex

from chamfer.errors import InputError

# A mark of UTF-32 begins as one of UTF-16 does.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}

UNNAMED = "standard input"
"""What messages call standard input, which is not a file that a command could be given."""


def check_encoding(head: bytes, name: str) -> None:
    """Refuse text whose first bytes are not those of UTF-8.

    Args:
        head: the beginning of a file.
        name: the file, for the error message.
    """
    encoding = next((other for mark, other in BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
    even, odd = head[::2], head[1::2]
    if encoding is None and len(odd) >= 8 and 2 * odd.count(0) > len(odd) and not even.count(0):
        encoding = "UTF-16LE"  # Latin letters without a mark
    if encoding is not None:
        raise InputError(f"{name} is {encoding}; convert it with: {_conversion(encoding, name)}")


def check_no_nul(content: bytes, name: str, what: str = "text") -> None:
    """Refuse bytes that are not those of a text."""
    if b"\0" in content:
        raise InputError(f"{name} holds NUL bytes, so it is not {what}; check the file, or remove it")


def decoded(content: bytes, where: str, name: str) -> str:
    """Text from UTF-8; a byte order mark is no part of it.

    Args:
        content: the bytes.
        where: what they are, for the error message.
        name: the file, for the command that converts it.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise InputError(
            f"{where} is not UTF-8 (byte 0x{byte:02X}); convert the file, for example with: "
            f"{_conversion('WINDOWS-1252', name)}"
        ) from error


def _conversion(encoding: str, name: str) -> str:
    file = "" if name == UNNAMED else f" {shlex.quote(name)}"
    return f"iconv -f {encoding} -t UTF-8{file}"
