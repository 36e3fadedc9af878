"""Files that cannot be used, with the sentence that each gets, and odd ones that are read."""

import gzip
import io
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pypdf

from tests.test_document_files import pdf


def parquet(*, rows: int | None = None, **columns: list[Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns)[:rows], sink)
    return sink.getvalue()


def damaged() -> bytes:
    """Parquet that is whole at both ends."""
    content = parquet(id=[str(n) for n in range(5000)], text=[f"cats {n * 7919}" for n in range(5000)])
    middle = len(content) // 2
    return content[:middle] + b"\xff" * 2000 + content[middle + 2000 :]


def locked(password: str) -> bytes:
    writer, content = pypdf.PdfWriter(io.BytesIO(pdf("secret"))), io.BytesIO()
    writer.encrypt(password, algorithm="RC4-128")
    writer.write(content)
    return content.getvalue()


def scanned() -> bytes:
    writer, content = pypdf.PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.write(content)
    return content.getvalue()


GOOD = "id,text\n1,Cats sleep.\n"
MANY = "id,text\n" + "".join(f"{n},cats sleep\n" for n in range(9000))
LINE = '{"id": "1", "text": "a"}\n'
COLUMNS = ",".join(f"c{n}" for n in range(20_000))
WIDE = ",".join(f"c{n}" for n in range(2000))
NESTED = {"by": {"name": "Ada", "at": [1, 2]}}
INF = float("inf")

