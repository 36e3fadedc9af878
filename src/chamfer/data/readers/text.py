"""UTF-8, and what to do about every other encoding."""

import codecs

from chamfer.errors import InputError

BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


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
            f"iconv -f WINDOWS-1252 -t UTF-8 {name}"
        ) from error
