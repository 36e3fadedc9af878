"""The encoding of a page of HTML, which is never guessed: byte order mark, declared charset, or UTF-8."""

import codecs
import re

from chamfer.data.readers.text import decoded

# Where browsers look for a charset, with room for comments.
HEAD = 4096
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
DECLARED = re.compile(
    rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)|<meta[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
# What browsers read instead, as the WHATWG's standard of encodings says: supersets, which these pages are written in.
READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}


def decoded_page(content: bytes, where: str) -> str:
    """The text of a page. Bytes that fit neither its declared charset nor UTF-8 are an error."""
    if not content.startswith(codecs.BOM_UTF8):
        charset = _declared(content)
        if charset is not None:
            try:
                return content.decode(charset)
            except UnicodeError:
                pass
    return decoded(content, where, where)


def _declared(content: bytes) -> str | None:
    """The codec of the charset that a page declares; None without one, or for UTF-8 or an unknown one."""
    found = DECLARED.search(COMMENT.sub(b"", content[:HEAD]))
    if found is None:
        return None
    try:
        name = codecs.lookup((found[1] or found[2]).decode()).name
        b"a".decode(name)  # some codecs are not encodings of text
    except (LookupError, UnicodeError):
        return None
    # A declaration that can be read is not in UTF-16 or UTF-32, whatever it says.
    return None if name.startswith("utf") else READ_AS.get(name, name)