FILES: dict[str, tuple[str, str | bytes, str]] = {
    "an unclear delimiter": ("c.csv", "id;a,text\n1;x,y\n", "could be separated by commas or semicolons; choose"),
    "mixed encodings": (
        "c.csv",
        GOOD.encode() + b"2,caf\xe9\n",
        "line 3 is not UTF-8 .byte 0xE9.; convert the fil",
    ),
    "a text in Latin 1": ("d/a.md", b"caf\xe9\n", "a.md is not UTF-8 .byte 0xE9.; convert the file, for example"),
    "UTF-16": ("c.csv", GOOD.encode("utf-16"), "is UTF-16; convert it with: iconv -f UTF-16"),
    "UTF-16 text": ("d/a.txt", "cats".encode("utf-16"), "is UTF-16; convert it with: iconv -f UTF-16"),
    "a short row": ("c.csv", "id,text,n\n1,a,2\n2,b\n", "line 3: the row has 2 fields, but the header has 3"),
    "a long row": ("c.csv", GOOD + "2,Dogs, cats\n", "line 3: the row has 3 fields, but the header has 2; put fi"),
    "an open quote": ("c.csv", GOOD + '2,"Dogs\n3,bark\n', "line 3: a quote is opened and never closed"),
    "a stray quote": ("c.csv", GOOD + '2,"Dogs" bark\n', "line 3: text follows a closing quote; inside a quoted"),
    "line ends of old": ("c.csv", GOOD.replace("\n", "\r"), "its lines end with a carriage return alone; convert"),
    "a header alone": ("c.csv", "id,text\n", "holds no documents, only names of columns"),
    "an empty file": ("c.csv", "", "c.csv is empty; it holds no documents"),
    "an empty JSON": ("c.json", "  \n", "c.json is empty; it holds no documents"),
    "no objects": ("c.json", "[]", "c.json holds no documents"),
    "columns twice": ("c.csv", "id,text,text\n1,a,b\n", "has 2 columns named 'text'; rename all but one"),
    "ids twice": ("c.csv", GOOD + "1,Dogs bark.\n", "line 3: the id '1' was used before; ids must be unique"),
    "an id missing": ("c.csv", GOOD + ",Dogs bark.\n", "line 3: the id is missing"),
    "a text missing": ("c.csv", GOOD + "2,\n", "line 3: document '2' has no text; remove it, or keep"),
    "no text column": ("c.csv", "id,name\n1,a\n", "no column of texts that could be recognised; its columns are"),
    "bytes called CSV": ("c.csv", b"\x7fELF\0\1\2", "holds NUL bytes, so it is not CSV; check the file"),
    "Parquet called CSV": (
        "c.csv",
        parquet(id=["1"], text=["a"]),
        "is not CSV, but Parquet; read it with --format",
    ),
    "a workbook": (
        "c.csv",
        b"PK\x03\x04xl",
        "is a ZIP archive or an Office document; unpack it, or save the table",
    ),
    "gzip": ("c.csv.gz", b"\x1f\x8b\x08", "is compressed with gzip; unpack it with gunzip"),
    "JSON cut off": ("c.json", '[{"id": "1", "text": "a"}, {"id"', "line 1: it is not JSON .* write an array"),
    "a number": ("c.json", "17", "holds a number; write an array of objects, an object from ids"),
    "texts without ids": ("c.json", '["a"]', "element 1: it must be an object, not a string; write an array"),
    "an array inside": ("c.json", '{"data": [{"id": "1"}]}', "an object whose 'data' is an array; save the array"),
    "two ids": ("c.json", '{"a": {"id": "b", "text": "x"}}', "'a': the object has another id, 'b'; remove one"),
    "half a pair": ("c.json", r'{"a": "\ud800"}', "holds half a surrogate pair; remove it"),
    "lines cut off": ("c.jsonl", '{"id": "1", "text": "a"}\n{"id": "2"', "line 2: not a JSON object"),
    "an array in lines": ("c.jsonl", "[\n{}]", "line 1: not a JSON object"),
    "broken Parquet": ("c.parquet", parquet(id=["1"], text=["a"])[:-9], "cannot be read as Parquet"),
    "text called Parquet": ("c.parquet", GOOD, "has the suffix .parquet but is not Parquet; write or download it"),
    "nested texts": ("c.parquet", parquet(id=["1"], text=[["a"]]), "row 1: 'text' of '1' must be a string, not li"),
    "a list of ids": ("c.parquet", parquet(id=[[1]], text=["a"]), "row 1: 'id' must be a string, not list"),
    "a locked PDF": ("d/a.pdf", locked("pw"), "a.pdf is encrypted; save it without a password"),
    "a scanned PDF": ("d/a.pdf", scanned(), "a.pdf .pages without text; OCR adds it.*: document 'a.pdf' has no te"),
    "a broken PDF": ("d/a.pdf", b"%PDF-1.4\ngarbage", "a.pdf cannot be read as PDF"),
    "text called PDF": ("a.pdf", "hello", "has the suffix .pdf but is not PDF"),
    "an empty text": ("d/a.md", "\n", "a.md: document 'a.md' has no text; remove it, or keep"),
    "NULs in a text": ("d/a.txt", "a\0b", "a.txt holds NUL bytes, so it is not text; check"),
    "broken front matter": ("d/a.md", "---\na: [\n---\nx", "a.md: front matter that is not YAML .*; correct it"),
    "tables in a folder": ("d/a.csv", GOOD, "no text, Markdown, HTML or PDF files, but only .csv .1.; a table"),
    "an unknown format": ("c.xyz", GOOD, "the format of .*c.xyz cannot be recognised; name it with --format"),
    "a wrong delimiter": ("c.csv", "id:text\n1:Cats sleep.\n", "has a single column, 'id:text'; name what separates"),
    "UTF-32": ("c.csv", GOOD.encode("utf-32"), "is UTF-32; convert it with: iconv -f UTF-32"),
    "UTF-16 without a mark": ("c.csv", GOOD.encode("utf-16-le"), "is UTF-16LE; convert it with: iconv -f UTF-16LE"),
    "a mark alone": ("c.csv", b"\xef\xbb\xbf", "c.csv is empty; it holds no documents"),
    "a late NUL in CSV": ("c.csv", f"{MANY}x,a\0b\n", "line 9002: the text of document x holds a NUL .*; remove it"),
    "a NUL in JSON": ("c.jsonl", LINE + '{"id": "x", "text": "\\u0000"}', "line 2: the text of document x holds a NUL"),
    "a NUL in an id": ("c.json", '[{"id": "\\u0000", "text": "a"}]', "element 1: the id of document .* holds a NUL"),
    "a truncated gzip called CSV": ("c.csv", gzip.compress(b"id,text")[:9], "compressed with gzip; unpack it with gun"),
    "an old workbook": ("c.csv", b"\xd0\xcf\x11\xe0", "is an Office document; save the table as CSV"),
    "a document called text": ("d/a.txt", b"PK\x03\x04\x14\0", "a.txt is a ZIP archive or an Office document; unpack"),
    "a PDF called Markdown": ("d/a.md", pdf("Cats."), "a.md is PDF; give it that suffix"),
    "a picture called text": (
        "d/a.txt",
        b"\xff\xd8\xff\xe0\0\x10JFIF",
        "a.txt holds NUL bytes, so it is not text; che",
    ),
    "damaged Parquet": ("c.parquet", damaged(), "cannot be read as Parquet"),
    "Parquet without rows": ("c.parquet", parquet(id=[""], text=[""], rows=0), "holds no documents, only names of"),
    "ids twice in Parquet": ("c.parquet", parquet(id=["1", "1"], text=["a", "b"]), "row 2: the id '1' was used before"),
    "a null id in Parquet": (
        "c.parquet",
        parquet(id=["1", None], text=["a", "b"]),
        "row 2: the id is missing; write a",
    ),
    "fractions as ids": (
        "c.parquet",
        parquet(id=[1.5], text=["a"]),
        "row 1: 'id' must be a string, not float; write it",
    ),
    "infinity in Parquet": (
        "c.parquet",
        parquet(id=["1"], text=["a"], x=[INF]),
        "row 1: column 'x' holds a value of type float .inf.",
    ),
    "NaN in JSON lines": (
        "c.jsonl",
        '{"id": "1", "text": "a", "x": NaN}',
        "line 1: .* must be finite, but x is not; leave",
    ),
    "infinity in JSON": (
        "c.json",
        '[{"id": "1", "text": "a", "x": -Infinity}]',
        "element 1: .* must be finite, but x i",
    ),
    "too many digits": (
        "c.jsonl",
        '{"id": ' + "9" * 5000 + "}",
        "line 1: not a JSON object .a number has too many dig",
    ),
    "garbage after JSON": (
        "c.json",
        '[{"id": "1", "text": "a"}] x',
        "line 1: it is not JSON .Extra data.; write an arr",
    ),
    "garbage after a line": ("c.jsonl", LINE + LINE[:-1] + " x", "line 2: not a JSON object .Extra data.; write one"),
    "scalars": ("c.json", "[1, 2]", "element 1: it must be an object, not a number; write an array of objects"),
    "a scalar by id": ("c.json", '{"a": 1}', "'a': it must be a text or an object, not a number; write an array"),
    "a scalar in lines": ("c.jsonl", "17", "line 1: not a JSON object but int; write one object per line"),
    "deep JSON": ("c.json", "[" * 100_000, "cannot be read as JSON .it is nested too deeply.; write an array of obj"),
    "a deep line": ("c.jsonl", '{"a":' * 100_000, "line 1: not a JSON object .it is nested too deeply.; write one"),
    "deep metadata": (
        "c.jsonl",
        LINE[:-2] + ', "m": ' + "[" * 60 + "]" * 60 + "}",
        "line 1: .* nested 50 levels deep, bu",
    ),
    "an id twice in JSON": ("c.json", '{"a": "x", "a": "y"}', "an object has 'a' twice; remove one of the two"),
    "a field twice": ("c.jsonl", LINE[:-2] + ', "text": "b"}', "line 1: an object has 'text' twice; remove one of"),
    "half a pair in lines": (
        "c.jsonl",
        LINE[:-2] + r', "\udfff": 1}',
        "line 1: not a JSON object .it holds half a surr",
    ),
    "half a pair in bytes": (
        "c.jsonl",
        b'{"text": "\xed\xa0\x80"}',
        "line 1: not a JSON object .it is not UTF-8.; write",
    ),
    "half a pair in CSV": ("c.csv", b"id,text\n1,\xed\xa0\x80\n", "line 2 is not UTF-8 .byte 0xED.; convert the file"),
    "metadata in a list": (
        "c.jsonl",
        LINE[:-2] + ', "metadata": [1]}',
        "line 1: 'metadata' must be an object, not list",
    ),
    "a page without text": (
        "d/a.html",
        "<title></title><script>x</script>",
        "a.html: document 'a.html' has no text; rem",
    ),
    "a blank text": ("c.jsonl", '{"id": "1", "text": " "}', "line 1: document '1' has no text; remove it, or keep"),
    "20,000 columns": ("c.csv", f"{COLUMNS}\n", "its columns are 'c0', .* and 19980 more; name one with --text-field"),
    "a folder called CSV": ("c.csv/a.bin", b"x", "no text, Markdown, HTML or PDF files, but only .bin .1.; a table"),
    "an unreadable name": ("d/caf\udce9.txt", "cats", "the id of document .* holds a NUL or a lone surrogate, which"),
}

