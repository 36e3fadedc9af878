"""The files of the page, read once at import, so that a name in a request never reaches the file system."""

from importlib.resources import files

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}

PAGE: dict[str, tuple[bytes, str]] = {
    entry.name: (entry.read_bytes(), KINDS[entry.name.rpartition(".")[2]])
    for entry in (files("chamfer.serve") / "page").iterdir()
    if entry.name.rpartition(".")[2] in KINDS
}