READABLE: dict[str, tuple[str, str | bytes, dict[str, Any], str | None]] = {
    "dates in Parquet": (
        "c.parquet",
        parquet(id=["1"], text=["a"], day=[date(2024, 1, 2)]),
        {"day": "2024-01-02"},
        None,
    ),
    "dates in CSV": ("c.csv", "id,text,day\n1,a,02/01/2024\n", {"day": "02/01/2024"}, None),
    "NaN in Parquet": ("c.parquet", parquet(id=["1"], text=["a"], x=[float("nan")]), {}, None),
    "infinity in CSV": ("c.csv", "id,text,x\n1,a,inf\n", {"x": "inf"}, None),
    "nested Parquet": ("c.parquet", parquet(id=["1"], text=["a"], by=[{"name": "Ada", "at": [1, 2]}]), NESTED, None),
    "bytes in Parquet": ("c.parquet", parquet(id=["1"], text=["a"], x=[b"x"]), {}, "column 'x' holds bytes, which"),
    "a byte order mark": ("c.csv", b"\xef\xbb\xbfid,text,n\r\n1,a,2\r\n", {"n": 2}, None),
    "semicolons": ("c.csv", "id;text;n\n1;a;2\n", {"n": 2}, "uses semicolons as its delimiter"),
    "one object called JSON": ("c.json", LINE + "\n", {}, None),
    "2,000 columns": ("c.csv", f"id,text,{WIDE}\n1,a,{WIDE}\n", {name: name for name in WIDE.split(",")}, None),
    "a nameless column": ("c.csv", "id,text,\n1,a,x\n", {"column 3": "x"}, None),
}
